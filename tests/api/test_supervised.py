"""Unexpected faults, in each part of `nephila serve`: logged, shown by /readyz, and gone when it is well."""

import asyncio
import errno
import io
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from websockets.asyncio.client import connect as websockets_connect
from websockets.exceptions import ConnectionClosed

from nephila import log, supervision
from nephila.api import live
from nephila.api.connections import Connections
from nephila.api.serving import LocalCrew
from nephila.clock import VirtualClock
from nephila.control.access import make_token, revoke_token
from nephila.control.health import STEP_MS_MAX
from nephila.control.progress import Progress
from nephila.errors import NephilaError
from nephila.frontier.tokens import Access
from nephila.settings import LogFormat, LogLevel
from tests.api.live_server import LiveServer, live_server, settings_of
from tests.patience import PATIENCE_SECONDS, until

FAULTS = [RuntimeError("unexpected"), OSError(errno.EMFILE, "Too many open files")]
both = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)


@pytest.fixture(autouse=True)
def said() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    log.configure(LogLevel.INFO, LogFormat.CONSOLE, stream)
    yield stream
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def _short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "REST_MS", 1.0)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with live_server(settings_of(data=tmp_path)) as made:
        yield made


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[LiveServer]:
    """Not for tests that ask it while it keeps this deadline: a busy machine exceeds it."""
    with live_server(settings_of(data=tmp_path, request_head_seconds=0.1)) as made:
        yield made


class Breaking:
    """Stands in for a function and raises while `fault` is set."""

    def __init__(self, function: Callable[..., Any], fault: Exception) -> None:
        self.function, self.fault, self.calls = function, fault, 0
        self.broken = False

    def __get__(self, owner: object, kind: type) -> Callable[..., Any]:
        return lambda *values, **named: self(owner, *values, **named)

    def __call__(self, *values: Any, **named: Any) -> Any:
        self.calls += 1
        if self.broken:
            raise self.fault
        return self.function(*values, **named)


def connect(url: str, **options: Any) -> websockets_connect:
    return websockets_connect(url, open_timeout=PATIENCE_SECONDS, ping_interval=None, **options)


async def asked(server: LiveServer, path: str) -> Any:
    return (await asyncio.to_thread(server.get, path)).json()


async def settled(condition: Callable[[], bool]) -> None:
    await asyncio.to_thread(until, condition)


@both
async def test_who_tells_of_a_crawl(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch, fault: Exception, said: io.StringIO
) -> None:
    breaking = Breaking(Progress.snapshot, fault)
    monkeypatch.setattr(Progress, "snapshot", breaking)
    crawl = server.crawl()
    name = f"live progress of crawl {crawl.id}"
    async with connect(server.ws(crawl.id)) as client:
        await client.recv()
        breaking.broken = True
        await settled(lambda: name in supervision.troubles())
        ready = await asyncio.to_thread(server.get, "/readyz")
        assert (ready.status_code, ready.json()["troubles"]) == (200, {name: f"a fault of ours: {fault!r}"})
        assert f"part_broke part='{name}'" in said.getvalue()
        breaking.broken = False
        async with asyncio.timeout(PATIENCE_SECONDS):
            for _ in range(live.LIVE_QUEUE_MAX + 2):  # more than was queued before
                assert json.loads(await client.recv())["status"] == "running"
        await settled(lambda: name not in supervision.troubles())  # those messages may all be older than the fault
        assert await asked(server, "/readyz") == {"status": "ok"}
    await settled(lambda: name not in [part.name for part in supervision._all()])


