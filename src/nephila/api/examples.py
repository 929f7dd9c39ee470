"""Examples of whole bodies in the OpenAPI document, made of those that the fields have: each value is written once."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]
NONE = object()  # no example can be made: null may be one
DEPTH_MAX = 20  # of schemas in schemas


def add_examples(document: dict[str, Any]) -> None:
    """Gives each body and each good answer an example, where it has none of its own."""
    schemas = document.get("components", {}).get("schemas", {})
    for path in document["paths"].values():
        for operation in path.values():
            for content in contents_of(operation):
                found = example_of(content.get("schema", {}), schemas)
                if "example" not in content and found is not NONE:
                    content["example"] = found


def contents_of(operation: Schema) -> list[dict[str, Any]]:
    """What an operation takes and answers when all goes well, one for each media type."""
    answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
    parts = [operation.get("requestBody", {}), *answers]
    return [content for part in parts for content in part.get("content", {}).values()]


def example_of(schema: Schema, schemas: Schema, depth: int = 0) -> Any:
    """The first example of a schema, else one that is made of its parts."""
    if depth > DEPTH_MAX:
        return NONE
    if schema.get("examples"):
        return schema["examples"][0]
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rpartition("/")[2]], schemas, depth + 1)
    if "anyOf" in schema:
        found = (example_of(kind, schemas, depth + 1) for kind in schema["anyOf"] if kind.get("type") != "null")
        return next((example for example in found if example is not NONE), NONE)
    if "properties" in schema:
        parts = {name: example_of(part, schemas, depth + 1) for name, part in schema["properties"].items()}
        return {name: part for name, part in parts.items() if part is not NONE}
    if isinstance(schema.get("items"), Mapping):
        item = example_of(schema["items"], schemas, depth + 1)
        return NONE if item is NONE else [item]
    return schema["enum"][0] if "enum" in schema else NONE
