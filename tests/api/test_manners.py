"""Foreign hosts: no face of the API starts a crawl that is ruder to them than usual, unless an operator says so."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from nephila import log
from nephila.frontier.store import Crawl
from nephila.frontier.tokens import Access
from nephila.settings import LogFormat, LogLevel
from tests.api.faced import Face, faced
from tests.api.served import V1, Served

PUBLIC = "https://example.com/"
PRIVATE = "http://127.0.0.1:9/"
STARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "strict": (f"{V1}/crawls", {"seeds": [PUBLIC], "profile": "strict"}),
    "graph": (f"{V1}/crawls?wait=0", {"url": PUBLIC, "depth": 2}),
    "run": ("/crawl-runs", {"seedUrl": PUBLIC}),
    "job": ("/api/crawl/jobs", {"seedUrls": [PUBLIC]}),
}


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    log.configure(LogLevel.INFO, LogFormat.CONSOLE, stream)
    yield stream
    structlog.reset_defaults()


def made(face: Face, start: str, **more: Any) -> Crawl:
    path, body = STARTS[start]
    answer = face.client.post(path, json=body | more)
    assert answer.status_code == 201, answer.text
    return face.catalog.crawls(limit=1)[0]


@pytest.mark.requirement("K06")
@pytest.mark.parametrize("start", STARTS)
def test_every_face_keeps_the_floor_and_robots_txt_of_foreign_hosts(embedded: Face, start: str) -> None:
    settings = made(embedded, start).settings
    assert (settings.polite.floor_ms, settings.robots.mode) == (1000, "obey")


@pytest.mark.requirement("K06", "RB-09")
@pytest.mark.parametrize("start", ["strict", "run"])
def test_hosts_of_ones_own_are_crawled_as_the_profile_says(tmp_path: Path, start: str) -> None:
    with faced("sqlite", tmp_path, own_hosts="example.com") as face:
        settings = made(face, start).settings
        assert (settings.polite.floor_ms, settings.robots.mode) == (40, "ignore")
        if start == "run":
            config = face.client.get("/crawl-runs/1").json()["run_config"]
            assert (config["minGapPerHostMs"], config["demoDelayMs"]) == (40, 0)


@pytest.mark.requirement("K06", "RB-09")
def test_what_an_operator_asks_for_stands_and_is_shown(embedded: Face) -> None:
    wanted = {"polite.floor_ms": 50, "robots.mode": "ignore"}
    crawl = made(embedded, "strict", settings=wanted)
    assert (crawl.settings.polite.floor_ms, crawl.settings.robots.mode) == (50, "ignore")
    shown = embedded.client.get(f"{V1}/crawls/{crawl.id}").json()["warnings"]
    assert any(text.startswith("50 ms between two requests and robots.txt is ignored also on") for text in shown)


@pytest.mark.requirement("K06")
@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/crawls", {"seeds": [PUBLIC], "settings": {"polite.floor_ms": 50}}, "settings.polite.floor_ms"),
        ("/crawls", {"seeds": [PUBLIC], "settings": {"robots.mode": "ignore"}}, "settings.robots.mode"),
        ("/crawls", {"seeds": [PRIVATE], "settings": {"robots.force": True}}, "settings.robots.force"),
        ("/api/crawl/jobs", {"seedUrls": [PUBLIC], "crawlDelay": 0.1}, "crawlDelay"),
    ],
)
def test_only_an_operator_may_loosen_them(api: Served, path: str, body: dict[str, Any], field: str) -> None:
    with api.client(api.token("writer", Access.WRITE)) as client:
        answer = client.post(path if path.startswith("/api") else V1 + path, json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (403, field)
    assert "admin" in answer.json()["error"]["message"]


@pytest.mark.requirement("K06")
def test_only_an_operator_may_loosen_a_crawl_that_runs(api: Served) -> None:
    with api.client(api.token("writer", Access.WRITE)) as writer:
        crawl = writer.post(f"{V1}/crawls", json={"seeds": [PUBLIC]}).json()["id"]
        refused = writer.patch(f"{V1}/crawls/{crawl}/pace", json={"floor_ms": 999})
        assert (refused.status_code, refused.json()["error"]["field"]) == (403, "floor_ms")
        assert writer.patch(f"{V1}/crawls/{crawl}/pace", json={"floor_ms": 1000}).status_code == 200
    with api.client(api.token("operator", Access.ADMIN)) as operator:
        assert operator.patch(f"{V1}/crawls/{crawl}/pace", json={"floor_ms": 40}).status_code == 200
    with api.client(api.token("another", Access.WRITE)) as writer:
        assert writer.patch(f"{V1}/crawls/{crawl}/pace", json={"jitter_ms": 5}).status_code == 200


@pytest.mark.requirement("K10")
def test_robots_force_is_refused_for_foreign_hosts_and_logged_for_ones_own(embedded: Face, lines: io.StringIO) -> None:
    path, body = STARTS["strict"]
    forced = {"settings": {"robots.force": True, "fetch.allow_private": True}}
    refused = embedded.client.post(path, json=body | forced)
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "settings.robots.force")
    assert "NEPHILA_OWN_HOSTS" in refused.json()["error"]["message"]
    crawl = made(embedded, "strict", **forced, seeds=[PRIVATE])
    assert crawl.settings.robots.force
    log.flush()
    (line,) = (line for line in lines.getvalue().splitlines() if "robots_forced" in line)
    assert "warning" in line and f"crawl_run={crawl.id}" in line and "by=local" in line
    assert any("robots.force" in text for text in embedded.client.get(f"{V1}/crawls/1").json()["warnings"])


@pytest.mark.requirement("K34")
def test_a_crawl_of_foreign_hosts_without_a_contact_warns(embedded: Face, tmp_path: Path) -> None:
    def warnings(client: httpx.Client, seed: str) -> list[str]:
        body = {"seeds": [seed], "settings": {"fetch.allow_private": True}}
        found: list[str] = client.post(f"{V1}/crawls", json=body).json()["warnings"]
        return found

    (said,) = warnings(embedded.client, PUBLIC)
    assert said.startswith("no contact: example.com") and "NEPHILA_CONTACT" in said
    assert warnings(embedded.client, PRIVATE) == []
    with faced("sqlite", tmp_path / "reached", contact="me@example.net") as face:
        assert warnings(face.client, PUBLIC) == []


@pytest.mark.requirement("A-12", "P-11", "P-14", "P-02")
@pytest.mark.parametrize("start", ["strict", "graph", "run"])
def test_the_documents_variables_are_defaults_of_every_face(
    embedded: Face, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.setenv("FETCH_MIN_GAP_PER_HOST_MS", "40")
    monkeypatch.setenv("FETCH_CONCURRENCY_PER_HOST", "3")
    monkeypatch.setenv("MAX_RETRIES", "6")
    settings = made(embedded, start).settings
    assert (settings.polite.floor_ms, settings.polite.max_inflight, settings.retry.max) == (1000, 3, 6)
    monkeypatch.setenv("CRAWLER_MIN_DOMAIN_DELAY_SECONDS", "2.5")
    assert made(embedded, start).settings.polite.floor_ms == 2500


@pytest.mark.requirement("A-12", "P-11")
def test_the_gap_of_the_environment_holds_for_runs_on_ones_own_hosts(
    embedded: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FETCH_MIN_GAP_PER_HOST_MS", "0")
    answer = embedded.client.post("/crawl-runs", json={"seedUrl": PRIVATE, "settings": {"demoDelayMs": 7}})
    config = answer.json()["run_config"]
    assert (config["minGapPerHostMs"], config["demoDelayMs"]) == (0, 7), "a pause of the run is no gap of the host"
