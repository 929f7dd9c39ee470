"""A worker: one process, one event loop, one flush thread. It owns partitions and visits the URLs of their hosts.

Everything here runs on the event loop but `_flush_cut` and the calls of the store: these run in the flush thread, one
at a time.
"""

import asyncio
import random
import secrets
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from time import thread_time
from typing import Any, TypeVar

from nephila import log as logs
from nephila.archive.writer import ArchiveWriter
from nephila.blackbox import BlackBox
from nephila.clock import Clock
from nephila.errors import Fenced, StoreUnavailable
from nephila.extract.parse_pool import ParsePool
from nephila.fetch.fetcher import Fetcher
from nephila.fetch.resolver import DnsAnswer, Resolver
from nephila.frontier.operators import blocks_of
from nephila.frontier.store import Batch, Flushed, Frontier, Row, WorkerInfo
from nephila.log import VisitLog, worker_log
from nephila.metrics import Meter, Place
from nephila.models import Kind, Reason, UrlState
from nephila.profiles import AtMaxDepth, RobotsMode
from nephila.settings import ProcessSettings, usable_cores
from nephila.urls.blocks import Blocks
from nephila.urls.identity import hostname_of, origin_of
from nephila.worker.crawls import LiveCrawl
from nephila.worker.holdings import Holdings
from nephila.worker.lookups import Lookups
from nephila.worker.metering import Metering
from nephila.worker.pending import Cut, Pending, archive
from nephila.worker.robots_gate import Need, RobotsGate
from nephila.worker.robots_visit import RobotsVisitor
from nephila.worker.scheduler import Host, Queue
from nephila.worker.visit import Aborted, Visitor
from nephila.worker.vitals import VitalSigns

T = TypeVar("T")

LEASE_EVERY_MS = 1000.0
IDLE_MS_MIN, IDLE_MS_MAX = 100.0, 1000.0  # between two looks for work when there is none; doubles
NEXT_TURN_LOOK_MS = 1000.0  # a block may be taken back, a crawl paused
FREE_ENDS_MAX = 1000  # rows that end without a request before the loop gets its turn
DRAIN_MS = 1500.0  # for requests in flight when the worker stops: its hosts are to be another's within 2 s
RETRY_MS_MIN, RETRY_MS_MAX = 500.0, 5000.0  # of a store that does not answer
OFFLOAD_BYTES_MIN = 10_000  # reading a smaller page takes no longer than handing it over
PIPELINED_WANTED = 16  # pages at a helper: what it reads while the loop goes round once
READING_MAX = 64  # visits that have their response and are not ended
REVISITS_MAX = 20_000  # payloads a session recognises: 14 MB
LOAD_EVERY_MS = 50.0
BUSY_SHARE = 0.4  # of its time: a loop that works for more may soon be the bottleneck
FOREVER = float("inf")


