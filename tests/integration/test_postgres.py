"""What is PostgreSQL's own: its schema by steps, a victim of a deadlock, a database that was restored."""

import os
import pwd
from collections.abc import Iterator
from contextlib import suppress
from threading import Barrier, Thread
from typing import Any

import psycopg
import pytest

import nephila.frontier.postgres.connection as connection
from nephila.clock import VirtualClock
from nephila.errors import Fenced, StoreUnavailable, StoreVersionError, UsageError
from nephila.frontier.postgres import PostgresDatabase, PostgresFrontier
from nephila.frontier.statements import migrations
from nephila.frontier.store import Batch, WorkerInfo
from nephila.models import PARTITIONS
from nephila.search.postgres_fts import PostgresIndex
from tests import postgres
from tests.patience import PATIENCE_MS, PATIENCE_SECONDS, until
from tests.pgbouncer import Bouncer
from tests.postgres import Pair

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
BEFORE_CHANGES = next(number for number, step in enumerate(STEPS) if "CREATE TABLE changes" in step)
TABLES = ("crawls", "workers", "queues", "urls", "frontier")


@pytest.fixture
def empty() -> Iterator[str]:
    """The URL of a database without tables."""
    with postgres.database() as url:
        database = PostgresDatabase(url)
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
        PostgresDatabase(url).close()


def schema(url: str) -> list[tuple[Any, ...]]:
    database = PostgresDatabase(url)
    found = database.read(SCHEMA)
    database.close()
    return found


