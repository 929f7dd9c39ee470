"""Lost answers, full disks, poisonous pages, limits, pause and cancel: what holds when things go wrong or must end."""

import asyncio
import errno
import os
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop
from structlog.testing import capture_logs

from nephila import wiring
from nephila.archive.file import ArchiveFile
from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.control.verify import verify
from nephila.errors import DiskFull, StoreUnavailable
from nephila.frontier.store import Batch, Flushed, WorkerInfo
from nephila.models import OPEN, CrawlState, Refusal
from tests.e2e.fleet import pass_by
from tests.e2e.harness import Cluster, Place, Places, repeated_requests, run_here, visited
from tests.patience import PATIENCE_SECONDS, until
from tests.site.fixtures import POISON_MARKER, html, site_poison
from tests.site.graphs import generate
from tests.site.server import TestWeb

FULL_SECONDS = 3.0  # for which the disk stays full


class Troubled:
    """A frontier whose flush fails as told: before the commit, or after it with the answer lost."""

    def __init__(self, store: Any, trouble: Callable[[int], str]) -> None:
        self._store = store
        self._trouble = trouble
        self.calls = 0
        self.lost = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def flush(self, batch: Batch) -> Flushed:
        self.calls += 1
        kind = self._trouble(self.calls)
        if kind == "refused":
            raise StoreUnavailable("the store is away")
        if kind == "full":
            raise DiskFull("no space left")
        answer: Flushed = self._store.flush(batch)
        if kind == "lost":
            self.lost += 1
            raise StoreUnavailable("the answer was lost")
        return answer