class Worker:
    def __init__(
        self,
        store: Frontier,
        settings: ProcessSettings,
        clock: Clock,
        info: WorkerInfo,
        *,
        blackbox: BlackBox | None = None,
        report: Callable[[dict[str, Any]], None] = lambda event: None,
        metering: Metering | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.clock = clock
        self.info = info
        self.blackbox = blackbox
        self.report = report
        self.metering = metering or Metering(Meter(Place.WORKER), clock)
        self.id = 0
        self.crawls: dict[int, LiveCrawl] = {}
        self.visiting: dict[int, int] = {}  # url id -> since
        self.blocks = Blocks()
        self.stopping = False
        self.fetching = 0
        self.fenced = 0  # batches that were refused
        self._tasks: dict[int, asyncio.Task[None]] = {}  # visits, by number
        self._visits = 0
        self._flush_thread = ThreadPoolExecutor(1, "flush")
        self._flush_now = asyncio.Event()
        self._dispatching = False
        self._timer: asyncio.TimerHandle | None = None
        self._right_timer: asyncio.TimerHandle | None = None
        self._busy = False
        self._core_is_free = usable_cores() > max(1, settings.workers)
        self._reset_session()

    def _reset_session(self) -> None:
        self.pending = Pending()
        self.held = Holdings(self.settings, self.crawls)
        self.scheduler = self.held.scheduler
        self._seq = 0
        self._leased_tick = -FOREVER
        self._right_until = FOREVER
        self._fenced = False
        self._idle_ms = IDLE_MS_MIN
        self._stalled = False
        self._writer: ArchiveWriter | None = None
        self.vitals = VitalSigns(self.clock)

    # --- life

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        resolver = Resolver(self.clock, fixed=self.settings.resolve, servers=self.settings.dns_servers or None)
        ca_file = str(self.settings.ca_file) if self.settings.ca_file else None
        self.fetcher = Fetcher(self.clock, resolver, ca_file=ca_file)
        self.resolver = resolver
        self.pool = ParsePool(self.settings.parsers_per_worker)
        self._watch_load(self.clock.tick_ms(), thread_time())
        try:
            while not self.stopping:
                try:
                    await self._session()
                except Fenced as fenced:
                    self.fenced += 1
                    self.metering.fenced()
                    logs.component_log("worker", worker=self.id).warning("fenced", detail=str(fenced))
                    await self._drop_everything()
        finally:
            await self.pool.close()
            await self.fetcher.close()
            await resolver.close()
            self._flush_thread.shutdown()

    def stop(self) -> None:
        """Finish what is in flight, flush, hand everything back. Called again: end what is in flight."""
        if self.stopping:
            self.fetcher.abort()
        else:
            self.stopping = True
            self._loop.call_later(DRAIN_MS / 1000, self.stop)
        self._flush_now.set()

    async def _session(self) -> None:
        self._reset_session()
        self.lookups = Lookups(self.resolver, self.held, self._resolved)
        joined = await self._insist(self.store.join, self.info)
        if joined is None:
            return
        self.id = joined
        self.visitor = Visitor(self, self.fetcher, self.pool, VisitLog(worker_log(str(self.id))))
        self.robots = RobotsVisitor(self.visitor)
        self._writer = self._new_writer()
        while not (self.stopping and not self._tasks and not len(self.pending)):
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
        if self._writer is not None:
            self._writer.close()
        if not self._stalled:
            with suppress(StoreUnavailable):  # its lease ends by itself
                await self._call(self.store.leave)

    async def _drop_everything(self) -> None:
        """A new session starts from what the store says."""
        self._fenced = True
        if self._right_timer is not None:
            self._right_timer.cancel()
        self.lookups.cancel()
        self.fetcher.abort()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if self._writer is not None:
            self._writer.discard()
            self._writer.close()
        self.crawls.clear()  # a database restored from a backup does not have all that was known to be stored

    def _new_writer(self) -> ArchiveWriter:
        return ArchiveWriter(
            self.settings.archive_folder,
            secrets.token_hex(8),
            self.clock,
            file_bytes_max=self.settings.warc_bytes_max,
            revisit_cache_max=REVISITS_MAX,
        )

    async def _call(self, function: Callable[..., T], *values: Any) -> T:
        return await self._loop.run_in_executor(self._flush_thread, function, *values)

    # --- the flush

    async def _until_flush_due(self) -> None:
        self._flush_now.clear()
        if self._urgent():
            return
        idle = not (self._tasks or self.lookups or len(self.pending) or self.scheduler.rows)
        wait = self._idle_ms if idle else self.settings.flush_ms
        self._idle_ms = min(self._idle_ms * 2, IDLE_MS_MAX) if idle else IDLE_MS_MIN
        try:
            async with asyncio.timeout(wait / 1000):
                await self._flush_now.wait()
        except TimeoutError:
            pass

    def _urgent(self) -> bool:
        """At once when nothing is ready (chains), or when a batch is full."""
        results = len(self.pending)
        return (
            results >= self.settings.flush_results
            or (results > 0 and not self.scheduler.rows)
            or (self.stopping and not self._tasks)
        )

    def _cut(self) -> Cut:
        """Take what has gathered and say what is wanted."""
        now = self.clock.tick_ms()
        self._seq += 1
        batch = Batch(self._seq, in_flight=list(self.visiting.items()), next_due=not self._tasks)
        hungry = self.fetching < self.settings.concurrency and not self.stopping
        released = self.held.ask(batch, self.pending, now, hungry=hungry)
        hosts = self.scheduler.take_dirty()
        pending, self.pending = self.pending, Pending()
        return pending.cut(batch, hosts, released, now)

    async def _commit(self, cut: Cut) -> Flushed | None:
        """The same batch until the store has it. None: we are stopping and it does not answer; its rows stay open."""
        sent = self.clock.tick_ms()
        answer = await self._insist(self._flush_cut, cut)
        if answer is not None:
            self._extend_right(sent, answer.valid_ms)
            self.metering.flushed(cut, answer, (self.clock.tick_ms() - sent) / 1000)
        return answer

    async def _insist(self, function: Callable[..., T], *values: Any) -> T | None:
        """Ask until the store answers. None: we are stopping and it does not."""
        wait = RETRY_MS_MIN
        while True:
            try:
                answer = await self._call(function, *values)
            except StoreUnavailable as error:
                self._stall(str(error))
                if self.stopping:
                    return None
                await asyncio.sleep(wait / 1000)
                wait = min(wait * 2, RETRY_MS_MAX)
            else:
                self._go_on()
                return answer

    def _stall(self, reason: str) -> None:
        if not self._stalled:
            self._stalled = True
            self.report({"event": "stalled", "reason": reason})
            logs.component_log("worker", worker=self.id).warning("stalled", reason=reason)

    def _go_on(self) -> None:
        if self._stalled:
            self._stalled = False
            self.report({"event": "going_on"})
            logs.component_log("worker", worker=self.id).warning("going_on")
            self._kick()

    def _flush_cut(self, cut: Cut) -> Flushed:
        """In the flush thread."""
        archive(cut, self._writer)
        answer = self.store.flush(cut.batch)
        if self._writer is not None:
            self._writer.committed()
        logs.flush()
        return answer

    # --- the answer

    async def _apply(self, cut: Cut, answer: Flushed) -> None:
        if answer.control != self.held.control and not await self._see_control(answer.control):
            return
        self.held.take(cut, answer, self.clock.tick_ms())
        if self.held.nameless:
            nameless, self.held.nameless = self.held.nameless, []
            self.lookups.add(nameless)
        self.vitals.pages += len(cut.finished)
        if answer.windows or answer.refills:
            self._idle_ms = IDLE_MS_MIN
        elif answer.next_due_in_ms is not None:
            self._idle_ms = max(1.0, min(self._idle_ms, answer.next_due_in_ms))
        self._kick()

    async def _see_control(self, version: int) -> bool:
        """Crawls and rulings as they are now; false: we are stopping and the store does not answer."""
        found = await self._insist(lambda: (self.store.rulings(), self.store.controls()))
        if found is None:
            return False
        rulings, crawls = found
        self.blocks = blocks_of(rulings)
        self.held.see_rulings(rulings, self.clock.tick_ms())
        self.held.see_crawls(crawls, version)
        return True

    # --- the lease

    async def _renew_lease(self) -> None:
        now = self.clock.tick_ms()
        if now - self._leased_tick < LEASE_EVERY_MS:
            return
        loads = self.held.loads((now - self._leased_tick) / 1000)
        try:
            lease = await self._call(self.store.lease, loads, self.vitals.take())
        except StoreUnavailable:
            return  # the flush that follows says so, and waits
        self._leased_tick = now
        self._extend_right(now, lease.valid_ms)
        self.metering.recovered(lease.fenced)
        self.held.take_lease(lease)

    def _extend_right(self, asked: float, valid_ms: float | None) -> None:
        """Requests may start so long, counted from before the store was asked."""
        if valid_ms is None:
            return
        self._right_until = asked + valid_ms
        if self._right_timer is not None:
            self._right_timer.cancel()
        left = max(0.0, self._right_until - self.clock.tick_ms())
        self._right_timer = self._loop.call_later(left / 1000, self._end_right)

    def _end_right(self) -> None:
        """The lease can no longer be proven: another may own these hosts now, so nothing of ours stays in flight."""
        logs.component_log("worker", worker=self.id).warning("lease_not_proven", in_flight=self.fetching)
        self.fetcher.abort()

    def _has_right(self, now: float) -> bool:
        return now < self._right_until and not (self._fenced or self._stalled or self.stopping)

    # --- sending

    def _kick(self) -> None:
        if not self._dispatching:
            self._dispatching = True
            self._loop.call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._dispatching = False
        now, free = self.clock.tick_ms(), FREE_ENDS_MAX
        if not self._has_right(now):
            return
        while self._has_room():
            picked = self.scheduler.pop(now)
            if picked is None:
                break
            if not self._send(*picked, now):
                self.scheduler.refresh(picked[0])
                free -= 1
                if free <= 0:
                    self._kick()
                    return
        self._arm_timer(now)
        if self._urgent():
            self._flush_now.set()

    def _has_room(self) -> bool:
        """Fetching is faster than reading: pages that wait to be read are bounded, too."""
        return self.fetching < self.settings.concurrency and len(self._tasks) < self.settings.concurrency + READING_MAX

    def _arm_timer(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        tick = self.scheduler.next_tick()
        if tick is not None and self._has_room():
            self._timer = self._loop.call_later(max(0.0, tick - now) / 1000, self._kick)

    def _send(self, host: Host, queue: Queue, now: float) -> bool:
        """Start a request for the next row of the queue; false: the row ended, or went back, without one."""
        crawl, row = queue.crawl, self.scheduler.take(queue)
        if self.blocks and not self.blocks.judge(row.url).ok:
            if row.kind is Kind.ROBOTS:
                self.robots.blocked(crawl, row)
            return self._refuse(queue, row, Reason.RULE)
        if row.kind is Kind.ROBOTS:
            self._start(host, queue, row, self.robots.visit(host, queue, row), now)
            return True
        scope = crawl.settings.scope
        if scope.at_max_depth is AtMaxDepth.RECORD and row.depth >= scope.max_depth:
            return self._refuse(queue, row, Reason.DEPTH)
        if queue.fetched >= crawl.settings.limits.max_urls_per_host:
            self.scheduler.put_back(queue, row)
            self.give_up(queue, Reason.LIMIT_HOST)
            return False
        if crawl.settings.robots.mode is RobotsMode.OBEY:
            origin = origin_of(row.url)
            gate = host.gates.get(origin)
            if gate is None:
                gate = host.gates[origin] = RobotsGate(origin)
            need = gate.need(now, crawl.settings.robots)
            if need is not Need.NOTHING:
                self.scheduler.put_back(queue, row)
                if need is Need.WAIT:
                    self.held.send_back_host(host, Need.WAIT.name)
                    return False
                host.reserved += 1  # until it is answered nothing else is sent, however many requests may be in flight
                self._start(host, queue, None, self._ask_robots(host, queue, origin), now)
                return True
            decision = gate.judge(row.url, crawl.product_token, crawl.polite)
            if not decision.ok:
                return self._refuse(queue, row, decision.reason)
        queue.fetched += 1
        crawl.outstanding.add(row.id)  # also without max_pages: one may be set while it is in flight
        self._start(host, queue, row, self.visitor.visit(host, queue, row), now)
        return True

    async def _ask_robots(self, host: Host, queue: Queue, origin: str) -> None:
        try:
            await self.robots.fetch(host, queue, origin)
        finally:
            host.reserved -= 1
            self.scheduler.refresh(host)
            self._kick()

    def _refuse(self, queue: Queue, row: Row, reason: str) -> bool:
        self.pending.end(queue, row, UrlState.EXCLUDED, reason, tried=0)
        self.held.touched.add(queue)
        return False

    def _start(self, host: Host, queue: Queue, row: Row | None, visit: Coroutine[Any, Any, None], now: float) -> None:
        self._request_started(host, now)
        queue.in_flight += 1
        if row is not None:
            self.visiting[row.id] = self.clock.now_ms()
        number = self._visits = self._visits + 1
        self._tasks[number] = self._loop.create_task(self._guarded(number, visit, queue, row))

    def _request_started(self, host: Host, now: float) -> None:
        self.fetching += 1
        self.held.asked[host.part] += 1
        self.scheduler.started(host, now, host.gap_ms(random.random()))

    async def _guarded(self, number: int, visit: Coroutine[Any, Any, None], queue: Queue, row: Row | None) -> None:
        """The one broad except: a fault of ours ends one URL, never the crawl."""
        try:
            await visit
        except Aborted:
            if row is not None:
                self.held.abandon(queue, row)
                self.metering.requeued()
        except Exception as error:
            ids = {"crawl": queue.crawl.id} | ({"url_id": row.id} if row else {})
            logs.component_log("worker", worker=self.id, **ids).exception(
                "visit_broke", url=row.url if row else "robots.txt"
            )
            if row is not None:
                self.pending.end(queue, row, UrlState.FAILED, Reason.POISON)
            self.report({"event": "fault", "error": repr(error)})
        finally:
            queue.in_flight -= 1
            self.held.touched.add(queue)
            if row is not None:
                self.visiting.pop(row.id, None)
            del self._tasks[number]
            self._kick()
            if self._urgent():
                self._flush_now.set()

    # --- what a visit asks of its worker (visit.Site)

    def request_ended(self, host: Host) -> None:
        self.fetching -= 1
        self.scheduler.finished(host, self.clock.tick_ms(), host.gap_ms(random.random()))
        self._kick()

    async def next_turn(self, host: Host, crawl: LiveCrawl) -> bool:
        """Wait for the host's clock before the next hop of the same visit; false: do not send it."""
        host.reserved += 1
        self.scheduler.refresh(host)
        try:
            while crawl.running and not (self._fenced or self.stopping):
                now = self.clock.tick_ms()
                if now >= host.allowed_tick and host.in_flight < host.in_flight_max() and self._has_right(now):
                    self._request_started(host, now)
                    return True
                await asyncio.sleep(min(max(host.allowed_tick - now, 1.0), NEXT_TURN_LOOK_MS) / 1000)
            return False
        finally:
            host.reserved -= 1
            self.scheduler.refresh(host)

    def addresses_of(self, url: str) -> tuple[str, str]:
        answer = self.resolver.known(hostname_of(url), self.clock.tick_ms())
        return answer.texts() if answer else ("", "")

    def _resolved(self, host: Host, answer: DnsAnswer) -> None:
        self.pending.resolved[host] = answer.texts()

    def ask_name_again(self, url: str) -> None:
        self.resolver.forget(hostname_of(url))

    def rest(self, host: Host, ms: float, reason: str) -> None:
        self.scheduler.rest(host, self.clock.tick_ms() + ms, reason)

    def give_up(self, queue: Queue, reason: str) -> None:
        self.pending.deaths[queue.id] = reason
        self.held.send_back(queue, reason)

    def join_host(self, crawl: LiveCrawl, hostname: str) -> None:
        crawl.update(replace(crawl.crawl, joined_hosts=(*crawl.crawl.joined_hosts, hostname)))
        self.pending.joined.append((crawl.id, hostname))

    def parsing(self, url_id: int) -> None:
        if self.blackbox is not None:
            self.blackbox.write(url_id)

    def offloads(self, page_bytes: int) -> bool:
        """Pages are read by a helper when the loop is the bottleneck and a core is free."""
        wanted = self._core_is_free and self._busy and page_bytes >= OFFLOAD_BYTES_MIN
        return wanted and self.pool.waiting < PIPELINED_WANTED

    def _watch_load(self, looked_tick: float, worked: float) -> None:
        now, work = self.clock.tick_ms(), thread_time()
        self._busy = (work - worked) * 1000 > BUSY_SHARE * (now - looked_tick)
        self._loop.call_later(LOAD_EVERY_MS / 1000, self._watch_load, now, work)
