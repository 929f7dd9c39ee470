"""Supervision: what breaks is logged, rests, goes on, is shown meanwhile, and is well again."""

import asyncio
import errno
import io
import threading
from collections.abc import Iterator

import pytest
import structlog

from nephila import log, supervision
from nephila.clock import VirtualClock
from nephila.settings import LogFormat, LogLevel
from nephila.supervision import CALM_MS, REST_MS, REST_MS_MAX, BackgroundPart
from tests.patience import PATIENCE_SECONDS, until

FAULTS = [RuntimeError("unexpected"), OSError(errno.EMFILE, "Too many open files"), MemoryError()]


@pytest.fixture(autouse=True)
def said() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    log.configure(LogLevel.INFO, LogFormat.CONSOLE, stream)
    yield stream
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def _short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "REST_MS", 1.0)


def runs_still(name: str) -> bool:
    """Other tests of this process may have parts of their own."""
    return name in [part.name for part in supervision._all()]


def broken(part: BackgroundPart, *faults: Exception) -> None:
    for fault in faults:
        with part.guarded():
            raise fault


# --- a part


def test_rests_double_and_end(clock: VirtualClock) -> None:
    part = BackgroundPart("mill", clock=clock, rest_ms=REST_MS)
    rests = []
    for _ in range(8):
        broken(part, FAULTS[0])
        rests.append(part.rest_seconds)
        clock.advance(part.rest_seconds * 1000)
    assert rests == [1, 2, 4, 8, 16, 30, 30, 30] and max(rests) == REST_MS_MAX / 1000
    part.well()
    broken(part, FAULTS[0])
    assert part.rest_seconds == 1


def test_it_is_in_trouble_until_it_is_well_or_calm(clock: VirtualClock, said: io.StringIO) -> None:
    part = BackgroundPart("mill", clock=clock, rest_ms=REST_MS)
    assert part.trouble == ""
    broken(part, FAULTS[1])
    assert part.trouble == "a fault of ours: OSError(24, 'Too many open files')"
    assert "part_broke part=mill faults=1 again_in_seconds=1.0" in said.getvalue()
    part.well()
    assert part.trouble == ""
    clock.advance(REST_MS)
    broken(part, FAULTS[0])
    clock.advance(REST_MS + CALM_MS)
    assert part.trouble != ""
    clock.advance(1)
    assert (part.trouble, part.faults) == ("", 0)


def test_faults_within_a_rest_are_one(clock: VirtualClock, said: io.StringIO) -> None:
    part = BackgroundPart("mill", clock=clock)
    broken(part, *FAULTS * 100)
    assert part.faults == said.getvalue().count("part_broke") == 1


def test_what_is_let_through_breaks_nothing(clock: VirtualClock) -> None:
    part = BackgroundPart("mill", clock=clock)
    with pytest.raises(KeyError), part.guarded(letting=(KeyError, ValueError)):
        raise KeyError
    assert part.trouble == ""


def test_a_parent_that_does_not_listen_breaks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, str]] = []

    def tell(name: str, trouble: str) -> None:
        told.append((name, trouble))
        raise BrokenPipeError

    monkeypatch.setattr(supervision, "_tell", tell)
    broken(BackgroundPart("mill"), FAULTS[0])
    assert told == [("mill", "a fault of ours: RuntimeError('unexpected')")]


# --- threads and tasks


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_thread_goes_on_after_a_fault(fault: Exception, said: io.StringIO) -> None:
    runs, again, ended = [], threading.Event(), threading.Event()

    def run(part: BackgroundPart) -> None:
        runs.append(part)
        if len(runs) < 3:
            raise fault
        assert again.wait(PATIENCE_SECONDS)
        part.well()
        assert ended.wait(PATIENCE_SECONDS)

    thread = supervision.start_thread("mill", run, vital=True)
    until(lambda: len(runs) == 3)
    assert supervision.troubles()["mill"] == f"a fault of ours: {fault!r}"
    assert supervision.dead_parts() == []
    assert said.getvalue().count("part_broke part=mill") == 2
    again.set()
    until(lambda: "mill" not in supervision.troubles())
    ended.set()
    thread.join(PATIENCE_SECONDS)
    assert not runs_still("mill")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_a_task_goes_on_after_a_fault(fault: Exception, said: io.StringIO) -> None:
    runs, again, ended = [], asyncio.Event(), asyncio.Event()

    async def run(part: BackgroundPart) -> None:
        runs.append(part)
        if len(runs) < 3:
            raise fault
        await again.wait()
        part.well()
        await ended.wait()

    task = supervision.start_task("mill", run)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(runs) < 3:  # noqa: ASYNC110 - its rests are of the loop
            await asyncio.sleep(0)
    assert supervision.troubles()["mill"] == f"a fault of ours: {fault!r}"
    assert said.getvalue().count("part_broke part=mill") == 2
    again.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert "mill" not in supervision.troubles()
    ended.set()
    await task
    assert not runs_still("mill")


async def test_a_task_that_is_cancelled_leaves() -> None:
    async def run(part: BackgroundPart) -> None:
        await asyncio.Event().wait()

    for turns in (0, 1):  # before its first turn, and after
        task = supervision.start_task("mill", run)
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not runs_still("mill")


def test_a_rest_ends_with_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "REST_MS", 3_600_000.0)
    monkeypatch.setattr(supervision, "REST_MS_MAX", 3_600_000.0)
    ended = threading.Event()

    def run(part: BackgroundPart) -> None:
        raise FAULTS[0]

    thread = supervision.start_thread("mill", run, ended=ended)
    until(lambda: "mill" in supervision.troubles())
    ended.set()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive() and not runs_still("mill")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("vital", [True, False])
def test_a_thread_that_ends_for_good_is_dead(vital: bool, said: io.StringIO) -> None:
    def run(part: BackgroundPart) -> None:
        raise SystemExit  # no Exception: Python ends the thread without a word

    thread = supervision.start_thread("mill", run, vital=vital)
    thread.join(PATIENCE_SECONDS)
    try:
        assert supervision.dead_parts() == (["mill"] if vital else [])
        assert supervision.troubles()["mill"] == "it has ended"
        assert "part_ended part=mill" in said.getvalue()
    finally:
        supervision._parts -= {part for part in supervision._all() if part.name == "mill"}


# --- nets


def test_a_thread_of_a_library_that_ends_is_logged(monkeypatch: pytest.MonkeyPatch, said: io.StringIO) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    supervision.log_strays()
    stray = threading.Thread(target=lambda: 1 / 0, name="stray")
    stray.start()
    stray.join(PATIENCE_SECONDS)
    assert "thread_broke thread=stray" in said.getvalue() and "ZeroDivisionError" in said.getvalue()


async def test_a_callback_or_task_that_nobody_watches_ends_the_process(said: io.StringIO) -> None:
    loop, ends = asyncio.get_running_loop(), []
    supervision.end_with_faults(loop, lambda: ends.append(said.getvalue()))
    loop.call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)
    assert len(ends) == 1 and "loop_broke" in ends[0] and "ZeroDivisionError" in ends[0], "logged before the end"

    async def breaks() -> None:
        raise FAULTS[0]

    task = asyncio.create_task(breaks())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del task
    assert len(ends) == 2
    loop.call_exception_handler({"message": "data_received failed", "exception": FAULTS[0], "protocol": object()})
    loop.call_exception_handler({"message": "a warning"})
    assert len(ends) == 2 and said.getvalue().count("loop_broke") == 4
