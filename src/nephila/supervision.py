"""Supervision: no thread or task that works in the background ends unseen.

`start_thread` and `start_task` run a part again after a fault of ours, with rests that double, and log each fault.
`troubles` and `dead_parts` say what /readyz and /livez show. A test finds threads and tasks that are started without.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from nephila import log
from nephila.clock import Clock, SystemClock

REST_MS, REST_MS_MAX = 1000.0, 30_000.0  # after a fault, doubling
CALM_MS = 30_000.0  # without a fault since it went on: the part is well again

_parts: "set[BackgroundPart]" = set()  # the threads and tasks of this process that run
_lock = threading.Lock()
_tell: Callable[[str, str], None] = lambda name, trouble: None  # noqa: E731


class BackgroundPart:
    """How a part fares. Whoever runs it writes; any thread may read."""

    def __init__(
        self, name: str, *, vital: bool = False, clock: Clock | None = None, rest_ms: float | None = None
    ) -> None:
        """`vital`: without it the process had better be started anew."""
        self.name = name
        self.vital = vital
        self.faults = 0  # in a row
        self.alive: Callable[[], bool] = lambda: True
        self._clock = clock or SystemClock()
        self._rest_ms = rest_ms
        self._trouble = ""
        self._rest_until_tick = float("-inf")

    @property
    def trouble(self) -> str:
        """Why it does not work, or did not a moment ago; empty where all is well."""
        if not self.alive():
            return "it has ended"
        if self._trouble and self._clock.tick_ms() > self._rest_until_tick + CALM_MS:
            self.well()
        return self._trouble

    @property
    def rest_seconds(self) -> float:
        """What is left of the rest after the last fault; 0: it may go on."""
        return max(self._rest_until_tick - self._clock.tick_ms(), 0.0) / 1000

    def well(self) -> None:
        self.faults, self._trouble = 0, ""

    def broke(self, fault: Exception) -> None:
        """Begins a rest and logs the fault. Faults within a rest are of one kind: a part that goes on, line by line,
        must not fill the log."""
        if self.rest_seconds:
            return
        self.note(f"a fault of ours: {fault!r}")
        again = round(self.rest_seconds, 1)
        fields = {"part": self.name, "faults": self.faults, "again_in_seconds": again}
        log.component_log("supervision").error("part_broke", **fields, exc_info=fault)
        with suppress(OSError, ValueError):  # nobody listens any more
            _tell(self.name, self._trouble)

    def note(self, trouble: str) -> None:
        """Begins a rest, and leaves the log to the caller."""
        self.faults += 1
        self._trouble = trouble
        rest = (self._rest_ms or REST_MS) * 2 ** min(self.faults - 1, 10)
        self._rest_until_tick = self._clock.tick_ms() + min(rest, REST_MS_MAX)

    @contextmanager
    def guarded(self, *, letting: type[Exception] | tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """A fault inside breaks the part and goes no further, but for those that are let through."""
        try:
            yield
        except Exception as fault:
            if isinstance(fault, letting):
                raise
            self.broke(fault)


def start_thread(
    name: str,
    run: Callable[[BackgroundPart], object],
    *,
    vital: bool = False,
    daemon: bool = True,
    ended: threading.Event | None = None,
) -> threading.Thread:
    """A thread that runs until `run` returns. `ended` cuts a rest short and is the end. RuntimeError: no thread could
    be started."""
    part = BackgroundPart(name, vital=vital)
    thread = threading.Thread(target=_keep, args=(part, run, ended or threading.Event()), name=name, daemon=daemon)
    thread.start()
    return thread


def _keep(part: BackgroundPart, run: Callable[[BackgroundPart], object], ended: threading.Event) -> None:
    part.alive = threading.current_thread().is_alive
    _enter(part)
    as_meant = False
    try:
        while not as_meant:
            with part.guarded():
                run(part)
                as_meant = True
            as_meant = as_meant or ended.wait(part.rest_seconds)
    finally:
        if as_meant:
            _leave(part)
        else:  # by what is no Exception: it stays in the list, as dead
            log.component_log("supervision").error("part_ended", part=part.name)


def start_task(
    name: str, run: Callable[[BackgroundPart], Awaitable[object]], *, vital: bool = False
) -> "asyncio.Task[None]":
    """A task that runs until `run` returns or it is cancelled."""
    part = BackgroundPart(name, vital=vital)
    task = asyncio.get_running_loop().create_task(_keep_on(part, run), name=name)
    _enter(part)  # and so the task is not collected while it runs
    task.add_done_callback(lambda _: _leave(part))
    return task


async def _keep_on(part: BackgroundPart, run: Callable[[BackgroundPart], Awaitable[object]]) -> None:
    while True:
        with part.guarded():
            await run(part)
            return
        await asyncio.sleep(part.rest_seconds)


def _enter(part: BackgroundPart) -> None:
    with _lock:
        _parts.add(part)


def _leave(part: BackgroundPart) -> None:
    with _lock:
        _parts.discard(part)


def _all() -> list[BackgroundPart]:
    with _lock:
        return list(_parts)


def troubles() -> dict[str, str]:
    """The threads and tasks of this process that are in trouble, and why. Any thread may ask."""
    found = {part.name: part.trouble for part in _all()}
    return {name: trouble for name, trouble in sorted(found.items()) if trouble}


def dead_parts() -> list[str]:
    """The vital ones that have ended and do not come back."""
    return sorted(part.name for part in _all() if part.vital and not part.alive())


def tell_faults(tell: Callable[[str, str], None]) -> None:
    """Call `tell` with the name and trouble of every part that breaks: a worker's parent shows what is wrong in it."""
    global _tell
    _tell = tell


def log_strays() -> None:
    """Log what ends a thread that a library has started: standard error may lead nowhere."""

    def stray(found: threading.ExceptHookArgs) -> None:
        name = found.thread.name if found.thread else ""
        log.component_log("supervision").error("thread_broke", thread=name, exc_info=found.exc_value)

    threading.excepthook = stray


def end_with_faults(loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
    """Call `end` for a fault in a callback or task that nobody handles: what it should have done stays undone.

    Others are logged only: a protocol that fails loses its connection, and who owns that sees it.
    """

    def handle(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        fault = context.get("exception")
        log.component_log("supervision").error("loop_broke", text=context.get("message", ""), exc_info=fault)
        if fault is not None and not context.keys().isdisjoint(("handle", "future", "task")):
            end()

    loop.set_exception_handler(handle)
