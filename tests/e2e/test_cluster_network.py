"""4. Between worker and database is a network that misbehaves: no deadlock, no busy loop, and recovery after it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.fleet import Fleet, Machine, pass_by
from tests.e2e.harness import SHORT_LEASE_SECONDS, assert_whole
from tests.patience import until
from tests.postgres import server
from tests.proxy import Proxy
from tests.site.graphs import generate
from tests.site.politeness import violations
from tests.site.server import TestWeb

pytestmark = pytest.mark.xdist_group("cluster")

SEED = 91817
SPARE_SECONDS = 10.0  # of work, beyond that of the trouble
BLIND_SECONDS = 3 * SHORT_LEASE_SECONDS  # after which nobody can believe in a lease, however late requests are seen
STEP_SECONDS = 0.5
DELAY_MS = 100
# Waiting for a network costs next to nothing; a worker that spins takes a whole core.
CORES_MAX = 0.5


@dataclass(frozen=True, slots=True)
class Trouble:
    seconds: float
    step: Callable[[Proxy], None]  # every STEP_SECONDS
    blind: bool = False  # nothing passes: no lease can be proven


def slow(proxy: Proxy) -> None:
    proxy.latency_ms = 500


def cut(proxy: Proxy) -> None:
    proxy.reset()


def silent(proxy: Proxy) -> None:
    proxy.half_open = True


def narrow(proxy: Proxy) -> None:
    proxy.bytes_per_second = 1024


TROUBLES = {
    "latency": Trouble(8, slow),
    "resets": Trouble(6, cut),
    "half_open": Trouble(30, silent, blind=True),
    "narrow": Trouble(8, narrow),
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
        # 8 hosts with ten requests a second each: enough for the whole of the trouble.
        graph = generate(SEED, round(80 * (trouble.seconds + SPARE_SECONDS)), web.port, hosts=8)
        web.add(graph.sites)
        near, far = fleet.start("near"), fleet.start("far", url=proxy.url(database), lease=SHORT_LEASE_SECONDS)
        fleet.ready(2)
        polite = {"polite.floor_ms": DELAY_MS, "polite.max_inflight": 1}
        crawl = fleet.place.start(list(graph.seeds), graph.settings | polite)
        until(lambda: sent_by(near, web) > 20 and sent_by(far, web) > 20, "both work")
        began, cpu, asked = time.monotonic(), far.cpu_seconds(), sent_by(near, web)
        while time.monotonic() < began + trouble.seconds:
            trouble.step(proxy)
            pass_by(STEP_SECONDS)
        used = (far.cpu_seconds() - cpu) / (time.monotonic() - began)
        until(lambda: sent_by(near, web) > asked + 20, "the other goes on")
        web.hold()  # the crawl is not over before it is back
        late = [
            hit for hit in web.hits() if hit.headers["user-agent"] == far.agent and hit.started > began + BLIND_SECONDS
        ]
        assert not trouble.blind or late == [], "it went on without a lease"
        assert not fleet.over(crawl.id), "the crawl was over before the trouble was"
        proxy.heal()
        healed = sent_by(far, web)
        until(lambda: fleet.share(far), "it is back")
        web.go_on()
        until(lambda: sent_by(far, web) > healed, "it works again")
        hits = web.hits()
        fleet.hurry(crawl)
        assert used < CORES_MAX, f"{used:.2f} cores while it could only wait"
        assert far.process.poll() is None
        fleet.run_crawl(crawl.id)
        assert_whole(fleet.place, crawl.id, graph)
        assert violations(hits, DELAY_MS) == []
        assert far.events("worker_died") == []
