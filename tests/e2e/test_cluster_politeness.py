"""Politeness, steering and limits over many workers: wrong clocks, rolling restarts, several crawls."""

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from nephila.control import crawls
from nephila.models import CrawlState
from tests.e2e.fleet import Fleet, pass_by
from tests.e2e.harness import assert_whole, repeated_requests
from tests.patience import PATIENCE_SECONDS, until
from tests.site.graphs import generate
from tests.site.politeness import violations
from tests.site.server import TestWeb

pytestmark = pytest.mark.xdist_group("cluster")

SEED = 42424
HOUR = 3600
QUIET_SECONDS = 2.0
ANSWERS = 400  # more than a worker that leaves has time for; five times as many are not the whole crawl
CLOCKS = Path(__file__).parent / "clocks"
POLITE = {"polite.max_inflight": 1, "polite.adaptive": False}


def wrong_clock(seconds: int) -> dict[str, str]:
    path = f"{CLOCKS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    return {"NEPHILA_TEST_CLOCK_SHIFT": str(seconds), "PYTHONPATH": path}


@pytest.mark.slow
@pytest.mark.requirement("P-01", "P-04", "RC-01")
def test_5_wrong_clocks_break_neither_leases_nor_politeness(fleet: Fleet) -> None:
    """One worker an hour ahead, one an hour behind: times come from the database."""
    delay = 150
    with TestWeb() as web:
        graph = generate(SEED, 200, web.port, hosts=6)
        web.add(graph.sites)
        ahead = fleet.start("ahead", environment=wrong_clock(HOUR))
        behind = fleet.start("behind", environment=wrong_clock(-HOUR))
        fleet.ready(2)
        crawl = fleet.place.start(list(graph.seeds), graph.settings | POLITE | {"polite.floor_ms": delay})
        fleet.run_crawl(crawl.id)
        assert_whole(fleet.place, crawl.id, graph)
        assert violations(web.hits(), delay) == []
        assert len({hit.headers["user-agent"] for hit in web.hits()}) == 2, "both worked"
        assert repeated_requests(web.hits()) == 0
        assert [worker.alive for worker in fleet.place.store().catalog.workers()] == [True, True], "no early expiry"
        assert ahead.events("fenced") == behind.events("fenced") == []
        shown = [row.fetched_at / 1000 - time.time() for row in fleet.place.rows(crawl.id) if row.fetched_at]
        assert min(shown) < -HOUR + 100 and max(shown) > HOUR - 100, "the clocks were wrong"


@pytest.mark.slow
@pytest.mark.requirement("P-01", "P-04", "P-06", "P-08", "P-09", "RC-04")
def test_6_a_rolling_restart_of_everything_is_polite(fleet: Fleet) -> None:
    """4 workers, 50 hosts, 400 ms: every pair of requests to a host at least the delay apart."""
    delay = 400
    with TestWeb() as web:
        graph = generate(SEED, 2500, web.port, hosts=50)
        web.add(graph.sites)
        machines = fleet.start_all(4)
        web.hold(after=ANSWERS)
        crawl = fleet.place.start(list(graph.seeds), graph.settings | POLITE | {"polite.floor_ms": delay})
        until(lambda: len(web.hits()) > 200, "the crawl goes")
        in_time = []
        for number, machine in enumerate(machines):
            web.hold(after=ANSWERS)
            in_time.append(fleet.retire(machine))
            web.hold()  # the crawl is not over before all are back
            fleet.start(f"renewed-{number}")
        until(lambda: len(fleet.alive()) == 4 and all(fleet.shares()), "all are back")
        web.go_on()
        old = {machine.agent for machine in machines}
        until(lambda: len({hit.headers["user-agent"] for hit in web.hits()} - old) >= 2, "the new ones work")
        hits = web.hits()
        fleet.hurry(crawl)
        fleet.run_crawl(crawl.id)
        assert_whole(fleet.place, crawl.id, graph)
        assert violations(hits, delay) == []
        assert repeated_requests(web.hits()) <= 50 * in_time.count(False), "what was in flight was finished and flushed"


@pytest.mark.slow
@pytest.mark.requirement("S-05", "AD-03")
@pytest.mark.parametrize("verb", ["pause", "cancel"])
def test_8_cancel_and_pause_hold_on_all_workers(verb: str, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the call has answered, nobody starts another request."""
    monkeypatch.setattr(crawls, "ACKNOWLEDGE_SECONDS", PATIENCE_SECONDS)
    with TestWeb() as web:
        graph = generate(SEED, 1200, web.port, hosts=12)
        web.add(graph.sites)
        fleet.start_all(4)
        web.hold(after=600)  # the crawl is not over before the call
        crawl = fleet.place.start(list(graph.seeds), graph.settings | POLITE | {"polite.floor_ms": 30})
        until(lambda: len({hit.headers["user-agent"] for hit in web.hits()}) > 1, "several work")
        getattr(crawls, verb)(fleet.place.store().catalog, crawl.id)
        web.go_on()
        web.settle()
        asked = len(web.hits())
        pass_by(QUIET_SECONDS)
        assert len(web.hits()) == asked
        catalog = fleet.place.store().catalog
        if verb == "cancel":
            assert fleet.run_crawl(crawl.id).state is CrawlState.CANCELLED
            assert Counter(fleet.place.states(crawl.id).values())["cancelled"] > 0
        else:
            catalog.steer(crawl.id, CrawlState.RUNNING)
            fleet.hurry(crawl)
            fleet.run_crawl(crawl.id)
            assert graph.mismatches(fleet.place.states(crawl.id)) == []
        assert catalog.check() == []