@pytest.mark.requirement("ST-07")
@pytest.mark.parametrize("version", range(1, len(STEPS)))
def test_an_old_schema_is_refused_until_it_is_migrated_and_keeps_its_data(
    version: int, empty: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_by(empty, version, monkeypatch)
    database = PostgresDatabase(empty, any_version=True)
    with database.write() as cursor:
        cursor.execute(FIRST_DATA)
    before = {table: database.read(f"SELECT * FROM {table}") for table in TABLES}
    with pytest.raises(StoreVersionError, match=r"too old .*: run `nephila migrate"):
        PostgresDatabase(empty)
    assert database.migrate() == len(STEPS)
    for table, rows in before.items():
        assert [row[: len(rows[0])] for row in database.read(f"SELECT * FROM {table}")] == rows
    if version <= BEFORE_CHANGES:
        assert database.read("SELECT crawl, number, ended, urls FROM changes") == [(1, 1, False, [1])], (
            "can be followed"
        )
    database.close()
    assert schema(empty) == schema(url), "a migrated schema equals a fresh one"


def test_a_server_of_tests_makes_no_user_of_the_machine() -> None:
    """Two test processes that make the same user at once overwrite its number: the data of one is then another's."""
    owner = pwd.getpwuid(postgres.server().data.stat().st_uid).pw_name
    assert owner == (postgres.USER or pwd.getpwuid(os.geteuid()).pw_name)


def test_the_victim_of_a_deadlock_is_repeated(url: str) -> None:
    """Two transactions that lock two rows in opposite order, once."""
    both_locked, done = Barrier(2), []

    def work(first: int, second: int) -> None:
        # Whoever waits for the other is idle in its transaction, which half a lease would end.
        database, turns = PostgresDatabase(url, lease_ms=PATIENCE_MS), iter([True])

        def update(cursor: connection.Cursor) -> None:
            cursor.execute("UPDATE partitions SET load = load + 1 WHERE part = %s", (first,))
            if next(turns, False):
                both_locked.wait(PATIENCE_SECONDS)
            cursor.execute("UPDATE partitions SET load = load + 1 WHERE part = %s", (second,))

        database.run(update)
        done.append(database.read("SELECT load FROM partitions WHERE part = %s", (first,)))
        database.close()

    threads = [Thread(target=work, args=order) for order in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert len(done) == 2
    database = PostgresDatabase(url)
    assert database.read("SELECT load FROM partitions WHERE part IN (1, 2)") == [(2.0,), (2.0,)]
    database.close()


def test_a_session_that_a_restored_database_does_not_know_is_fenced(url: str) -> None:
    """A backup gives the numbers of workers again: the token tells two of one number apart."""
    stale, fresh = PostgresFrontier(PostgresDatabase(url)), PostgresFrontier(PostgresDatabase(url))
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


# --- a server that can only be read


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.close()


def add_load(database: PostgresDatabase) -> None:
    with database.write() as cursor:
        cursor.execute("UPDATE partitions SET load = load + 1 WHERE part = 7")


def refusal(database: PostgresDatabase) -> str:
    """Why a write was refused; empty: it was not."""
    try:
        add_load(database)
    except StoreUnavailable as error:
        return str(error)
    return ""


def load_of(database: PostgresDatabase) -> float:
    return float(database.read("SELECT load FROM partitions WHERE part = 7")[0][0])


@pytest.mark.requirement("F-07", "RC-09")
def test_after_a_failover_the_server_that_takes_writes_is_asked(pair: Pair) -> None:
    """The old primary, first in the URL, answers and can only be read: nobody may stay there."""
    database = PostgresDatabase(pair.url())
    add_load(database)
    until(pair.caught_up, "the standby has everything")
    pair.fail_over()
    with suppress(StoreUnavailable):  # the connection was lost in the middle
        add_load(database)
    add_load(database)
    assert load_of(database) >= 2
    with database.snapshot() as seen:
        assert seen.read("SELECT pg_is_in_recovery()", {}) == [(False,)]
    late = PostgresDatabase(pair.url())
    add_load(late)
    late.close()
    database.close()


@pytest.mark.requirement("F-07")
def test_a_connection_whose_server_takes_no_more_writes_is_dropped(pair: Pair) -> None:
    database = PostgresDatabase(pair.url())
    until(pair.caught_up, "the standby has everything")
    pair.standby.promote()
    pair.primary.make_read_only()
    assert "only be read" in until(lambda: refusal(database), "the connection learns it")
    add_load(database)
    with database.write() as cursor:
        assert cursor.execute("SHOW data_directory").fetchall() == [(str(pair.standby.data),)]
    database.close()


def test_a_server_that_takes_no_writes_for_a_while_is_waited_for(pair: Pair) -> None:
    alone = pair.primary
    database = PostgresDatabase(alone.url())
    alone.make_read_only()
    until(lambda: refusal(database), "the connection learns it")
    assert "only be read" in refusal(database), "said by a new connection, too"
    alone.make_read_only(False)
    until(lambda: not refusal(database), "the server takes writes")
    database.close()


def test_a_url_may_ask_for_a_standby(pair: Pair) -> None:
    PostgresDatabase(pair.url()).close()
    until(pair.caught_up, "the standby has the schema")
    database = PostgresDatabase(pair.url(target_session_attrs="standby"))
    assert database.read("SELECT pg_is_in_recovery()") == [(True,)]
    assert load_of(database) == 0
    database.close()


# --- behind a pooler


def name_of(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


def shown(url: str, *settings: str) -> list[str]:
    with psycopg.connect(url, autocommit=True) as plain:
        return [str(plain.execute(f"SHOW {name}").fetchall()[0][0]) for name in settings]  # type: ignore[arg-type]


def test_several_sessions_share_one_connection_behind_a_pooler(url: str) -> None:
    """Each transaction has its limits and its plans, whoever came before; nothing is left for who comes after."""
    with Bouncer(postgres.server(), "transaction") as bouncer:
        pooled = bouncer.url(name_of(url))
        before = shown(pooled, "statement_timeout", "enable_seqscan", "jit")
        frontiers = [PostgresFrontier(PostgresDatabase(pooled)) for _ in range(3)]
        assert all(frontier.database.pooled for frontier in frontiers)
        for number, frontier in enumerate(frontiers):
            frontier.join(WorkerInfo(f"pooled-{number}", number, "x"))
        for seq in range(1, 3 * connection.PREPARE_THRESHOLD):
            for frontier in frontiers:
                frontier.lease({})
                frontier.flush(Batch(seq))
        with frontiers[0].database.write() as cursor:
            assert cursor.execute("SHOW statement_timeout").fetchall() == [("8s",)]
            assert cursor.execute("SHOW enable_seqscan").fetchall() == [("off",)]
        with frontiers[0].database.snapshot() as seen:
            assert seen.read("SHOW statement_timeout", {}) == [("0",)]
        assert shown(pooled, "statement_timeout", "enable_seqscan", "jit") == before
        catalog = PostgresDatabase(pooled)
        with catalog.write() as cursor:
            assert cursor.execute("SHOW enable_seqscan").fetchall() == [("on",)], "only a worker plans by indexes alone"
            assert cursor.execute("SELECT count(*) FROM pg_prepared_statements").fetchall() == [(0,)]
        catalog.close()
        for frontier in frontiers:
            frontier.leave()
            frontier.database.close()


def test_the_schema_is_made_through_a_pooler(empty: str) -> None:
    with Bouncer(postgres.server(), "transaction") as bouncer:
        PostgresDatabase(bouncer.url(name_of(empty))).close()
    assert ("column", "control", "version") in {row[:3] for row in schema(empty)}


def test_the_limits_hold_without_a_pooler(url: str) -> None:
    database = PostgresDatabase(url)
    assert not database.pooled
    assert database.read("SHOW statement_timeout") == [("8s",)]
    with database.snapshot() as seen:
        assert seen.read("SHOW statement_timeout", {}) == [("0",)]
    database.close()


def test_a_pooler_without_transactions_is_refused_by_name(url: str) -> None:
    with Bouncer(postgres.server(), "statement") as bouncer:
        database = PostgresDatabase(bouncer.url(name_of(url)))
        with pytest.raises(UsageError, match=r"the pooler of .* is in statement mode"):
            add_load(database)
        database.close()


def test_a_pooler_that_refuses_options_of_the_url_is_named(url: str) -> None:
    named = pytest.raises(UsageError, match=r"a pooler stands before .*: leave `options` out of --store")
    with Bouncer(postgres.server(), "transaction") as bouncer, named:
        PostgresDatabase(bouncer.url(name_of(url)) + "&options=-c%20geqo%3Doff")


def test_the_index_is_made_behind_a_pooler(url: str) -> None:
    """Two at once: no lock outlives a transaction there, the marks keep them apart."""
    with Bouncer(postgres.server(), "transaction") as bouncer:
        first, second = (PostgresIndex(PostgresDatabase(bouncer.url(name_of(url)))) for _ in range(2))
        with first.turn() as mine, second.turn() as yours:
            assert mine and yours
            assert first.add("a.warc", 0, 10, [], {})
            assert not second.add("a.warc", 0, 10, [], {}), "it was there before"
        assert second.marks() == {"a.warc": 10}
        first.close()
        second.close()
    assert locks_left(url) == []


def locks_left(url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as plain:
        return plain.execute("SELECT objid FROM pg_locks WHERE locktype = 'advisory'").fetchall()


# --- the clock of the server


HOUR_MS = 3_600_000


@pytest.mark.requirement("F-07", "RC-03")
def test_the_dead_are_fenced_within_their_lease_though_the_clock_was_set_back(url: str) -> None:
    """And the living are not."""
    clock = VirtualClock()
    dead, living = (PostgresFrontier(PostgresDatabase(url, clock, lease_ms=15_000)) for _ in range(2))
    for frontier in (dead, living):
        frontier.join(WorkerInfo("worker", 1, "x"))
        frontier.lease({})
    clock.start_ms -= HOUR_MS
    fenced = 0
    for _ in range(8):
        fenced += living.lease({}).fenced
        clock.advance(3000)
    assert fenced == 1
    assert len(living.lease({}).partitions) == PARTITIONS
    with pytest.raises(Fenced):
        dead.lease({})
    for frontier in (dead, living):
        frontier.database.close()


def test_statements_and_code_agree_about_the_time(url: str) -> None:
    """With the server's own clock: what is stored looks as it does after that was set back by an hour."""
    frontier = PostgresFrontier(PostgresDatabase(url))
    frontier.join(WorkerInfo("worker", 1, "x"))
    frontier.lease({})
    with frontier.database.write() as cursor:
        cursor.execute("UPDATE store_clock SET seen_at = seen_at + %s", (HOUR_MS,))
        cursor.execute(
            "UPDATE workers SET seen_at = seen_at + %(ms)s, lease_until = lease_until + %(ms)s", {"ms": HOUR_MS}
        )
    times = [frontier.database.now()]
    frontier.flush(Batch(1))
    times += [*frontier.database.read("SELECT seen_at FROM workers")[0], frontier.database.now()]
    assert times == sorted(times), "before it is noted: the time stands still"
    frontier.lease({})
    frontier.flush(Batch(2))
    ((wall, offset, _),) = frontier.database.rows("time", now=None)
    ((seen,),) = frontier.database.read("SELECT seen_at FROM workers")
    assert times[-1] <= seen <= wall + offset
    assert HOUR_MS - PATIENCE_MS < offset <= HOUR_MS
    frontier.database.close()
