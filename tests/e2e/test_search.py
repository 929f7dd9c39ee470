"""The follower behind real crawls of the test web: what was crawled is found, once, whoever is killed meanwhile."""

import json
import os
import random
import signal
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from nephila import wiring
from nephila.cli.catching_up import print_skipped
from nephila.clock import VirtualClock
from nephila.control import crawls
from nephila.control.derivation import DerivationProgress
from nephila.control.derivers import SEARCH
from nephila.control.deriving import DerivingProcess
from nephila.control.follower import STALE_MS, TRIES_MAX, Follower
from nephila.control.search import Results, search
from nephila.search.query import parse_query
from nephila.search.snippet import plain
from nephila.settings import process_settings
from tests.command import Command, children_of
from tests.e2e.harness import Place, Places, run_here
from tests.patience import PATIENCE_SECONDS, until
from tests.site.fixtures import html
from tests.site.server import DEFAULT_HOST, Page, TestWeb

MANY = 300
BROKEN = Path(__file__).parent / "broken"


def follower_of(place: Place) -> Follower:
    return wiring.new_follower(place.store(), VirtualClock(), only=SEARCH)


def bring_up_to_date(follower: Follower, pages_max: int = 200) -> int:
    looked = 0
    with closing(follower):  # its helper; the next step would start another
        while done := follower.step(pages_max):
            looked += done
    return looked


def progress(follower: Follower) -> DerivationProgress:
    return next(each for each in follower.progress() if each.name == SEARCH)


def found(place: Place, text: str, crawl: int | None = None, host: str | None = None) -> Results:
    store = place.store()
    crawl_name = None if crawl is None else str(crawl)
    return search(store.catalog, store.index, parse_query(text), crawl=crawl_name, host=host, limit=100)


def paths(results: Results) -> list[str]:
    assert results.total == len(results.results)
    return sorted(httpx.URL(result.url).path for result in results.results)


def page(title: str, body: str, *links: str, **more: object) -> Page:
    anchors = "".join(f"<a href='{link}'></a>" for link in links)
    return Page(f"<!doctype html><title>{title}</title><body>{body}{anchors}".encode(), **more)  # type: ignore[arg-type]


def crawled(place: Place, web: TestWeb, pages: dict[str, Page], **overrides: object) -> int:
    web.add({DEFAULT_HOST: {"/": html(*pages), "/robots.txt": Page(status=404), **pages}})
    crawl = place.start([web.url("/")], overrides)
    run_here(place, crawl.id)
    return crawl.id


@pytest.mark.requirement("Q-01")
def test_what_was_crawled_is_found(places: Places, web: TestWeb) -> None:
    place = places()
    crawl = crawled(
        place,
        web,
        {
            "/orb": page("Orb weavers", "<p>Golden <b>si</b>lk of <i>Nephila</i></p><script>var hidden = 1</script>"),
            "/plain": Page(b"Some plain text about silk", content_type="text/plain"),
            "/photo-of-a-spider.png": Page(b"\x89PNG\x00", content_type="image/png"),
            "/missing": Page(b"silk not found", status=404),
            "/hidden": page("x", "<meta name=robots content=noindex>silk"),
            "/tagged": Page(b"silk", content_type="text/plain", headers=(("X-Robots-Tag", "noindex"),)),
            "/tokyo": Page(
                "<meta charset=shift_jis><title>東京</title>日本の絹".encode("cp932"), content_type="text/html"
            ),
        },
    )
    follower = follower_of(place)
    assert bring_up_to_date(follower, pages_max=2) > 0
    assert (follower.skipped, progress(follower).pending_bytes) == (0, 0)
    assert paths(found(place, "silk")) == ["/orb", "/plain"]
    assert paths(found(place, '"golden silk"', crawl)) == ["/orb"]
    assert paths(found(place, "hidden")) == []
    assert paths(found(place, "絹")) == ["/tokyo"]
    assert paths(found(place, "silk", crawl, DEFAULT_HOST)) == ["/orb", "/plain"]
    assert paths(found(place, "silk", None, "other.test")) == []
    (result,) = found(place, "golden").results
    assert (result.title, result.crawl_id, plain(result.snippet)) == ("Orb weavers", crawl, "Golden silk of Nephila")
    assert [part.text for part in result.snippet if part.match] == ["Golden"]
    assert bring_up_to_date(follower) == 0, "nothing twice"


