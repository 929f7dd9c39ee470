"""The follower's steps, one by one, and who keeps it alive. Pages are derived in this process."""

import io
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from nephila import log
from nephila.archive.archive import Archive
from nephila.clock import VirtualClock
from nephila.control import follower as following
from nephila.control.derivation import Derivation, SearchDerivation, pending_bytes
from nephila.control.derive_worker import Trip, results_of
from nephila.control.derivers import DERIVERS, SEARCH, CrawlRules, DeriveJob
from nephila.control.deriving import Answered, HelperEnded
from nephila.control.follower import TRIES_MAX, Follower, FollowerKeeper, follow
from nephila.control.pages import PageContent
from nephila.derived.ledger import Derived
from nephila.derived.sqlite_ledger import SqliteLedger
from nephila.errors import StoreUnavailable
from nephila.models import FailedRecord
from nephila.profiles import crawl_settings
from nephila.search.sqlite_fts import SqliteIndex
from nephila.settings import LogFormat, LogLevel
from tests.patience import PATIENCE_SECONDS
from tests.unit.control.filled import Filled

COPY = "copy"


class Here:
    """Derives in this process. `deadly`: (derivation, end of the URL) of what ends a helper."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.deadly: set[tuple[str, str]] = set()
        self.read: list[tuple[str, tuple[str, ...]]] = []  # URLs, and what was derived of each

    def answers(self, trip: Trip) -> Generator[Answered | HelperEnded]:
        left = trip.bytes_max
        for number, job in enumerate(trip.jobs, 1):
            self.read.append((job.url, job.names))
            if any(name in job.names and job.url.endswith(end) for name, end in self.deadly):
                yield HelperEnded("it died")
                return
            results = results_of(self.archive, trip.file, job)
            size = sum(len(result.value or "") for result in results)
            left -= size
            last = left < 0 or number == len(trip.jobs)
            yield Answered(results, size, last)
            if last:
                return

    def close(self) -> None:
        """There is no process."""


class Copy(SearchDerivation):
    """A second derivation: the same index under another name."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(SqliteIndex(folder))
        self.what = Derived(COPY, 1)


@pytest.fixture
def deriver(filled: Filled) -> Here:
    return Here(filled.archive)


def made(filled: Filled, deriver: Here, *more: Derivation) -> Follower:
    derivations = [SearchDerivation(SqliteIndex(filled.folder)), *more]
    ledger = SqliteLedger(filled.folder)
    return Follower(filled.catalog, derivations, filled.archive, ledger, deriver, VirtualClock())


@pytest.fixture
def follower(filled: Filled, deriver: Here) -> Follower:
    return made(filled, deriver)


