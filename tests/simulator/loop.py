"""`VirtualLoop`: the event loop of one simulated process. The world steps it, one callback at a time.

It is asyncio's own loop without a selector: `time` is the world's, timers and callbacks run when the world says so,
and what a thread would do is handed to the process's owner (`in_thread`), which does it in its own time. To kill the
process is to step the loop no more.
"""

import asyncio
from asyncio import events
from collections.abc import Callable
from concurrent.futures import Executor
from heapq import heappop
from typing import Any

SLACK_SECONDS = 1e-9  # rounding of milliseconds to seconds

InThread = Callable[["asyncio.Future[Any]", Callable[..., Any], tuple[Any, ...]], None]


class VirtualLoop(asyncio.BaseEventLoop):
    _ready: Any  # of BaseEventLoop: callbacks, and timers by their time
    _scheduled: list[Any]

    def __init__(self, now_ms: Callable[[], float], in_thread: InThread) -> None:
        super().__init__()
        self._now_ms = now_ms
        self._in_thread = in_thread
        self._turn = 0  # callbacks left of this round
        self.callbacks = 0

    def time(self) -> float:
        return self._now_ms() / 1000

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        future = self.create_future()
        self._in_thread(future, func, args)
        return future

    def next_ms(self) -> float | None:
        """When it has something to do: now, at its next timer, or never."""
        if self._ready:
            return self._now_ms()
        scheduled = self._scheduled
        while scheduled and scheduled[0]._cancelled:
            heappop(scheduled)._scheduled = False
        return scheduled[0].when() * 1000 if scheduled else None

    def step(self) -> None:
        """Run one callback. Timers that are due come first in each round, as in libuv."""
        if self._turn <= 0:
            self._take_timers()
            self._turn = len(self._ready)
        self._turn -= 1
        if not self._ready:
            return
        handle = self._ready.popleft()
        if handle._cancelled:
            return
        self.callbacks += 1
        events._set_running_loop(self)
        try:
            handle._run()
        finally:
            events._set_running_loop(None)

    def _take_timers(self) -> None:
        end, due = self.time() + SLACK_SECONDS, []
        while self._scheduled and self._scheduled[0].when() <= end:
            handle = heappop(self._scheduled)
            handle._scheduled = False
            if not handle._cancelled:
                due.append(handle)
        self._ready.extendleft(reversed(due))

    def wake(self) -> None:
        """The process was frozen: what became due meanwhile runs before what was about to run."""
        self._turn = 0

    def end(self, tasks: list["asyncio.Task[Any]"]) -> None:
        """Forget everything, after the simulation: suspended coroutines are closed where nothing can hear them."""
        self.set_exception_handler(lambda loop, context: None)
        self._ready.clear()
        self._scheduled.clear()
        for task in tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.close()

    # --- what a selector would be asked

    def _write_to_self(self) -> None: ...

    def _process_events(self, event_list: list[Any]) -> None: ...