async def test_a_reader_that_cannot_be_started_keeps_nobody_waiting(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the first question would never be answered, and all others wait for it."""
    crawl = server.crawl()
    submit = server.hub._thread.submit

    def broken(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(server.hub._thread, "submit", broken)
    path = f"/api/v1/crawls/{crawl.id}/progress"
    assert (await asyncio.to_thread(server.get, path)).status_code == 503
    monkeypatch.setattr(server.hub._thread, "submit", submit)
    assert (await asyncio.to_thread(server.get, path)).status_code == 200


@both
async def test_who_watches_the_token_of_a_stream(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch, fault: Exception, said: io.StringIO
) -> None:
    """Whoever had ended unseen would have left a stream open to a token that was revoked."""
    monkeypatch.setattr(live, "ACCESS_SECONDS", 0.01)
    breaking = Breaking(live.admit_socket, fault)
    monkeypatch.setattr(live, "admit_socket", breaking)
    make_token(server.store.tokens, "admin", Access.ADMIN)
    token, secret = make_token(server.store.tokens, "reader", Access.READ)
    server.services.gate.forget()
    crawl = server.crawl()
    async with connect(server.ws(crawl.id), additional_headers={"Authorization": f"Bearer {secret}"}) as client:
        await client.recv()
        breaking.broken = True
        await settled(lambda: "access of a stream" in supervision.troubles())
        await settled(lambda: "part_broke part='access of a stream'" in said.getvalue())  # a moment later
        breaking.broken = False
        revoke_token(server.store.tokens, token.id)
        server.services.gate.forget()
        with pytest.raises(ConnectionClosed):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    await client.recv()
        assert client.close_code == live.REVOKED.code


async def test_a_stream_that_breaks_says_so(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch, said: io.StringIO
) -> None:
    crawl = server.crawl()
    async with connect(server.ws(crawl.id)) as client:
        await client.recv()
        breaking = Breaking(live.Client.next, RuntimeError("unexpected"))
        monkeypatch.setattr(live.Client, "next", breaking)
        breaking.broken = True
        with pytest.raises(ConnectionClosed):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    await client.recv()
        assert client.close_code == live.BROKEN.code, "not that the crawl is over"
        assert "live_stream_broke" in said.getvalue()


@both
async def test_who_ends_slow_connections(
    strict: LiveServer, monkeypatch: pytest.MonkeyPatch, fault: Exception, said: io.StringIO
) -> None:
    breaking = Breaking(Connections.look, fault)
    monkeypatch.setattr(Connections, "look", breaking)
    breaking.broken = True
    with socket.create_connection(("127.0.0.1", strict.port)) as silent:
        await settled(lambda: breaking.calls > 2)
        assert "deadlines of connections" in (await asked(strict, "/readyz"))["troubles"]
        assert "part_broke part='deadlines of connections'" in said.getvalue()
        breaking.broken = False
        silent.settimeout(PATIENCE_SECONDS)
        assert (await asyncio.to_thread(silent.recv, 1000)).startswith(b"HTTP/1.1 408")
    await settled(lambda: "deadlines of connections" not in [part.name for part in supervision._all()])


# --- the crew


class Serving:
    """A crew whose `serve` does what is said, one after the other."""

    def __init__(self, *steps: BaseException | None) -> None:
        self.steps = list(steps)
        self.served = 0
        self.closed = False

    def serve(self, signals: Callable[[], int], sleep: Callable[[float], None]) -> None:
        self.served += 1
        step = self.steps.pop(0) if self.steps else None
        if step is not None:
            raise step
        while not signals():
            sleep(0.01)

    def close(self) -> None:
        self.closed = True


def crew_of(*steps: BaseException | None) -> tuple[LocalCrew, Any]:
    serving: Any = Serving(*steps)
    return LocalCrew(serving), serving


@both
def test_the_thread_of_the_crew_goes_on(server: LiveServer, fault: Exception, said: io.StringIO) -> None:
    crew, serving = crew_of(fault, fault, None)
    crew.start(lambda: pytest.fail("nothing that the operator must mend"))
    until(lambda: serving.served == 3)
    assert server.get("/readyz").json()["troubles"] == {"crew": f"a fault of ours: {fault!r}"}
    assert server.get("/livez").status_code == 200
    assert said.getvalue().count("part_broke part=crew") == 2
    crew.stop()
    crew.join()
    assert serving.closed and server.get("/readyz").json() == {"status": "ok"}


def test_what_the_operator_must_mend_ends_the_server(server: LiveServer) -> None:
    broke: list[bool] = []
    crew, serving = crew_of(NephilaError("the workers cannot start"))
    crew.start(lambda: broke.append(True))
    until(lambda: broke)
    crew.join()
    assert str(crew.fault) == "the workers cannot start" and serving.served == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_vital_part_that_is_dead_fails_the_probe_of_life(server: LiveServer, said: io.StringIO) -> None:
    crew, _ = crew_of(SystemExit())
    crew.start(lambda: None)
    until(supervision.dead_parts)
    try:
        answer = server.get("/livez")
        assert (answer.status_code, answer.json()["error"]["message"]) == (503, "ended for good: crew")
        assert server.get("/readyz").json()["troubles"] == {"crew": "it has ended"}
        assert "part_ended part=crew" in said.getvalue()
    finally:
        supervision._parts -= {part for part in supervision._all() if part.name == "crew"}
    assert server.get("/livez").status_code == 200


def test_a_crew_that_stands_still_is_shown(clock: VirtualClock) -> None:
    crew, serving = crew_of()
    serving.clock, serving.stepped_tick, serving.troubles = clock, float("-inf"), {}
    crew.start(lambda: None)
    assert crew.troubles == {}, "the first step is to come"
    serving.stepped_tick = clock.tick_ms()
    clock.advance(STEP_MS_MAX)
    assert crew.troubles == {}
    clock.advance(1000)
    assert crew.troubles == {"upkeep": "it has stood still for 61 s"}
    crew.stop()
    crew.join()


def test_processes_that_died_are_shown(server: LiveServer) -> None:
    crew: Any = SimpleNamespace(trouble="", troubles={"worker 0": "it died with exit code -9"})
    object.__setattr__(server.services, "crew", crew)
    assert server.get("/readyz").json() == {"status": "ok", "troubles": {"worker 0": "it died with exit code -9"}}
    crew.troubles = {}
    assert server.get("/readyz").json() == {"status": "ok"}
