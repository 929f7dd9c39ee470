"""Folding the log: beside the writers, and never holding them up for a reader."""

from pathlib import Path

import pytest

import nephila.frontier.sqlite.upkeep as upkeep
from nephila.frontier.sqlite import SqliteDatabase, SqliteUpkeep


def grown(database: SqliteDatabase) -> None:
    with database.write() as db:
        db.executemany(
            "INSERT INTO refusals VALUES (1, ?, 'scope', 1)", [(f"host {number}",) for number in range(2000)]
        )


def test_a_short_log_is_left_alone(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path)
    grown(database)
    assert SqliteUpkeep(database).checkpoint() == 0
    database.close()


def test_a_long_log_is_folded_and_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "CHECKPOINT_PAGES", 10)
    writer, folder = SqliteDatabase(tmp_path), SqliteDatabase(tmp_path)
    grown(writer)
    assert SqliteUpkeep(folder).checkpoint() >= 10
    size = (tmp_path / "nephila.db-wal").stat().st_size
    with writer.write() as db:
        db.execute("UPDATE control SET version = 1")
    assert (tmp_path / "nephila.db-wal").stat().st_size == size, "the log is written from its start again"
    writer.close()
    folder.close()


def test_a_reader_of_old_pages_does_not_hold_the_writers_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "CHECKPOINT_PAGES", 10)
    monkeypatch.setattr(upkeep, "RESTART_WAIT_MS", 1)
    reader, writer = SqliteDatabase(tmp_path), SqliteDatabase(tmp_path)
    reader.db.execute("BEGIN; SELECT count(*) FROM refusals").fetchall()
    grown(writer)
    SqliteUpkeep(writer).checkpoint()  # waits RESTART_WAIT_MS for the reader, not BUSY_TIMEOUT_MS
    grown_again = reader.db.execute("SELECT count(*) FROM refusals").get
    assert grown_again == 0, "the reader still sees its own time"
    reader.close()
    writer.close()
