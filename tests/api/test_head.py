"""HEAD wherever there is GET: the same status and headers, no body, and a stream does not run."""

from typing import Any

import httpx
import pytest
from starlette.routing import Route

from nephila.api.app import create_app
from nephila.frontier.tokens import Access
from tests.api.served import V1, Served
from tests.patience import until

QUERIES = {"/explain": "?url=http://a.test/", "/search": "?q=any", "/differences": "?to=1"}


def get_paths(api: Served) -> list[str]:
    """Of every route with GET, those that are not described included, filled with what there is."""
    known: dict[str, Any] = {"crawl": api.crawl.id, "id": api.crawl.id, "job": api.crawl.uuid, "host": "a.test"}
    known |= {"url_id": api.ids()[""], "path": "index.html"}
    app = create_app(api.services)
    templates = [template for template, methods in app.openapi()["paths"].items() if "get" in methods]
    templates += [route.path for route in app.routes if isinstance(route, Route) and "GET" in (route.methods or ())]
    paths = [template.replace("{path:path}", "{path}").format(**known) for template in templates]
    return [path + next((query for end, query in QUERIES.items() if path.endswith(end)), "") for path in paths]


def test_every_get_has_its_head(api: Served, client: httpx.Client) -> None:
    paths = get_paths(api)
    assert len(paths) > 45
    for path in paths:
        head = client.head(path)
        with client.stream("GET", path) as answer:
            assert (head.status_code, head.content) == (answer.status_code, b""), path
            assert head.status_code in (200, 307), path
            assert head.headers.get("content-type") == answer.headers.get("content-type"), path
            assert head.headers["cache-control"] == answer.headers["cache-control"], path


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), (f"{V1}/crawls/99", 404), (f"{V1}/tokens/1", 405)])
def test_it_fails_where_get_fails(client: httpx.Client, path: str, status: int) -> None:
    assert client.head(path).status_code == client.get(path).status_code == status


def test_it_needs_the_token_that_get_needs(api: Served, client: httpx.Client) -> None:
    secret = api.token("reader", Access.READ)
    assert client.head(f"{V1}/crawls").status_code == 401
    with api.client(secret) as reader:
        assert (reader.head(f"{V1}/crawls").status_code, reader.head(f"{V1}/tokens").status_code) == (200, 403)


def test_a_stream_that_is_only_asked_for_its_headers_ends(api: Served, client: httpx.Client) -> None:
    head = client.head(f"{V1}/crawls/{api.crawl.id}/events")
    assert (head.status_code, head.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    until(lambda: not api.services.hub._clients.get(api.crawl.id))


def test_an_answer_keeps_its_length(client: httpx.Client) -> None:
    assert client.head(f"{V1}/blocks").headers["content-length"] == str(len(client.get(f"{V1}/blocks").content))
