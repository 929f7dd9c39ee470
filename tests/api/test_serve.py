"""`nephila serve` and `nephila token` as a user runs them: one process tree, drained by one signal."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from nephila.api.routes.new_crawls import WAIT_SECONDS_MAX
from tests import postgres
from tests.api.served import KINDS, V1
from tests.command import Command, children_of
from tests.patience import PATIENCE_SECONDS, until
from tests.site.server import DEFAULT_HOST, Page, TestWeb

QUICK = {"fetch.allow_private": True, "polite.floor_ms": 0, "polite.adaptive": False, "retry.max": 0}
QUICK |= {"sitemaps.mode": "off"}  # requests are counted


@pytest.fixture(params=KINDS)
def nephila(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Command]:
    with postgres.command(request.param, tmp_path / "data") as made:
        yield made


@pytest.mark.requirement("A-29", "A-44", "G-02", "AD-08", "RC-05", "RC-06")
def test_it_crawls_and_drains(nephila: Command, web: TestWeb) -> None:
    pages = {f"/{number}": Page(b"<a href=/never>x</a>", delay_ms=50) for number in range(120)}
    links = "".join(f"<a href={path}>x</a>" for path in pages).encode()
    web.add({DEFAULT_HOST: {"/": Page(links), "/robots.txt": Page(status=404), **pages}})
    root = f"http://{DEFAULT_HOST}:{web.port}/"
    with (
        nephila.serving("--workers", "1") as (process, url),
        httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client,
    ):
        until(lambda: any(worker["alive"] for worker in client.get(f"{V1}/workers").json()["workers"]))
        body = {"url": f"{root}nowhere", "depth": 1, "settings": QUICK}
        missing = client.post(f"{V1}/crawls", params={"wait": WAIT_SECONDS_MAX}, json=body)
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
        body = {"seeds": [root], "settings": QUICK}
        crawl = client.post(f"{V1}/crawls", params={"wait": WAIT_SECONDS_MAX}, json=body).json()["id"]
        until(lambda: client.get(f"{V1}/crawls/{crawl}").json()["states"].get("visited", 0) > 20)

        assert client.put(f"{V1}/workers/local", json={"count": 2}).json()["local"] == 2
        until(lambda: sum(worker["alive"] for worker in client.get(f"{V1}/workers").json()["workers"]) == 2)
        client.put(f"{V1}/workers/local", json={"count": 1})
        until(lambda: sum(worker["alive"] for worker in client.get(f"{V1}/workers").json()["workers"]) == 1)

        workers = children_of(process.pid)
        assert workers
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        assert [pid for pid in workers if Path(f"/proc/{pid}").exists()] == []
    with (
        nephila.serving("--workers", "1") as (process, url),
        httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client,
    ):
        done = until(lambda: _over(client.get(f"{V1}/crawls/{crawl}").json()))
        assert (done["status"], done["states"]["visited"]) == ("completed", 121)
        graph = client.get(f"{V1}/crawls/{crawl}/graph", params={"kind": "links"}).json()
        tree = client.get(f"{V1}/crawls/{crawl}/graph").json()
        root_id = tree["nodes"][0]["id"]
        assert sum(source == root_id for source, _ in graph["edges"]) == 120
        assert {tuple(edge) for edge in tree["edges"]} <= {tuple(edge) for edge in graph["edges"]}
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_SECONDS) == 0


def _over(crawl: dict[str, Any]) -> dict[str, Any] | None:
    return crawl if crawl["ended_at"] else None


def test_tokens_are_made_listed_and_revoked(nephila: Command) -> None:
    code, out, err = nephila("token", "create", "robot", "--access", "admin")
    assert code == 0 and re.fullmatch(r"nph_[\w-]{43}", out.strip()) and "only time" in err
    assert nephila("token", "create", "robot")[0] == 2, "the name is taken"
    listed = json.loads(nephila("token", "list", "--json")[1])["tokens"]
    assert [(token["name"], token["access"], token["revoked_at"]) for token in listed] == [("robot", "admin", None)]
    assert out.strip() not in nephila("token", "list")[1]
    with nephila.serving("--workers", "0") as (_, url), httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client:
        assert client.get(f"{V1}/crawls").status_code == 401
        headers = {"Authorization": f"Bearer {out.strip()}"}
        assert client.get(f"{V1}/crawls", headers=headers).status_code == 200
        assert nephila("token", "revoke", str(listed[0]["id"]))[0] == 0
        until(lambda: client.get(f"{V1}/crawls", headers=headers).status_code == 401)
    assert nephila("token", "revoke", str(listed[0]["id"]))[0] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--host", "0.0.0.0"), "nephila token create"), (("--host", "nonsense"), "host"), (("--port", "70000"), "port")],
)
def test_it_refuses_to_start(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    code, _, err = Command(tmp_path, None)("serve", *arguments)
    assert code == 2 and said in err and len(err.splitlines()) == 1, err


def test_a_port_in_use_is_one_clear_line(tmp_path: Path, web: TestWeb) -> None:
    code, _, err = Command(tmp_path, None)("serve", "--port", str(web.port))
    assert code == 2 and "cannot listen" in err and len(err.splitlines()) == 1, err
