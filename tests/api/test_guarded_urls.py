"""Every field of the API that takes a URL is guarded: the description is walked, so that no new one is missed."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nephila.api.app import create_app
from nephila.frontier.tokens import Access
from nephila.profiles import CrawlSettings
from tests.api.served import V1, Served
from tests.site.evil.addresses import NO_HOSTS, PRIVATE_HOSTS

SEEDS = ["https://example.com/"]

# What is sent with a URL in the field. Whoever adds a field that some process of ours will ask guards it and adds it.
GUARDED: dict[str, Callable[[str], Any]] = {
    f"POST {V1}/crawls: seeds": lambda url: {"seeds": [url]},
    f"POST {V1}/crawls: url": lambda url: {"url": url},
    f"POST {V1}/crawls: settings.sitemaps.urls": lambda url: {"settings": {"sitemaps.urls": [url]}},
    f"POST {V1}/crawls: settings.fetch.proxy": lambda url: {"seeds": SEEDS, "settings": {"fetch.proxy": url}},
    "POST /crawl-runs: seedUrl": lambda url: {"seedUrl": url},
    "POST /api/crawl/jobs: seedUrls": lambda url: {"seedUrls": [url]},
}
# Text about URLs that nobody ever connects to, and why.
NEVER_ASKED: dict[str, str] = {
    f"GET {V1}/crawls/{{crawl}}/explain: url": "looked up in the store",
    f"GET {V1}/crawls/{{crawl}}/export: text": "a part of stored URLs",
    f"GET {V1}/crawls/{{crawl}}/urls: text": "a part of stored URLs",
    f"POST {V1}/delays: seeds": "their hosts are looked up in the store",
    f"POST {V1}/robots/trial: urls": "compared with the rules of a text",
    f"POST {V1}/crawls: settings.scope.exclude": "patterns",
    f"POST {V1}/crawls: settings.scope.include": "patterns",
}

URL_WORDS = re.compile(
    r"ur[li]s?|href|links?|prox(y|ies)|seeds?|(web)?hooks?|callbacks?|endpoints?|origins?|address(es)?|locations?|"
    r"targets?|feeds?|sitemaps?|servers?|notif\w+|notices?"
)
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def speaks_of_urls(name: str, description: str) -> bool:
    words = [word.lower() for word in WORDS.findall(name)]
    return any(map(URL_WORDS.fullmatch, words)) or re.search(r"\bUR[LI]s?\b", description) is not None


Schema = dict[str, Any]


def resolved(schema: Schema, definitions: Schema) -> Schema:
    found: Schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def parts_of(schema: Schema) -> list[Schema]:
    parts = [part for kind in ("anyOf", "oneOf", "allOf") for part in schema.get(kind, ())]
    return [*parts, schema["items"]] if "items" in schema else parts


def takes_text(schema: Schema, definitions: Schema) -> bool:
    schema = resolved(schema, definitions)
    parts = parts_of(schema)
    text = schema.get("type", "" if parts else "string") == "string" and "enum" not in schema
    return text or any(takes_text(part, definitions) for part in parts)


def fields(schema: Schema, definitions: Schema, before: str = "") -> Iterator[tuple[str, Schema]]:
    """The properties of a body at any depth, with their dotted names."""
    schema = resolved(schema, definitions)
    for part in parts_of(schema):
        yield from fields(part, definitions, before)
    for name, inner in schema.get("properties", {}).items():
        yield before + name, inner
        yield from fields(inner, definitions, f"{before}{name}.")


def inputs(described: Schema, definitions: Schema) -> Iterator[tuple[str, Schema]]:
    """Each place of each operation that takes something, and its schema; of a crawl's settings by their own names."""
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            at = f"{method.upper()} {path}: "
            for parameter in operation.get("parameters", ()):
                yield at + parameter["name"], parameter["schema"] | {"description": parameter.get("description", "")}
            for content in operation.get("requestBody", {}).get("content", {}).values():
                for name, schema in fields(content.get("schema", {}), definitions):
                    yield at + name, schema
    for name, schema in fields(CrawlSettings.model_json_schema(), definitions):
        yield f"POST {V1}/crawls: settings.{name}", schema


def url_fields(described: Schema) -> set[str]:
    definitions = described["components"]["schemas"] | CrawlSettings.model_json_schema()["$defs"]
    return {
        place
        for place, schema in inputs(described, definitions)
        if takes_text(schema, definitions)
        and speaks_of_urls(re.split(r"[:. ]+", place)[-1], schema.get("description", ""))
    }


def test_every_field_that_takes_a_url_is_known(api: Served) -> None:
    found, known = url_fields(create_app(api.services).openapi()), GUARDED.keys() | NEVER_ASKED.keys()
    assert sorted(found - known) == []
    assert sorted(known - found) == [], "the tables name only what there is"


@pytest.mark.parametrize("place", GUARDED)
def test_no_field_takes_a_private_address(api: Served, place: str) -> None:
    """As somebody who may start crawls; only an admin may name a proxy, a private one if the operator permits."""
    path = place.partition(" ")[2].partition(":")[0]
    secrets = [api.token("writer", Access.WRITE)]
    if place.endswith("fetch.proxy") and not api.settings.permits_private:
        secrets.append(api.token("admin", Access.ADMIN))
    before = len(api.store.catalog.crawls())
    for secret in secrets:
        with api.client(secret) as client:
            for host in (PRIVATE_HOSTS | NO_HOSTS).values():
                for url in (f"http://{host}/", f"https://me@{host}:8080/x"):
                    refused = client.post(path, json=GUARDED[place](url))
                    assert refused.status_code in (400, 403, 422), (url, refused.text)
    assert len(api.store.catalog.crawls()) == before
