"""Health, readiness and /metrics of the control plane, asked over real connections; what its log says."""

import asyncio
import io
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import structlog

from nephila import log, metrics, wiring
from nephila.api.routes.health import CRAWLS_SHOWN_MAX, LOOK_MS, Gauges, Readiness, summed
from nephila.api.services import OpenStore, StorePool
from nephila.clock import VirtualClock
from nephila.control import crawls
from nephila.control.access import make_token
from nephila.errors import StoreUnavailable
from nephila.frontier.tokens import Access
from nephila.metrics import Meter, Place
from nephila.profiles import crawl_settings
from nephila.settings import LogFormat, LogLevel
from tests import postgres
from tests.api.live_server import LiveServer, live_server, settings_of
from tests.api.served import Workers, served
from tests.patience import PATIENCE_SECONDS, until

LONG_AGO = 0


@pytest.fixture(params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveServer]:
    with ExitStack() as stack:
        store = stack.enter_context(postgres.database()) if request.param == "postgres" else None
        yield stack.enter_context(live_server(settings_of(data=tmp_path, store=store)))


def no_store() -> OpenStore:
    raise StoreUnavailable("the database does not answer")


# --- health


@pytest.mark.requirement("A-11", "A-28", "K39")
@pytest.mark.parametrize("path", ["/health", "/livez", "/readyz"])
def test_health_needs_no_token(server: LiveServer, path: str) -> None:
    make_token(server.store.tokens, "admin", Access.ADMIN)
    answer = server.get(path)
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


def test_upkeep_that_fails_is_not_ready(tmp_path: Path) -> None:
    with served("sqlite", tmp_path) as api, api.client() as client:
        crew = api.services.crew
        assert isinstance(crew, Workers) and client.get("/readyz").status_code == 200
        crew.trouble = "a fault of ours"
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["error"]["message"]) == (503, "a fault of ours")
        assert client.get("/livez").status_code == 200


@pytest.mark.requirement("A-28")
async def test_without_its_store_it_lives_but_is_not_ready(tmp_path: Path) -> None:
    database = postgres.Server(durable=True)
    try:
        with live_server(settings_of(data=tmp_path, store=database.url())) as server:
            until(lambda: server.get("/readyz").status_code == 200, "the store answers")
            assert server.get("/metrics").status_code == 200
            await asyncio.to_thread(database.stop_immediately)
            away = await until_status(server, 503)
            assert away["error"]["code"] == "unavailable" and away["error"]["message"]
            assert server.get("/readyz").headers["retry-after"] == "2"
            assert server.get("/livez").status_code == server.get("/health").status_code == 200
            await asyncio.to_thread(database.start)
            assert await until_status(server, 200) == {"status": "ok"}
    finally:
        database.close()


async def until_status(server: LiveServer, status: int) -> dict[str, dict[str, str]]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            answer = await asyncio.to_thread(server.get, "/readyz")
            if answer.status_code == status:
                found: dict[str, dict[str, str]] = answer.json()
                return found
            await asyncio.sleep(0.1)


def test_readiness_asks_the_store_once_a_second(clock: VirtualClock) -> None:
    asked = 0

    def counting() -> OpenStore:
        nonlocal asked
        asked += 1
        return no_store()

    readiness = Readiness(StorePool(counting), clock)
    assert [readiness.trouble() for _ in range(50)] == ["the database does not answer"] * 50
    assert asked == 1
    clock.advance(LOOK_MS)
    readiness.trouble()
    assert asked == 2


def test_the_description_has_them_with_their_access(server: LiveServer) -> None:
    paths = server.get("/openapi.json").json()["paths"]
    watched = ("/health", "/livez", "/readyz", "/metrics", "/api/v1/crawls/{crawl}/events")
    assert {path: paths[path]["get"].get("x-access") for path in watched} == {
        "/health": None,
        "/livez": None,
        "/readyz": None,
        "/metrics": "read",
        "/api/v1/crawls/{crawl}/events": "read",
    }
    assert list(paths["/metrics"]["get"]["responses"]["200"]["content"]) == ["text/plain"]
    assert list(paths["/api/v1/crawls/{crawl}/events"]["get"]["responses"]["200"]["content"]) == ["text/event-stream"]


# --- metrics


