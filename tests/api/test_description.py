"""The OpenAPI document is worth reading: it describes all in words, with examples that are true to its schemas."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema_rs
import pytest

from nephila.api.app import described
from nephila.api.examples import NONE, add_examples, contents_of, example_of

Found = tuple[str, dict[str, Any]]


@cache
def document() -> dict[str, Any]:
    return described()


def schemas() -> dict[str, Any]:
    found: dict[str, Any] = document()["components"]["schemas"]
    return found


def operations() -> Iterator[Found]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def properties() -> Iterator[Found]:
    for name, schema in schemas().items():
        for field, kind in schema.get("properties", {}).items():
            yield f"{name}.{field}", kind


def fits(example: Any, schema: dict[str, Any]) -> bool:
    return jsonschema_rs.is_valid({**schema, "components": document()["components"]}, example)


def test_every_operation_has_a_summary_and_a_description() -> None:
    """The summary is not the name of the function in other letters, as FastAPI makes it; the description says more."""
    bad = [
        name
        for name, operation in operations()
        if not operation["summary"]
        or operation["summary"] == operation["operationId"].replace("_", " ").title()
        or not operation["description"]
    ]
    assert bad == []


def test_summaries_fit_in_a_list() -> None:
    assert [name for name, operation in operations() if len(operation["summary"]) > 80] == []


def test_every_parameter_and_property_has_a_description() -> None:
    parameters = [
        f"{name} {parameter['name']}"
        for name, operation in operations()
        for parameter in operation.get("parameters", [])
        if not parameter.get("description")
    ]
    assert parameters == []
    assert [name for name, kind in properties() if not kind.get("description")] == []


def test_every_property_has_an_example_that_fits_its_schema() -> None:
    assert [name for name, kind in properties() if example_of(kind, schemas()) is NONE] == []
    stray = [
        (name, value) for name, kind in properties() for value in kind.get("examples", []) if not fits(value, kind)
    ]
    assert stray == []


def test_every_body_and_every_good_answer_has_an_example_that_fits_its_schema() -> None:
    contents = [(name, content) for name, operation in operations() for content in contents_of(operation)]
    assert len(contents) > 60
    assert [name for name, content in contents if "example" not in content] == []
    assert [name for name, content in contents if not fits(content["example"], content.get("schema", {}))] == []


def test_examples_of_objects_have_all_that_is_required() -> None:
    """And a schema that shows an example of its own shows one that is allowed."""
    for name, schema in schemas().items():
        assert fits(example_of(schema, schemas()), schema), name
        assert [value for value in schema.get("examples", []) if not fits(value, schema)] == [], name


LEAF = {"type": "integer", "examples": [7, 8]}


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        (LEAF, 7),
        ({"$ref": "#/components/schemas/Leaf"}, 7),
        ({"$ref": "#/components/schemas/Leaf", "examples": [None]}, None),
        ({"anyOf": [{"type": "null"}, {"type": "string"}, LEAF]}, 7),
        ({"type": "object", "properties": {"known": LEAF, "unknown": {"type": "string"}}}, {"known": 7}),
        ({"type": "array", "items": LEAF}, [7]),
        ({"type": "array", "items": {"type": "string"}}, NONE),
        ({"enum": ["first", "second"]}, "first"),
        ({"type": "string"}, NONE),
        ({"$ref": "#/components/schemas/Endless"}, NONE),
    ],
)
def test_an_example_is_made_of_the_parts(schema: dict[str, Any], example: Any) -> None:
    known = {"Leaf": LEAF, "Endless": {"$ref": "#/components/schemas/Endless"}}
    found = example_of(schema, known)
    assert found is example if example is NONE else found == example


def test_an_example_that_an_answer_has_already_stays() -> None:
    content = {"schema": LEAF, "example": 9}
    answers = {"200": {"content": {"text/plain": content}}, "404": {"content": {"text/plain": {"schema": LEAF}}}}
    add_examples({"paths": {"/": {"get": {"responses": answers}}}})
    assert content["example"] == 9
    assert answers["404"]["content"]["text/plain"] == {"schema": LEAF}, "errors have the examples of their fields"
