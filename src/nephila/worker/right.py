"""`SendRight`: whether requests may start now. `StoreThread`: where the store is called, and whether it answers."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from nephila import log as logs
from nephila.errors import StoreDamaged, StoreUnavailable

T = TypeVar("T")
Renew = Callable[[], Awaitable[bool]]

RETRY_MS_MIN, RETRY_MS_MAX = 500.0, 5000.0  # between two calls of a store that does not answer
FOREVER = float("inf")


class StoreThread:
    """The flush thread: every call of the store runs there, one at a time, so that none blocks the event loop."""

    def __init__(self, report: Callable[[dict[str, Any]], None]) -> None:
        self.stopping = False  # the worker ends: nobody waits for a store that does not answer
        # The store refused a call, and has committed no flush since. A store that is full still takes a small write,
        # like that of a new session, so only a flush proves that results can be brought.
        self.stalled = False
        self._report = report
        self._log = logs.component_log("worker")
        self._loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(1, "flush")

    async def call(self, function: Callable[..., T], *values: Any) -> T:
        return await self._loop.run_in_executor(self._pool, function, *values)

    async def insist(
        self, function: Callable[..., T], *values: Any, renew: Renew | None = None, wait_ms_max: float = RETRY_MS_MAX
    ) -> T | None:
        """Call until the store answers. None: it does not, and the worker is stopping. StoreDamaged: it never will.

        `renew` keeps the lease meanwhile: a store that refuses a flush may take that. False: it does not answer at all.
        """
        wait = RETRY_MS_MIN
        answers = True
        while True:
            try:
                if answers:
                    return await self.call(function, *values)
            except StoreDamaged:
                raise
            except StoreUnavailable as error:
                self.stall(str(error))
            if self.stopping:
                return None
            await asyncio.sleep(min(wait, wait_ms_max) / 1000)
            wait = min(wait * 2, RETRY_MS_MAX)
            answers = renew is None or await renew()

    def stall(self, reason: str) -> None:
        if not self.stalled:
            self.stalled = True
            self._report({"event": "stalled", "reason": reason})
            self._log.warning("stalled", reason=reason)

    def go_on(self) -> None:
        """The store has committed a flush."""
        if self.stalled:
            self.stalled = False
            self._report({"event": "going_on"})
            self._log.warning("going_on")

    def shutdown(self) -> None:
        self._pool.shutdown()


class SendRight:
    """The right of one session to start requests. It ends before the lease does, by CLOCK_BOOTTIME."""

    def __init__(self, store: StoreThread) -> None:
        self.fenced = False  # another owns the hosts of this session
        self.until_tick = FOREVER
        self._store = store

    @property
    def over(self) -> bool:
        """True: it does not come back in this session."""
        return self.fenced or self._store.stopping

    def holds(self, now: float) -> bool:
        return now < self.until_tick and not (self.over or self._store.stalled)
