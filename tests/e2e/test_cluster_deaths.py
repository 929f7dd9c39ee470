"""Workers, their processes and their database die in the middle of a crawl: nothing is lost, nothing is done twice."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from nephila.models import UrlState
from tests.e2e.fleet import Fleet, Machine, pass_by
from tests.e2e.harness import SHORT_LEASE_SECONDS, Place, asked_urls, assert_whole, repeated_requests
from tests.patience import until
from tests.postgres import Server, server
from tests.site.graphs import generate
from tests.site.politeness import violations
from tests.site.server import Hit, TestWeb

pytestmark = pytest.mark.xdist_group("cluster")

SEED = 42424
KILLS = 20
STOPS = 5
BLIND_SECONDS = 2.5 * SHORT_LEASE_SECONDS
POLITE = {"polite.max_inflight": 1, "polite.adaptive": False}


def ended(place: Place, crawl_id: int) -> dict[str, str]:
    return {url: state for url, state in place.states(crawl_id).items() if UrlState(state).terminal}


def sent_by(machine: Machine, hits: list[Hit]) -> list[Hit]:
    return [hit for hit in hits if hit.headers["user-agent"] == machine.agent]


# At most 200 requests a second: what was in flight or unflushed at a kill is not most of the crawl.
PACED = {"polite.max_inflight": 4, "polite.floor_ms": 60}


@dataclass(frozen=True, slots=True)
class Death:
    """A worker was killed at `at`; the one before it, on the same machine, at `before`."""

    machine: Machine
    before: float
    at: float  # when the web had seen everything that it sent
    committed: Collection[str]  # what had ended by then, whoever did it

    def lost(self, hits: list[Hit], port: int) -> set[str]:
        """What it had asked for and not committed."""
        sent = [hit for hit in sent_by(self.machine, hits) if self.before < hit.started <= self.at]
        return asked_urls(sent, port).keys() - set(self.committed)


def await_answers(web: TestWeb, more: int) -> None:
    """Let the web answer so many requests and then none, until it may go on: the crawl cannot be over before.

    Moments in requests are the same on a fast and on a slow machine.
    """
    web.hold(after=more)
    until(lambda: web.holding, f"{more} more answers")


@pytest.mark.slow
@pytest.mark.requirement("F-01", "F-03", "F-04", "F-07", "F-11", "RC-01", "RC-07", "RC-09", "D-01", "W-10")
def test_1_random_workers_are_killed_again_and_again(fleet: Fleet) -> None:
    """20 x kill -9, 5,000 pages, three workers. What is asked for twice was in flight or unflushed at a kill."""
    chance = random.Random(SEED)
    deaths: list[Death] = []
    with TestWeb() as web:
        graph = generate(SEED, 5000, web.port, hosts=12)
        web.add(graph.sites)
        machines = fleet.start_all(3)
        crawl = fleet.place.start(list(graph.seeds), graph.settings | PACED)
        for _ in range(KILLS):
            await_answers(web, chance.randint(40, 120))
            until(lambda: any(machine.workers for machine in machines), "somebody to kill")
            victim = chance.choice([machine for machine in machines if machine.workers])
            victim.kill_workers()
            web.settle()
            before = max((death.at for death in deaths if death.machine is victim), default=0.0)
            deaths.append(Death(victim, before, time.monotonic(), ended(fleet.place, crawl.id).keys()))
        web.go_on()
        fleet.run_crawl(crawl.id)
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
    """SIGSTOP until its lease is over: others go on with its hosts, its batch is refused, the record stays single."""
    delay = 150
    with TestWeb() as web:
        graph = generate(SEED, 900, web.port, hosts=6)
        web.add(graph.sites)
        victim = fleet.start("victim", lease=SHORT_LEASE_SECONDS)
        fleet.start("other")
        fleet.ready(2)
        crawl = fleet.place.start(list(graph.seeds), graph.settings | POLITE | {"polite.floor_ms": delay})
        until(lambda: len(web.hits()) > 60 and len(sent_by(victim, web.hits())) > 10, "both work")
        (frozen,) = victim.workers
        os.kill(frozen, signal.SIGSTOP)
        web.settle()
        before, sent_before = len(web.hits()), len(sent_by(victim, web.hits()))
        hosts = {hit.host for hit in sent_by(victim, web.hits())}
        until(lambda: not [worker for worker in fleet.alive() if worker.pid == frozen], "its lease is over")
        until(lambda: asked_by_others(victim, web.hits()[before:]) >= hosts, "its hosts are taken over")
        web.hold()  # the crawl is not over before it is back
        meanwhile = len(sent_by(victim, web.hits()))
        os.kill(frozen, signal.SIGCONT)
        until(lambda: victim.events("fenced"), "its batch is refused, and it says so")
        until(lambda: fleet.share(victim), "it is back")
        web.go_on()
        until(lambda: len(sent_by(victim, web.hits())) > meanwhile + 5, "it works again")
        hits = web.hits()
        fleet.hurry(crawl)
        fleet.run_crawl(crawl.id)
        assert_whole(fleet.place, crawl.id, graph)
        assert meanwhile == sent_before, "it was frozen"
        assert [machine.events("archive_file_lost") for machine in fleet.machines] == [[], []], "its writer lives"
        sessions = [worker for worker in fleet.place.store().catalog.workers() if worker.pid == frozen]
        assert len(sessions) >= 2, "the same process came back as a new session"
        # One request, frozen between check and send, is the residue that nobody can prevent.
        assert len(violations(hits, delay)) <= 1


@pytest.fixture
def durable() -> Iterator[Server]:
    made = Server(durable=True)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.requirement("F-01", "F-07", "RC-07", "RC-09", "C-03")
def test_3_the_database_is_cut_off_again_and_again(durable: Server, tmp_path: Path) -> None:
    """`pg_ctl stop -m immediate` five times, down for 5 lease times: it has what it acknowledged, the crawl goes on."""
    with durable.database() as url, TestWeb() as web:
        graph = generate(SEED, 3000, web.port, hosts=6)
        web.add(graph.sites)
        place = Place(tmp_path / "data", url=url, lease=SHORT_LEASE_SECONDS)
        fleet = Fleet(place)
        try:
            machines = fleet.start_all(2)
            crawl = place.start(list(graph.seeds), graph.settings | POLITE | {"polite.floor_ms": 20})
            for _ in range(STOPS):
                await_answers(web, 200)
                acknowledged = ended(place, crawl.id)
                durable.stop_immediately()
                web.go_on()
                pass_by(BLIND_SECONDS)
                web.settle()
                asked = len(web.hits())
                pass_by(BLIND_SECONDS)
                assert len(web.hits()) == asked, "no lease could be proven"
                web.hold(after=1)
                durable.start()
                until(lambda asked=asked: len(web.hits()) > asked, "the crawl goes on")  # type: ignore[misc]
                kept = place.states(crawl.id)
                assert {url: kept.get(url) for url in acknowledged} == acknowledged
            web.go_on()
            fleet.hurry(crawl)
            fleet.run_crawl(crawl.id)
            assert_whole(place, crawl.id, graph)
            assert [machine.process.poll() for machine in machines] == [None, None], "no command crashed"
            assert [machine.events("worker_died") for machine in machines] == [[], []], "no worker crashed"
        finally:
            fleet.close()
            place.close()


def backup(url: str, file: Path) -> None:
    subprocess.run([server().binary("pg_dump"), "--format=custom", f"--file={file}", url], check=True)


def done_alone(sql: str) -> bool:
    """Whether it was done: PostgreSQL waits only 5 s for those that have to leave the database before."""
    try:
        server().execute(sql)
    except psycopg.errors.ObjectInUse:
        return False
    return True


def restore(url: str, name: str, file: Path) -> None:
    """The database is thrown away, whoever uses it, and made anew from the backup."""
    until(lambda: done_alone(f"DROP DATABASE {name} WITH (FORCE)"), "nobody is in the database")
    server().execute(f"CREATE DATABASE {name}_restoring")
    into = url.replace(f"/{name}?", f"/{name}_restoring?")
    subprocess.run([server().binary("pg_restore"), f"--dbname={into}", "--exit-on-error", str(file)], check=True)
    until(lambda: done_alone(f"ALTER DATABASE {name}_restoring RENAME TO {name}"), "nobody is in its copy")


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
        fleet.place.lease = SHORT_LEASE_SECONDS  # of the dead that the backup holds for living
        machines = fleet.start_all(2)
        crawl = fleet.place.start(list(graph.seeds), graph.settings | POLITE | {"polite.floor_ms": 20})
        await_answers(web, 300)
        backup(url, tmp_path / "backup")
        machines.append(fleet.start("late"))  # the backup knows nothing of it
        await_answers(web, 300)
        until(lambda: fleet.share(machines[-1]), "the new one has its share")
        if workers == "stopped":
            for machine in machines:
                machine.kill()
        restore(url, name, tmp_path / "backup")
        if workers == "stopped":
            machines = [fleet.start("after-0"), fleet.start("after-1")]
        await_answers(web, 100)
        web.go_on()
        fleet.hurry(crawl)
        fleet.run_crawl(crawl.id)
        assert_whole(fleet.place, crawl.id, graph)
        assert repeated_requests(web.hits()) > 0, "it was an older state"
        assert all(machine.process.poll() is None for machine in machines)
        assert [machine.events("worker_died") for machine in machines] == [[]] * len(machines)
        if workers == "running":
            # One that waited before its next call of the database may come when the others have done everything.
            until(lambda: all(machine.events("fenced") for machine in machines), "each finds that it was forgotten")
