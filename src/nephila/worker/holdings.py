"""What a session holds: its partitions, the queues and rows of their hosts, the crawls they belong to.

A flush is asked for what is missing (`ask`) and its answer is taken in (`take`). No I/O, no waiting: ticks come in.
"""

from collections import Counter

from nephila.frontier.operators import Rulings
from nephila.frontier.store import Batch, Crawl, Flushed, HostRecord, Refill, Release, Row, Window
from nephila.policy.balance import Lease
from nephila.settings import ProcessSettings
from nephila.urls.identity import hostname_of, partition_of
from nephila.worker.crawls import LiveCrawl
from nephila.worker.pending import Cut, Pending, learn_keys
from nephila.worker.robots_gate import PENDING_LOOK_MS, Need, RobotsGate
from nephila.worker.scheduler import Host, Queue, Scheduler

WINDOW_MIN, WINDOW_MAX = 16, 2048  # rows of a host held in memory; doubles while they do not last a flush
QUEUES_PER_LOAD = 256
ROWS_MAX = 100_000  # held in all windows: some 30 MB
LONG_REST_MS = 60_000.0  # a host that rests longer gives its memory back
EVICT_EVERY_MS = 5000.0
LOAD_WEIGHT = 0.5  # of the newest second in a partition's moving average


class Holdings:
    def __init__(self, settings: ProcessSettings, crawls: dict[int, LiveCrawl]) -> None:
        self.settings = settings
        self.crawls = crawls
        self.scheduler = Scheduler()
        self.partitions: dict[int, int | None] = {}  # -> ms since it was forced, None: handed over in peace
        self.giving: set[int] = set()  # to hand back as soon as nothing of theirs is in flight
        self.touched: set[Queue] = set()  # queues to look at in the next flush
        self.nameless: list[tuple[Queue, str]] = []  # just loaded, with a name that was never resolved
        self.control = -1  # the control version that the crawls and rulings are of
        self.rulings = Rulings()
        self._ruled_tick = 0.0  # when they were read
        self.asked: Counter[int] = Counter()  # partition -> requests since the last lease
        self._loads: dict[int, float] = {}
        self._lost_answer = False
        self._evicted_tick = 0.0

    # --- what a flush is asked for

    def ask(self, batch: Batch, pending: Pending, now: float, *, hungry: bool) -> list[tuple[Queue, Release]]:
        """Fill in what goes back and what is wanted; answers the queues that go back."""
        batch.control_seen = self.control
        if now - self._evicted_tick > EVICT_EVERY_MS:
            self._evict(now)
        released = self._look_at_touched(batch, now)
        batch.hand_back = self._handed_back(released)
        scheduler = self.scheduler
        if hungry and scheduler.rows < ROWS_MAX and len(scheduler.hosts) < self.settings.hosts_max:
            batch.new_queues, batch.window = QUEUES_PER_LOAD, WINDOW_MIN
        if self._lost_answer:
            batch.holding = list(scheduler.queues)
        self._want_grants(batch, pending)
        return released

    def _look_at_touched(self, batch: Batch, now: float) -> list[tuple[Queue, Release]]:
        released: list[tuple[Queue, Release]] = []
        again: set[Queue] = set()
        for queue in self.touched:
            if self.scheduler.queues.get(queue.id) is not queue:
                continue  # it went back, and may be held anew
            waiting = len(queue.rows)
            if queue.leaving or (not waiting and not queue.more):
                if queue.in_flight:
                    continue  # it is touched again when that ends
                queue.leaving = queue.leaving or "empty"
                released.append((queue, Release(queue.id, _rest_of(queue, now), queue.fetched)))
            elif queue.more and waiting <= queue.window // 2:
                batch.refills.append(Refill(queue.id, len(queue.held) + queue.window))
                again.add(queue)
        self.touched = again
        return released

    def _handed_back(self, released: list[tuple[Queue, Release]]) -> list[int]:
        """Partitions to give whose every queue is on its way back."""
        if not self.giving:
            return []
        leaving = {queue.id for queue, _ in released}
        held = {queue.host.part for queue in self.scheduler.queues.values() if queue.id not in leaving}
        return sorted(self.giving - held)

    def _want_grants(self, batch: Batch, pending: Pending) -> None:
        """Pages that are in flight and stay so, and as many more as could be sent soon."""
        limited = [crawl for crawl in self.crawls.values() if crawl.limited]
        if not limited:
            return
        ending = pending.url_ids()
        waiting: Counter[int] = Counter()
        for queue in self.scheduler.queues.values():
            waiting[queue.crawl.id] += len(queue.rows)
        for crawl in limited:
            soon = min(waiting[crawl.id], self.settings.concurrency) if crawl.running else 0
            batch.grants_wanted[crawl.id] = len(crawl.outstanding - ending) + soon

    def _evict(self, now: float) -> None:
        self._evicted_tick = now
        for host in self.scheduler.resting(now + LONG_REST_MS):
            for queue in list(host.queues.values()):
                self.send_back(queue, "rest")

    # --- what it answers

    def take(self, cut: Cut, answer: Flushed, now: float) -> None:
        """What is committed is no longer held; what was loaded is. The crawls must be of `answer.control` by now."""
        self._lost_answer = answer.repeated
        learn_keys(cut, self.crawls)
        self._settle(cut)
        for queue in cut.released:
            self.scheduler.remove_queue(queue)
        for part in cut.batch.hand_back:
            self.giving.discard(part)
            self.partitions.pop(part, None)
        limits = {refill.queue: refill.limit for refill in cut.batch.refills}
        for window in answer.refills:
            self._refill(window, limits[window.queue])
        for queue_id in answer.arrived:
            self._expect_more(self.scheduler.queues.get(queue_id))
        for window in answer.windows:
            self._hold(window, answer.hosts[window.host], now)
        self._take_grants(answer)

    def _settle(self, cut: Cut) -> None:
        hosts = self.scheduler.hosts
        for done in cut.finished:
            self._forget(done.queue, done.outcome.url_id)
            self.touched.add(done.queue)
            for child in done.outcome.children:
                host = hosts.get(child.host)
                if host is not None:
                    self._expect_more(host.queues.get(child.crawl))
        for queue, url_id in cut.retried:
            self._forget(queue, url_id)
            self._expect_more(queue)

    def _forget(self, queue: Queue, url_id: int) -> None:
        queue.held.discard(url_id)
        queue.crawl.outstanding.discard(url_id)

    def abandon(self, queue: Queue, row: Row) -> None:
        """Its visit was cut off: the row is open in the store and will be loaded again."""
        self._forget(queue, row.id)
        self._expect_more(queue)

    def _expect_more(self, queue: Queue | None) -> None:
        if queue is not None:
            queue.more = True
            self.touched.add(queue)

    def _refill(self, window: Window, limit: int) -> None:
        queue = self.scheduler.queues.get(window.queue)
        if queue is None or queue.leaving:
            return
        if len(queue.rows) <= queue.window // 4:
            queue.window = min(queue.window * 2, WINDOW_MAX)
        self.scheduler.add_rows(queue, window.rows)
        queue.more = len(window.rows) >= limit
        self.touched.add(queue)

    def _hold(self, window: Window, record: HostRecord, now: float) -> None:
        crawl = self.crawls.get(window.crawl)
        if crawl is None:
            self._lost_answer = True  # it ended meanwhile: the next flush frees what we do not hold
            return
        host = self.scheduler.hosts.get(window.host) or _host_of(window.host, record, now)
        self._rule(host)
        queue = Queue(window.queue, crawl, host, window.fetched)
        queue.window = WINDOW_MIN
        self.scheduler.add_queue(queue, window.rows)
        self.touched.add(queue)
        if crawl.resolves_discovered and not record.resolved:
            self.nameless.append((queue, hostname_of(window.rows[0].url)))
        forced = self.partitions.get(host.part)
        if forced is not None:
            # The last owner died: it may have asked this host just before.
            host.next_tick = max(host.next_tick, now - forced + host.delay_ms())
            self.scheduler.refresh(host)
        if host.part in self.giving or host.allowed_tick - now > LONG_REST_MS:
            self.send_back(queue, "rest")

    def _take_grants(self, answer: Flushed) -> None:
        for crawl_id, granted in answer.grants.items():
            crawl = self.crawls.get(crawl_id)
            if crawl is None:
                continue  # it ended in this very flush
            crawl.granted = granted
            if crawl.starved and crawl.may_send():
                crawl.starved = False
                self._refresh_hosts_of(crawl)

    # --- crawls and partitions

    def see_crawls(self, open_crawls: list[Crawl], control: int) -> None:
        """After a control change: new crawls, new states, new rate limits. Of what may not run everything goes back."""
        self.control = control
        for crawl in open_crawls:
            live = self.crawls.get(crawl.id)
            if live is None:
                live = self.crawls[crawl.id] = LiveCrawl(crawl, self.settings)
                live.set_floor(self.rulings.floor_ms)
            else:
                live.update(crawl)
        open_ids = {crawl.id for crawl in open_crawls}
        for live in list(self.crawls.values()):
            if live.id not in open_ids:
                live.running = False
            if live.running:
                self._refresh_hosts_of(live)
                continue
            queues = [queue for queue in self.scheduler.queues.values() if queue.crawl is live]
            for queue in queues:
                self.send_back(queue, "paused")
            if live.id not in open_ids and not queues:
                del self.crawls[live.id]

    def see_rulings(self, rulings: Rulings, now: float) -> None:
        """What operators decided: it holds for the next request of every host."""
        self.rulings, self._ruled_tick = rulings, now
        for crawl in self.crawls.values():
            crawl.set_floor(rulings.floor_ms)
        for host in list(self.scheduler.hosts.values()):
            self._rule(host)
            self.scheduler.refresh(host)

    def _rule(self, host: Host) -> None:
        rule = self.rulings.hosts.get(host.key)
        host.pace.override_ms = rule.delay_ms if rule else None
        blocked = rule.blocked_in_ms if rule else None
        host.blocked_until = self._ruled_tick + blocked if blocked else 0.0

    def _refresh_hosts_of(self, crawl: LiveCrawl) -> None:
        for host in self.scheduler.hosts.values():
            if crawl.id in host.queues:
                self.scheduler.refresh(host)

    def take_lease(self, lease: Lease) -> None:
        self.partitions = lease.partitions
        self.giving = set(lease.give)
        if self.giving:
            for queue in list(self.scheduler.queues.values()):
                if queue.host.part in self.giving:
                    self.send_back(queue, "handed back")

    def loads(self, seconds: float) -> dict[int, float]:
        """Requests a second of each partition, as a moving average; `seconds` since the last time."""
        known = self._loads
        self._loads = {
            part: (1 - LOAD_WEIGHT) * known.get(part, 0.0) + LOAD_WEIGHT * self.asked[part] / max(seconds, 0.001)
            for part in self.partitions
        }
        self.asked.clear()
        return self._loads

    def send_back(self, queue: Queue, why: str) -> None:
        """Its rows stay open in the store; it is released as soon as nothing of it is in flight."""
        self.scheduler.drop_rows(queue)
        queue.leaving = queue.leaving or why
        self.touched.add(queue)
        self.scheduler.refresh(queue.host)

    def send_back_host(self, host: Host, why: str) -> None:
        for queue in list(host.queues.values()):
            self.send_back(queue, why)


def _rest_of(queue: Queue, now: float) -> int:
    """How long the store leaves a queue alone; one that is only empty is loaded again as soon as it has rows."""
    if queue.leaving == "empty":
        return 0
    least = PENDING_LOOK_MS if queue.leaving == Need.WAIT.name else 0
    return int(max(queue.host.allowed_tick - now, least))


def _host_of(key: str, record: HostRecord, now: float) -> Host:
    host = Host(key, partition_of(key), now + record.next_in_ms, record.pace, record.requests, record.rest_reason)
    host.gates = {robots.origin: RobotsGate.of(robots, now) for robots in record.robots}
    return host
