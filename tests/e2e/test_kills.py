"""kill -9 of workers and of everything, then go on: nothing is lost, nothing is done twice in the record."""

import os
import random
import signal
import subprocess
import sys

import pytest

from tests.e2e.harness import SHORT_LEASE_SECONDS, Cluster, Places, assert_whole, repeated_requests
from tests.patience import PATIENCE_SECONDS, until
from tests.site.graphs import generate
from tests.site.politeness import violations
from tests.site.server import TestWeb

SEED = 42424
IN_FLIGHT_MAX = 4 * 4  # four hosts, max_inflight 4
UNFLUSHED_MAX = 500 + IN_FLIGHT_MAX  # results of a worker that were not committed yet


def kill_one(cluster: Cluster, web: TestWeb, chance: random.Random, answers: int) -> None:
    """A random worker, so many answers from now: moments in answers are the same on a fast and on a slow machine.

    The web answers no more until the next kill, or until it goes on: the crawl cannot be over before.
    """
    web.hold(after=answers)
    cluster.run_until(lambda: web.holding and bool(cluster.supervisor.pids))
    victim = chance.choice(cluster.supervisor.pids)
    os.kill(victim, signal.SIGKILL)
    cluster.run_until(lambda: victim not in cluster.supervisor.pids)


@pytest.mark.requirement("RC-07", "RC-09", "F-04", "F-07", "RC-01", "ST-05")
def test_random_workers_are_killed_again_and_again(places: Places) -> None:
    chance = random.Random(SEED)
    with TestWeb() as web:
        graph = generate(SEED, 1500, web.port, hosts=4)
        web.add(graph.sites)
        place = places(2)
        crawl = place.start(list(graph.seeds), graph.settings | {"polite.max_inflight": 4})
        kills = 8
        with Cluster(place) as cluster:
            for _ in range(kills):
                kill_one(cluster, web, chance, chance.randint(40, 160))
            web.go_on()
            cluster.run_crawl(crawl.id)
        assert_whole(place, crawl.id, graph)
        assert repeated_requests(web.hits()) <= kills * UNFLUSHED_MAX


@pytest.mark.requirement("RC-09", "F-17", "ST-05")
def test_everything_is_killed_and_the_same_command_goes_on(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process group of a real `nephila crawl`, at random moments."""
    monkeypatch.setenv("NEPHILA_LEASE_SECONDS", str(SHORT_LEASE_SECONDS))
    chance = random.Random(91817)
    with TestWeb() as web:
        graph = generate(91817, 2000, web.port, hosts=3)
        web.add(graph.sites)
        place = places(2)
        command = [
            sys.executable,
            "-m",
            "nephila",
            "crawl",
            *graph.seeds,
            "--data",
            str(place.folder),
            "--workers",
            "2",
            "--quiet",
            *(("--store", place.url) if place.url else ()),
        ]
        command += ["--allow-private", "--delay", "0.004", "--max-inflight", "2"]
        for name, value in graph.settings.items():
            if name not in ("fetch.allow_private", "polite.floor_ms", "polite.adaptive", "polite.max_inflight"):
                command += ["--set", f"{name}={value}"]
        kills = 0
        while kills < 4:
            web.hold(after=chance.randint(100, 400))
            process = subprocess.Popen(
                command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            until(lambda process=process: web.holding or process.poll() is not None)  # type: ignore[misc]
            assert process.poll() is None, "it ended by itself"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
        web.go_on()
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        assert done.returncode == 0, done.stderr
        crawls = place.store().catalog.crawls()
        assert len(crawls) == 1, "the same command goes on with the same crawl"
        assert_whole(place, crawls[0].id, graph)
        assert repeated_requests(web.hits()) <= kills * 2 * UNFLUSHED_MAX


@pytest.mark.requirement("F-08", "T-04", "F-28")
def test_one_worker_and_four_end_with_the_same_rows(places: Places) -> None:
    found = {}
    with TestWeb() as web:
        graph = generate(SEED, 800, web.port, hosts=4)
        web.add(graph.sites)
        for workers in (1, 4):
            place = places(workers, name=str(workers))
            with Cluster(place) as cluster:
                cluster.ready()
                crawl = place.start(list(graph.seeds), graph.settings | {"polite.max_inflight": 4})
                cluster.run_crawl(crawl.id)
            found[workers] = place.states(crawl.id)
            assert place.store().catalog.check() == []
            if workers == 4:
                busy = {row.archive_file for row in place.rows(crawl.id) if row.archive_file}
                assert len(busy) >= 2, "more than one worker did the work"
        assert found[1] == found[4]
        assert graph.mismatches(found[1]) == []


@pytest.mark.requirement("P-01", "P-04", "P-06", "P-09", "PF-03")
def test_politeness_holds_over_kills_restarts_redirects_and_robots(places: Places) -> None:
    """Six hosts, one request at a time, 150 ms apart: also across the deaths of those who kept the clocks."""
    chance = random.Random(7)
    delay = 150
    with TestWeb() as web:
        graph = generate(SEED, 90, web.port, hosts=6)
        web.add(graph.sites)
        place = places(3)
        crawl = place.start(
            list(graph.seeds),
            graph.settings | {"polite.floor_ms": delay, "polite.max_inflight": 1, "polite.adaptive": False},
        )
        with Cluster(place) as cluster:
            for _ in range(4):
                kill_one(cluster, web, chance, chance.randint(8, 18))
            web.go_on()
            cluster.run_crawl(crawl.id)
        assert violations(web.hits(), delay) == []
        assert graph.mismatches(place.states(crawl.id)) == []
