"""Workers come and go: shares, hand-back, take-over, heartbeats, and who may not join."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nephila import __version__
from nephila.frontier.records import WorkerRow
from nephila.models import PARTITIONS
from nephila.worker.worker import DRAIN_MS
from tests.e2e.fleet import Fleet, Machine, clean_environment
from tests.e2e.harness import SHORT_LEASE_SECONDS, asked_urls, repeated_requests
from tests.patience import PATIENCE_SECONDS, until
from tests.site.fixtures import html
from tests.site.graphs import generate
from tests.site.server import Page, TestWeb

pytestmark = pytest.mark.xdist_group("cluster")

FAIR = PARTITIONS // 2 / 1.2  # nothing moves below policy.balance.IMBALANCE
SEED = 42424
BUSY = {"polite.floor_ms": 20, "polite.max_inflight": 1}


def nephila(fleet: Fleet, *arguments: str) -> "subprocess.Popen[str]":
    place = fleet.place
    command = [sys.executable, "-m", "nephila", *arguments, "--store", place.url or "", "--data", str(place.folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment())


def session_of(fleet: Fleet, machine: Machine) -> WorkerRow | None:
    return next((worker for worker in fleet.alive() if worker.pid in machine.workers), None)


def sent_by(machine: Machine, web: TestWeb) -> int:
    return sum(hit.headers["user-agent"] == machine.agent for hit in web.hits())


@pytest.mark.requirement("W-10", "F-26", "F-28", "AD-08")
def test_a_worker_that_starts_gets_its_share_of_a_running_crawl(fleet: Fleet) -> None:
    with TestWeb() as web:
        graph = generate(SEED, 1200, web.port, hosts=8)
        web.add(graph.sites)
        fleet.start_all(1)
        web.hold(after=40)
        crawl = fleet.place.start(list(graph.seeds), graph.settings | BUSY | {"polite.floor_ms": 100})
        until(lambda: web.holding, "the crawl goes")
        newcomer = fleet.start("newcomer")
        until(lambda: fleet.share(newcomer) > 0, "it has a share")
        web.go_on()
        until(lambda: any(hit.headers["user-agent"] == newcomer.agent for hit in web.hits()), "it works")
        fleet.hurry(crawl)
        fleet.run_crawl(crawl.id)
        assert graph.mismatches(fleet.place.states(crawl.id)) == []
        assert repeated_requests(web.hits()) == 0, "a hand-back repeats nothing"
        until(lambda: sum(fleet.shares()) == PARTITIONS, "every partition has an owner")


@pytest.mark.requirement("W-10", "F-28")
def test_idle_shares_are_even(fleet: Fleet) -> None:
    fleet.start_all(1)
    newcomer = fleet.start("newcomer")
    until(lambda: fleet.share(newcomer) >= FAIR, "it has half")
    until(lambda: sum(fleet.shares()) == PARTITIONS, "every partition has an owner")


@pytest.mark.requirement("RC-04", "RC-06", "W-10", "AD-08")
def test_sigterm_hands_back_and_exits(fleet: Fleet) -> None:
    with TestWeb() as web:
        graph = generate(SEED, 800, web.port, hosts=8)
        web.add(graph.sites)
        leaving, _ = fleet.start_all(2)
        web.hold(after=400)  # the crawl is not over before it has left; that takes long on a busy machine
        crawl = fleet.place.start(list(graph.seeds), graph.settings | BUSY | {"polite.floor_ms": 100})
        until(lambda: len(web.hits()) > 40 and sent_by(leaving, web), "the crawl goes")
        in_time = fleet.retire(leaving)
        web.settle()
        asked, by_it = len(web.hits()), sent_by(leaving, web)
        web.go_on()
        until(lambda: fleet.shares() == [PARTITIONS], "the other has everything")
        fleet.hurry(crawl)
        fleet.run_crawl(crawl.id)
        assert len(web.hits()) > asked, "the crawl went on without it"
        assert sent_by(leaving, web) == by_it
        assert graph.mismatches(fleet.place.states(crawl.id)) == []
        assert repeated_requests(web.hits()) <= (0 if in_time else 8), "what was in flight was finished and flushed"


@pytest.mark.requirement("RC-04", "RC-06")
def test_sigterm_waits_for_no_page_that_never_comes(fleet: Fleet) -> None:
    """The requests in flight are cut off when their time is over: their rows stay open, for the next one."""
    assert DRAIN_MS <= 2000, "the hosts of a worker that leaves are another's after 2 s"
    with TestWeb() as web:
        web.add({"127.0.0.1": {"/": html("/never"), "/never": html()}})
        (leaving,) = fleet.start_all(1)
        web.hold(after=2)  # robots.txt and the first page
        crawl = fleet.place.start([web.url("/")])
        until(lambda: any(hit.path == "/never" for hit in web.hits()), "the page is in flight")
        leaving.terminate()
        assert leaving.wait() == 0
        assert fleet.alive() == []
        assert fleet.place.states(crawl.id) == {web.url("/"): "visited", web.url("/never"): "queued"}


@pytest.mark.requirement("RC-01", "RC-03", "W-10", "F-26")
def test_a_machine_that_dies_is_replaced_when_its_lease_is_over(fleet: Fleet) -> None:
    """The command and its processes at once: nobody is left to restart them."""
    dying = fleet.start("dying", lease=SHORT_LEASE_SECONDS)
    fleet.start("other")
    fleet.ready(2)
    dying.kill()
    until(lambda: fleet.shares() == [PARTITIONS], "the other has everything")


@pytest.mark.requirement("W-09", "AD-02", "F-05")
def test_a_worker_keeps_a_heartbeat_row(fleet: Fleet) -> None:
    with TestWeb() as web:
        links = [f"/{number}" for number in range(2000)]
        web.add({"127.0.0.1": {"/": html(*links)} | dict.fromkeys(links, Page(b"x", delay_ms=20))})
        (machine,) = fleet.start_all(1)
        fleet.place.start([web.url("/")], {"polite.max_inflight": 4})

        def found() -> WorkerRow | None:
            row = session_of(fleet, machine)
            return row if row and row.current and row.vitals.pages_per_s > 0 else None

        row = until(found, "it says what it does")
        assert row is not None
        assert ([row.pid], row.version, row.partitions) == (machine.workers, __version__, PARTITIONS)
        assert row.name == os.uname().nodename
        assert row.vitals.pages > 0 and row.vitals.cpu > 0 and row.vitals.rss_bytes > 10_000_000
        assert row.started_at <= row.seen_at


@pytest.mark.requirement("F-25", "L-05")
def test_a_command_without_workers_starts_a_crawl_and_watches(fleet: Fleet) -> None:
    with TestWeb() as web:
        graph = generate(SEED, 60, web.port)
        web.add(graph.sites)
        fleet.start_all(1)
        watching = nephila(fleet, "crawl", *graph.seeds, "--allow-private", "--delay", "0", "--workers", "0", "--quiet")
        out, err = watching.communicate(timeout=PATIENCE_SECONDS)
        assert (watching.returncode, err) == (0, "")
        assert "crawl 1 completed" in out
        assert graph.mismatches(fleet.place.states(1)) == []


def test_a_watcher_that_goes_leaves_the_crawl_to_the_cluster(fleet: Fleet) -> None:
    with TestWeb() as web:
        graph = generate(SEED, 200, web.port)
        web.add(graph.sites)
        fleet.start_all(1)
        web.hold(after=20)
        watching = nephila(fleet, "crawl", *graph.seeds, "--allow-private", "--delay", "0.02", "--workers", "0")
        until(lambda: web.holding, "the crawl goes")
        watching.terminate()
        out, _ = watching.communicate(timeout=PATIENCE_SECONDS)
        assert watching.returncode == 130
        assert "crawl 1 goes on without this command" in out
        web.go_on()
        fleet.run_crawl(1)
        assert graph.mismatches(fleet.place.states(1)) == []


def test_workers_without_permission_refuse_private_addresses(fleet: Fleet) -> None:
    """The crawl may ask for them; what a cluster's worker may reach is its operator's to say."""
    with TestWeb() as web:
        web.add({"127.0.0.1": {"/": html("/a")}})
        fleet.start_all(1, private=False)
        crawl = fleet.place.start([web.url("/")], {"retry.max": 0, "robots.mode": "ignore"})
        fleet.run_crawl(crawl.id)
        assert [(str(row.state), row.reason) for row in fleet.place.rows(crawl.id)] == [("failed", "private_address")]
        assert web.hits() == []


@pytest.mark.requirement("ST-07", "ST-08")
def test_9_a_process_that_does_not_fit_the_schema_refuses_and_the_others_go_on(fleet: Fleet, tmp_path: Path) -> None:
    with TestWeb() as web:
        graph = generate(SEED, 400, web.port, hosts=3)
        web.add(graph.sites)
        (old,) = fleet.start_all(1)
        web.hold(after=30)
        crawl = fleet.place.start(list(graph.seeds), graph.settings | BUSY)
        until(lambda: web.holding, "the crawl goes")
        with fleet.place.store().catalog.database.write() as cursor:  # type: ignore[attr-defined]
            cursor.execute("UPDATE nephila_schema SET version = version + 1")
        stranger = fleet.start("stranger")
        assert stranger.wait() == 2
        (line,) = stranger.log().splitlines()
        assert line.startswith("nephila: ") and "newer Nephila" in line
        asked = len(web.hits())
        web.go_on()
        fleet.run_crawl(crawl.id)
        assert len(web.hits()) > asked, "those who were there went on"
        assert graph.mismatches(fleet.place.states(crawl.id)) == []
        assert old.process.poll() is None
        watching = nephila(fleet, "status")
        _, err = watching.communicate(timeout=PATIENCE_SECONDS)
        assert watching.returncode == 2 and "newer Nephila" in err and err.count("\n") == 1


@pytest.mark.requirement("F-26", "P-14", "F-28")
def test_one_hot_host_has_one_owner_and_its_other_work_moves(fleet: Fleet) -> None:
    """However many workers there are, a host sees max_inflight requests; its owner gives the other partitions away."""
    from tests.site.politeness import violations

    with TestWeb() as web:
        links = [f"/{number}" for number in range(900)]
        web.add({"127.0.0.1": {"/": html(*links)} | dict.fromkeys(links, Page(b"<p>x", delay_ms=10))})
        fleet.start_all(3)
        crawl = fleet.place.start([web.url("/")], {"polite.max_inflight": 2})
        least = [PARTITIONS]

        def unburdened() -> bool:
            least[0] = min(least[0], min(fleet.shares(), default=PARTITIONS))
            return fleet.over(crawl.id)

        until(unburdened, "the crawl is over")
        assert len({hit.headers["user-agent"] for hit in web.hits()}) == 1, "one host, one owner"
        assert violations(web.hits(), 0, max_inflight=2) == []
        assert least[0] < PARTITIONS // 8, "its owner gave the others away"
        assert max(asked_urls(web.hits(), web.port).values()) == 1
