"""What is PostgreSQL's own: its schema by steps, a victim of a deadlock, a database that was restored."""

from collections.abc import Iterator
from threading import Barrier, Thread
from typing import Any

import pytest

import nephila.frontier.postgres.connection as connection
from nephila.errors import Fenced, StoreVersionError
from nephila.frontier.postgres import Database, PostgresFrontier
from nephila.frontier.statements import migrations
from nephila.frontier.store import Batch, WorkerInfo
from tests import postgres

STEPS = migrations("postgres")
SCHEMA = """
SELECT 'column', table_name, column_name, data_type, column_default, is_nullable
  FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT 'index', tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'table', relname, reloptions::text, '', '', ''
  FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
ORDER BY 1, 2, 3
"""
FIRST_DATA = """
INSERT INTO crawls(uuid, seeds, settings, fingerprint, state, created_at) VALUES ('u', '[]', '{}', 'f', 'paused', 5);
INSERT INTO workers(session, name, pid, version, started_at, seen_at, lease_until) VALUES ('s', 'h', 7, '0.1', 1, 2, 3);
INSERT INTO queues(crawl, host, part, due) VALUES (1, 'a.test', 3, 9);
INSERT INTO urls(queue, key, prio, crawl, depth, kind, hops, url) VALUES (1, '\\x00', 0, 1, 0, 0, 0, 'http://a.test/');
INSERT INTO frontier(url, queue, prio) VALUES (1, 1, 0);
"""
TABLES = ("crawls", "workers", "queues", "urls", "frontier")


@pytest.fixture
def empty() -> Iterator[str]:
    """The URL of a database without tables."""
    with postgres.database() as url:
        database = Database(url)
        with database.write() as cursor:
            cursor.execute("DROP SCHEMA public CASCADE")
            cursor.execute("CREATE SCHEMA public")
        database.close()
        yield url


@pytest.fixture
def url() -> Iterator[str]:
    with postgres.database() as url:
        yield url


def written_by(url: str, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database as the Nephila with so many migrations left it."""
    with monkeypatch.context() as patch:
        patch.setattr(connection, "migrations", lambda database: STEPS[:version])
        Database(url).close()


def schema(url: str) -> list[tuple[Any, ...]]:
    database = Database(url)
    found = database.read(SCHEMA)
    database.close()
    return found


@pytest.mark.requirement("ST-07")
@pytest.mark.parametrize("version", range(1, len(STEPS)))
def test_an_old_schema_is_refused_until_it_is_migrated_and_keeps_its_data(
    version: int, empty: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_by(empty, version, monkeypatch)
    database = Database(empty, any_version=True)
    with database.write() as cursor:
        cursor.execute(FIRST_DATA)
    before = {table: database.read(f"SELECT * FROM {table}") for table in TABLES}
    with pytest.raises(StoreVersionError, match=r"too old .*: run `nephila migrate"):
        Database(empty)
    assert database.migrate() == len(STEPS)
    for table, rows in before.items():
        assert [row[: len(rows[0])] for row in database.read(f"SELECT * FROM {table}")] == rows
    database.close()
    assert schema(empty) == schema(url), "a migrated schema equals a fresh one"


def test_the_victim_of_a_deadlock_is_repeated(url: str) -> None:
    """Two transactions that lock two rows in opposite order, once."""
    both_locked, done = Barrier(2), []

    def work(first: int, second: int) -> None:
        database, turns = Database(url), iter([True])

        def update(cursor: connection.Cursor) -> None:
            cursor.execute("UPDATE partitions SET load = load + 1 WHERE part = %s", (first,))
            if next(turns, False):
                both_locked.wait(10)
            cursor.execute("UPDATE partitions SET load = load + 1 WHERE part = %s", (second,))

        database.run(update)
        done.append(database.read("SELECT load FROM partitions WHERE part = %s", (first,)))
        database.close()

    threads = [Thread(target=work, args=order) for order in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(done) == 2
    database = Database(url)
    assert database.read("SELECT load FROM partitions WHERE part IN (1, 2)") == [(2.0,), (2.0,)]
    database.close()


def test_a_session_that_a_restored_database_does_not_know_is_fenced(url: str) -> None:
    """A backup gives the numbers of workers again: the token tells two of one number apart."""
    stale, fresh = PostgresFrontier(Database(url)), PostgresFrontier(Database(url))
    number = stale.join(WorkerInfo("stale", 1, "x"))
    stale.lease({})
    with stale.database.write() as cursor:
        cursor.execute("DELETE FROM workers")
        cursor.execute("UPDATE partitions SET owner = NULL")
        cursor.execute(f"ALTER TABLE workers ALTER id RESTART WITH {number}")
    assert fresh.join(WorkerInfo("fresh", 2, "x")) == number
    owned = len(fresh.lease({}).partitions)
    with pytest.raises(Fenced):
        stale.lease({})
    with pytest.raises(Fenced):
        stale.flush(Batch(1))
    stale.leave()
    assert len(fresh.lease({}).partitions) == owned, "whoever does not belong here takes nothing with him"
    fresh.flush(Batch(1))
    for frontier in (stale, fresh):
        frontier.database.close()