@pytest.mark.requirement("A-10", "M-09", "M-11")
def test_metrics_tell_what_is_in_the_store(server: LiveServer) -> None:
    crawl = server.crawl()
    page = server.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    lines = page.text.splitlines()
    for line in (
        f'crawl_urls_queued_gauge{{crawl="{crawl.id}"}} 1.0',
        f'crawl_urls_gauge{{crawl="{crawl.id}"}} 1.0',
        f'crawl_urls_failed_gauge{{crawl="{crawl.id}"}} 0.0',
        'crawl_runs_gauge{state="running"} 1.0',
        "crawl_runs_started_total 1.0",
        "crawl_runs_completed_total 0.0",
        "crawl_workers_alive 0.0",
        "crawl_store_up 1.0",
    ):
        assert line in lines
    assert any(line.startswith("process_cpu_seconds_total ") for line in lines)
    assert any(line.startswith("process_resident_memory_bytes ") for line in lines)


def test_metrics_need_a_token_unless_they_are_public(tmp_path: Path) -> None:
    with live_server(settings_of(data=tmp_path)) as server:
        _, secret = make_token(server.store.tokens, "prometheus", Access.READ)
        assert server.get("/metrics").status_code == 401
        assert server.get("/metrics", Authorization="Bearer nph_wrong").status_code == 401
        assert server.get("/metrics", Authorization=f"Bearer {secret}").status_code == 200
    with live_server(settings_of(data=tmp_path, metrics_public=True)) as server:
        assert server.get("/metrics").status_code == 200


@pytest.fixture
def store(tmp_path: Path) -> wiring.Store:
    return wiring.open_store(settings_of(data=tmp_path), create=True)


def test_however_often_they_are_asked_the_store_is_read_once_a_second(store: wiring.Store, clock: VirtualClock) -> None:
    meter = Meter(Place.CONTROL)
    gauges = Gauges(StorePool(lambda: store), clock, meter, LONG_AGO)
    gauges.refresh()
    crawls.create(store.catalog, ["http://a.test/"], crawl_settings())
    gauges.refresh()
    assert meter.value(metrics.RUNS_STARTED) == 0
    clock.advance(LOOK_MS)
    gauges.refresh()
    assert meter.value(metrics.RUNS_STARTED) == 1


def test_a_counter_never_falls(store: wiring.Store, clock: VirtualClock) -> None:
    meter = Meter(Place.CONTROL)
    gauges = Gauges(StorePool(lambda: store), clock, meter, LONG_AGO)
    crawl = crawls.create(store.catalog, ["http://a.test/"], crawl_settings())
    gauges.refresh()
    store.catalog.delete(crawl.id)
    clock.advance(LOOK_MS)
    gauges.refresh()
    assert (meter.value(metrics.RUNS_STARTED), meter.value(metrics.RUNS, "running")) == (1, 0)


def test_without_a_store_the_gauges_stay_and_say_so(clock: VirtualClock) -> None:
    meter = Meter(Place.CONTROL)
    meter.set(metrics.WORKERS_ALIVE, 3)
    Gauges(StorePool(no_store), clock, meter, LONG_AGO).refresh()
    assert (meter.value(metrics.STORE_UP), meter.value(metrics.WORKERS_ALIVE)) == (0, 3)


@pytest.mark.parametrize("count", [0, 1, CRAWLS_SHOWN_MAX, CRAWLS_SHOWN_MAX + 10])
def test_series_by_crawl_are_few_and_lose_no_url(count: int) -> None:
    found = summed(dict.fromkeys(range(count), 5))
    assert len(found) <= CRAWLS_SHOWN_MAX + 1
    assert sum(found.values()) == 5 * count


# --- the log of the control plane


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    stream, root = io.StringIO(), logging.getLogger()
    before = (root.handlers[:], root.level)
    log.configure(LogLevel.INFO, LogFormat.CONSOLE, stream)
    yield stream
    root.handlers[:], root.level = before[0], before[1]
    structlog.reset_defaults()


@pytest.mark.requirement("LG-01")
def test_the_control_plane_names_itself_and_the_crawl(lines: io.StringIO) -> None:
    log.component_log("control-plane").info("crawl_created", crawl=7, by="local")
    log.flush()
    assert lines.getvalue().rstrip().endswith("[component=control-plane] crawl_run=7 crawl_created by=local")


@pytest.mark.requirement("LG-01")
def test_what_libraries_say_comes_out_as_ours(lines: io.StringIO) -> None:
    log.capture_libraries("control-plane")
    logging.getLogger("uvicorn.error").warning("a %s connection", "strange")
    logging.getLogger("uvicorn.error").info("left out")
    try:
        raise ValueError("inside")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("broke")
    first, second, *trace = lines.getvalue().splitlines()
    assert "warning [component=control-plane] library_message library=uvicorn.error" in first
    assert first.endswith("text='a strange connection'")
    assert "error   [component=control-plane] library_message" in second
    assert trace[-1] == "ValueError: inside"
