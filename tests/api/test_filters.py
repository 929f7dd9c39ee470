"""Filters of every list are checked: a word that is none is refused, and the answer has those that are."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from nephila.models import Reason
from tests.api.served import V1, Served

# What stands for the parts of a path; a list of something that is not there is not found.
PARTS = {"id": "1", "crawl": "1", "url_id": "1", "host": "a.test", "job": "00000000-0000-4000-8000-000000000000"}
NEEDED = {"to": "1", "q": "word", "url": "http://a.test/", "ticket": "x"}
BOGUS = "bogus"


def words_of(schema: dict[str, Any], known: dict[str, Any]) -> list[str]:
    """The words that a parameter takes; empty: it takes any."""
    if "$ref" in schema:
        return words_of(known[schema["$ref"].rpartition("/")[2]], known)
    if "const" in schema:
        return [str(schema["const"])]
    found = [str(word) for word in schema.get("enum", ())]
    for inner in (schema.get("items", {}), *schema.get("anyOf", ())):
        found += words_of(inner, known) if inner else []
    return found


def enumerated(document: dict[str, Any]) -> Iterator[tuple[str, str, list[str], dict[str, str]]]:
    """The path of each list, the parameter, its words, and the others that the list needs."""
    for path, operations in document["paths"].items():
        parameters = [each for each in operations.get("get", {}).get("parameters", ()) if each["in"] == "query"]
        needed = {each["name"]: NEEDED[each["name"]] for each in parameters if each.get("required")}
        for parameter in parameters:
            if words := words_of(parameter["schema"], document["components"]["schemas"]):
                yield path, parameter["name"], words, needed


def asked(path: str) -> str:
    for name, value in PARTS.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def test_every_parameter_with_words_of_its_own_refuses_others_and_names_them(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    found = list(enumerated(document))
    assert {("/api/v1/crawls", "status"), ("/api/v1/crawls", "sort"), ("/api/v1/hosts", "order")} <= {
        (path, name) for path, name, *_ in found
    }
    for path, name, words, needed in found:
        answer = client.get(asked(path), params=needed | {name: BOGUS})
        assert answer.status_code in (400, 422), (path, name, answer.text)
        said = answer.text
        assert all(word in said for word in words), (path, name, said)


def test_a_pattern_in_the_document_is_no_list_of_words(client: httpx.Client) -> None:
    """A parameter that takes one of a few words says so by an enum: a pattern names none to whoever asks."""
    document = client.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for parameter in operations.get("get", {}).get("parameters", ()):
            pattern = parameter["schema"].get("pattern", "")
            assert "|" not in pattern or "[" in pattern, (path, parameter["name"], pattern)


@pytest.mark.parametrize("path", ["/crawls/1/urls", "/crawls/1/export"])
def test_a_reason_that_no_url_has_is_refused_with_those_that_are(client: httpx.Client, path: str) -> None:
    answer = client.get(f"{V1}{path}", params={"reason": BOGUS})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "reason")
    assert all(reason in answer.text for reason in Reason if reason)


def test_pages_of_sorted_lists_are_full_or_the_last(api: Served, client: httpx.Client) -> None:
    """A page with a `next` is followed by one that is not empty, also where its rows end with it."""
    for query in ({"sort": "url"}, {"sort": "bytes", "order": "desc"}, {"state": "visited", "sort": "url"}):
        for limit in (1, 2, 3, 6):
            offset: int | None = 0
            while offset is not None:
                page = client.get(f"{V1}/crawls/1/urls", params={**query, "limit": limit, "offset": offset}).json()
                assert page["urls"], (query, limit, offset)
                offset = page["next"]
    for limit in (1, 2):
        assert client.get(f"{V1}/crawls/1/hosts", params={"limit": limit}).json()["next"] is None, "it has one host"
        assert client.get(f"{V1}/hosts", params={"limit": limit}).json()["next"] is None
    assert api.crawl.id == 1


def test_lists_say_how_many_there_are(client: httpx.Client) -> None:
    assert client.get(f"{V1}/crawls").json()["total"] == 1
    assert client.get(f"{V1}/crawls", params={"text": "nowhere"}).json()["total"] == 0
    hosts = client.get(f"{V1}/crawls/1/hosts", params={"sort": "open", "order": "desc"}).json()
    assert (hosts["total"], hosts["unsortable"]) == (1, "")
    assert client.get(f"{V1}/crawls/1/hosts", params={"text": "B."}).json()["total"] == 0
    assert client.get(f"{V1}/hosts", params={"text": "A.TEST"}).json()["total"] == 1
