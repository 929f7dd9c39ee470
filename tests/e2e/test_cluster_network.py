"""4. Between worker and database is a network that misbehaves: no deadlock, no busy loop, recovery within 10 s."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.fleet import Fleet, Machine, until
from tests.e2e.harness import assert_whole
from tests.postgres import server
from tests.proxy import Proxy
from tests.site.graphs import generate
from tests.site.server import TestWeb

SEED = 91817
RECOVERY_SECONDS_MAX = 10.0
STEP_SECONDS = 0.5
# Waiting for a network costs next to nothing; a worker that spins takes a whole core.
CORES_MAX = 0.5


@dataclass(frozen=True, slots=True)
class Trouble:
    seconds: float
    step: Callable[[Proxy], None]  # every STEP_SECONDS


def slow(proxy: Proxy) -> None:
    proxy.latency_ms = 500


def cut(proxy: Proxy) -> None:
    proxy.reset()


def silent(proxy: Proxy) -> None:
    proxy.half_open = True


def narrow(proxy: Proxy) -> None:
    proxy.bytes_per_second = 1024


TROUBLES = {
    "latency": Trouble(10, slow),
    "resets": Trouble(8, cut),
    "half_open": Trouble(30, silent),
    "narrow": Trouble(12, narrow),
}


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy(server().socket) as running:
        yield running


def sent_by(machine: Machine, web: TestWeb) -> int:
    return sum(hit.headers["user-agent"] == machine.agent for hit in web.hits())


@pytest.mark.slow
@pytest.mark.requirement("C-03", "F-07", "RC-09")
@pytest.mark.parametrize("name", TROUBLES)
def test_4_the_way_to_the_database_is_broken(name: str, fleet: Fleet, proxy: Proxy) -> None:
    """One machine behind the proxy, one beside it: that one never waits for a lock that the other left behind."""
    trouble = TROUBLES[name]
    database = (fleet.place.url or "").partition("?")[0].rpartition("/")[2]
    with TestWeb() as web:
        # 20 requests a second of each host, one request at a time: enough for the whole of the trouble.
        pages = round(20 * 8 * (trouble.seconds + 2 * RECOVERY_SECONDS_MAX)) // 10 * 10
        graph = generate(SEED, pages, web.port, hosts=8)
        web.add(graph.sites)
        near, far = fleet.start("near"), fleet.start("far", url=proxy.url(database))
        fleet.ready(2)
        polite = {"polite.floor_ms": 50, "polite.max_inflight": 1}
        crawl = fleet.place.start(list(graph.seeds), graph.settings | polite)
        until(lambda: sent_by(near, web) > 20 and sent_by(far, web) > 20, 30, "both work")
        began, cpu, asked = time.monotonic(), far.cpu_seconds(), sent_by(near, web)
        while time.monotonic() < began + trouble.seconds:
            trouble.step(proxy)
            time.sleep(STEP_SECONDS)
        used = (far.cpu_seconds() - cpu) / (time.monotonic() - began)
        assert sent_by(near, web) > asked + 20, "the other went on"
        assert not fleet.over(crawl.id), "the crawl was over before the trouble was"
        proxy.heal()
        healed = sent_by(far, web)
        until(lambda: sent_by(far, web) > healed, RECOVERY_SECONDS_MAX, f"it works again: {fleet.describe(crawl.id)}")
        assert used < CORES_MAX, f"{used:.2f} cores while it could only wait"
        assert far.process.poll() is None
        fleet.run_crawl(crawl.id, 90)
        assert_whole(fleet.place, crawl.id, graph)
        assert far.events("worker_died") == []
