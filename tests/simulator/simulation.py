"""One seed from its first event to its last invariant."""

import gc
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from nephila.control import crawls
from nephila.control.upkeep import Duty
from nephila.errors import StoreUnavailable
from nephila.frontier.sqlite import SqliteCatalog, SqliteUpkeep
from nephila.frontier.store import Crawl
from nephila.models import STATES_BY_CODE, CrawlState, Kind, Reason, UrlState
from tests.contract.counts import breakdown, counted_rows
from tests.simulator.archive import MemoryArchive
from tests.simulator.database import Fault, SimulatedDatabase
from tests.simulator.machine import Machine, Mishaps
from tests.simulator.oracle import Oracle
from tests.simulator.scenario import PARTITIONS, Chaos, arranged, draw_scenario
from tests.simulator.web import Hit
from tests.simulator.world import Broken, World

CALM_AT_MS = 10_000.0  # from then on nothing goes wrong any more, and the crawl must come to its end
CRAWL_LIMIT_MS = 20 * 60 * 1000.0
UPKEEP_EVERY_MS = (300.0, 1500.0)
RESTART_MS = (0.0, 3000.0)
CALLBACKS_TO_DEATH = 40
IDLE_MS = 2500.0  # time to let go of what is held
STOP_LIMIT_MS = 60_000.0


@dataclass(frozen=True, slots=True)
class Report:
    seed: int
    broken: list[str]
    trace: list[tuple[float, str]]
    virtual_ms: float
    urls: int
    requests: int
    commits: int

    @property
    def summary(self) -> str:
        return f"{self.urls} URLs, {self.requests} requests, {self.commits} commits"

    def without_trace(self) -> "Report":
        return replace(self, trace=[])


