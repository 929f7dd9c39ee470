"""The schema of a store: made at once or by steps it is the same, and what is not ours is left alone."""

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import nephila.frontier.sqlite.connection as connection
from nephila.errors import DiskFull, StoreBusy, StoreDamaged, StoreUnavailable, StoreVersionError, UsageError
from nephila.frontier.sqlite import SqliteDatabase
from nephila.frontier.statements import migrations
from nephila.models import PARTITIONS

STEPS = migrations("sqlite")


def schema(folder: Path) -> list[tuple[str, ...]]:
    database = SqliteDatabase(folder)
    try:
        return database.read("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")
    finally:
        database.close()


def written_by(folder: Path, version: int) -> None:
    """A store as the version with so many migrations left it."""
    known, connection.migrations = connection.migrations, lambda database: STEPS[:version]
    try:
        SqliteDatabase(folder).close()
    finally:
        connection.migrations = known


@pytest.mark.parametrize("version", range(1, len(STEPS) + 1))
def test_a_fresh_schema_equals_the_migrated_one(tmp_path: Path, version: int) -> None:
    written_by(tmp_path / "old", version)
    assert schema(tmp_path / "old") == schema(tmp_path / "fresh")


FIRST_DATA = """
INSERT INTO crawls(uuid, seeds, settings, fingerprint, state, created_at) VALUES ('u', '[]', '{}', 'f', 'paused', 5);
INSERT INTO workers(session, name, pid, version, started_at, seen_at) VALUES ('s', 'here', 7, '0.1', 1, 2);
INSERT INTO queues(crawl, host, part, due) VALUES (1, 'a.test', 3, 9);
INSERT INTO urls(queue, key, prio, crawl, depth, kind, hops, url) VALUES (1, x'00', 0, 1, 0, 0, 0, 'http://a.test/');
"""


def test_an_upgrade_from_the_first_schema_keeps_the_data(tmp_path: Path) -> None:
    written_by(tmp_path, 1)
    first = apsw.Connection(str(tmp_path / "nephila.db"))
    for statement in FIRST_DATA.strip().split("\n"):
        first.execute(statement).fetchall()
    tables = {
        table: first.execute(f"SELECT * FROM {table}").fetchall() for table in ("crawls", "workers", "queues", "urls")
    }
    first.close()
    database = SqliteDatabase(tmp_path)
    assert database.version == len(STEPS)
    for table, rows in tables.items():
        assert [row[: len(rows[0])] for row in database.read(f"SELECT * FROM {table}")] == rows
    assert database.read("SELECT pages, rss_bytes FROM workers") == [(0, 0)]
    assert database.read("SELECT crawl, number, ended, urls FROM changes") == [(1, 1, 0, "[1]")], "can be followed"
    assert database.read("SELECT crawl, name, n FROM tallies ORDER BY name") == [
        (1, "depth:0", 1),
        (1, "depth_max", 0),
        (1, "hosts", 1),
    ]
    database.close()


def test_a_fresh_store_has_every_partition_and_its_version(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path)
    assert database.read("SELECT count(*) FROM partitions WHERE owner IS NULL") == [(PARTITIONS,)]
    assert database.read("PRAGMA user_version") == [(len(STEPS),)]
    assert database.read("PRAGMA journal_mode") == [("wal",)]
    assert database.read("PRAGMA synchronous") == [(2,)], "FULL: an acknowledged flush survives a power cut"
    database.close()


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    assert schema(tmp_path) == schema(tmp_path)


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path)
    database.db.execute("PRAGMA user_version = 999").fetchall()
    database.close()
    with pytest.raises(StoreVersionError, match=r"written by a newer Nephila .*: update Nephila"):
        SqliteDatabase(tmp_path)


def foreign_text(path: Path) -> None:
    path.write_text("not a database, but long enough to have a header of one hundred bytes" * 10)


def foreign_tables(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE recipes(name)").fetchall()
    db.close()


def foreign_version(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute(f"CREATE TABLE crawls(name); PRAGMA user_version = {len(STEPS)}").fetchall()
    db.close()


@pytest.mark.parametrize("make", [foreign_text, foreign_tables, foreign_version])
def test_a_foreign_file_is_refused_and_left_as_it_was(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "nephila.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"^[^\n]*is no Nephila store: [^\n]*$"):
        SqliteDatabase(tmp_path)
    assert path.read_bytes() == before


def test_a_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is no folder"):
        SqliteDatabase(tmp_path / "file" / "data")


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere, so the system's refusal is played."""

    def refused(*values: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(UsageError, match=r"cannot write in .*: check who owns it"):
        SqliteDatabase(tmp_path)


def test_a_store_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no crawl data in"):
        SqliteDatabase(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (apsw.FullError("full"), DiskFull),
        (OSError(28, "No space left on device"), DiskFull),
        (apsw.ReadOnlyError("read only"), UsageError),
        (apsw.NotADBError("no"), StoreDamaged),
        (apsw.CorruptError("malformed"), StoreDamaged),
        (apsw.BusyError("busy"), StoreBusy),
        (apsw.IOError("bad sector"), StoreUnavailable),
    ],
)
def test_faults_of_the_database_are_said_in_our_words(
    tmp_path: Path, fault: Exception, expected: type[Exception]
) -> None:
    database = SqliteDatabase(tmp_path)
    with pytest.raises(expected) as said, database.write():
        raise fault
    assert "\n" not in str(said.value)
    with database.write() as db:  # it was rolled back and the lock is free
        db.execute("UPDATE control SET version = 7")
    assert database.read("SELECT version FROM control") == [(7,)]
    database.close()


@pytest.mark.requirement("K24")
def test_a_session_is_alive_as_long_as_its_lock(tmp_path: Path) -> None:
    database, other = SqliteDatabase(tmp_path), SqliteDatabase(tmp_path)
    assert not other.session_alive("s")
    fd = database.lock_session("s")
    assert other.session_alive("s")
    assert other.session_alive("s"), "looking does not take it"
    os.close(fd)
    assert not other.session_alive("s")
    database.close()
    other.close()
