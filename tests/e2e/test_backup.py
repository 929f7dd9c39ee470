"""`nephila backup`: a copy of a running crawl verifies, and goes on to the same end as the crawl itself."""

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from nephila import wiring
from nephila.control import crawls
from nephila.control.backup import Backup, back_up
from nephila.control.verify import verify
from nephila.errors import ArchiveError
from nephila.frontier.sqlite.connection import SqliteDatabase
from nephila.models import CrawlState
from tests import postgres
from tests.command import Command
from tests.e2e.harness import Cluster, Place, assert_whole, run_here, visited
from tests.patience import PATIENCE_SECONDS, until
from tests.site.fixtures import html
from tests.site.graphs import generate
from tests.site.server import DEFAULT_HOST, TestWeb


def copied(place: Place, destination: Path) -> Backup:
    settings = place.settings()
    return back_up(
        partial(wiring.copy_store, settings), wiring.open_archive(settings), destination, lambda what, done, of: None
    )


def test_backups_of_a_running_crawl_go_on_to_its_end(tmp_path: Path, web: TestWeb) -> None:
    graph = generate(42424, 400, web.port, hosts=4)
    web.add(graph.sites)
    place = Place(tmp_path / "data", workers=2)
    crawl = place.start(list(graph.seeds), graph.settings)
    copies = [tmp_path / f"copy-{number}" for number in range(5)]
    with Cluster(place) as cluster:
        for number, copy in enumerate(copies):
            web.hold(after=50)
            cluster.run_until(lambda: web.holding or place.store().catalog.crawl(crawl.id).state.over)
            if number % 2:
                web.go_on()  # copied while it runs
            copied(place, copy)
            web.go_on()
        cluster.run_crawl(crawl.id)
    assert_whole(place, crawl.id, graph)
    found = []
    for copy in copies:
        restored = Place(copy)
        store = restored.store()
        report = verify(store.catalog, store.archive, lambda what: None)
        assert report.problems == [] and report.ok and report.orphan_records == 0
        found.append(visited(restored.states(crawl.id)))
        if not store.catalog.crawl(crawl.id).state.over:
            crawls.resume(store.catalog, crawl.id)
            assert run_here(restored, crawl.id).state is CrawlState.COMPLETED
        assert_whole(restored, crawl.id, graph)
        restored.close()
    assert found == sorted(found) and 0 < found[0] < found[-1], "of different moments of the crawl"
    place.close()


def test_the_command_from_backup_to_resume(tmp_path: Path, web: TestWeb) -> None:
    links = [f"/{number}" for number in range(100)]
    web.add({DEFAULT_HOST: {"/": html(*links)} | {link: html() for link in links}})
    nephila, copy = Command(tmp_path / "data"), Command(tmp_path / "copy")
    web.hold(after=30)
    crawling = nephila.start("crawl", web.url("/"), "--allow-private", "--delay", "0", "--quiet")
    until(lambda: web.holding)
    code, out, err = nephila("backup", str(copy.data))
    assert (code, err) == (0, "") and out.startswith(f"backup in {copy.data}: store ")
    assert f"nephila verify --data {copy.data}\n" in out
    assert [path.name for path in tmp_path.iterdir() if ".partial" in path.name] == []
    web.go_on()
    crawling.communicate(timeout=PATIENCE_SECONDS)
    assert crawling.returncode == 0
    code, out, _ = copy("verify")
    assert code == 0 and "everything holds" in out
    assert copy("resume", "--quiet")[0] == 0
    assert copy.status()["states"] == nephila.status()["states"] == {"visited": 101}
    code, _, err = nephila("backup", str(copy.data))
    assert code == 2 and err.startswith(f"nephila: {copy.data} exists: ") and err.count("\n") == 1


def test_of_postgresql_it_says_what_to_do(tmp_path: Path) -> None:
    with postgres.database() as url:
        code, _, err = Command(tmp_path / "data", url)("backup", str(tmp_path / "copy"))
    assert code == 2 and "pg_dump" in err and str(tmp_path / "data" / "warc") in err and err.count("\n") == 1
    assert not (tmp_path / "copy").exists()


def small_crawl(folder: Path, web: TestWeb) -> Place:
    web.add({DEFAULT_HOST: {"/": html(body=os.urandom(400_000).hex())}})
    place = Place(folder)
    run_here(place, place.start([web.url("/")]).id)
    return place


def test_an_archive_file_that_is_gone_fails_the_backup_and_leaves_nothing(tmp_path: Path, web: TestWeb) -> None:
    place = small_crawl(tmp_path / "data", web)
    for file in place.store().archive.files():
        place.store().archive.remove(file)
    with pytest.raises(ArchiveError, match="there is no such file"):
        copied(place, tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
    place.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
@pytest.mark.parametrize("room", [100_000, 600_000])
def test_a_full_disk_is_one_line_and_nothing_is_left(room: int, tmp_path: Path, web: TestWeb) -> None:
    """Too small for the store, and for the archive alone."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs root to mount a small file system")
    try:
        place = small_crawl(tmp_path / "data", web)
        code, _, err = Command(place.folder)("backup", str(disk / "copy"))
        assert code == 1 and err.startswith(f"nephila: no space left on the disk of {disk / 'copy'}")
        assert err.count("\n") == 1 and list(disk.iterdir()) == []
        place.close()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_writers_do_not_wait_and_do_not_make_it_begin_anew(
    tmp_path: Path, web: TestWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nephila.frontier.sqlite.backup.STEP_PAGES", 5)
    place = small_crawl(tmp_path / "data", web)
    writer = SqliteDatabase(place.folder)
    told: list[tuple[int, int]] = []

    def tell(done: int, of: int) -> None:
        told.append((done, of))
        writer.change("move_control")

    before = writer.read("SELECT version FROM control")
    wiring.copy_store(place.settings(), tmp_path / "copy.db", tell)
    assert len(told) > 3 and told == sorted(told) and told[-1][0] == told[-1][1]
    assert writer.read("SELECT version FROM control") == [(before[0][0] + len(told),)]
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy.db").rename(tmp_path / "copy" / "nephila.db")
    copy = SqliteDatabase(tmp_path / "copy")
    assert copy.read("SELECT version FROM control") == before, "as it was when the copy began"
    copy.close()
    writer.close()
    place.close()