class Simulation:
    def __init__(self, seed: int, *, detailed: bool = False) -> None:
        random.seed(seed)  # the worker's own chance
        self.seed = seed
        self.world = World(seed)
        self.world.detailed = detailed
        self.scenario = draw_scenario(self.world.chance)
        self.database = SimulatedDatabase(self.world, PARTITIONS, self.scenario.lease_ms)
        self.catalog = SqliteCatalog(self.database)
        self.archive = MemoryArchive()
        self.duty = Duty(SqliteUpkeep(self.database), self.archive, shared=False)
        self.mishaps = Mishaps(
            self.world,
            rate=self.scenario.fault_rate,
            slow_rate=self.scenario.slow_rate,
            slow_ms=self.scenario.slow_ms,
            answers_get_lost=self.scenario.lease_ms is not None,
        )
        self.oracle = Oracle(self.scenario.web, self.scenario.terms)
        self.machines: list[Machine] = []
        self.crawls: list[int] = []
        self.over = False
        self._ended: set[tuple[str, str]] = set()  # crawl, URL: committed

    # --- its course

    def run(self) -> Report:
        world = self.world
        try:
            with arranged(self.scenario):
                self._begin()
                world.run(lambda: self.over, CRAWL_LIMIT_MS, "the crawl")
                self._judge()
                self._wind_up()
        except Broken as broken:
            world.blame(str(broken))
        finally:
            for machine in self.machines:
                machine.bury()
            self.database.close()
        rows = self.database.read("SELECT count(*) FROM urls")[0][0]
        hits = len(self.scenario.web.hits)
        return Report(self.seed, world.broken, world.trace, world.now_ms, rows, hits, self.database.commits)

    def _begin(self) -> None:
        for seeds, settings in zip(self.scenario.seeds, self.scenario.settings, strict=True):
            self.crawls.append(crawls.create(self.catalog, seeds, settings).id)
        for _ in range(self.scenario.workers):
            self._start_machine()
        for chaos in self.scenario.chaos:
            self.world.after(chaos.at_ms, partial(self._strike, chaos))
        if self.scenario.steered:
            self.world.after(self.world.between(0, 3000), self._cancel)
        self.world.after(CALM_AT_MS, self._calm_down)
        self._keep_up()

    def _start_machine(self) -> None:
        if self.over:
            return
        name = f"m{len(self.machines) + 1}"
        parts = (self.world, self.scenario.web, self.database, self.archive, self.scenario.process, self.mishaps)
        machine = Machine(name, *parts)
        machine.asks, machine.ended = self._asked, self._commit_ended
        self.machines.append(machine)
        self.world.processes.append(machine)

    def _living(self) -> list[Machine]:
        return [machine for machine in self.machines if not machine.over]

    def _keep_up(self) -> None:
        """What the command does about once a second: upkeep, and a new worker for each that died."""
        world = self.world
        self.database.fault = self.mishaps.fault()
        if self.database.fault in (Fault.DIES_BEFORE, Fault.DIES_AFTER):
            self.database.fault = Fault.ROLLED_BACK
        try:
            self.duty.run_once()
        except StoreUnavailable:
            pass
        finally:
            self.database.fault = Fault.NONE
        self.over = self.over or all(self.catalog.crawl(crawl).state.over for crawl in self.crawls)
        self.world.processes = list(self._living())
        missing = self.scenario.workers - len(self._living())
        if missing > 0 and not self.over:
            world.after(world.between(*RESTART_MS), self._start_if_missing)
        world.after(world.between(*UPKEEP_EVERY_MS), self._keep_up)

    def _start_if_missing(self) -> None:
        if len(self._living()) < self.scenario.workers:
            self._start_machine()

    # --- what happens to it

    def _strike(self, chaos: Chaos) -> None:
        world, living = self.world, self._living()
        if self.over or not living:
            return
        victim = world.chance.choice(living)
        match chaos.kind:
            case "kill":
                victim.kill_after(world.chance.randint(0, CALLBACKS_TO_DEATH))
            case "kill_all":
                for machine in living:
                    machine.kill("with all others")
            case "freeze":
                victim.freeze(chaos.ms)
            case "stop":
                victim.stop()
            case "start":
                self._start_machine()
            case "wall_clock":
                victim.clock.wrong_ms += world.chance.choice((-7_200_000, 7_200_000))
            case "store_away":
                self.mishaps.away_until = world.now_ms + chaos.ms
            case "pause":
                self._steer(CrawlState.PAUSED)
                world.after(chaos.ms, lambda: self._steer(CrawlState.RUNNING))

    def _steer(self, state: CrawlState) -> None:
        for crawl in self.crawls:
            if self.catalog.crawl(crawl).state in (CrawlState.RUNNING, CrawlState.PAUSED):
                self.catalog.steer(crawl, state)

    def _cancel(self) -> None:
        if not self.catalog.crawl(self.crawls[0]).state.over:
            self.catalog.steer(self.crawls[0], CrawlState.ENDING, Reason.CANCELLED)

    def _calm_down(self) -> None:
        self.mishaps.calm = True

    # --- what is seen while it runs

    def _commit_ended(self, url_id: int) -> None:
        (crawl, url, state, kind) = self.database.read(
            "SELECT crawl, url, state, kind FROM urls WHERE id = ?", (url_id,)
        )[0]
        if state and kind == Kind.PAGE:
            self._ended.add((f"crawl{self.crawls.index(crawl) + 1}", url))

    def _asked(self, hit: Hit) -> None:
        self.world.say(f"{hit.machine} asks {hit.url} for {hit.crawl}")
        if (hit.crawl, hit.url) in self._ended and self.scenario.terms.redirects != "follow":
            self.world.blame(f"{hit.url} is asked for again after its end was committed")

    # --- what must hold at its end

    def _judge(self) -> None:
        for number, crawl_id in enumerate(self.crawls):
            self._judge_crawl(self.catalog.crawl(crawl_id), self.scenario.seeds[number])
        for problem in self.catalog.check():
            self.world.blame(problem)
        for offence in self.oracle.offences():
            self.world.blame(offence)
        self._judge_archive()

    def _judge_crawl(self, crawl: Crawl, seeds: list[str]) -> None:
        expected = self.oracle.expected(seeds)
        found = self.database.read(
            "SELECT url, state, coalesce(reason, ''), kind FROM urls WHERE crawl = ?", (crawl.id,)
        )
        ends = {url: (STATES_BY_CODE[state].value, reason) for url, state, reason, kind in found if kind == Kind.PAGE}
        pages = sum(kind == Kind.PAGE for *_, kind in found)
        for problem in self._differences(crawl, ends, expected.ends, pages):
            self.world.blame(f"crawl {crawl.id}: {problem}")
        numbers, rows = breakdown(self.catalog, crawl), counted_rows(self.catalog, crawl)
        for name in sorted(numbers.keys() | rows.keys()):
            if numbers.get(name) != rows.get(name):
                self.world.blame(f"crawl {crawl.id}: {name} is {numbers.get(name)}, rows say {rows.get(name)}")
        if not self._cut_short(crawl):
            sql = "SELECT host, reason, n FROM refusals WHERE crawl = ?"
            counted = Counter({(host, reason): n for host, reason, n in self.database.read(sql, (crawl.id,))})
            for refusal in expected.refusals.keys() | {one for one in counted if one[1] in ("scope", "extension")}:
                if counted[refusal] != expected.refusals[refusal]:
                    counts = f"{counted[refusal]} instead of {expected.refusals[refusal]}"
                    self.world.blame(f"crawl {crawl.id}: {counts} links were refused for {refusal}")

    def _cut_short(self, crawl: Crawl) -> bool:
        return crawl.state is CrawlState.CANCELLED or bool(crawl.limited_by)

    def _differences(
        self,
        crawl: Crawl,
        ends: dict[str, tuple[str, str]],
        expected: dict[str, tuple[tuple[str, str], ...]],
        pages: int,
    ) -> Iterator[str]:
        if pages != len(ends):
            yield f"{pages} rows for {len(ends)} URLs"
        limits, cut_short = crawl.settings.limits, self._cut_short(crawl)
        more = {("excluded", "limit_pages"), ("cancelled", "cancelled")} if cut_short else set()
        for url, end in sorted(ends.items()):
            if url not in expected:
                yield f"nobody knows why {url} is here"
            elif end not in expected[url] and end not in more:
                yield f"{url} ended {end} instead of {expected[url]}"
        if not cut_short:
            yield from (f"{url} is missing" for url in sorted(expected.keys() - ends.keys()))
        visited = sum(state == UrlState.VISITED for state, _ in ends.values())
        visitable = sum(any(state == UrlState.VISITED for state, _ in allowed) for allowed in expected.values())
        if limits.max_pages is not None and crawl.state is not CrawlState.CANCELLED:
            wanted = min(limits.max_pages, visitable)
            if visited != wanted:
                yield f"{visited} pages instead of {wanted}"
        if limits.max_urls is not None and len(ends) > limits.max_urls:
            yield f"{len(ends)} URLs instead of at most {limits.max_urls}"

    def _judge_archive(self) -> None:
        for url, file, offset in self.database.read(ARCHIVED):
            if (file, offset) not in self.archive.durable:
                self.world.blame(f"the record of {url} is not in the archive")

    def _wind_up(self) -> None:
        """Idle workers hold nothing, and leave nothing behind when they stop."""
        world = self.world
        self._calm_down()
        late = max(
            [
                world.now_ms,
                self.mishaps.settled_at,
                self.mishaps.away_until,
                *(machine.frozen_until for machine in self._living()),
            ]
        )
        idle_at = late + self.scenario.slow_ms + IDLE_MS
        world.run(lambda: world.now_ms >= idle_at, 2 * CRAWL_LIMIT_MS, "idling")
        for machine in self._living():
            session = machine.worker.session if machine.worker else None
            if session is None:
                continue
            held, dispatcher = session.held, session.dispatcher
            left = {
                "queues": list(held.scheduler.queues),
                "hosts": list(held.scheduler.hosts),
                "rows": held.scheduler.rows,
                "results": len(held.pending),
                "visits": len(dispatcher.tasks),
                "visiting": dispatcher.visiting,
                "requests": dispatcher.fetching,
                "outstanding": [url for crawl in held.crawls.values() for url in crawl.outstanding],
            }
            if any(left.values()):
                world.blame(f"{machine.name} still holds {[(name, what) for name, what in left.items() if what]}")
            machine.stop()
        world.run(lambda: not self._living(), STOP_LIMIT_MS, "stopping")
        for machine in self.machines:
            pending = [] if machine.dead else [task for task in machine.tasks if not task.done()]
            if pending:
                world.blame(f"{machine.name} leaves tasks: {pending}")
            if not machine.dead and machine.main.exception() is not None:
                world.blame(f"{machine.name} ended by {machine.main.exception()!r}")
        self._judge_rest()

    def _judge_rest(self) -> None:
        self.database.clock.forward_ms = 10**6  # every lease is over
        self.duty.run_once()
        for what, sql in LEFT.items():
            left = self.database.read(sql)
            if left:
                self.world.blame(f"{what}: {left[:3]}")


ARCHIVED = """SELECT u.url, f.name, p.offset FROM pages p JOIN urls u ON u.page = p.id
  JOIN archive_files f ON f.id = p.file"""
LEFT = {
    "sessions live on": "SELECT id FROM workers WHERE fenced_at IS NULL",
    "partitions have an owner": "SELECT part, owner FROM partitions WHERE owner IS NOT NULL",
    "queues are due": "SELECT id, held, due FROM queues WHERE due IS NOT NULL",
    "arrivals wait": "SELECT queue FROM arrivals",
    "pages are granted": "SELECT worker, pages FROM grants WHERE pages <> 0",
    "URLs are open": "SELECT url FROM urls WHERE state = 0",
}


def simulate(seed: int, *, detailed: bool = False) -> Report:
    """Run one seed. The collector waits: what a dead process left must not run at a moment of its own choice."""
    gc.disable()
    try:
        return Simulation(seed, detailed=detailed).run()
    finally:
        gc.enable()
