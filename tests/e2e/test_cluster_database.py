"""The database is there and does not take what workers bring: its disk is full, it starts, it fails over."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests import postgres
from tests.e2e.fleet import Fleet, pass_by
from tests.e2e.harness import Place, assert_whole, repeated_requests
from tests.patience import until
from tests.pgbouncer import Bouncer
from tests.site.graphs import generate
from tests.site.server import TestWeb

pytestmark = pytest.mark.xdist_group("cluster")

SEED = 42424
HOSTS = 6  # one request in flight each
LEASE_SECONDS = 8.0
AWAY_SECONDS = 5.0  # longer than a worker that dies five times in a row would take
POLITE = {"polite.max_inflight": 1, "polite.floor_ms": 20}
NEEDS_ROOT = "needs root to mount a small file system"


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk of its own for the database; a file on it can fill it."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip(NEEDS_ROOT)
    try:
        assert postgres.USER is not None
        shutil.chown(disk, postgres.USER)
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
        disk.rmdir()


@contextmanager
def database_on(disk: Path) -> Iterator[str]:
    """A migrated database whose tables are on that disk; the log of the server is not."""
    server, space = postgres.server(), f"small_{os.getpid()}"
    (disk / "tables").mkdir()
    shutil.chown(disk / "tables", postgres.USER)
    server.execute(f"CREATE TABLESPACE {space} LOCATION '{disk / 'tables'}'")
    try:
        with server.database(template=f"{postgres.TEMPLATE} TABLESPACE {space}") as url:
            yield url
    finally:
        server.execute(f"DROP TABLESPACE {space}")


def fill(ballast: Path) -> None:
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


@pytest.mark.slow
@pytest.mark.requirement("F-07", "RC-09")
def test_the_disk_of_the_database_is_full(tmp_path: Path) -> None:
    """For two leases and more: nothing is sent, no session is lost, and nothing is asked for twice."""
    with small_disk(postgres.server().folder, 256) as disk, database_on(disk) as url, TestWeb() as web:
        graph = generate(SEED, 900, web.port, hosts=HOSTS)
        web.add(graph.sites)
        place = Place(tmp_path / "data", url=url, lease=LEASE_SECONDS)
        fleet = Fleet(place)
        try:
            (machine,) = fleet.start_all(1)
            web.hold(after=60)  # the crawl is not over before the disk is full
            crawl = place.start(list(graph.seeds), graph.settings | POLITE)
            until(lambda: web.holding, "the crawl goes")
            fill(disk / "ballast")
            web.go_on()
            (told, *_) = until(lambda: machine.events("stalled"), "the worker waits")
            assert "no space left" in told["reason"]
            web.settle()
            asked = len(web.hits())
            pass_by(2.5 * LEASE_SECONDS)
            web.settle()
            assert len(web.hits()) <= asked + HOSTS, "nothing but what was in flight is sent"
            assert not fleet.over(crawl.id)
            (disk / "ballast").unlink()
            until(lambda: machine.events("going_on"), "the worker goes on")
            fleet.hurry(crawl)
            fleet.run_crawl(crawl.id)
            assert_whole(place, crawl.id, graph)
            assert machine.events("fenced") == [], "it kept its lease"
            assert repeated_requests(web.hits()) == 0
        finally:
            fleet.close()
            place.close()


@pytest.fixture
def own() -> Iterator[postgres.Server]:
    """A server that no other test uses."""
    made = postgres.Server(durable=True)
    yield made
    made.close()


@pytest.mark.requirement("F-07", "RC-09")
def test_a_worker_that_starts_while_the_database_is_away_waits(own: postgres.Server, tmp_path: Path) -> None:
    """It shuts down, is down and comes back; a worker process that starts meanwhile waits like the command."""
    with TestWeb() as web:
        graph = generate(SEED, 60, web.port, hosts=3)
        web.add(graph.sites)
        place = Place(tmp_path / "data", url=own.url())
        fleet = Fleet(place)
        try:
            old = fleet.start("old")
            fleet.ready(1)
            crawl = place.start(list(graph.seeds), graph.settings)
            fleet.run_crawl(crawl.id)
            own.begin_to_stop()
            new = fleet.start("new")
            until(lambda: "shutting down" in new.log(), "it says why it waits")
            (before,) = old.workers
            os.kill(before, signal.SIGKILL)
            until(lambda: old.events("stalled"), "the next worker of the old command waits, too")
            own.stop_immediately()
            pass_by(AWAY_SECONDS)
            assert [machine.process.poll() for machine in (old, new)] == [None, None]
            assert len(old.events("worker_died")) == 1, "the one that was killed"
            own.start()
            postgres.end_lease(own.url(), before)
            fleet.ready(2)
            again = place.start(list(graph.seeds), graph.settings)
            fleet.run_crawl(again.id)
            assert graph.mismatches(place.states(again.id)) == []
        finally:
            fleet.close()
            place.close()


def test_a_cluster_behind_a_pooler(fleet: Fleet) -> None:
    """pgbouncer in transaction mode with fewer connections than there are workers and commands."""
    place = fleet.place
    name = (place.url or "").partition("?")[0].rpartition("/")[2]
    with Bouncer(postgres.server(), "transaction", connections=2) as bouncer, TestWeb() as web:
        graph = generate(SEED, 200, web.port, hosts=6)
        web.add(graph.sites)
        machines = fleet.start_all(2, url=bouncer.url(name))
        crawl = place.start(list(graph.seeds), graph.settings)
        fleet.run_crawl(crawl.id)
        assert_whole(place, crawl.id, graph)
        assert repeated_requests(web.hits()) == 0
        for machine in machines:
            assert machine.events("stalled") == machine.events("worker_died") == []
            machine.terminate()
            assert machine.wait() == 0


@pytest.mark.slow
@pytest.mark.requirement("F-07", "RC-09")
def test_another_server_takes_over(tmp_path: Path) -> None:
    """The old primary comes back as a standby: workers find the new one, and ask for nothing twice that it has."""
    pair = postgres.Pair()
    place = Place(tmp_path / "data", url=pair.url())
    fleet = Fleet(place)
    try:
        with TestWeb() as web:
            graph = generate(SEED, 300, web.port, hosts=HOSTS)
            web.add(graph.sites)
            machines = fleet.start_all(2)
            web.hold(after=60)
            crawl = place.start(list(graph.seeds), graph.settings | POLITE)
            until(lambda: web.holding, "the crawl goes")
            until(pair.caught_up, "the standby has what was committed")
            pair.fail_over()
            web.go_on()
            fleet.hurry(crawl)
            fleet.run_crawl(crawl.id)
            assert_whole(place, crawl.id, graph)
            assert [machine.process.poll() for machine in machines] == [None, None]
            assert [machine.events("worker_died") for machine in machines] == [[], []]
    finally:
        fleet.close()
        place.close()
        pair.close()
