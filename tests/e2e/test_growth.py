"""What a folder is left with after many crawls: their rows and archive files, and nothing else."""

import os
import threading
from pathlib import Path

import pytest

from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.frontier.store import WORKERS_KEPT
from nephila.wiring import new_follower
from tests.command import Command
from tests.e2e.harness import Place, Places, run_here
from tests.patience import until
from tests.site.fixtures import html
from tests.site.server import DEFAULT_HOST, TestWeb

CRAWLS = {"sqlite": 50, "postgres": WORKERS_KEPT + 5}
SITE = {"/": html("/a"), "/a": html()}


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_fifty_crawls_leave_nothing_behind(places: Places, web: TestWeb) -> None:
    count = CRAWLS[places.kind]
    web.add({DEFAULT_HOST: {f"/{number}": html() for number in range(count)}})
    place = places()
    before = []
    for number in range(count):
        crawl = place.start([web.url(f"/{number}")])
        assert run_here(place, crawl.id).state == "completed"
        place.store().upkeep._forgot_at = None  # as a command that starts now
        place.duty(place.store()).run_once()
        if number == 2:
            before = [open_files(), threading.active_count()]
    workers = place.store().catalog.workers()
    assert len(workers) <= WORKERS_KEPT and not any(worker.alive for worker in workers)
    assert open_files() <= before[0] + 2 and threading.active_count() <= before[1] + 1
    if place.url is None:
        assert list((place.folder / "sessions").iterdir()) == []
    assert {path.name.removeprefix("nephila.db") for path in place.folder.iterdir() if path.is_file()} <= {
        "",
        "-wal",
        "-shm",
        ".lock",
    }
    assert place.store().catalog.check() == []


@pytest.mark.parametrize("killed", [False, True])
def test_commands_leave_no_process_and_no_file_of_their_own(killed: bool, tmp_path: Path, web: TestWeb) -> None:
    web.add({DEFAULT_HOST: SITE})
    nephila = Command(tmp_path / "data")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    nephila.environment["TMPDIR"] = str(temporary)
    if killed:
        web.hold(after=1)
        process = nephila.start("crawl", web.url("/"), "--allow-private", "--delay", "0")
        until(lambda: web.holding)
        os.killpg(process.pid, 9)
        process.communicate()
        web.go_on()
    for _ in range(2):
        assert nephila("crawl", web.url("/"), "--allow-private", "--delay", "0")[0] == 0
    assert list((tmp_path / "data" / "sessions").iterdir()) == []
    assert list(temporary.iterdir()) == []
    assert not [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/environ")
        if str(temporary).encode() in _environment(path)
    ]


def _environment(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_deleted_crawl_gives_its_space_back(tmp_path: Path, web: TestWeb) -> None:
    """Of an embedded store: PostgreSQL does it by itself."""
    links = [f"/{number}/{'x' * 300}" for number in range(3000)]
    web.add({DEFAULT_HOST: {"/": html(*links), "/robots.txt": html()}})
    place = Place(tmp_path / "data")
    kept = place.start([web.url("/kept")])
    run_here(place, kept.id)
    gone = place.start([web.url("/")], {"limits.max_pages": 1})
    run_here(place, gone.id)
    store = place.store()
    path = place.folder / "nephila.db"
    store.upkeep.give_back(lambda left: None)
    full, told = path.stat().st_size, list[str]()
    follower = new_follower(store, SystemClock())
    follower.forget_deleted()
    assert not (place.folder / "search.db").exists(), "none is made where nobody searches"
    while follower.step():
        pass
    assert store.index.count() > 0
    crawls.delete(store.catalog, store.upkeep, store.archive, gone.id, told.append)
    assert path.stat().st_size < full / 2, "the rows of the crawl were most of it"
    assert "rows are deleted" in told[0] and told[-1] == "0 MB to give back to the disk"
    follower._stale_tick = 0.0
    follower.forget_deleted()
    assert store.index.count() == 0
    assert store.catalog.check() == []
    assert len(place.rows(kept.id)) == 1
    place.close()
