"""The description of the API as a page, /docs: whole, safe, and served from here alone."""

import json
import re
import shlex
from typing import Any

import httpx
import pytest

from nephila.api.app import described
from nephila.api.reference import curl_of, page_of, type_of
from nephila.api.ui import HEADERS
from nephila.frontier.tokens import Access
from tests.api.served import Served

HOSTILE = "<script>alert(1)</script>"


def test_every_operation_and_record_is_on_the_page(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    document = client.get("/openapi.json").json()
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    assert [found["operationId"] for found in operations if f'id="{found["operationId"]}"' not in page.text] == []
    assert [name for name in document["components"]["schemas"] if f'<h3 id="{name}">' not in page.text] == []


def test_its_links_lead_somewhere(client: httpx.Client) -> None:
    text = client.get("/docs").text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'(?:href|src)="([^"]+)"', text))
    assert {link.removeprefix("#") for link in links if link.startswith("#")} <= set(ids)
    outside = {link for link in links if not link.startswith("#")}
    assert outside == {"/docs/reference.css", "/openapi.json", "/ui/", "/ui/favicon.svg"}
    assert client.get("/docs/reference.css").headers["content-type"] == "text/css; charset=utf-8"


def test_it_has_no_script_and_obeys_the_policy_of_the_interface(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert page.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    assert "<script" not in page.text and " style=" not in page.text and " onclick" not in page.text


@pytest.mark.parametrize("path", ["/docs", "/docs/reference.css"])
def test_it_needs_no_token_as_the_document_needs_none(api: Served, client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 200
    api.token("some", Access.ADMIN)
    assert (client.get(path).status_code, client.get("/openapi.json").status_code) == (200, 200)
    assert client.get("/api/v1/me").status_code == 401
    head = client.head(path)
    assert (head.status_code, head.content) == (200, b"")


def test_it_is_compressed_once_for_all(client: httpx.Client) -> None:
    with client.stream("GET", "/docs", headers={"Accept-Encoding": "gzip"}) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        assert len(b"".join(answer.iter_raw())) < 100_000


def hostile_document() -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": HOSTILE}, "example": {HOSTILE: HOSTILE}}}
    operation = {
        "operationId": "ask",
        "tags": [HOSTILE],
        "summary": HOSTILE,
        "description": HOSTILE,
        "x-access": HOSTILE,
        "parameters": [{"name": HOSTILE, "in": "query", "schema": {"enum": [HOSTILE]}, "description": HOSTILE}],
        "requestBody": {"content": content},
        "responses": {"200": {"description": HOSTILE, "content": content}, "404": {"description": HOSTILE}},
    }
    schema = {"description": HOSTILE, "properties": {HOSTILE: {"type": "string", "default": HOSTILE}}}
    info = {"title": HOSTILE, "version": HOSTILE, "description": HOSTILE}
    return {"info": info, "paths": {f"/{HOSTILE}": {"post": operation}}, "components": {"schemas": {HOSTILE: schema}}}


def test_nothing_in_the_document_becomes_markup() -> None:
    page = page_of(hostile_document())
    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 15


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#/components/schemas/Job"}, '<a href="#Job">Job</a>'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"type": "array", "items": {"type": "string", "format": "date-time"}}, "list of date-time"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "object of integer"),
        ({"type": "string", "enum": ["asc", "desc"]}, "<code>&quot;asc&quot;</code> | <code>&quot;desc&quot;</code>"),
        ({}, "anything"),
    ],
)
def test_types_are_words(schema: dict[str, Any], words: str) -> None:
    assert type_of(schema) == words


def test_a_command_sends_what_the_example_has() -> None:
    document = described()
    schemas = document["components"]["schemas"]
    words = shlex.split(curl_of("post", "/api/v1/crawls", document["paths"]["/api/v1/crawls"]["post"], schemas))
    assert words[:4] == ["curl", "-X", "POST", "http://127.0.0.1:3000/api/v1/crawls"]
    assert json.loads(words[words.index("-d") + 1])["seeds"] == ["https://example.com/"]
    explain = "/api/v1/crawls/{crawl}/explain"
    assert curl_of("get", explain, document["paths"][explain]["get"], schemas).startswith(
        "curl 'http://127.0.0.1:3000/api/v1/crawls/1/explain?url=https%3A%2F%2Fexample.com%2F' -H"
    )
    assert curl_of("get", "/livez", document["paths"]["/livez"]["get"], schemas) == "curl 'http://127.0.0.1:3000/livez'"
