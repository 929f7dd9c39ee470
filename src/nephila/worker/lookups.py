"""Names of hosts that were only discovered, looked up by their owner beside politeness: DNS is no request to the host.

A queue stays held until the look-up of its host's name is over: so only the owner writes the host's row, and no crawl
completes before. Everything here runs on the event loop.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from nephila import log as logs
from nephila.fetch.resolver import DnsAnswer, Resolver
from nephila.worker.holdings import Holdings
from nephila.worker.scheduler import Host, Queue

LOOKUPS_MAX = 64  # at a time: a resolver is somebody's, too
FAILED_MAX = 50_000  # names remembered: as many hosts as a worker holds


class Lookups:
    """Of one session. `found` is told the host and the answer of each look-up that brought addresses."""

    def __init__(self, resolver: Resolver, held: Holdings, found: Callable[[Host, DnsAnswer], None]) -> None:
        self._resolver = resolver
        self._held = held
        self._found = found
        self._waiting: deque[tuple[Queue, str]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: dict[str, None] = {}  # not asked again here, however often their queues are loaded

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def add(self, nameless: Iterable[tuple[Queue, str]]) -> None:
        for queue, name in nameless:
            if name not in self._failed:
                queue.in_flight += 1
                self._waiting.append((queue, name))
        self._start()

    def cancel(self) -> None:
        """The session is over."""
        self._waiting.clear()
        for task in self._tasks:
            task.cancel()

    def _start(self) -> None:
        while self._waiting and len(self._tasks) < LOOKUPS_MAX:
            queue, name = self._waiting.popleft()
            if not queue.crawl.running or queue.host.part in self._held.giving:
                self._release(queue)  # nobody wants to know any more, or the next owner asks
                continue
            task = asyncio.get_running_loop().create_task(self._look_up(queue, name))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    async def _look_up(self, queue: Queue, name: str) -> None:
        try:
            answer = await self._resolver.resolve(name)
            if answer.addresses:
                self._found(queue.host, answer)
            else:
                self._give_up(name)
        finally:
            self._release(queue)

    def _give_up(self, name: str) -> None:
        """No error of any URL: the fetch, should it come to one, asks anew and decides for itself."""
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
            logs.component_log("worker").error("look_up_broke", exc_info=fault)
        self._start()
