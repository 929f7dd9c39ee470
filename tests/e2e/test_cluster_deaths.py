"""Workers, their processes and their database die in the middle of a crawl: nothing is lost, nothing is done twice."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nephila.models import UrlState
from tests.e2e.fleet import Fleet, Machine, pass_by, until
from tests.e2e.harness import LEASE_SECONDS, Place, asked_urls, assert_whole, repeated_requests
from tests.postgres import Server, server
from tests.site.graphs import generate
from tests.site.politeness import violations
from tests.site.server import Hit, TestWeb

pytestmark = pytest.mark.xdist_group("cluster")

SEED = 42424
KILLS = 20
STOPS = 5
DOWN_SECONDS = 10.0
GO_ON_SECONDS = 10.0  # of a cluster whose database is back
ARRIVE_SECONDS_MAX = 0.5  # a new worker needs longer than that to its first request
POLITE = {"polite.max_inflight": 1, "polite.adaptive": False}


def ended(place: Place, crawl_id: int) -> dict[str, str]:
    return {url: state for url, state in place.states(crawl_id).items() if UrlState(state).terminal}


def sent_by(machine: Machine, hits: list[Hit]) -> list[Hit]:
    return [hit for hit in hits if hit.headers["user-agent"] == machine.agent]


@dataclass(frozen=True, slots=True)
class Death:
    """A worker was killed at `at`; the one before it, on the same machine, at `before`."""

    machine: Machine
    before: float
    at: float
    committed: Collection[str]  # what had ended by then, whoever did it

    def lost(self, hits: list[Hit], port: int) -> set[str]:
        """What it had asked for and not committed. Its last requests may reach a busy server after its end."""
        sent = [hit for hit in sent_by(self.machine, hits) if self.before < hit.started < self.at + ARRIVE_SECONDS_MAX]
        return asked_urls(sent, port).keys() - set(self.committed)


def await_requests(fleet: Fleet, web: TestWeb, crawl_id: int, more: int, seconds: float = 60) -> None:
    """Moments in requests are the same on a fast and on a slow machine."""
    wanted = len(web.hits()) + more
    until(lambda: len(web.hits()) >= wanted or fleet.over(crawl_id), seconds, f"{more} more requests")
    assert not fleet.over(crawl_id), "the crawl was over before it could be hurt"


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.requirement("F-01", "F-03", "F-04", "F-07", "F-11", "RC-01", "RC-07", "RC-09", "D-01", "W-10")
def test_1_random_workers_are_killed_again_and_again(fleet: Fleet) -> None:
    """20 x kill -9, 5,000 pages, three workers. What is asked for twice was in flight or unflushed at a kill."""
    chance = random.Random(SEED)
    deaths: list[Death] = []
    with TestWeb() as web:
        graph = generate(SEED, 5000, web.port, hosts=12)
        web.add(graph.sites)
        machines = fleet.start_all(3)
        crawl = fleet.place.start(list(graph.seeds), graph.settings | {"polite.max_inflight": 4})
        for _ in range(KILLS):
            await_requests(fleet, web, crawl.id, chance.randint(80, 220))
            until(lambda: any(machine.workers for machine in machines), 20, "somebody to kill")
            victim = chance.choice([machine for machine in machines if machine.workers])
            victim.signal_workers(signal.SIGKILL)
            before = max((death.at for death in deaths if death.machine is victim), default=0.0)
            deaths.append(Death(victim, before, time.monotonic(), ended(fleet.place, crawl.id).keys()))
        fleet.run_crawl(crawl.id, 120)
        assert_whole(fleet.place, crawl.id, graph)
        hits = web.hits()
        lost = [death.lost(hits, web.port) for death in deaths]
        repeated = {url for url, times in asked_urls(hits, web.port).items() if times > 1}
        assert repeated <= set().union(*lost)
        assert repeated_requests(hits) <= sum(map(len, lost))


def asked_by_others(machine: Machine, hits: list[Hit]) -> set[str]:
    return {hit.host for hit in hits if hit.headers["user-agent"] != machine.agent}


@pytest.mark.slow
@pytest.mark.requirement("F-03", "F-05", "RC-01", "RC-03", "P-04", "P-09")
def test_2_a_worker_that_was_frozen_is_refused_and_starts_anew(fleet: Fleet) -> None:
    """SIGSTOP for three lease times: others go on with its hosts, its batch is refused, the record stays single."""
    delay = 150
    with TestWeb() as web:
        graph = generate(SEED, 420, web.port, hosts=6)
        web.add(graph.sites)
        machines = fleet.start_all(3)
        crawl = fleet.place.start(list(graph.seeds), graph.settings | POLITE | {"polite.floor_ms": delay})
        await_requests(fleet, web, crawl.id, 60)
        victim = max(machines, key=lambda machine: len(sent_by(machine, web.hits())))
        (frozen,) = victim.workers
        before, all_before = len(sent_by(victim, web.hits())), len(web.hits())
        os.kill(frozen, signal.SIGSTOP)
        pass_by(3 * LEASE_SECONDS)
        meanwhile = sent_by(victim, web.hits())
        hosts = {hit.host for hit in meanwhile}
        until(lambda: asked_by_others(victim, web.hits()[all_before:]) >= hosts, 20, "its hosts are taken over")
        os.kill(frozen, signal.SIGCONT)
        until(lambda: victim.events("fenced"), 10, "its batch is refused, and it says so")
        until(lambda: len(sent_by(victim, web.hits())) > len(meanwhile) + 5, 20, "it works again")
        assert not fleet.over(crawl.id), "the crawl was over before it came back"
        hits = web.hits()
        fleet.hurry(crawl)
        fleet.run_crawl(crawl.id)
        assert_whole(fleet.place, crawl.id, graph)
        assert len(meanwhile) <= before + 1, "it was frozen"
        sessions = [worker for worker in fleet.place.store().catalog.workers() if worker.pid == frozen]
        assert len(sessions) == 2, "the same process came back as a new session"
        # One request, frozen between check and send, is the residue that nobody can prevent.
        assert len(violations(hits, delay)) <= 1


@pytest.fixture
def durable() -> Iterator[Server]:
    made = Server(durable=True)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.requirement("F-01", "F-07", "RC-07", "RC-09", "C-03")
def test_3_the_database_is_cut_off_again_and_again(durable: Server, tmp_path: Path) -> None:
    """`pg_ctl stop -m immediate` five times, down 10 s each: what it acknowledged it has, and the crawl goes on."""
    with durable.database() as url, TestWeb() as web:
        graph = generate(SEED, 3000, web.port, hosts=6)
        web.add(graph.sites)
        place = Place(tmp_path / "data", url=url)
        fleet = Fleet(place)
        try:
            machines = fleet.start_all(2)
            crawl = place.start(list(graph.seeds), graph.settings | POLITE | {"polite.floor_ms": 20})
            for _ in range(STOPS):
                await_requests(fleet, web, crawl.id, 200)
                acknowledged = ended(place, crawl.id)
                durable.stop_immediately()
                stopped = time.monotonic()
                pass_by(DOWN_SECONDS)
                asked = web.hits()
                assert not [hit for hit in asked if hit.started > stopped + LEASE_SECONDS], "no lease could be proven"
                durable.start()
                await_requests(fleet, web, crawl.id, 1, GO_ON_SECONDS)
                kept = place.states(crawl.id)
                assert {url: kept.get(url) for url in acknowledged} == acknowledged
            fleet.hurry(crawl)
            fleet.run_crawl(crawl.id)
            assert_whole(place, crawl.id, graph)
            assert [machine.process.poll() for machine in machines] == [None, None], "no command crashed"
            assert [machine.events("worker_died") for machine in machines] == [[], []], "no worker crashed"
        finally:
            fleet.close()
            place.close()


def backup(url: str, file: Path) -> None:
    subprocess.run([binary("pg_dump"), "--format=custom", f"--file={file}", url], check=True)


def restore(url: str, name: str, file: Path) -> None:
    """The database is thrown away, whoever uses it, and made anew from the backup."""
    server().execute(f"DROP DATABASE {name} WITH (FORCE)")
    server().execute(f"CREATE DATABASE {name}_restoring")
    into = url.replace(f"/{name}?", f"/{name}_restoring?")
    subprocess.run([binary("pg_restore"), f"--dbname={into}", "--exit-on-error", str(file)], check=True)
    server().execute(f"ALTER DATABASE {name}_restoring RENAME TO {name}")


def binary(name: str) -> Path:
    """Of the server's own version: its package has several."""
    return Path(server()._server.bin_path) / name


