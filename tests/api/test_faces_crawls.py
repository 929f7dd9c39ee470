"""Document 001, line by line: its crawls API is our own /api/v1, whose answers carry its fields."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import uvloop
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from nephila import wiring
from nephila.api.routes import new_crawls
from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.control.statistics import ROWS_MAX
from nephila.frontier.store import HostClock, WorkerInfo
from nephila.models import CrawlState, UrlState
from nephila.policy.politeness import Pace
from tests.api.faced import Face, FrontierOf, faced
from tests.api.served import KINDS, WORDS_001
from tests.contract.session import Session, child, ended, seeded
from tests.e2e.harness import Place, close
from tests.patience import PATIENCE_MS, PATIENCE_SECONDS
from tests.site.fixtures import OTHER_HOST, html
from tests.site.names import NameServer
from tests.site.server import Page, TestWeb

CRAWLS = "/api/v1/crawls"
MESSAGE = set(WORDS_001)
# A crawl of the test web: loopback is permitted and may be hurried.
OWN = {
    "fetch.allow_private": True,
    "fetch.first_byte_timeout_ms": PATIENCE_MS,
    "fetch.total_timeout_ms": PATIENCE_MS,
    "polite.floor_ms": 0,
    "retry.max": 0,
}


NEVER = Page(delay_ms=PATIENCE_MS)  # is answered


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may need longer than the server has patience with a root page, or with workers to follow."""
    monkeypatch.setattr(new_crawls, "ROOT_SECONDS", int(PATIENCE_SECONDS))
    monkeypatch.setattr(crawls, "ACKNOWLEDGE_SECONDS", PATIENCE_SECONDS)


@contextmanager
def working(place: Place) -> Iterator[None]:
    """A real worker and the upkeep beside it, in a thread: the API waits for what they do."""
    settings, ready, done = place.settings(), threading.Event(), threading.Event()

    async def work() -> None:
        frontier, store = wiring.open_frontier(settings), wiring.open_store(settings)
        worker = wiring.new_worker(frontier, settings, SystemClock(), WorkerInfo("test", 0, "test"))
        task, duty = asyncio.ensure_future(worker.run()), place.duty(store)
        while not done.is_set():
            duty.run_once()
            ready.set()
            await asyncio.sleep(0.02)
        worker.stop()
        await task
        close(frontier)
        close(store.catalog)

    thread = threading.Thread(target=lambda: uvloop.run(work()), daemon=True)
    thread.start()
    assert ready.wait(PATIENCE_SECONDS)
    try:
        yield
    finally:
        done.set()
        thread.join(PATIENCE_SECONDS)


def final_message(face: Face, crawl: str) -> dict[str, Any]:
    """The last that the WebSocket says before it is closed by the server."""
    address = str(face.client.base_url).replace("http://", "ws://").rstrip("/")
    last: dict[str, Any] = {}
    url = f"{address}{CRAWLS}/{crawl}/ws"
    with suppress(ConnectionClosed), connect(url, open_timeout=PATIENCE_SECONDS) as socket:
        for text in socket:
            last = json.loads(text)
            assert last.keys() >= MESSAGE or last.keys() == {"error"}
    return last


@pytest.mark.requirement("A-20", "A-22", "A-23", "A-29", "L-01")
def test_a_crawl_is_accepted_listed_and_shown_with_the_documents_fields(face: Face) -> None:
    answer = face.client.post(CRAWLS, params={"wait": 0}, json={"url": "https://example.com", "depth": 3})
    assert answer.status_code == 201
    made = answer.json()
    assert made.keys() >= MESSAGE
    assert str(UUID(made["crawl_id"])) == made["crawl_id"]
    assert (made["status"], made["root_url"], made["requested_depth"]) == ("running", "https://example.com/", 3)
    counts = {"total": 1, "completed": 0, "pending": 1, "in_progress": 0, "failed": 0}
    assert made.items() >= counts.items()
    shown = face.client.get(f"{CRAWLS}/{made['crawl_id']}").json()
    (listed,) = face.client.get(CRAWLS).json()["crawls"]
    assert {name: shown[name] for name in MESSAGE} == {name: made[name] for name in MESSAGE}
    assert {name: listed[name] for name in MESSAGE} == {name: made[name] for name in MESSAGE}