@pytest.mark.requirement("F-04", "F-07")
@pytest.mark.parametrize("kind", ["lost", "refused", "full"])
def test_a_store_that_fails_strands_nothing_and_repeats_nothing(
    kind: str, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nephila.worker.right.RETRY_MS_MIN", 1.0)
    monkeypatch.setattr("nephila.worker.right.RETRY_MS_MAX", 1.0)
    with TestWeb() as web:
        graph = generate(42424, 120, web.port, hosts=3)
        web.add(graph.sites)
        place = places()
        crawl = place.start(list(graph.seeds), graph.settings)
        run_here(place, crawl.id, wrap=lambda store: Troubled(store, lambda call: kind if call % 3 == 2 else ""))
        assert graph.mismatches(place.states(crawl.id)) == []
        asked = Counter((hit.host, hit.path) for hit in web.hits())
        assert [pair for pair, times in asked.items() if times > 1] == []
        assert place.store().catalog.check() == []


class FailingCalls:
    """Every third call of a system call of the archive fails."""

    def __init__(self, call: Callable[..., Any], code: int) -> None:
        self._call, self._code, self.calls = call, code, 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        if self.calls % 3 == 2:
            raise OSError(self._code, os.strerror(self._code))
        return self._call(*arguments)


@pytest.mark.requirement("F-04")
@pytest.mark.parametrize(("name", "code"), [("pwritev", errno.EIO), ("fdatasync", errno.EIO), ("pwritev", errno.EROFS)])
def test_an_archive_that_cannot_be_written_stalls_the_worker_and_it_goes_on(
    name: str, code: int, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a store that is full: no request is repeated, no page lost, no host blamed."""
    monkeypatch.setattr("nephila.worker.right.RETRY_MS_MIN", 1.0)
    monkeypatch.setattr("nephila.worker.right.RETRY_MS_MAX", 1.0)
    failing = FailingCalls(getattr(os, name), code)
    monkeypatch.setattr(f"nephila.archive.file.os.{name}", failing)
    with TestWeb() as web, capture_logs() as lines:
        graph = generate(42424, 120, web.port, hosts=3)
        web.add(graph.sites)
        place = places()
        crawl = place.start(list(graph.seeds), graph.settings)
        run_here(place, crawl.id)
        assert failing.calls > 3
        assert graph.mismatches(place.states(crawl.id)) == []
        asked = Counter((hit.host, hit.path) for hit in web.hits())
        assert [pair for pair, times in asked.items() if times > 1] == []
        assert verify(place.store().catalog, place.store().archive, lambda what: None).problems == []
    assert os.strerror(code) in next(line["reason"] for line in lines if line["event"] == "stalled")


def test_an_archive_folder_that_is_removed_under_a_worker_is_made_again(places: Places) -> None:
    """Pages that were committed before are lost by whoever removed them; those that come after are archived."""
    with TestWeb() as web:
        graph = generate(42424, 120, web.port, hosts=3)
        web.add(graph.sites)
        place = places()
        crawl = place.start(list(graph.seeds), graph.settings)
        folder = place.settings().archive_folder
        gone: set[str] = set()

        def remove_once() -> bool:
            if not gone and len(list(folder.glob("*"))):
                gone.update(path.name for path in folder.iterdir())
                shutil.rmtree(folder)
            return False

        run_here(place, crawl.id, until=remove_once)
        assert graph.mismatches(place.states(crawl.id)) == []
        report = verify(place.store().catalog, place.store().archive, lambda what: None)
        assert gone and all(any(name in problem for name in gone) for problem in report.problems)
        assert report.rows > report.broken


def test_the_event_loop_never_waits_for_the_disk_of_the_archive(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither when a worker leaves nor when it was fenced."""
    here, threads = threading.get_ident(), set[int]()
    for name in ("close", "discard", "make_durable", "append"):
        real = getattr(ArchiveFile, name)

        def noting(*arguments: Any, real: Callable[..., Any] = real) -> Any:
            threads.add(threading.get_ident())
            return real(*arguments)

        monkeypatch.setattr(ArchiveFile, name, noting)
    with TestWeb() as web:
        graph = generate(91817, 120, web.port)
        web.add(graph.sites)
        place = places()
        crawl = place.start(list(graph.seeds), graph.settings)
        run_here(place, crawl.id, wrap=Usurped)
    assert threads and here not in threads


class Usurped:
    """A frontier whose session is fenced in the middle of the crawl, as after a long freeze."""

    def __init__(self, store: Any) -> None:
        self._store, self.calls = store, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def flush(self, batch: Batch) -> Flushed:
        self.calls += 1
        if self.calls == 4:
            with self._store.database.write() as db:
                mine = self._store.worker
                db.execute(f"UPDATE workers SET fenced_at = 1 WHERE id = {mine}")
                db.execute(f"UPDATE partitions SET owner = NULL, forced_at = 1 WHERE owner = {mine}")
        return self._store.flush(batch)  # type: ignore[no-any-return]


def test_a_fenced_worker_drops_its_batch_and_starts_anew(places: Places) -> None:
    """Its results are refused, the crawl still completes."""
    with TestWeb() as web:
        graph = generate(91817, 120, web.port)
        web.add(graph.sites)
        place = places()
        crawl = place.start(list(graph.seeds), graph.settings)
        run_here(place, crawl.id, wrap=Usurped)
        assert graph.mismatches(place.states(crawl.id)) == []
        assert place.store().catalog.check() == []
        assert len(place.store().catalog.workers()) >= 2, "it came back as a new session"


def test_a_poisonous_page_ends_as_failed_and_the_crawl_goes_on(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parser dies: in the worker three times, then alone in a helper three times."""
    monkeypatch.setenv("NEPHILA_TEST_POISON", POISON_MARKER.decode())
    monkeypatch.setenv(
        "PYTHONPATH", f"{Path(__file__).parent / 'poison'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )
    with TestWeb() as web:
        fixture = site_poison(web.port)
        web.add(fixture.sites)
        place = places()
        crawl = place.start(list(fixture.seeds), fixture.settings)
        with Cluster(place) as cluster:
            cluster.run_crawl(crawl.id)
        rows = {row.url: row for row in place.rows(crawl.id)}
        assert {url: str(row.state) for url, row in rows.items()} == {
            url: str(e.state) for url, e in fixture.expected.items()
        }
        assert [row.reason for row in rows.values() if row.state == "failed"] == ["poison"]
        assert place.store().catalog.check() == []


def test_files_of_the_current_folder_are_not_taken_for_modules(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    (places.folder / "json.py").write_text("raise SystemExit('the wrong json')")
    monkeypatch.chdir(places.folder)
    with TestWeb() as web:
        web.add({"127.0.0.1": {"/": html()}})
        place = places()
        crawl = place.start([web.url("/")])
        with Cluster(place) as cluster:
            cluster.run_crawl(crawl.id)
        assert visited(place.states(crawl.id)) == 1


@pytest.mark.requirement("SC-04", "F-16", "K19")
@pytest.mark.parametrize("workers", [1, 3, 10])
def test_max_pages_is_met_exactly(workers: int, places: Places) -> None:
    with TestWeb() as web:
        graph = generate(42424, 300, web.port, hosts=4)
        web.add(graph.sites)
        place = places(workers)
        crawl = place.start(list(graph.seeds), graph.settings | {"limits.max_pages": 37, "polite.max_inflight": 4})
        with Cluster(place) as cluster:
            ended = cluster.run_crawl(crawl.id)
        states = place.states(crawl.id)
        assert visited(states) == 37
        assert ended.limited_by == "max_pages"
        assert {row.reason for row in place.rows(crawl.id) if row.state == "excluded"} == {"limit_pages"}
        assert place.store().catalog.check() == []


@pytest.mark.requirement("SC-04")
def test_max_urls_is_never_exceeded(places: Places) -> None:
    with TestWeb() as web:
        graph = generate(42424, 300, web.port, hosts=4)
        web.add(graph.sites)
        place = places()
        crawl = place.start(list(graph.seeds), graph.settings | {"limits.max_urls": 50})
        ended = run_here(place, crawl.id)
        assert len(place.rows(crawl.id)) == 50
        assert ended.limited_by == "max_urls"
        assert place.store().catalog.check() == []


@pytest.mark.requirement("F-16")
def test_max_frontier_is_never_exceeded(places: Places) -> None:
    with TestWeb() as web:
        graph = generate(42424, 300, web.port, hosts=4)
        web.add(graph.sites)
        place = places(3)
        cap = len(graph.seeds) + 8
        crawl = place.start(list(graph.seeds), graph.settings | {"limits.max_frontier": cap, "robots.mode": "ignore"})
        catalog = place.store().catalog

        def over() -> bool:
            tallies = catalog.tallies(crawl.id)
            assert sum(tallies[state] for state in OPEN) <= cap
            return catalog.crawl(crawl.id).state.over

        with Cluster(place) as cluster:
            cluster.run_until(over)
        assert catalog.crawl(crawl.id).limited_by == "max_frontier"
        assert sum(n for _, reason, n in catalog.refusals(crawl.id) if reason == Refusal.FRONTIER) > 0
        assert catalog.check() == []


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize("verb", ["pause", "cancel"])
def test_after_pause_or_cancel_has_answered_no_request_starts(
    verb: str, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawls, "ACKNOWLEDGE_SECONDS", PATIENCE_SECONDS)
    with TestWeb() as web:
        graph = generate(42424, 400, web.port, hosts=4)
        web.add(graph.sites)
        place = places(2)
        crawl = place.start(list(graph.seeds), graph.settings | {"polite.floor_ms": 20, "polite.max_inflight": 1})
        with Cluster(place) as cluster:
            web.hold(after=30)
            cluster.run_until(lambda: web.holding)
            getattr(crawls, verb)(cluster.store.catalog, crawl.id)
            web.settle()
            asked = len(web.hits())
            web.go_on()
            if verb == "cancel":
                assert cluster.run_crawl(crawl.id).state is CrawlState.CANCELLED
            else:
                waited = iter(range(30))
                cluster.run_until(lambda: next(waited, None) is None)
            assert len(web.hits()) == asked
            if verb == "pause":
                cluster.store.catalog.steer(crawl.id, CrawlState.RUNNING)
                cluster.run_crawl(crawl.id)
                assert graph.mismatches(place.states(crawl.id)) == []
        assert place.store().catalog.check() == []


@pytest.mark.requirement("A-44", "G-04", "P-17")
def test_two_crawls_on_one_host_share_one_clock(places: Places) -> None:
    from tests.site.politeness import violations

    with TestWeb() as web:
        graph = generate(42424, 20, web.port)
        web.add(graph.sites)
        place = places(2)
        polite = {"polite.floor_ms": 60, "polite.max_inflight": 1, "polite.adaptive": False}
        with Cluster(place) as cluster:
            cluster.ready()
            first = place.start(list(graph.seeds), graph.settings | polite)
            second = place.start(list(graph.seeds), graph.settings | polite | {"polite.floor_ms": 30})
            cluster.run_crawl(first.id)
            cluster.run_crawl(second.id)
        for crawl in (first, second):
            assert graph.mismatches(place.states(crawl.id)) == []
        assert violations(web.hits(), 30) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_a_full_disk_pauses_the_crawl_and_it_goes_on_when_there_is_space(places: Places) -> None:
    """A real small disk under the archive and an embedded store: filled by a ballast, freed while the crawl waits."""
    disk = places.folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip("needs root to mount a small file system")
    try:
        _crawl_on_a_full_disk(places(name=str(disk / "data")), disk)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _crawl_on_a_full_disk(place: Place, disk: Path) -> None:
    body = os.urandom(40_000).hex()
    with TestWeb() as web:
        links = [f"/p{n}" for n in range(120)]
        site = {"/": html(*links)} | {link: html(body=body[n:] + body[:n]) for n, link in enumerate(links)}
        web.add({"127.0.0.1": site})
        crawl = place.start([web.url("/")], {"polite.max_inflight": 1})
        ballast = disk / "ballast"
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        ballast.write_bytes(bytes(free - 2_500_000))
        with Cluster(place) as cluster:
            cluster.run_until(lambda: bool(cluster.supervisor.stalled))
            assert "space" in cluster.supervisor.stalled
            web.settle()
            asked = len(web.hits())
            pass_by(FULL_SECONDS)
            web.settle()
            assert len(web.hits()) <= asked + 1, "nothing but what was in flight is sent while results cannot be kept"
            ballast.unlink()
            cluster.run_crawl(crawl.id)
            until(lambda: not cluster.supervisor.stalled, "the worker says that it went on")
        assert visited(place.states(crawl.id)) == 121
        assert repeated_requests(web.hits()) == 0
        assert place.store().catalog.check() == []


def test_a_stopped_worker_hands_everything_back(places: Places) -> None:
    """RC-04, RC-06: drained, flushed, and nothing held."""

    async def run_a_while(place: Place, pages: int) -> None:
        settings = place.settings()
        worker = wiring.new_worker(
            wiring.open_frontier(settings), settings, SystemClock(), WorkerInfo("test", 0, "test")
        )
        duty = place.duty(place.store())
        task = asyncio.ensure_future(worker.run())
        catalog = place.store().catalog
        while catalog.tallies(1).get("visited", 0) < pages:  # noqa: ASYNC110 -- the store has no event
            await asyncio.sleep(0.01)
        worker.stop()
        await task
        duty.run_once()

    with TestWeb() as web:
        graph = generate(42424, 120, web.port)
        web.add(graph.sites)
        place = places()
        crawl = place.start(list(graph.seeds), graph.settings | {"polite.floor_ms": 5, "polite.max_inflight": 1})
        uvloop.run(run_a_while(place, 20))
        asked = len(web.hits())
        catalog = place.store().catalog
        assert not any(worker.alive for worker in catalog.workers())
        assert all(queue.held_by is None for queue in catalog.queues(crawl.id, 100))
        run_here(place, crawl.id)
        assert graph.mismatches(place.states(crawl.id)) == []
        repeated = Counter((hit.host, hit.path) for hit in web.hits())
        assert sum(times - 1 for (_, path), times in repeated.items() if path != "/robots.txt") == 0, asked
