"""The indexer's steps, one by one, and who keeps it alive."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import structlog

from nephila import log
from nephila.clock import VirtualClock
from nephila.control import indexing
from nephila.control.indexing import Indexer, IndexerKeeper, follow
from nephila.errors import StoreUnavailable
from nephila.search.sqlite_fts import SqliteIndex
from nephila.settings import LogFormat, LogLevel
from tests.unit.control.filled import Filled


@pytest.fixture
def indexer(filled: Filled) -> Indexer:
    return Indexer(filled.catalog, SqliteIndex(filled.folder), filled.archive, VirtualClock())


@pytest.fixture
def said() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    log.configure(LogLevel.INFO, LogFormat.JSON, stream, None)
    yield stream
    structlog.reset_defaults()


def test_a_step_is_bounded(indexer: Indexer) -> None:
    before = indexer.progress()
    assert (before.indexed, before.pending_bytes) == (0, indexer.catalog.archive_sizes()[0][1])
    steps = []
    while done := indexer.step(2):
        steps.append(done)
    assert steps == [2, 2, 1], "five rows, of which three are visited pages"
    assert (indexer.progress().indexed, indexer.progress().pending_bytes) == (3, 0)


def test_a_step_ends_after_much_text(indexer: Indexer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "CHARS_PER_STEP", 0)
    steps = []
    while done := indexer.step():
        steps.append(done)
    assert steps == [1, 1, 3, 1], "each page with text ends one; the last only moves the mark to the end"
    assert indexer.progress().indexed == 3


def test_the_turn_of_another_is_waited_for(indexer: Indexer, filled: Filled) -> None:
    with SqliteIndex(filled.folder).turn() as theirs:
        assert theirs
        assert indexer.step() is None
    assert indexer.step() == 5


def test_who_has_lost_the_turn_does_nothing(indexer: Indexer, filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a lost connection of PostgreSQL: another was there before the commit."""
    rows = filled.catalog.pages_in_file

    def meanwhile(name: str, start: int, end: int, limit: int) -> object:
        with_other = SqliteIndex(filled.folder)
        with_other._make()
        assert with_other.add(name, start, end, [], {})
        return rows(name, start, end, limit)

    monkeypatch.setattr(filled.catalog, "pages_in_file", meanwhile)
    assert indexer.step() == 0
    assert (indexer.index.count(), indexer.progress().pending_bytes) == (0, 0)


def test_a_fault_of_ours_skips_one_page(indexer: Indexer, monkeypatch: pytest.MonkeyPatch, said: io.StringIO) -> None:
    read: Callable[..., object] = indexing.document_of

    def faulty(archive: object, file: object, row: indexing.ArchivedPage, settings: object) -> object:
        if row.url.endswith("/x"):
            raise ZeroDivisionError("a fault")
        return read(archive, file, row, settings)

    monkeypatch.setattr(indexing, "document_of", faulty)
    while indexer.step():
        pass
    assert (indexer.skipped, indexer.index.count()) == (1, 2)
    log.flush()
    assert "page_not_indexed" in said.getvalue() and "ZeroDivisionError: a fault" in said.getvalue()


def test_an_index_that_is_away_is_waited_for(
    indexer: Indexer, monkeypatch: pytest.MonkeyPatch, said: io.StringIO
) -> None:
    slept = 0
    turn = indexer.index.turn

    @contextmanager
    def away() -> Iterator[bool]:
        if slept < 3:
            raise StoreUnavailable("it is away")
        with turn() as ours:
            yield ours

    def sleep(seconds: float) -> None:
        nonlocal slept
        slept += 1

    monkeypatch.setattr(indexer.index, "turn", away)
    follow(indexer, lambda: slept > 3, sleep)
    assert indexer.index.count() == 3
    assert said.getvalue().count("indexing_waits") == 1, "said once"


def test_an_indexer_that_cannot_live_does_not_end_its_server(
    monkeypatch: pytest.MonkeyPatch, said: io.StringIO
) -> None:
    monkeypatch.setattr("nephila.control.supervisor.RESTART_SECONDS_MIN", 0.0)
    keeper = IndexerKeeper([sys.executable, "-S", "-c", "raise SystemExit(3)"], {})
    keeper.start()
    try:
        while "indexer_put_off" not in said.getvalue():
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
