"""What a seed decides: the web, the crawls, processes and their settings, bounds of buffers, and what goes wrong."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nephila.frontier.sqlite import frontier as sqlite_frontier
from nephila.frontier.sqlite import inserter
from nephila.policy import politeness
from nephila.profiles import CrawlSettings, crawl_settings
from nephila.settings import ProcessSettings, process_settings
from nephila.urls import identity
from nephila.worker import crawls, holdings, right, robots_visit, session, visit
from nephila.worker.scheduler import Host, Queue
from tests.simulator.oracle import HOPS_MAX, Terms
from tests.simulator.web import FAILING, Mood, Web, draw_web, key_of

TRIES = 2  # after the first one
ROBOTS_TRIES = 5
RETRY_AFTER_CAP_MS = 1500
PARTITIONS = 16
FLOORS_MS = (0, 20, 100, 300)

# Bounds of buffers, of which the smallest values are the interesting ones: (module, name, values).
KNOBS: tuple[tuple[Any, str, tuple[Any, ...]], ...] = (
    (holdings, "WINDOW_MIN", (1, 2, 16)),
    (holdings, "WINDOW_MAX", (2, 2048)),
    (holdings, "QUEUES_PER_LOAD", (1, 256)),
    (holdings, "LONG_REST_MS", (300.0, 60_000.0)),
    (holdings, "EVICT_EVERY_MS", (200.0, 5000.0)),
    (holdings, "ROBOTS_LOOK_MS", (200, 2000)),
    (crawls, "KNOWN_MAX", (4, 500_000)),
    (session, "LEASE_EVERY_MS", (300.0, 1000.0)),
    (sqlite_frontier, "END_CHUNK", (1, 2000)),
    (sqlite_frontier, "ARRIVALS_MAX", (1, 5000)),
)


# The same for all seeds.
FIXED: tuple[tuple[Any, str, Any], ...] = (
    (identity, "PARTITIONS", PARTITIONS),
    (inserter, "PARTITIONS", PARTITIONS),
    (right, "RETRY_MS_MIN", 100.0),
    (right, "RETRY_MS_MAX", 800.0),
    (robots_visit, "PENDING_MS_MAX", 20_000),
    (politeness, "SLOWED_STEP_MS", 50.0),
    (visit, "CRASH_RETRY_MS", 100),
    (Queue, "__hash__", lambda queue: queue.id),
    (Host, "__hash__", lambda host: hash(host.key)),
)


@dataclass(frozen=True, slots=True)
class Chaos:
    """One thing that happens to the processes."""

    at_ms: float
    kind: str  # kill, freeze, stop, start, kill_all, wall_clock, store_away, pause
    ms: float  # how long, where it has an end


@dataclass(frozen=True, slots=True)
class Scenario:
    web: Web
    seeds: list[list[str]]  # of each crawl
    settings: list[CrawlSettings]  # of each crawl
    terms: Terms
    process: ProcessSettings
    lease_ms: float | None  # None: a session lives as long as its process
    workers: int
    chaos: list[Chaos]
    fault_rate: float
    slow_rate: float
    slow_ms: float
    knobs: list[Any]
    steered: str  # a crawl is cancelled at some time: "cancel", or ""

    @property
    def limited(self) -> bool:
        return any(one.limits.max_pages or one.limits.max_urls for one in self.settings) or bool(self.steered)


def draw_scenario(chance: random.Random) -> Scenario:
    mode = chance.choices(("enqueue", "follow", "record"), (70, 20, 10))[0]
    web, seeds = draw_web(chance, TRIES, follows=mode == "follow")
    terms = Terms(
        obeys_robots=chance.random() < 0.85,
        redirects=mode,
        any_host=chance.random() < 0.3,
        floor_ms=chance.choice(FLOORS_MS if len(web.pages) > 10 else (*FLOORS_MS, 1000)),
        max_inflight=chance.choice((1, 1, 1, 2, 4)),
        retry_after_cap_ms=RETRY_AFTER_CAP_MS,
    )
    lists = [seeds] if chance.random() < 0.75 else [seeds, chance.sample(seeds, 1)]
    limits = _limits(chance, len(web.pages))
    settings = [_settings(chance, web, terms, limits, number) for number in range(len(lists))]
    lease_ms = chance.choice((None, 1500.0, 3000.0, 5000.0))
    process = process_settings(
        {
            "flush_ms": chance.choice((50, 100, 250, 1000)),
            "flush_results": chance.choice((1, 3, 500)),
            "concurrency": chance.choice((1, 3, 64)),
            "contact": "https://simulator.test/",
        }
    )
    peaceful = chance.random() < 0.15
    chaos = [] if peaceful else [_chaos(chance, lease_ms) for _ in range(chance.randint(0, 7))]
    return Scenario(
        web,
        lists,
        settings,
        terms,
        process,
        lease_ms,
        chance.randint(1, 4),
        chaos,
        fault_rate=0.0 if peaceful else chance.choice((0.0, 0.02, 0.1, 0.25)),
        slow_rate=0.0 if peaceful else chance.choice((0.0, 0.02, 0.1)),
        slow_ms=chance.choice((50.0, 500.0, 1.5 * (lease_ms or 1000.0))),
        knobs=[chance.choice(values) for _, _, values in KNOBS],
        steered="cancel" if chance.random() < 0.05 else "",
    )


def _limits(chance: random.Random, pages: int) -> dict[str, Any]:
    if chance.random() < 0.2:
        return {"limits.max_pages": chance.randint(1, pages)}
    if chance.random() < 0.1:
        return {"limits.max_urls": chance.randint(1, 2 * pages)}
    return {}


def _settings(chance: random.Random, web: Web, terms: Terms, limits: dict[str, Any], number: int) -> CrawlSettings:
    hosts = tuple(f".{key}" for key in web.sites)
    wanted = {
        "sitemaps.mode": "off",  # the virtual web has none, and its results are counted by hand
        "scope.mode": "any" if terms.any_host else "list",
        "scope.hosts": () if terms.any_host else hosts,
        "polite.floor_ms": terms.floor_ms,
        "polite.jitter_ms": chance.choice((0, 0, 50)),
        "polite.adaptive": chance.random() < 0.2,
        "polite.max_inflight": terms.max_inflight,
        "polite.crawl_delay_cap_ms": chance.choice((1000, 1000, 1000, 1000, 100_000)),
        "retry.max": TRIES,
        "retry.base_ms": chance.choice((10, 200)),
        "retry.cap_ms": 1000,
        "retry.retry_after_cap_ms": RETRY_AFTER_CAP_MS,
        "host.wait_for_seeds": True,  # else a crawl ends early where its seeds are silent for a while
        "host.backoff_base_ms": 300,
        "host.backoff_cap_ms": 1500,
        "host.death_errors": errors_of(web) + 10,
        "host.cooldown_base_ms": chance.choice((0, 0, 100)),
        "host.cooldown_max_ms": 1000,
        "robots.mode": "obey" if terms.obeys_robots else "ignore",
        "robots.retry_ms": 100,
        "robots.attempts_max": ROBOTS_TRIES,
        "robots.timeout_ms": 500,
        "robots.cache_seconds": chance.choice((60, 86_400)),
        "redirects.mode": terms.redirects,
        "redirects.max_hops": HOPS_MAX,
        "dns.resolve_discovered": chance.random() < 0.2,
        "content.store": chance.choice(("warc", "none")),
        "fetch.user_agent": f"crawl{number + 1}/1.0",
        "fetch.total_timeout_ms": 1000,
    }
    return crawl_settings("default", {**wanted, **limits})


def errors_of(web: Web) -> int:
    """The most errors that a host which is well can count, over two crawls: it must not die of them."""
    errors = dict.fromkeys(web.sites, 0)
    for page in web.pages.values():
        errors[key_of(page.url)] += len(page.first) + (TRIES + 1) * (page.act in FAILING) + 2
    return 2 * max((count for key, count in errors.items() if web.sites[key].mood is Mood.WELL), default=0)


CHAOS = {
    "kill": 30,
    "freeze": 25,
    "stop": 15,
    "start": 10,
    "kill_all": 5,
    "wall_clock": 5,
    "store_away": 10,
    "pause": 5,
}


def _chaos(chance: random.Random, lease_ms: float | None) -> Chaos:
    kind = chance.choices(list(CHAOS), list(CHAOS.values()))[0]
    at = chance.choice((chance.uniform(0, 500), chance.uniform(0, 3000), chance.uniform(0, 8000)))
    return Chaos(at, kind, chance.choice((50.0, 700.0, 1.2 * (lease_ms or 2000.0))))


@contextmanager
def arranged(scenario: Scenario) -> Iterator[None]:
    """The bounds as the scenario wants them."""
    before = [getattr(module, name) for module, name, _ in KNOBS]
    for (module, name, _), value in zip(KNOBS, scenario.knobs, strict=True):
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(KNOBS, before, strict=True):
            setattr(module, name, value)


def arrange_process() -> None:
    """Once per process: fewer partitions, so that hosts share them, shorter waits, and sets whose order does not depend
    on addresses in memory."""
    for module, name, value in FIXED:
        setattr(module, name, value)
    identity.partition_of.cache_clear()
