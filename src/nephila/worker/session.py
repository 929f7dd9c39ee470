"""`Session`: one life of a worker in the store. It leases partitions, commits what visits bring, and takes in what the
store answers; its `Dispatcher` sends requests meanwhile.

Everything here runs on the event loop but `_flush` and the calls of the store: these run in the flush thread.
"""

import asyncio
import secrets
from contextlib import suppress

from nephila import log as logs
from nephila.errors import StoreUnavailable
from nephila.frontier.store import Batch, Flushed
from nephila.models import CrawlState
from nephila.worker.dispatcher import Dispatcher
from nephila.worker.holdings import Holdings
from nephila.worker.lookups import Lookups
from nephila.worker.parts import WorkerParts
from nephila.worker.pending import Cut, archive
from nephila.worker.right import FOREVER, SendRight, StoreThread
from nephila.worker.vitals import VitalSigns

LEASE_EVERY_MS = 1000.0
RENEW_PART = 0.25  # of that time, after which a lease is renewed while the store refuses a flush
CUT_OFF_MS = 1500.0  # for visits of a crawl that ends: a limit on time is met in seconds, whatever hosts and pages do
IDLE_MS_MIN, IDLE_MS_MAX = 100.0, 1000.0  # between two looks for work when there is none; doubles


class Session:
    def __init__(self, worker_id: int, parts: WorkerParts, store: StoreThread, cut_off_tick: float = 0.0) -> None:
        self.id = worker_id
        self.right = SendRight(store)
        self.held = Holdings(parts.settings, cut_off_tick)
        self.dispatcher = Dispatcher(worker_id, parts, self.held, self.right)
        self.lookups = Lookups(parts.resolver, parts.clock, self.held)
        self.vitals = VitalSigns(parts.clock, parts.metering.network())
        self._parts = parts
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._writer = parts.archive.writer(secrets.token_hex(8))
        self._seq = 0
        self._leased_tick = -FOREVER
        self._valid_ms = FOREVER  # how long a lease lets requests start
        self._right_timer: asyncio.TimerHandle | None = None
        self._idle_ms = IDLE_MS_MIN

    async def run(self) -> None:
        """Until the worker stops and everything is committed. Raises Fenced: another owns what this session held."""
        while not (self._store.stopping and not self.dispatcher.tasks and not len(self.held.pending)):
            await self._until_flush_due()
            await self._renew_lease()
            cut = self._cut()
            answer = await self._commit(cut)
            if answer is None:
                break
            await self._apply(cut, answer)
        await self._leave()

    async def _leave(self) -> None:
        self.lookups.cancel()
        with suppress(StoreUnavailable):  # what is committed is durable; upkeep cuts off the rest
            await self._store.call(self._writer.close)
        if not self._store.stalled:
            with suppress(StoreUnavailable):  # the lease ends by itself
                await self._store.call(self._parts.store.leave)

    async def drop(self) -> None:
        """Forget everything: the next session starts from what the store says."""
        self.right.fenced = True
        if self._right_timer is not None:
            self._right_timer.cancel()
        self.lookups.cancel()
        self._parts.fetcher.abort()
        self._parts.reader.abort()
        self.dispatcher.stop_delivering()
        await asyncio.gather(*(task for task, _ in self.dispatcher.tasks.values()), return_exceptions=True)
        for step in (self._writer.discard, self._writer.close):
            with suppress(StoreUnavailable):  # what could not be cut off now, upkeep cuts off
                await self._store.call(step)

    # --- the flush

    async def _until_flush_due(self) -> None:
        dispatcher = self.dispatcher
        dispatcher.flush_now.clear()
        if dispatcher.urgent():
            return
        idle = not (dispatcher.tasks or self.lookups or len(self.held.pending) or self.held.scheduler.rows)
        wait = self._idle_ms if idle else self._parts.settings.flush_ms
        self._idle_ms = min(self._idle_ms * 2, IDLE_MS_MAX) if idle else IDLE_MS_MIN
        with suppress(TimeoutError):
            async with asyncio.timeout(wait / 1000):
                await dispatcher.flush_now.wait()

    def _cut(self) -> Cut:
        """Everything that has gathered, and what is wanted of the store."""
        self._seq += 1
        dispatcher = self.dispatcher
        batch = Batch(self._seq, in_flight=list(dispatcher.visiting.items()), next_due=not dispatcher.tasks)
        return self.held.cut(batch, self._parts.clock.tick_ms(), hungry=dispatcher.hungry())

    async def _commit(self, cut: Cut) -> Flushed | None:
        """The same batch until the store has it. None: the worker stops and the store is away; the rows stay open."""
        clock = self._parts.clock
        began = clock.tick_ms()
        flushed = await self._store.insist(
            self._flush, cut, renew=self._renew_lease, wait_ms_max=self._valid_ms * RENEW_PART
        )
        if flushed is None:
            return None
        sent, answer = flushed
        self._store.go_on()
        self._extend_right(sent, answer.valid_ms)
        self._parts.metering.flushed(cut, answer, (clock.tick_ms() - began) / 1000, len(self.held.scheduler.hosts))
        return answer

    def _flush(self, cut: Cut) -> tuple[float, Flushed]:
        """In the flush thread. Answers when the store was asked, and what it said."""
        archive(cut, self._writer)
        sent = self._parts.clock.tick_ms()
        answer = self._parts.store.flush(cut.batch)
        self._writer.committed()
        logs.flush()
        return sent, answer

    # --- the answer

    async def _apply(self, cut: Cut, answer: Flushed) -> None:
        if answer.control != self.held.control and not await self._see_control(answer.control):
            return
        self.lookups.add(self.held.take(cut, answer, self._parts.clock.tick_ms()))
        for delivered in cut.delivered:
            if not delivered.done():
                delivered.set_result(None)
        self.vitals.pages += sum(ending.exchange is not None for _, ending in cut.finished)
        if answer.windows or answer.refills:
            self._idle_ms = IDLE_MS_MIN
        elif answer.next_due_in_ms is not None:
            self._idle_ms = max(1.0, min(self._idle_ms, answer.next_due_in_ms))
        self.dispatcher.kick()

    async def _see_control(self, version: int) -> bool:
        """Read crawls and rulings anew; false: the worker stops and the store does not answer."""
        store = self._parts.store
        found = await self._store.insist(lambda: (store.rulings(), store.controls()))
        if found is None:
            return False
        rulings, crawls = found
        self.held.see_rulings(rulings, self._parts.clock.tick_ms())
        self.held.see_crawls(crawls, version)
        for live in self.held.crawls.values():
            if live.crawl.state is CrawlState.ENDING:
                self._loop.call_later(CUT_OFF_MS / 1000, self.dispatcher.cut_off, live)
        return True

    # --- the lease

    async def _renew_lease(self) -> bool:
        """Renew the lease if it is time; false: the store does not answer. Nothing is sent until it takes a flush."""
        now = self._parts.clock.tick_ms()
        if now - self._leased_tick < min(LEASE_EVERY_MS, self._valid_ms / 2):
            return True
        loads = self.held.loads((now - self._leased_tick) / 1000)
        try:
            lease = await self._store.call(
                self._parts.store.lease, loads, self.vitals.take(self._parts.metering.network())
            )
        except StoreUnavailable as error:
            self._store.stall(str(error))
            return False
        self._leased_tick = now
        self._extend_right(now, lease.valid_ms)
        self._parts.metering.recovered(lease.fenced, lease.fenced_urls)
        self.held.take_lease(lease)
        return True

    def _extend_right(self, asked: float, valid_ms: float | None) -> None:
        """Requests may start for `valid_ms`, counted from before the store was asked; None: while the process lives."""
        if valid_ms is None:
            return
        self._valid_ms = valid_ms
        self.right.until_tick = asked + valid_ms
        if self._right_timer is not None:
            self._right_timer.cancel()
        left = max(0.0, self.right.until_tick - self._parts.clock.tick_ms())
        self._right_timer = self._loop.call_later(left / 1000, self._end_right)

    def _end_right(self) -> None:
        """The lease can no longer be proven: another may own these hosts now, so nothing of ours stays in flight."""
        logs.component_log("worker", workerId=self.id).warning("lease_not_proven", in_flight=self.dispatcher.fetching)
        self._parts.fetcher.abort()
