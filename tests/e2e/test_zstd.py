"""A crawl whose archive is Zstandard: killed, verified, shown, searched, copied, deleted, and beside gzip."""

import os
import random
import signal
from functools import partial
from pathlib import Path

import pytest

from nephila import wiring
from nephila.archive.reader import read_response
from nephila.control.backup import back_up
from nephila.control.verify import verify
from nephila.models import ArchivePlace
from tests.command import Command
from tests.e2e.harness import Cluster, Place, Places, run_here
from tests.e2e.test_search import bring_up_to_date, follower_of, found, page
from tests.site.fixtures import html
from tests.site.server import DEFAULT_HOST, Page, TestWeb
from tests.unit.archive.judges import complaints

PAGES = 300
ZSTD = {"warc_format": "zstd"}


def pages() -> dict[str, Page]:
    """Some 16 KB each, alike: a session learns a dictionary before half of them are there."""
    noise = random.Random(7)
    words = [noise.randbytes(4).hex() for _ in range(500)]
    return {
        f"/{number}": page(f"Page {number}", "silk " + " ".join(noise.choices(words, k=1800)))
        for number in range(PAGES)
    }


def with_dictionary(place: Place) -> list[str]:
    archive = place.store().archive
    return [file for file in archive.files() if archive.packing(file).first]


def assert_everything_holds(place: Place) -> None:
    report = verify(place.store().catalog, place.store().archive, lambda what: None)
    assert report.problems == [] and report.ok


@pytest.mark.requirement("RC-09", "ST-05")
def test_a_killed_worker_leaves_files_that_hold_and_the_crawl_goes_on(places: Places, web: TestWeb) -> None:
    sent = pages()
    web.add({DEFAULT_HOST: {"/": html(*sent), "/robots.txt": Page(status=404), **sent}})
    place = places(more=ZSTD)
    crawl = place.start([web.url("/")])
    with Cluster(place) as cluster:
        for _ in range(2):
            web.hold(after=PAGES // 3)
            cluster.run_until(lambda: web.holding and bool(cluster.supervisor.pids))
            victim = cluster.supervisor.pids[0]
            os.kill(victim, signal.SIGKILL)
            cluster.run_until(lambda victim=victim: victim not in cluster.supervisor.pids)
        web.go_on()
        cluster.run_crawl(crawl.id)
    assert_everything_holds(place)
    rows = [row for row in place.rows(crawl.id) if row.archive_file is not None]
    assert len(rows) == PAGES + 1
    for row in rows:
        where = ArchivePlace(row.archive_file or "", row.archive_offset or 0, row.archive_length or 0)
        body, path = read_response(place.store().archive, where, verify=True).body, row.url[row.url.rindex("/") :]
        assert path == "/" or body == sent[path].body


def test_what_reads_archives_reads_this_one(tmp_path: Path, web: TestWeb) -> None:
    sent = pages()
    web.add({DEFAULT_HOST: {"/": html(*sent), "/robots.txt": Page(status=404), **sent}})
    place = Place(tmp_path / "data", more=ZSTD)
    run_here(place, place.start([web.url("/")]).id)
    files = place.store().archive.files()
    assert len(files) == 2 and with_dictionary(place) == list(files)[1:]
    folder = place.settings().archive_folder
    assert complaints(*(folder / file for file in files)) == []
    assert_everything_holds(place)
    bring_up_to_date(follower_of(place))
    assert found(place, "silk").total == PAGES
    copy = tmp_path / "copy"
    store = partial(wiring.copy_store, place.settings())
    back_up(store, wiring.open_archive(place.settings()), copy, lambda what, done, of: None)
    place.close()
    for command in (Command(tmp_path / "data"), Command(copy)):
        code, out, _ = command("verify")
        assert code == 0 and "everything holds" in out
        code, out, err = command("show", web.url(f"/{PAGES - 1}"))
        assert (code, err) == (0, "") and f"Page {PAGES - 1}" in out
    gzip = Place(tmp_path / "data")
    run_here(gzip, gzip.start([web.url("/")], {"limits.max_pages": 5}).id)
    assert {Path(file).suffix for file in gzip.store().archive.files()} == {".gz", ".zst"}
    assert_everything_holds(gzip)
    gzip.close()
    nephila = Command(tmp_path / "data")
    assert nephila("delete", "1", "--yes")[0] == 0
    assert {Path(file).suffix for file in wiring.open_archive(gzip.settings()).files()} == {".gz"}
    assert nephila("verify")[0] == 0
