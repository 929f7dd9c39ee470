"""A thread that builds trees: lexbor works without the GIL, so the event loop goes on, and on a second core for free.

A hand-over costs some 40 us against 120 and more of a trip to a helper process; whatever gathers while the thread is
busy is handed over together. A thread cannot be ended: what could take long by its size is not for it
(heaviness.fits_thread), and whoever finds it `stuck` goes to a helper process instead.
"""

import asyncio
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from nephila.clock import Clock
from nephila.extract.html import ParsedTree, parse_tree

STUCK_MS = 500.0
HANDED_BACK = 8  # trees that are handed back together at the most
WAITING_MAX = 64

_Job = tuple[int, bytes, str | None, "asyncio.Future[ParsedTree]"]


class ParseThread:
    """Made inside the running loop; the thread starts with the first page."""

    def __init__(self, clock: Clock, mark: Callable[[int], None]) -> None:
        """`mark` is called in the thread with the URL that it parses next, 0 when it has ended."""
        self._clock = clock
        self._mark = mark
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._began_tick = 0.0  # of the page being parsed, 0: none; written by the thread, read by the loop
        self._waiting = 0

    @property
    def stuck(self) -> bool:
        began = self._began_tick
        return self._waiting >= WAITING_MAX or (began > 0 and self._clock.tick_ms() - began > STUCK_MS)

    async def parse(self, url_id: int, body: bytes, header_charset: str | None) -> ParsedTree:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="parse", daemon=True)
            self._thread.start()
        future: asyncio.Future[ParsedTree] = self._loop.create_future()
        self._waiting += 1
        self._jobs.put((url_id, body, header_charset, future))
        return await future

    def close(self) -> None:
        self._jobs.put(None)

    def _run(self) -> None:
        done: list[tuple[asyncio.Future[ParsedTree], ParsedTree | BaseException]] = []
        while (job := self._jobs.get()) is not None:
            while job is not None:
                url_id, body, header_charset, future = job
                self._began_tick = self._clock.tick_ms()
                self._mark(url_id)
                try:
                    done.append((future, parse_tree(body, header_charset)))
                except Exception as error:
                    done.append((future, error))
                self._mark(0)
                self._began_tick = 0.0
                job = self._next() if len(done) < HANDED_BACK else None
            try:
                self._loop.call_soon_threadsafe(self._hand_back, done)
            except RuntimeError:
                return  # the loop is closed
            done = []

    def _next(self) -> _Job | None:
        try:
            job = self._jobs.get_nowait()
        except Empty:
            return None
        if job is None:
            self._jobs.put(None)
        return job

    def _hand_back(self, done: list[tuple["asyncio.Future[ParsedTree]", "ParsedTree | BaseException"]]) -> None:
        self._waiting -= len(done)
        for future, result in done:
            if future.done():
                continue
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)
