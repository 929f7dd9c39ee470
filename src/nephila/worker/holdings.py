"""What a session holds: its partitions, the queues and rows of their hosts, their crawls, and uncommitted results.

`cut` makes a flush of it, `take` takes the answer in. No I/O, no waiting: ticks come in.
"""

from collections import Counter
from typing import NamedTuple

from nephila.fetch.resolver import DnsAnswer
from nephila.frontier.operators import Rulings, blocks_of
from nephila.frontier.store import Batch, Crawl, Flushed, HostRecord, Refill, Release, Row, Window
from nephila.policy.balance import Lease
from nephila.policy.dispatch import Step, dispatch
from nephila.policy.robots_gate import RobotsGate
from nephila.settings import ProcessSettings
from nephila.urls.identity import hostname_of, partition_of
from nephila.worker.crawls import LiveCrawl
from nephila.worker.pending import Cut, Pending, learn_keys
from nephila.worker.scheduler import Host, Leaving, Queue, Scheduler

WINDOW_MIN, WINDOW_MAX = 16, 2048  # rows of a host held in memory; doubles while they do not last a flush
QUEUES_PER_LOAD = 1024
ROWS_MAX = 100_000  # held in all windows: some 30 MB
LONG_REST_MS = 60_000.0  # a host that rests longer gives its memory back
EVICT_EVERY_MS = 5000.0
GRANTS_MIN = 64  # pages of a worker that has just begun
GRANTS_AHEAD = 4  # times what was used between two flushes: a grant comes a flush late, and a crawl may speed up
ROBOTS_LOOK_MS = 2_000  # how often a queue looks whether robots.txt was answered by the owner of another host
LOAD_WEIGHT = 0.5  # of the newest second in a partition's moving average


class NewName(NamedTuple):
    """The hostname of the first row of a queue that was loaded."""

    queue: Queue
    name: str
    recorded: bool  # the crawl records addresses (dns.resolve_discovered), and the host has none yet