@pytest.mark.requirement("Q-01")
def test_crawls_that_ignore_robots_index_everything(places: Places, web: TestWeb) -> None:
    place = places()
    hidden = {
        "/hidden": page("x", "<meta name=robots content=noindex>silk"),
        "/tagged": Page(b"silk", content_type="text/plain", headers=(("X-Robots-Tag", "noindex"),)),
    }
    crawled(place, web, hidden, **{"robots.mode": "ignore"})
    bring_up_to_date(follower_of(place))
    assert paths(found(place, "silk")) == ["/hidden", "/tagged"]


def test_a_revisit_has_the_text_of_what_it_refers_to(places: Places, web: TestWeb) -> None:
    place = places()
    same = f"<p>Exactly the same words.</p>{'<!-- filler -->' * 40}"
    crawled(place, web, {path: page("Same", same) for path in ("/one", "/two", "/three")})
    bring_up_to_date(follower_of(place))
    assert paths(found(place, "exactly")) == ["/one", "/three", "/two"]


@pytest.mark.requirement("Q-01")
def test_a_deleted_crawl_is_never_shown_and_then_forgotten(places: Places, web: TestWeb) -> None:
    place = places()
    first = crawled(place, web, {"/a": page("A", "silk")})
    second = crawled(place, web, {"/a": page("A", "silk")}, **{"scope.max_depth": 5})
    assert first != second
    follower = follower_of(place)
    bring_up_to_date(follower)
    assert (found(place, "silk").total, found(place, "silk", first).total) == (2, 1)
    store = place.store()
    place.duty(store).run_once()
    crawls.delete(store.catalog, store.upkeep, store.archive, first)
    results = found(place, "silk")
    assert [result.crawl_id for result in results.results] == [second], "at once"
    assert results.total == 1
    assert isinstance(follower.clock, VirtualClock)
    follower.clock.advance(STALE_MS + 1)
    bring_up_to_date(follower)
    assert store.index.crawls().keys() == {second}
    assert found(place, "silk").total == 1


def test_an_index_of_another_store_is_forgotten(tmp_path: Path, web: TestWeb) -> None:
    """Of an embedded store that was deleted without its index: the numbers of crawls begin anew."""
    folder = tmp_path / "data"
    place = Place(folder)
    crawled(place, web, {"/a": page("A", "before")})
    bring_up_to_date(follower_of(place))
    place.close()
    for name in ("nephila.db", "nephila.db-wal", "nephila.db-shm"):
        (folder / name).unlink(missing_ok=True)
    again = Place(folder)
    assert crawled(again, web, {"/b": page("B", "after")}) == 1
    assert found(again, "before").total == 0, "not shown, though its number is that of a living crawl"
    bring_up_to_date(follower_of(again))
    assert (found(again, "before").total, paths(found(again, "after"))) == (0, ["/b"])
    again.close()


