"""Names of hosts, looked up by their owner beside politeness as soon as they are held: DNS is no request to the host.

There are two reasons. A host that is to be asked has its name looked up ahead of its turn, so that neither a request in
flight nor the host's clock waits for DNS: whatever comes of it, the fetch decides. Where a crawl records the addresses
of discovered hosts (`dns.resolve_discovered`) the queue stays held until the look-up is over: so only the owner writes
the host's row, and no crawl completes before. Everything here runs on the event loop.
"""

import asyncio
from collections import deque
from collections.abc import Iterable

from nephila import log as logs
from nephila.clock import Clock
from nephila.fetch.resolver import Resolver
from nephila.models import Reason
from nephila.worker.holdings import Holdings, NewName
from nephila.worker.scheduler import Queue

LOOKUPS_MAX = 64  # at a time: resolvers deserve politeness, too
AHEAD_MAX = 4096  # may wait, before names are left to their fetches: four loads of queues
FAILED_MAX = 50_000  # names remembered: as many hosts as a worker holds


class Lookups:
    """The look-ups of one session."""

    def __init__(self, resolver: Resolver, clock: Clock, held: Holdings) -> None:
        self._resolver = resolver
        self._clock = clock
        self._held = held
        self._waiting: deque[NewName] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: dict[str, None] = {}  # not asked again here, however often their queues are loaded

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def add(self, loaded: Iterable[NewName]) -> None:
        now = self._clock.tick_ms()
        for new in loaded:
            if new.name in self._failed:
                continue
            if new.recorded:
                new.queue.in_flight += 1
            elif len(self._waiting) >= AHEAD_MAX or not self._wanted(new, now):
                continue
            self._waiting.append(new)
        self._start(now)

    def cancel(self) -> None:
        """End every look-up: the session is over."""
        self._waiting.clear()
        for task in self._tasks:
            task.cancel()

    def _start(self, now: float) -> None:
        while self._waiting and len(self._tasks) < LOOKUPS_MAX:
            new = self._waiting.popleft()
            if self._wanted(new, now):
                looking = self._record(new) if new.recorded else self._look_ahead(new.name)
                task = asyncio.get_running_loop().create_task(looking)
                self._tasks.add(task)
                task.add_done_callback(self._ended)
            elif new.recorded:
                self._release(new.queue)

    def _wanted(self, new: NewName, now: float) -> bool:
        """False: its crawl stopped, the next owner looks the name up, or its turn has come while it waited here."""
        queue = new.queue
        if new.recorded:
            return queue.crawl.running and queue.host.part not in self._held.giving
        try:
            unasked = not queue.crawl.named_to_proxy and self._resolver.unasked(new.name, now)
            return unasked and self._held.will_ask(queue, now)
        except Exception as fault:  # of ours: the row's own turn comes upon it, too, and ends one URL
            _log_fault(fault)
            return False

    async def _look_ahead(self, name: str) -> None:
        """Have the answer in the resolver's cache when the fetch wants it. That a name does not exist may be known
        ahead, too: a second answer must confirm it. Any other failure may have passed by then, or be of our making.
        """
        answer = await self._resolver.resolve(name)
        if answer.error is Reason.DNS:
            self._resolver.forget(name)

    async def _record(self, new: NewName) -> None:
        try:
            answer = await self._resolver.resolve(new.name)
            if answer.addresses:
                self._held.name_found(new.queue.host, answer)
            else:
                self._give_up(new.name)
        finally:
            self._release(new.queue)

    def _give_up(self, name: str) -> None:
        """Remember a name without addresses. It is no error of a URL: its fetch looks the name up anew and decides."""
        self._resolver.forget(name)
        self._failed[name] = None
        if len(self._failed) > FAILED_MAX:
            del self._failed[next(iter(self._failed))]

    def _release(self, queue: Queue) -> None:
        queue.in_flight -= 1
        self._held.touched.add(queue)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            _log_fault(fault)
        self._start(self._clock.tick_ms())


def _log_fault(fault: BaseException) -> None:
    logs.component_log("worker").error("look_up_broke", exc_info=fault)
