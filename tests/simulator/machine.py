"""`Machine`: one worker process with the parts that it has of the world: clock, names, network, store, archive.

The worker is the real one. The machine can be killed between any two callbacks and around any commit, frozen, stopped,
and have its wall clock moved.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nephila.errors import NephilaError
from nephila.extract.page import PageJob, is_html, read_page
from nephila.extract.reader import PageReading, ParseFailure, ReadRequest
from nephila.fetch.fetcher import FetchRequest, FetchResult
from nephila.fetch.resolver import DnsAnswer, Resolver
from nephila.frontier.store import Batch, Flushed, WorkerInfo
from nephila.metrics import Meter, Place
from nephila.models import Reason
from nephila.settings import ProcessSettings
from nephila.urls.identity import host_of, hostname_of
from nephila.worker.metering import Metering
from nephila.worker.parts import WorkerParts
from nephila.worker.worker import Worker
from tests.simulator.archive import MemoryArchive
from tests.simulator.database import DUPLICATE_MS_MAX, Died, Fault, SimulatedDatabase, SimulatedFrontier
from tests.simulator.loop import VirtualLoop
from tests.simulator.web import LOOK_UP_MS, Act, Exchange, Hit, Web
from tests.simulator.world import START_MS, World

POISON = f"<p>{Act.POISON}</p>".encode()
NAME_TTL_MS = 20_000.0
NO_NAME_TTL_MS = 5.0  # shorter than any retry: the same failure must not count twice


class MachineClock:
    """Each machine was booted at another time, and its wall clock is wrong in its own way."""

    def __init__(self, world: World, booted_ms: float, wrong_ms: int) -> None:
        self._world = world
        self._booted_ms = booted_ms
        self.wrong_ms = wrong_ms

    def now_ms(self) -> int:
        return START_MS + int(self._world.now_ms) + self.wrong_ms

    def tick_ms(self) -> float:
        return self._world.now_ms + self._booted_ms


class VirtualResolver(Resolver):
    """The real resolver with its cache; the questions go to the virtual web."""

    def __init__(self, world: World, web: Web, clock: MachineClock) -> None:
        super().__init__(clock)
        self._world = world
        self._web = web

    async def _ask(self, hostname: str) -> DnsAnswer:
        await asyncio.sleep(self._world.between(*LOOK_UP_MS) / 1000)
        error, now = self._web.look_up(hostname), self._clock.tick_ms()
        found = ("192.0.2.1",) if error is Reason.NONE else ()
        ttl = NAME_TTL_MS if found else NO_NAME_TTL_MS
        answer = DnsAnswer(found, expires_tick_ms=now + ttl, error=error, detail=str(error))
        self._keep(hostname, answer)
        return answer


class VirtualFetcher:
    """A `Fetcher` that asks the virtual web."""

    def __init__(self, machine: "Machine", resolver: Resolver) -> None:
        self._machine = machine
        self._resolver = resolver
        self._open: dict[asyncio.Future[FetchResult], Exchange] = {}
        self._aborts = 0

    async def fetch(self, request: FetchRequest) -> FetchResult:
        machine, url, aborts = self._machine, request.url, self._aborts
        now_ms = machine.clock.now_ms()
        found = await self._resolver.resolve(hostname_of(url))
        if self._aborts != aborts:
            return FetchResult(url, now_ms, aborted=True)
        if found.error:
            return FetchResult(url, now_ms, error=found.error, detail=found.detail)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[FetchResult] = loop.create_future()

        def deliver(result: FetchResult) -> None:
            hit.heard = not machine.dead
            machine.post(lambda: None if future.done() else future.set_result(result))

        hit = Hit(host_of(url), url, request.user_agent.partition("/")[0], machine.name, machine.world.now_ms)
        machine.asks(hit)
        took, result = machine.web.answer(url, machine.world.chance, now_ms)
        hit.asks_rest_ms = 1000.0 * int(result.header("retry-after") or 0)
        exchange = self._open[future] = Exchange(machine.world, machine.web, hit, took, result, deliver)
        timeout_ms = request.total_timeout_ms or request.settings.total_timeout_ms
        timer = loop.call_later(timeout_ms / 1000, self._time_out, future, exchange, now_ms)
        try:
            return await future
        finally:
            timer.cancel()
            del self._open[future]
            exchange.end()

    def _time_out(self, future: "asyncio.Future[FetchResult]", exchange: Exchange, now_ms: int) -> None:
        """The answer that came while the process was frozen counts: else a page would fail because of us."""
        if not future.done() and exchange.hit.ended is None:
            future.set_result(FetchResult(exchange.hit.url, now_ms, error=Reason.TIMEOUT, detail="too slow"))

    def body_bytes(self) -> int:
        return 0

    def abort(self) -> None:
        self._aborts += 1
        for future, exchange in self._open.items():
            exchange.end()
            if not future.done():
                future.set_result(FetchResult(exchange.hit.url, 0, aborted=True))

    async def close(self) -> None:
        self.abort()

    def hang_up(self) -> None:
        """The process is dead: its connections are closed."""
        for exchange in self._open.values():
            exchange.end()


class VirtualReader:
    """Reads pages as the real one does on the event loop, but for those that kill their parser."""

    async def read(self, request: ReadRequest) -> PageReading | ParseFailure:
        if POISON in request.body:
            return ParseFailure("died", "simulated")
        content_type = request.headers.first("content-type")
        if not is_html(content_type, request.body):
            return PageReading(body_bytes=len(request.body))
        job = PageJob(request.body, request.url, content_type, request.depth_of_children)
        reading = read_page(job, request.admission, obey_robots_meta=request.rules.obey_robots_meta)
        reading.body_bytes = len(request.body)
        return reading

    def abort(self) -> None: ...

    async def close(self) -> None: ...


class Machine:
    def __init__(
        self,
        name: str,
        world: World,
        web: Web,
        database: SimulatedDatabase,
        archive: MemoryArchive,
        settings: ProcessSettings,
        mishaps: "Mishaps",
    ) -> None:
        self.name = name
        self.world = world
        self.web = web
        self.dead = False
        self.frozen_until = 0.0
        self.loop = VirtualLoop(world.now, self._call_store)
        self.clock = MachineClock(world, world.between(0, 10**9), world.chance.choice((0, 0, -3_600_000, 86_400_000)))
        self.settings = settings
        self.tasks: list[asyncio.Task[Any]] = []
        self.worker: Worker | None = None
        self.asks: Callable[[Hit], None] = lambda hit: None
        self.ended: Callable[[int], None] = lambda url_id: None
        self._database = database
        self._archive = archive
        self._mishaps = mishaps
        self._dies_at = -1  # callback
        self._fetcher: VirtualFetcher | None = None
        self.loop.set_exception_handler(self._broke)
        self.loop.set_task_factory(self._new_task)
        self.loop.call_soon(self._start)

    # --- its life

    def _new_task(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> "asyncio.Task[Any]":
        task = asyncio.Task(coroutine, loop=loop, **options)
        self.tasks.append(task)
        return task

    def _start(self) -> None:
        resolver = VirtualResolver(self.world, self.web, self.clock)
        self._fetcher = VirtualFetcher(self, resolver)
        self.frontier = MishapFrontier(self._database, self, self.ended)
        info, metering = WorkerInfo(self.name, 1, "0"), Metering(Meter(Place.WORKER), self.clock)
        adapters = (self.frontier, self._archive, resolver, self._fetcher, VirtualReader())
        self.worker = Worker(WorkerParts(*adapters, self.settings, self.clock, info, metering, self._report))
        self.main = self.loop.create_task(self.worker.run())

    def next_ms(self) -> float | None:
        if self.dead:
            return None
        at = self.loop.next_ms()
        return at if at is None else max(at, self.frozen_until)

    def step(self) -> None:
        if self.loop.callbacks == self._dies_at:
            self.kill("between two callbacks")
            return
        self.loop.step()

    @property
    def over(self) -> bool:
        return self.dead or (self.worker is not None and self.main.done())

    def kill(self, why: str) -> None:
        """All that was in memory is gone."""
        if self.dead:
            return
        self.dead = True
        self.world.say(f"{self.name} dies: {why}")
        if self._fetcher is not None:
            self._fetcher.hang_up()

    def kill_after(self, callbacks: int) -> None:
        self._dies_at = self.loop.callbacks + callbacks

    def freeze(self, ms: float) -> None:
        self.world.say(f"{self.name} is frozen for {ms:.0f} ms")
        self.frozen_until = self.world.now_ms + ms
        self.loop.wake()

    @property
    def frozen(self) -> bool:
        return self.world.now_ms < self.frozen_until

    def stop(self) -> None:
        self.post(lambda: self.worker.stop() if self.worker else self.kill("before it began"))

    def post(self, do: Callable[[], object]) -> None:
        """Something comes in from outside: a signal, an answer. The dead do not hear it."""
        if not self.dead:
            self.loop.call_soon(do)

    def _report(self, event: dict[str, Any]) -> None:
        if event["event"] == "fault":
            self.world.blame(f"{self.name}: a fault of ours: {event['error']}")

    def _broke(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not self.dead:
            self.world.blame(f"{self.name}: {context.get('message')}: {context.get('exception')!r}")

    # --- the store

    def _call_store(self, future: "asyncio.Future[Any]", function: Callable[..., Any], values: tuple[Any, ...]) -> None:
        """What the flush thread does: the call travels, is carried out at one moment, and its answer travels back."""
        self.world.after(self._mishaps.delay_ms(), lambda: self._carry_out(future, function, values))

    def _carry_out(self, future: "asyncio.Future[Any]", function: Callable[..., Any], values: tuple[Any, ...]) -> None:
        if self.dead:
            return
        database = self._database
        database.fault, database.caller = self._mishaps.fault(), self
        answer: Any = None
        error: Exception | None = None
        try:
            answer = function(*values)
        except NephilaError as raised:
            error = raised
            self.world.say(f"{self.name} hears {raised!r}")
        except Died:
            return
        except Exception as raised:  # a fault of ours, as the worker hears it
            error = raised
            self.world.blame(f"{self.name}: the store raised {raised!r}")
        finally:
            database.fault, database.caller = Fault.NONE, None
        self.world.after(self._mishaps.delay_ms(), lambda: self.post(lambda: _answer(future, answer, error)))

    # --- after it

    def bury(self) -> None:
        """Close what the dead and the living left, where nobody hears it."""
        self.dead = True
        for task in self.tasks:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                with suppress(BaseException):
                    task.get_coro().close()
        self.loop.end(self.tasks)


def _answer(future: "asyncio.Future[Any]", answer: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)


class Mishaps:
    """What goes wrong between processes and store, until the world is calm."""

    FAULTS = (Fault.UNREACHABLE, Fault.ROLLED_BACK, Fault.FULL, Fault.DIES_BEFORE, Fault.DIES_AFTER)

    def __init__(self, world: World, *, rate: float, slow_rate: float, slow_ms: float, answers_get_lost: bool) -> None:
        self.calm = False
        self.away_until = 0.0  # the store answers nobody
        self.settled_at = 0.0  # every call that is under way has its answer by then
        self._world = world
        self._rate = rate
        self._slow_rate = slow_rate
        self._slow_ms = slow_ms
        # An embedded store is in the process: what it committed, it says.
        self._faults = (*self.FAULTS, *[Fault.ANSWER_LOST] * 3 * answers_get_lost)

    def fault(self) -> Fault:
        if self._world.now_ms < self.away_until:
            return Fault.UNREACHABLE
        if self.calm or not self._world.happens(self._rate):
            return Fault.NONE
        fault = self._world.chance.choice(self._faults)
        self._world.say(f"a call of the store: {fault.name}")
        return fault

    def delay_ms(self) -> float:
        slow = not self.calm and self._world.happens(self._slow_rate)
        delay = self._world.between(0, self._slow_ms) if slow else self._world.between(0.05, 3)
        self.settled_at = max(self.settled_at, self._world.now_ms + delay)
        return delay

    def duplicates(self) -> bool:
        return not self.calm and self._world.happens(self._rate)


class MishapFrontier(SimulatedFrontier):
    """Delivers some flushes twice."""

    def flush(self, batch: Batch) -> Flushed:
        world, mishaps = self.database.world, self.machine._mishaps
        again = self.deliver_again(batch) if mishaps.duplicates() else None
        answer = super().flush(batch)
        if again is not None:
            world.say(f"flush {batch.seq} of worker {self.worker} is delivered twice")
            world.after(world.between(0, DUPLICATE_MS_MAX), again)
        return answer