@pytest.mark.parametrize("damage", ["missing", "torn", "broken", "folder"])
def test_a_damaged_archive_does_not_stop_the_rest(places: Places, web: TestWeb, damage: str) -> None:
    place = places(more={"warc_bytes_max": 1 << 16})
    noise = random.Random(7)
    pages = {
        f"/{number}": page(f"Page {number}", f"silk {noise.randbytes(8000).hex()}") for number in range(40)
    }  # some 5 kB each, compressed: several files
    crawled(place, web, pages)
    archive = place.settings().archive_folder
    files = sorted(archive.glob("*.warc.gz"))
    assert len(files) > 2
    victim = files[1]
    lost = [row for row in place.rows(1) if row.archive_file == victim.name]
    if damage == "missing":
        victim.rename(archive / "away")
    elif damage == "torn":
        os.truncate(victim, victim.stat().st_size // 2)
    elif damage == "folder":
        victim.unlink()
        victim.mkdir()
    else:
        middle = lost[len(lost) // 2]
        assert middle.archive_offset is not None
        with victim.open("r+b") as file:
            file.seek(middle.archive_offset + 40)
            file.write(b"\xff" * 30)
    follower = follower_of(place)
    bring_up_to_date(follower)
    total = found(place, "silk").total
    if damage == "missing":
        assert total == 40 - len(lost)
        assert (follower.skipped, len(follower.unreachable)) == (0, 1)
        assert progress(follower).pending_bytes == victim.with_name("away").stat().st_size
        victim.with_name("away").rename(victim)
        bring_up_to_date(follower)
        assert (found(place, "silk").total, len(follower.unreachable)) == (40, 0), "it came back"
    else:
        assert total == 40 - follower.skipped
        assert 1 <= follower.skipped <= len(lost)
        assert progress(follower).pending_bytes == 0


def test_hostile_pages_cost_nothing_but_themselves(places: Places, web: TestWeb) -> None:
    place = places()
    bomb = zlib.compress(b"<p>bomb " + b"x" * 40_000_000)
    pages = {
        "/deep": Page(b"<p>deep silk" + b"<div>" * 10_000),
        "/bomb": Page(bomb, headers=(("Content-Encoding", "deflate"),)),
        "/nul": page("\x00nul", "silk\x00\x01 &#0; \x7f"),
        "/lies": Page(b"\xff\xfe\x00silk", content_type="text/html; charset=utf-8"),
        "/quotes": page("'); DROP TABLE search_documents; --", "silk ' \" \\ :A ''"),
        "/surrogate": Page(b"<title>\xed\xa0\x80</title>silk \xed\xa0\x80"),
        "/words": Page(b"silk " + b" ".join(b"%064x" % number for number in range(30_000))),
        "/none": Page(b"", content_type=None),
    }
    crawled(place, web, pages)
    follower = follower_of(place)
    bring_up_to_date(follower)
    assert (follower.skipped, progress(follower).pending_bytes) == (0, 0)
    assert {"/deep", "/nul", "/quotes", "/surrogate", "/words"} <= set(paths(found(place, "silk")))


@contextmanager
def follow_process(place: Place) -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen(
        wiring.FOLLOWER_COMMAND, env=wiring.worker_environment(place.settings()), stdin=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.requirement("Q-01")
def test_a_killed_follower_loses_nothing_and_repeats_nothing(places: Places, web: TestWeb) -> None:
    place = places(more={"warc_bytes_max": 1 << 18})  # two files
    pages = {f"/{number}": page(f"Page {number}", f"silk number{number} " + "word " * 3000) for number in range(MANY)}
    crawled(place, web, pages)
    store, deaths = place.store(), 0
    archive = place.settings().archive_folder
    *_, last = sorted(archive.glob("*.warc.gz"))
    away = last.rename(archive / "away")  # however late the first one is killed, it has not done everything
    while (before := store.index.count()) < MANY:
        with follow_process(place) as process:
            until(lambda before=before: store.index.count() > before)  # type: ignore[misc]
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE_SECONDS)
        deaths += store.index.count() < MANY
        if away.exists():
            away.rename(last)
    with follow_process(place) as process:
        until(lambda: progress(follower_of(place)).pending_bytes == 0)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE_SECONDS) == 0, "it ends with its parent"
    assert deaths
    assert store.index.count() == MANY + 1
    assert found(place, "silk").total == MANY
    for number in (0, 7, MANY - 1):
        assert paths(found(place, f"number{number}")) == [f"/{number}"]


def test_two_followers_share_the_work(places: Places, web: TestWeb) -> None:
    place = places()
    pages = {f"/{number}": page(f"Page {number}", f"silk number{number} " + "word " * 500) for number in range(MANY)}
    crawled(place, web, pages)
    store = place.store()
    with follow_process(place), follow_process(place):
        until(lambda: progress(follower_of(place)).pending_bytes == 0)
    assert (store.index.count(), found(place, "silk").total) == (MANY + 1, MANY)


# --- `nephila serve` and `nephila search`


@pytest.fixture
def nephila(places: Places) -> Command:
    place = places()
    place.store()
    return Command(place.folder, place.url)


QUICK = {"fetch.allow_private": True, "polite.floor_ms": 0, "polite.adaptive": False}


@pytest.mark.requirement("Q-01", "A-42")
def test_a_server_keeps_its_index_up_to_date(nephila: Command, web: TestWeb) -> None:
    pages = {f"/{number}": page(f"Page {number}", "<p>golden silk</p>") for number in range(20)}
    web.add({DEFAULT_HOST: {"/": html(*pages), "/robots.txt": Page(status=404), **pages}})
    with (
        nephila.serving("--workers", "1") as (process, url),
        httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client,
    ):

        def ask(**query: object) -> dict[str, object]:
            answer = client.get("/api/v1/search", params=query)  # type: ignore[arg-type]
            assert answer.status_code == 200, answer.text
            return dict(answer.json())

        assert ask(q="silk")["total"] == 0
        made = client.post("/api/v1/crawls", json={"seeds": [web.url("/")], "settings": QUICK}).json()
        until(lambda: ask(q='"golden silk"', crawl=made["id"])["total"] == 20)
        (follower,) = [child for child in children_of(process.pid) if _is_follower(child)]
        assert os.getpriority(os.PRIO_PROCESS, follower) == wiring.FOLLOWER_NICE
        os.kill(follower, signal.SIGKILL)
        again = client.post("/api/v1/crawls", json={"seeds": [web.url("/1")], "settings": QUICK}).json()
        until(lambda: ask(q='"golden silk"', crawl=again["crawl_id"])["total"] == 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        assert not Path(f"/proc/{follower}").exists()


def _is_follower(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[-2] == b"follow"
    except (OSError, IndexError):  # it is gone, or about to be: then it has no command line
        return False


def test_a_server_can_do_without(nephila: Command) -> None:
    with nephila.serving("--workers", "0", "--no-index") as (process, url):
        assert httpx.get(f"{url}/api/v1/search", params={"q": "silk"}, timeout=PATIENCE_SECONDS).json()["total"] == 0
        assert [child for child in children_of(process.pid) if _is_follower(child)] == []


@pytest.mark.requirement("Q-01")
def test_the_command_searches(nephila: Command, web: TestWeb) -> None:
    pages = {f"/{number}": page(f"Page {number}", f"<p>golden silk number{number}</p>") for number in range(12)}
    web.add({DEFAULT_HOST: {"/": html(*pages), "/robots.txt": Page(status=404), **pages}})
    assert nephila("crawl", web.url("/"), "--allow-private", "--delay", "0", "--quiet")[0] == 0
    code, out, err = nephila("search", "silk", "--no-update")
    assert (code, err) == (1, "") and "no page has silk" in out
    code, out, err = nephila("search", "number7")
    assert (code, err) == (0, ""), err
    assert out.splitlines()[:3] == ["Page 7", web.url("/7"), "golden silk number7"]
    assert "1 of 1 found" in out
    code, out, _ = nephila("search", "golden silk", "--json", "--limit", "5", "--crawl", "1", "--host", DEFAULT_HOST)
    answer = json.loads(out)
    assert (code, answer["total"], len(answer["results"]), answer["words"]) == (0, 12, 5, ["golden", "silk"])
    assert {"text": "golden", "match": True} in answer["results"][0]["snippet"]
    assert nephila("search", "nothing")[0] == 1
    for wrong in (
        ("!!",),
        ("silk", "--crawl", "99"),
        ("silk", "--crawl", "x y"),
        ("silk", "--limit", "0"),
        (" -silk",),
    ):
        code, out, err = nephila("search", *wrong)
        assert (code, out, len(err.splitlines())) == (2, "", 1), (wrong, code, out, err)


def test_the_command_can_be_interrupted(nephila: Command, web: TestWeb) -> None:
    """While it is at a page that takes half a minute: the signal cannot come too late."""
    pages = {"/1": page("Page 1", "silk"), "/2": page("Page 2", "silk endless")}
    web.add({DEFAULT_HOST: {"/robots.txt": Page(status=404), **pages}})
    for path in pages:  # each in a file of its own, and the index is committed file by file
        assert nephila("crawl", web.url(path), "--allow-private", "--delay", "0", "--quiet")[0] == 0
    nephila.environment |= {"PYTHONPATH": str(BROKEN), "NEPHILA_TEST_BREAK": "deadly"}
    options = {"data": nephila.place[1], "store": nephila.place[3] if len(nephila.place) > 2 else None}
    store = wiring.open_store(process_settings(options))
    process = nephila.start("search", "silk")
    until(lambda: store.index.count() or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (130, ""), err
    assert "pages are indexed" in err and "--no-update" in err


# --- pages that end the helper that derives them


@pytest.fixture
def deaths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a line for each helper that a page with the word `deadly` has ended."""
    mark = tmp_path / "deaths"
    monkeypatch.setenv("PYTHONPATH", str(BROKEN))
    monkeypatch.setenv("NEPHILA_TEST_BREAK", "deadly")
    monkeypatch.setenv("NEPHILA_TEST_BREAK_MARK", str(mark))
    return mark


def poisoned(place: Place, web: TestWeb, count: int = 30) -> None:
    pages = {f"/{number}": page(f"Page {number}", f"silk number{number}") for number in range(count)}
    pages["/7"] = page("Page 7", "silk deadly")
    crawled(place, web, pages)


def test_a_page_that_ends_its_helper_is_skipped_and_named(
    places: Places, web: TestWeb, deaths: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = places()
    poisoned(place, web)
    follower = follower_of(place)
    assert bring_up_to_date(follower) > 0
    assert deaths.read_text().splitlines() == [SEARCH] * TRIES_MAX
    assert (follower.skipped, progress(follower).pending_bytes, progress(follower).skipped) == (1, 0, 1)
    assert found(place, "silk").total == 29, "every other page, once"
    (record,) = follower.ledger.skipped(follower.derivations[0].what, 10)
    (row,) = [row for row in place.rows(1) if row.id == record.url_id]
    assert row.url.endswith("/7") and record.offset == row.archive_offset and "SIGKILL" in record.why
    assert bring_up_to_date(follower_of(place)) == 0, "and nobody tries again"
    print_skipped(follower)
    assert capsys.readouterr().err == f"nephila: skipped {row.url}: {record.why}\n"


def test_a_deadly_page_cannot_stop_followers_that_are_killed(places: Places, web: TestWeb, deaths: Path) -> None:
    """Each is killed as soon as a try is written down: so tries are counted over their deaths."""
    place = places()
    poisoned(place, web)
    ledger, what = place.store().ledger, follower_of(place).derivations[0].what
    ((file, size),) = place.store().catalog.archive_sizes()

    def tries() -> int:
        return sum(record.tries for record in ledger.failed(what, file, 0, size))

    while (before := tries()) < TRIES_MAX:
        with follow_process(place):
            until(lambda before=before: tries() > before)  # type: ignore[misc]
    with follow_process(place):
        until(lambda: progress(follower_of(place)).pending_bytes == 0)
    tried = [names for names in deaths.read_text().splitlines() if SEARCH in names.split(",")]
    assert len(tried) <= 2 * TRIES_MAX, "one may die while its follower is killed"
    assert (found(place, "silk").total, ledger.count_skipped(what)) == (29, 1)


@pytest.mark.usefixtures("deaths")
def test_a_page_that_takes_too_much_is_skipped(places: Places, web: TestWeb) -> None:
    place = places()
    pages = {"/a": page("A", "silk"), "/b": page("B", "silk endless"), "/c": page("C", "silk greedy")}
    crawled(place, web, pages)
    follower = follower_of(place)
    follower.deriver = DerivingProcess(follower.archive, cpu_seconds_max=1)
    bring_up_to_date(follower)
    why = sorted(record.why for record in follower.ledger.skipped(follower.derivations[0].what, 10))
    assert [text.partition(" ")[2].split(" the ")[0] for text in why] == [
        "needs more than",
        "takes more than 1 s of CPU",
    ]
    assert paths(found(place, "silk")) == ["/a"]