@pytest.mark.slow
@pytest.mark.requirement("RC-07", "RC-09", "F-07")
@pytest.mark.parametrize("workers", ["stopped", "running"])
def test_10_the_database_is_restored_from_a_backup_of_the_running_crawl(
    workers: str, fleet: Fleet, tmp_path: Path
) -> None:
    """What was done since is done again; archive records that no row names any more are orphans, and harmless."""
    url = fleet.place.url
    assert url is not None
    name = url.partition("?")[0].rpartition("/")[2]
    with TestWeb() as web:
        graph = generate(SEED, 1800, web.port, hosts=6)
        web.add(graph.sites)
        machines = fleet.start_all(2)
        crawl = fleet.place.start(list(graph.seeds), graph.settings | POLITE | {"polite.floor_ms": 20})
        await_requests(fleet, web, crawl.id, 300)
        backup(url, tmp_path / "backup")
        machines.append(fleet.start("late"))  # the backup knows nothing of it
        await_requests(fleet, web, crawl.id, 300)
        until(lambda: fleet.share(machines[-1]), 20, "the new one has its share")
        if workers == "stopped":
            for machine in machines:
                machine.kill()
        restore(url, name, tmp_path / "backup")
        if workers == "stopped":
            machines = [fleet.start("after-0"), fleet.start("after-1")]
        await_requests(fleet, web, crawl.id, 100)
        fleet.hurry(crawl)
        fleet.run_crawl(crawl.id)
        assert_whole(fleet.place, crawl.id, graph)
        assert repeated_requests(web.hits()) > 0, "it was an older state"
        assert all(machine.process.poll() is None for machine in machines)
        assert [machine.events("worker_died") for machine in machines] == [[]] * len(machines)
        if workers == "running":
            assert all(machine.events("fenced") for machine in machines), "each found that it had been forgotten"