@pytest.mark.requirement("A-20", "A-29")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "https://example.com", "depth": 0}, "depth"),
        ({"url": "https://example.com", "depth": 6}, "depth"),
        ({"url": "https://example.com", "depth": "deep"}, "depth"),
        ({"url": "no address", "depth": 1}, "url"),
        ({"url": "mailto:a@b.test"}, "url"),
        ({"url": "http://127.0.0.1/"}, "url"),
    ],
)
def test_a_wrong_crawl_is_refused(bare: Face, body: dict[str, Any], field: str) -> None:
    answer = bare.client.post(CRAWLS, params={"wait": 0}, json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert bare.catalog.crawls() == []


@pytest.mark.requirement("A-29")
@pytest.mark.parametrize("query", ["limit=0", "limit=101", "offset=-1", "status=done"])
def test_a_wrong_question_for_the_list_is_refused(bare: Face, query: str) -> None:
    assert bare.client.get(f"{CRAWLS}?{query}").status_code == 422


@pytest.mark.requirement("A-29")
def test_the_list_has_status_limit_and_offset(face: Face) -> None:
    made = [
        face.client.post(CRAWLS, params={"wait": 0}, json={"url": f"https://site{number}.test/"}).json()["id"]
        for number in range(3)
    ]
    face.client.post(f"{CRAWLS}/{made[0]}/pause")

    def listed(query: str) -> list[int]:
        return [crawl["id"] for crawl in face.client.get(f"{CRAWLS}?{query}").json()["crawls"]]

    assert listed("limit=2") == made[:0:-1]
    assert listed("limit=2&offset=2") == made[:1]
    assert listed("status=paused") == made[:1]


@pytest.mark.requirement("A-27", "S-04")
def test_delete_cancels_a_crawl(face: Face) -> None:
    crawl = face.client.post(CRAWLS, params={"wait": 0}, json={"url": "https://example.com"}).json()["crawl_id"]
    answer = face.client.delete(f"{CRAWLS}/{crawl}")
    assert answer.status_code == 200
    assert answer.json()["reason"] == "cancelled"
    with working(face.place):
        assert final_message(face, crawl)["status"] == "cancelled"


@pytest.mark.requirement("A-28")
@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes(bare: Face, path: str) -> None:
    assert bare.client.get(path).status_code == 200


@pytest.mark.requirement("A-26", "L-03")
def test_an_unknown_crawl_is_said_and_the_socket_closed(bare: Face) -> None:
    assert final_message(bare, "00000000-0000-0000-0000-000000000000") == {"error": "Crawl not found"}
    assert bare.client.get(f"{CRAWLS}/00000000-0000-0000-0000-000000000000").status_code == 404


@pytest.mark.requirement(
    "A-20", "A-23", "A-24", "A-25", "A-26", "A-29", "L-01", "L-02", "G-02", "G-03", "SC-05", "S-04", "C-04",
    "F-10", "N-08", "K18",
)  # fmt: skip
def test_a_crawl_from_start_to_end(face: Face, web: TestWeb) -> None:
    other = web.url("/", OTHER_HOST)
    site = {"/": html("/a", "/b", "/missing", other), "/a": html("/b", "/deep"), "/b": html("/a"), "/deep": html("/x")}
    web.add({"127.0.0.1": site, OTHER_HOST: {"/": html()}})
    with working(face.place):
        answer = face.client.post(CRAWLS, json={"url": web.url("/"), "depth": 2, "settings": OWN})
        assert answer.status_code == 201, answer.text
        made = answer.json()
        # The root was fetched before the answer, and its links came with it in one transaction.
        assert made["total"] >= 5
        last = final_message(face, made["crawl_id"])
    assert {name: last[name] for name in MESSAGE} == {
        "crawl_id": made["crawl_id"],
        "status": "completed",
        "total": 6,
        "completed": 5,
        "pending": 0,
        "in_progress": 0,
        "failed": 1,
        "root_url": web.url("/"),
        "requested_depth": 2,
    }
    path = f"{CRAWLS}/{made['crawl_id']}"
    shown = face.client.get(path).json()
    assert {name: shown[name] for name in MESSAGE} == {name: last[name] for name in MESSAGE}

    nodes = {node["url"]: node for node in face.client.get(f"{path}/graph").json()["nodes"]}
    assert set(nodes) == {web.url(page) for page in ("/", "/a", "/b", "/missing", "/deep")} | {other}
    assert all(node.keys() >= {"domain", "depth", "state", "ip"} for node in nodes.values())
    authority = web.url("").removeprefix("http://")
    assert {(node["name"], node["http_type"]) for node in nodes.values() if node["domain"] == "127.0.0.1"} == {
        (authority + path, "HTTP://") for path in ("", "/a", "/b", "/missing", "/deep")
    }
    words = {url.removeprefix(web.url("")): node["job_status"] for url, node in nodes.items()}
    assert words.pop("/missing") == "FAILED"
    assert set(words.values()) == {"COMPLETED"}, "also /deep, which is only recorded (K18)"
    assert (nodes[other]["domain"], nodes[other]["ip"], nodes[other]["depth"]) == (OTHER_HOST, OTHER_HOST, 1)
    edges = face.client.get(f"{path}/graph", params={"kind": "links"}).json()["edges"]
    parents = {source for source, target in edges if target == nodes[web.url("/b")]["id"]}
    assert parents == {nodes[web.url("/")]["id"], nodes[web.url("/a")]["id"]}

    stats = face.client.get(f"{path}/stats").json()
    assert (stats["total_urls"], stats["unique_domains"], stats["max_depth_reached"]) == (6, 2, 2)
    assert stats["status_counts"] == {"PENDING": 0, "IN-PROGRESS": 0, "COMPLETED": 5, "FAILED": 1, "CANCELLED": 0}
    assert stats["states"] == {"visited": 4, "not_found": 1, "excluded": 1}
    # At the depth limit a URL is recorded and counts as completed, but is never asked for.
    assert not [hit for hit in web.hits() if hit.path == "/deep"]


@pytest.mark.requirement("S-04", "A-24", "A-25")
def test_states_in_the_words_of_the_document(face: Face) -> None:
    crawl = seeded(face.catalog, *(f"https://www.a.test/{name}" for name in "abcd"))
    session = Session(FrontierOf(face))
    rows = {row.url[-1]: row for row in session.load()}
    outcomes = [ended(rows["a"], crawl, state=UrlState.CANCELLED, reason="cancelled")]
    outcomes.append(ended(rows["b"], crawl, state=UrlState.FORBIDDEN))
    session.flush(outcomes=outcomes, in_flight=[(rows["c"].id, 1)])
    nodes = face.client.get(f"{CRAWLS}/{crawl.id}/graph").json()["nodes"]
    assert sorted((node["name"], node["http_type"], node["job_status"]) for node in nodes) == [
        ("WWW.A.TEST/a", "HTTPS://", "CANCELLED"),
        ("WWW.A.TEST/b", "HTTPS://", "FAILED"),
        ("WWW.A.TEST/c", "HTTPS://", "IN-PROGRESS"),
        ("WWW.A.TEST/d", "HTTPS://", "PENDING"),
    ]
    counted = face.client.get(f"{CRAWLS}/{crawl.id}/stats").json()["status_counts"]
    assert counted == {"PENDING": 1, "IN-PROGRESS": 1, "COMPLETED": 0, "FAILED": 1, "CANCELLED": 1}


@pytest.mark.requirement("A-25", "A-29")
def test_statistics_of_a_large_crawl_are_exact(face: Face) -> None:
    """The rows that are sampled leave gaps: the only host of its own and the only deep page lie in one."""
    crawl = seeded(face.catalog, "http://a.test/")
    found = [child(crawl, f"http://a.test/{number}", depth=1) for number in range(ROWS_MAX + 5000)]
    found[1150] = child(crawl, "http://b.test/", depth=7)
    face.catalog.add_seeds(crawl.id, found)
    stats = face.client.get(f"{CRAWLS}/{crawl.id}/stats").json()
    assert stats["sampled"]
    assert (stats["total_urls"], stats["unique_domains"], stats["max_depth_reached"]) == (len(found) + 1, 2, 7)


@pytest.mark.requirement("A-20", "A-21", "A-24", "W-14", "G-03")
@pytest.mark.parametrize("kind", KINDS)
def test_the_graph_shows_the_address_of_every_child_though_none_was_fetched(
    kind: str, tmp_path: Path, web: TestWeb
) -> None:
    hosts = {f"h{number}.test": f"127.0.1.{number}" for number in range(120)}
    links = [web.url(path, host) for host in hosts for path in ("/", "/x")]
    nowhere = web.url("/", "nowhere.test")
    web.add({"root.test": {"/": html(*links, nowhere)}})
    with NameServer() as names:
        names.add("root.test", "127.0.0.1")
        for host, address in hosts.items():
            names.add(host, address, f"edge.{host}")
        with faced(kind, tmp_path, dns_servers=(names.address,)) as face:
            body = {"url": web.url("/", "root.test"), "depth": 1, "settings": OWN}
            with working(face.place):
                answer = face.client.post(CRAWLS, json=body)
                assert answer.status_code == 201, answer.text
                made = answer.json()
                assert (made["profile"], made["total"]) == ("graph", 2 * len(hosts) + 2), "in one transaction"
                assert final_message(face, made["crawl_id"])["status"] == "completed"
            graph = face.client.get(f"{CRAWLS}/{made['crawl_id']}/graph").json()
            shown = face.client.get("/api/v1/hosts/h7.test").json()
    nodes = {node["url"]: node for node in graph["nodes"]}
    root = nodes.pop(web.url("/", "root.test"))
    assert (root["depth"], root["ip"], root["state"]) == (0, "127.0.0.1", "visited")
    assert nodes.pop(nowhere)["ip"] is None
    assert {url: node["ip"] for url, node in nodes.items()} == {url: hosts[nodes[url]["domain"]] for url in links}
    assert {(node["depth"], node["state"], node["parent"]) for node in nodes.values()} == {(1, "excluded", root["id"])}
    assert {hit.host for hit in web.hits()} == {"root.test"}
    assert (shown["clock"]["addresses"], shown["clock"]["cnames"]) == ("127.0.1.7", "edge.h7.test")
    assert shown["clock"]["requests"] == 0


@pytest.mark.requirement("A-29", "K29")
@pytest.mark.parametrize(
    ("page", "status"),
    [(Page(status=404), 404), (Page(status=500), 502), (Page(raw=b"no HTTP\r\n\r\n"), 502), (NEVER, 504)],
    ids=["not-found", "http-error", "broken", "silent"],
)
def test_a_root_that_cannot_be_had_is_no_crawl(face: Face, web: TestWeb, page: Page, status: int) -> None:
    web.add({"127.0.0.1": {"/": page}})
    settings = OWN | ({"fetch.total_timeout_ms": 500} if page is NEVER else {})
    with working(face.place):
        answer = face.client.post(CRAWLS, json={"url": web.url("/"), "depth": 1, "settings": settings})
    assert (answer.status_code, answer.json()["error"]["field"]) == (status, "url")
    assert face.catalog.crawls() == []


@pytest.mark.requirement("A-20", "A-29", "K29")
@pytest.mark.parametrize(("rest", "reason"), [("backoff", "backoff"), ("", "delay")])
def test_a_crawl_of_a_host_that_rests_is_accepted_and_waits(face: Face, rest: str, reason: str) -> None:
    resting = HostClock("a.test", 600_000, 1000, Pace(), rest, 5)
    Session(FrontierOf(face)).flush(clocks=[resting])
    now = datetime.now(UTC)
    answer = face.client.post(CRAWLS, json={"url": "http://a.test/", "depth": 1})
    assert answer.status_code == 202, answer.text
    made, waiting = answer.json(), answer.json()["waiting"]
    assert made.keys() >= MESSAGE
    assert (waiting["reason"], made["status"]) == (reason, "running")
    assert "a.test" in waiting["message"] or "its host rests" in waiting["message"]
    until = datetime.fromisoformat(waiting["until"])
    assert timedelta(minutes=5) < until - now < timedelta(minutes=11)
    assert 300 < waiting["seconds"] <= 600
    assert int(answer.headers["Retry-After"]) >= waiting["seconds"]
    assert face.catalog.crawl(made["id"]).state is CrawlState.RUNNING


@pytest.mark.requirement("A-29", "K11")
@pytest.mark.parametrize("status", [429, 503])
def test_a_root_that_asks_for_patience_is_waited_for(face: Face, web: TestWeb, status: int) -> None:
    web.add({"127.0.0.1": {"/": Page(status=status, headers=(("Retry-After", "600"),))}})
    settings = OWN | {"retry.max": 2}
    with working(face.place):
        answer = face.client.post(CRAWLS, json={"url": web.url("/"), "depth": 1, "settings": settings})
        assert answer.status_code == 202, answer.text
        assert answer.json()["waiting"]["reason"] == "retry_after"
        assert face.catalog.crawl(answer.json()["id"]).state is CrawlState.RUNNING


@pytest.mark.requirement("A-29")
def test_a_root_whose_turn_has_not_come_is_waited_for(face: Face) -> None:
    """A worker lives, but takes nothing: nobody has blamed the site yet."""
    Session(FrontierOf(face))
    answer = face.client.post(CRAWLS, params={"wait": 1}, json={"url": "http://a.test/", "depth": 1})
    assert (answer.status_code, answer.json()["waiting"]["reason"]) == (202, "turn")
    assert answer.json()["waiting"]["until"] is None


@pytest.mark.requirement("A-29")
def test_a_root_whose_name_does_not_exist_is_a_bad_gateway(tmp_path: Path) -> None:
    with faced("sqlite", tmp_path) as face, working(face.place):
        answer = face.client.post(CRAWLS, json={"url": "http://never.invalid/", "depth": 1, "settings": OWN})
    assert answer.status_code in (502, 504)  # 504: a machine whose DNS server does not answer


@pytest.mark.requirement("G-04", "A-44")
def test_crawls_of_one_site_do_not_meet(face: Face, web: TestWeb) -> None:
    web.add({"127.0.0.1": {"/": html("/a"), "/a": html("/b"), "/b": html()}})
    with working(face.place):
        made = [
            face.client.post(CRAWLS, json={"url": web.url("/"), "depth": depth, "settings": OWN}).json()["crawl_id"]
            for depth in (1, 3)
        ]
        totals = [final_message(face, crawl)["total"] for crawl in made]
    assert totals == [2, 3]