@pytest.fixture
def copy(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> Copy:
    monkeypatch.setitem(DERIVERS, COPY, DERIVERS[SEARCH])
    return Copy(filled.folder / "copy")


@pytest.fixture
def said() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    log.configure(LogLevel.INFO, LogFormat.JSON, stream, None)
    yield stream
    structlog.reset_defaults()


def steps(follower: Follower, pages_max: int = 200) -> list[int]:
    found = []
    while done := follower.step(pages_max):
        found.append(done)
    return found


def test_a_step_is_bounded(follower: Follower) -> None:
    (before,) = follower.progress()
    assert (before.pages, before.pending_bytes) == (0, follower.catalog.archive_sizes()[0][1])
    assert steps(follower, 2) == [2, 2, 1], "five rows, of which three are visited pages"
    (after,) = follower.progress()
    assert (after.name, after.pages, after.pending_bytes, after.skipped) == (SEARCH, 3, 0, 0)


def test_a_step_ends_after_many_bytes(follower: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "BYTES_PER_STEP", 0)
    assert steps(follower) == [1, 1, 3], "each page with text ends one"
    assert follower.derivations[0].pages.count() == 3


def test_the_turn_of_another_is_waited_for(follower: Follower, filled: Filled) -> None:
    with SqliteIndex(filled.folder).turn() as theirs:
        assert theirs
        assert follower.step() is None
    assert follower.step() == 5


def test_who_has_lost_the_turn_does_nothing(
    follower: Follower, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a lost connection of PostgreSQL: another was there before the commit."""
    rows = filled.catalog.pages_in_file

    def meanwhile(name: str, start: int, end: int, limit: int) -> object:
        with_other = SqliteIndex(filled.folder)
        with_other.file.make()
        assert with_other.add(name, start, end, [], {})
        return rows(name, start, end, limit)

    monkeypatch.setattr(filled.catalog, "pages_in_file", meanwhile)
    assert follower.step() == 0
    (after,) = follower.progress()
    assert (after.pages, after.pending_bytes) == (0, 0)


def test_a_fault_of_ours_skips_one_page(follower: Follower, monkeypatch: pytest.MonkeyPatch, said: io.StringIO) -> None:
    def faulty(page: PageContent, job: DeriveJob) -> str:
        if job.url.endswith("/x"):
            raise ZeroDivisionError("a fault")
        return "text"

    monkeypatch.setitem(DERIVERS, SEARCH, faulty)
    steps(follower)
    (after,) = follower.progress()
    assert (follower.skipped, after.skipped, after.pages) == (1, 1, 2)
    (record,) = follower.ledger.skipped(after_what(follower), 10)
    assert (record.why, record.tries) == ("ZeroDivisionError: a fault", 0)
    log.flush()
    assert "page_not_derived" in said.getvalue() and "ZeroDivisionError: a fault" in said.getvalue()


def test_a_lack_of_memory_ends_the_helper(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is no answer: the page is tried again in a new one."""

    def greedy(page: PageContent, job: DeriveJob) -> str:
        raise MemoryError

    monkeypatch.setitem(DERIVERS, SEARCH, greedy)
    ((file, size),) = filled.catalog.archive_sizes()
    row = filled.catalog.pages_in_file(file, 0, size, 1)[0]
    job = DeriveJob(
        row.offset,
        row.length,
        row.url,
        row.content_type,
        CrawlRules(row.crawl, 1 << 20, True, crawl_settings().norm),
        (SEARCH,),
    )
    with pytest.raises(MemoryError):
        results_of(filled.archive, file, job)


def after_what(follower: Follower) -> Derived:
    return follower.derivations[0].what


# --- pages that end their helper


def test_a_deadly_page_is_tried_three_times_and_named(follower: Follower, deriver: Here, said: io.StringIO) -> None:
    deriver.deadly = {(SEARCH, "/x")}
    assert steps(follower) == [5]
    assert [url for url, _ in deriver.read if url.endswith("/x")] == ["http://a.test/x"] * TRIES_MAX
    assert [url for url, _ in deriver.read if not url.endswith("/x")] == ["http://a.test/", "http://a.test/formula"]
    (record,) = follower.ledger.skipped(after_what(follower), 10)
    assert (record.tries, record.skipped, record.why) == (TRIES_MAX, True, "it died")
    assert (follower.skipped, follower.derivations[0].pages.count()) == (1, 2)
    log.flush()
    assert said.getvalue().count("helper_ended") == TRIES_MAX
    assert said.getvalue().count("page_not_derived") == 1 and f'"url_id":{record.url_id}' in said.getvalue()


class Killed(BaseException):
    """The follower's process ends here, as with `kill -9`."""


def test_tries_are_counted_over_the_death_of_the_follower(
    filled: Filled, deriver: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    deriver.deadly = {(SEARCH, "/x")}
    for deaths in range(1, TRIES_MAX + 1):
        follower = made(filled, deriver)
        note = follower.ledger.note

        def dying(what: Derived, records: Sequence[FailedRecord], note: Any = note) -> None:
            note(what, records)
            raise Killed

        monkeypatch.setattr(follower.ledger, "note", dying)
        with pytest.raises(Killed):
            follower.step()
        assert [url for url, _ in deriver.read].count("http://a.test/x") == deaths, "each try is written down at once"
    assert steps(made(filled, deriver)) == [5]
    assert [url for url, _ in deriver.read if url.endswith("/x")] == ["http://a.test/x"] * TRIES_MAX
    assert SqliteIndex(filled.folder).count() == 2


def test_a_page_that_is_well_again_is_forgotten(follower: Follower, deriver: Here) -> None:
    """As after a helper that somebody killed."""
    answers = deriver.answers

    def once(trip: Trip) -> Generator[Answered | HelperEnded]:
        deriver.deadly = set()
        deriver.answers = answers  # type: ignore[method-assign]
        yield HelperEnded("killed", ahead=1)

    deriver.answers = once  # type: ignore[method-assign]
    ((file, size),) = follower.catalog.archive_sizes()
    blamed: list[int] = []
    note = follower.ledger.note

    def noted(what: Derived, records: Sequence[FailedRecord]) -> None:
        blamed.extend(record.url_id for record in records)
        note(what, records)

    follower.ledger.note = noted  # type: ignore[method-assign]
    second = follower.catalog.pages_in_file(file, 0, size, 2)[1]
    assert steps(follower) == [5]
    assert blamed == [second.url_id], "not the one before, whose answer was lost with the helper"
    assert follower.derivations[0].pages.count() == 3
    assert follower.ledger.failed(after_what(follower), file, 0, size) == []


def test_only_the_culprit_is_blamed(filled: Filled, deriver: Here, copy: Copy) -> None:
    deriver.deadly = {(COPY, "/x")}
    follower = made(filled, deriver, copy)
    assert steps(follower) == [5]
    assert [each.pages.count() for each in follower.derivations] == [3, 2]
    assert [len(follower.ledger.skipped(each.what, 10)) for each in follower.derivations] == [0, 1]
    ((file, size),) = follower.catalog.archive_sizes()
    assert follower.ledger.failed(after_what(follower), file, 0, size) == [], "it was derived at last"
    tried = [names for url, names in deriver.read if url.endswith("/x") and COPY in names]
    assert len(tried) == TRIES_MAX, "once with the other, then alone"


# --- several derivations


def test_those_at_the_same_mark_read_once(filled: Filled, deriver: Here, copy: Copy) -> None:
    assert steps(made(filled, deriver, copy), 2) == [2, 2, 1]
    assert {names for _, names in deriver.read} == {(SEARCH, COPY)}
    assert len(deriver.read) == 3 == copy.pages.count()


def test_one_that_is_behind_catches_up_and_joins(filled: Filled, deriver: Here, copy: Copy) -> None:
    made(filled, deriver).step(2)
    follower = made(filled, deriver, copy)
    deriver.read.clear()
    assert steps(follower) == [2, 3], "two rows for the one that was behind, then three for both"
    assert [names for _, names in deriver.read] == [(COPY,), (COPY,), (SEARCH, COPY)]
    assert [each.pages.count() for each in follower.derivations] == [3, 3]


def test_one_that_is_far_behind_keeps_nobody_waiting(filled: Filled, deriver: Here, copy: Copy) -> None:
    """Files that it has still to read are many; the other is fed every second step."""
    follower = made(filled, deriver, copy)
    sizes = [("old1", 9), ("old2", 9), ("old3", 9), ("new", 9)]
    chosen: list[list[str]] = []
    marks: dict[str, dict[str, int]] = {SEARCH: dict(sizes[:3]), COPY: {}}

    class Chooses(Follower):
        def _read_on(self, together: Any, file: str, start: int, stop: int, pages_max: int) -> int:
            chosen.append([file, *(each.what.name for each in together)])
            for each in together:
                marks[each.what.name][file] = stop
            return 1

        def _reachable(self, file: str) -> bool:
            return True

    choosing = Chooses(
        filled.catalog,
        [Marks(SEARCH, marks), Marks(COPY, marks)],
        filled.archive,
        follower.ledger,
        deriver,
        VirtualClock(),
    )  # type: ignore[list-item]
    filled.catalog.archive_sizes = lambda: sizes  # type: ignore[method-assign]
    while choosing.step():
        pass
    assert ["new", SEARCH, COPY] in chosen[:2], "the new file is read within two steps, for both"
    assert sorted(chosen) == [["new", SEARCH, COPY], ["old1", COPY], ["old2", COPY], ["old3", COPY]]


class Marks:
    """A derivation of which only the marks are asked for."""

    def __init__(self, name: str, marks: Mapping[str, dict[str, int]]) -> None:
        self.what = Derived(name, 1)
        self.pages = self
        self._marks = marks

    @contextmanager
    def turn(self) -> Iterator[bool]:
        yield True

    def marks(self) -> dict[str, int]:
        return dict(self._marks[self.what.name])

    def crawls(self) -> dict[int, str]:
        return {}


def test_one_whose_store_is_away_keeps_nobody_waiting(filled: Filled, deriver: Here, copy: Copy) -> None:
    follower = made(filled, deriver, copy)

    @contextmanager
    def away() -> Iterator[bool]:
        raise StoreUnavailable("it is away")
        yield

    copy.pages.turn = away  # type: ignore[method-assign]
    assert follower.step() == 5
    with pytest.raises(StoreUnavailable):
        follower.step()
    assert [each.pages.count() for each in follower.derivations] == [3, 0]
    assert pending_bytes(filled.catalog, copy.pages) == filled.catalog.archive_sizes()[0][1]


# --- for ever


def test_an_index_that_is_away_is_waited_for(follower: Follower, said: io.StringIO) -> None:
    slept = 0
    derivation = follower.derivations[0]
    turn = derivation.pages.turn

    @contextmanager
    def away() -> Iterator[bool]:
        if slept < 3:
            raise StoreUnavailable("it is away")
        with turn() as ours:
            yield ours

    def sleep(seconds: float) -> None:
        nonlocal slept
        slept += 1

    derivation.pages.turn = away  # type: ignore[method-assign]
    follow(follower, lambda: slept > 3, sleep)
    assert derivation.pages.count() == 3
    assert said.getvalue().count("deriving_waits") == 1, "said once"


def test_a_follower_that_cannot_live_does_not_end_its_server(
    monkeypatch: pytest.MonkeyPatch, said: io.StringIO
) -> None:
    monkeypatch.setattr("nephila.control.supervisor.RESTART_SECONDS_MIN", 0.0)
    monkeypatch.setattr("nephila.control.supervisor.SHORT_LIFE_SECONDS", PATIENCE_SECONDS)
    keeper = FollowerKeeper([sys.executable, "-S", "-c", "raise SystemExit(3)"], {})
    keeper.start()
    try:
        while "follower_put_off" not in said.getvalue():
            for process in keeper.processes:
                if process.popen is not None:
                    process.popen.wait()
            keeper.poll()
            log.flush()
        assert keeper.restarts == 4
        assert keeper.pids == [], "and none is started before its time"
        keeper.poll()
        assert keeper.pids == []
    finally:
        keeper.close()