class Holdings:
    def __init__(self, settings: ProcessSettings, cut_off_tick: float = 0.0) -> None:
        self.settings = settings
        self.cut_off_tick = cut_off_tick  # when the requests of this process's session before were
        self.crawls: dict[int, LiveCrawl] = {}
        self.scheduler = Scheduler()
        self.pending = Pending()
        self.partitions: dict[int, int | None] = {}  # -> ms since it was forced, None: handed over in peace
        self.giving: set[int] = set()  # to hand back as soon as nothing of theirs is in flight
        self.touched: set[Queue] = set()  # queues to look at in the next flush
        self.control = -1  # the control version that the crawls and rulings are of
        self.rulings = Rulings()
        self.blocks = blocks_of(self.rulings)
        self._ruled_tick = 0.0  # when they were read
        self.asked: Counter[int] = Counter()  # partition -> requests since the last lease
        self._loads: dict[int, float] = {}
        self._lost_answer = False
        self._evicted_tick = 0.0

    # --- a flush

    def cut(self, batch: Batch, now: float, *, hungry: bool) -> Cut:
        """Everything that has gathered, what goes back and what is wanted."""
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
        pending, self.pending = self.pending, Pending()
        self._want_grants(batch, pending)
        return pending.cut(batch, scheduler.take_dirty(), released, now)

    def _look_at_touched(self, batch: Batch, now: float) -> list[tuple[Queue, Release]]:
        released: list[tuple[Queue, Release]] = []
        again: set[Queue] = set()
        for queue in self.touched:
            if self.scheduler.queues.get(queue.id) is not queue:
                continue  # it went back, and may be held anew
            waiting, fetched = len(queue.rows), queue.fetched
            if queue.leaving or (not waiting and not queue.more):
                if not queue.in_flight:  # else it is touched again when that ends
                    queue.leaving = queue.leaving or Leaving.EMPTY
                    released.append((queue, Release(queue.id, _rest_of(queue, now), fetched)))
                    continue
            elif queue.more and waiting <= queue.window // 2:
                batch.refills.append(Refill(queue.id, len(queue.held) + queue.window))
                again.add(queue)
            if fetched != queue.fetched_stored:
                queue.fetched_stored = fetched
                batch.fetched.append((queue.id, fetched))
        self.touched = again
        return released

    def _handed_back(self, released: list[tuple[Queue, Release]]) -> list[int]:
        """The partitions to hand back: those to give of which every queue is on its way back."""
        if not self.giving:
            return []
        leaving = {queue.id for queue, _ in released}
        held = {queue.host.part for queue in self.scheduler.queues.values() if queue.id not in leaving}
        return sorted(self.giving - held)

    def _want_grants(self, batch: Batch, pending: Pending) -> None:
        """Ask for as many pages as stay in flight, and as many more as may be sent before the next answer comes.

        These are GRANTS_AHEAD times what was used between two flushes lately, whether their rows are here or come with
        the answer: a crawl far from its limit never waits for a grant. What is not used goes back.
        """
        limited = [crawl for crawl in self.crawls.values() if crawl.limited]
        if not limited:
            return
        ending = pending.url_ids()
        used = Counter(queue.crawl.id for queue, _ in pending.finished)
        at_work = {queue.crawl.id for queue in self.scheduler.queues.values() if queue.rows}
        for crawl in limited:
            crawl.ahead = max(GRANTS_MIN, GRANTS_AHEAD * used[crawl.id], crawl.ahead // 2)
            wanted = crawl.running and (crawl.id in at_work or crawl.outstanding)
            batch.grants_wanted[crawl.id] = len(crawl.outstanding - ending) + (crawl.ahead if wanted else 0)

    def _evict(self, now: float) -> None:
        self._evicted_tick = now
        for host in self.scheduler.resting(now + LONG_REST_MS):
            for queue in list(host.queues.values()):
                self.send_back(queue, Leaving.REST)

    # --- its answer

    def take(self, cut: Cut, answer: Flushed, now: float) -> list[NewName]:
        """Let go of what is committed, hold what was loaded. The crawls must be of `answer.control` by now.

        Answers the names of the queues that were loaded.
        """
        self._lost_answer = answer.repeated
        learn_keys(cut, self.crawls, answer)
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
        names = []
        for window in answer.windows:
            record = answer.hosts[window.host]
            held = self._hold(window, record, now)
            if held is not None and window.rows:
                recorded = held.crawl.resolves_discovered and not record.resolved
                names.append(NewName(held, hostname_of(window.rows[0].url), recorded))
        self._take_grants(answer)
        return names

    def _settle(self, cut: Cut) -> None:
        hosts = self.scheduler.hosts
        for queue, ending in cut.finished:
            self._forget(queue, ending.outcome.url_id)
            self.touched.add(queue)
            for child in ending.outcome.children:
                host = hosts.get(child.host)
                if host is not None:
                    self._expect_more(host.queues.get(child.crawl))
        for name, crawl in {(child.host, child.crawl) for child in cut.batch.children}:
            host = hosts.get(name)
            if host is not None:
                self._expect_more(host.queues.get(crawl))
        for queue, url_id in cut.retried:
            self._forget(queue, url_id)
            self._expect_more(queue)

    def _forget(self, queue: Queue, url_id: int) -> None:
        queue.held.discard(url_id)
        queue.crawl.outstanding.discard(url_id)

    def abandon(self, queue: Queue, row: Row) -> None:
        """The visit of the row was cut off: the row is open in the store and will be loaded again."""
        self._forget(queue, row.id)
        self._expect_more(queue)

    def respell(self, queue: Queue, row: Row, spelling: str) -> None:
        """The row is asked for in another spelling next, as soon as its origin's robots.txt and its host permit it.

        The store keeps the first spelling: should the row be loaded again, it takes the same way.
        """
        queue.crawl.outstanding.discard(row.id)
        queue.fetched -= 1
        if queue.leaving:
            self.abandon(queue, row)
        else:
            self.scheduler.put_back(queue, row._replace(spelling=spelling))
            self.scheduler.refresh(queue.host)

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

    def _hold(self, window: Window, record: HostRecord, now: float) -> Queue | None:
        crawl = self.crawls.get(window.crawl)
        if crawl is None:
            self._lost_answer = True  # it ended meanwhile: the next flush frees what we do not hold
            return None
        host = self.scheduler.hosts.get(window.host) or _host_of(window.host, record, now)
        self._rule(host)
        queue = Queue(window.queue, crawl, host, window.fetched)
        queue.window = WINDOW_MIN
        self.scheduler.add_queue(queue, window.rows)
        self.touched.add(queue)
        forced = self.partitions.get(host.part)
        if forced is not None:
            # The last owner died: it may have asked this host just before. If it was this process, it knows until when.
            last = max(now - forced, self.cut_off_tick)
            host.next_tick = max(host.next_tick, last + host.delay_ms(host.pace))
            self.scheduler.refresh(host)
        if host.part in self.giving or host.allowed_tick - now > LONG_REST_MS:
            self.send_back(queue, Leaving.REST)
        return queue

    def name_found(self, host: Host, answer: DnsAnswer) -> None:
        """Keep the addresses that a look-up beside politeness found: the next flush stores them."""
        self.pending.resolved[host] = answer.texts()

    def will_ask(self, queue: Queue, now: float) -> bool:
        """Whether the next row of the queue is a request to its host, as far as can be told before its turn."""
        if queue.leaving or not queue.rows or not queue.crawl.running or queue.host.part in self.giving:
            return False
        step = dispatch(queue.rows[0], queue.crawl.terms, queue.fetched, "", self.blocks, queue.host.gates, now).step
        return step is Step.SEND or step is Step.ASK_ROBOTS

    def starved(self) -> bool:
        """True: rows of a crawl wait for a grant, which comes with a flush."""
        return any(crawl.starved for crawl in self.crawls.values())

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
        """Take in the crawls after a control change: states, rate limits. Queues of crawls that may not run go back."""
        self.control = control
        for crawl in open_crawls:
            live = self.crawls.get(crawl.id)
            if live is None:
                self.crawls[crawl.id] = LiveCrawl(crawl, self.settings, self.rulings.floor_ms)
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
                self.send_back(queue, Leaving.PAUSED)
            if live.id not in open_ids and not queues:
                del self.crawls[live.id]

    def see_rulings(self, rulings: Rulings, now: float) -> None:
        """Take in what operators decided: it holds for the next request of every host."""
        self.rulings, self._ruled_tick, self.blocks = rulings, now, blocks_of(rulings)
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
                    self.send_back(queue, Leaving.HANDED_BACK)

    def loads(self, seconds: float) -> dict[int, float]:
        """Requests a second of each partition, as a moving average; `seconds` since the last time."""
        known = self._loads
        self._loads = {
            part: (1 - LOAD_WEIGHT) * known.get(part, 0.0) + LOAD_WEIGHT * self.asked[part] / max(seconds, 0.001)
            for part in self.partitions
        }
        self.asked.clear()
        return self._loads

    def send_back(self, queue: Queue, why: Leaving) -> None:
        """The queue is released as soon as nothing of it is in flight; its rows stay open in the store."""
        self.scheduler.drop_rows(queue)
        queue.leaving = queue.leaving or why
        self.touched.add(queue)
        self.scheduler.refresh(queue.host)

    def send_back_host(self, host: Host, why: Leaving) -> None:
        for queue in list(host.queues.values()):
            self.send_back(queue, why)

    def give_up(self, queue: Queue, reason: str) -> None:
        """The store ends every open row of the queue, for this reason."""
        self.pending.deaths[queue.id] = reason
        self.send_back(queue, Leaving.GIVEN_UP)


def _rest_of(queue: Queue, now: float) -> int:
    """How long the store leaves a queue alone; one that is only empty is loaded again as soon as it has rows."""
    if queue.leaving is Leaving.EMPTY:
        return 0
    least = ROBOTS_LOOK_MS if queue.leaving is Leaving.AWAITS_ROBOTS else 0
    return int(max(queue.host.allowed_tick - now, least))


def _host_of(key: str, record: HostRecord, now: float) -> Host:
    host = Host(key, partition_of(key), now + record.next_in_ms, record.pace, record.requests, record.rest_reason)
    host.gates = {robots.origin: RobotsGate.of_answer(robots, now) for robots in record.robots}
    return host
