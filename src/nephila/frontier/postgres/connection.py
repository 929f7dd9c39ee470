"""One PostgreSQL connection: schema, transactions that never hang, errors in our own words.

What keeps a call from hanging, from the inside out: statement_timeout and lock_timeout on the server, TCP keepalives
and tcp_user_timeout in the kernel, and a watchdog thread here, for a proxy that accepts bytes and never answers. What
keeps a frozen client from holding locks: idle_in_transaction_session_timeout, half a lease.
"""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from nephila.clock import Clock
from nephila.errors import DiskFull, NephilaError, StoreUnavailable, StoreVersionError, UsageError
from nephila.frontier.postgres import arrays
from nephila.frontier.statements import migrations
from nephila.models import PARTITIONS

CONNECT_SECONDS_MAX = 5
CALL_SECONDS_MAX = 10.0  # of one statement, seen from here
STATEMENT_MS_MAX = 8_000  # below CALL_SECONDS_MAX: where the server can speak, it says why
LOCK_MS_MAX = 5_000
IDLE_MS_MAX = 60_000  # inside a transaction; half the lease where that is shorter
WATCH_SECONDS = 0.5  # how often the watchdog looks: two wake-ups a second cost nothing, one per call would
TCP = {"keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 9000}
SCHEMES = ("postgresql://", "postgres://")
SCHEMA_LOCK = 0x4E455048  # "NEPH": advisory, held while the schema is made
REPEATS_MAX = 4  # turns of a transaction that the server rolled back by itself

DISK_FULL = "53100"
REPEATABLE = ("40001", "40P01")  # serialization failure, deadlock: rolled back, nothing happened
FORBIDDEN = "42501"
TOO_LARGE = "54"  # a value beyond what the server can hold: no waiting helps
# A connection that is refused has no SQLSTATE: libpq hands over only the text.
WRONG_USER = ("authentication failed", "no password supplied", "pg_hba.conf", "role ", "permission denied")
WRONG_PLACE = ("resolve host", "translate host name", "does not exist", "invalid connection option", "invalid port")

# Plans must not depend on statistics: a queue of ten rows becomes one of a million before the server counts it again,
# and a prepared statement keeps its plan. Every statement of a worker goes by an index.
BY_INDEX = "SELECT set_config('enable_' || name, 'off', false) FROM unnest(%s::text[]) AS name"
NOT_BY_INDEX = ["seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin", "material", "memoize"]

WHOSE = """
SELECT to_regclass('nephila_schema') IS NOT NULL, count(*) FROM pg_tables WHERE schemaname = current_schema()
"""

Values = Sequence[Any] | dict[str, Any]
T = TypeVar("T")


class Watchdog:
    """Shuts a socket down when a call on it takes too long: whoever waits for it wakes up with an error."""

    def __init__(self) -> None:
        self._deadline = float("inf")  # written by the calling thread, read by the watching one
        self._socket: socket.socket | None = None
        self._ended = Event()
        self._thread: Thread | None = None

    def watch(self, fd: int) -> None:
        """Its own duplicate of the descriptor: the number itself may be closed and reused at any moment."""
        self._drop()
        self._socket = socket.socket(fileno=os.dup(fd))
        if self._thread is None:
            self._thread = Thread(target=self._run, name="store-watchdog", daemon=True)
            self._thread.start()

    def arm(self) -> None:
        self._deadline = monotonic() + CALL_SECONDS_MAX

    def disarm(self) -> None:
        self._deadline = float("inf")

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._drop()

    def _run(self) -> None:
        while not self._ended.wait(WATCH_SECONDS):
            watched = self._socket
            if monotonic() > self._deadline and watched is not None:
                with suppress(OSError):  # closed meanwhile
                    watched.shutdown(socket.SHUT_RDWR)
                self.disarm()

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Cursor(psycopg.Cursor[tuple[Any, ...]]):
    """Arms the watchdog with each statement: a transaction may be long, a statement may not."""

    watchdog: Watchdog

    def execute(self, query: Any, params: Any = None, **options: Any) -> "Cursor":
        self.watchdog.arm()
        super().execute(query, params, **options)
        return self


class Database:
    """One connection, made anew when it is lost. Not shared between threads: each has its own."""

    def __init__(
        self,
        url: str,
        clock: Clock | None = None,
        *,
        lease_ms: int = 15_000,
        create: bool = True,
        any_version: bool = False,
    ) -> None:
        """`any_version`: for `migrate`, which opens what is too old for everybody else."""
        self.clock = clock
        self.lease_ms = lease_ms
        self.parameters = _parameters(url, lease_ms)
        self.place = _place(self.parameters)  # without the password
        self._any_version = any_version
        self._by_index = False
        self._watchdog = Watchdog()
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        with ExitStack() as failed:
            failed.callback(self.close)
            self._connection = self._connect(first=True)
            self._open(create)
            failed.pop_all()

    def close(self) -> None:
        self._lose()
        self._watchdog.close()

    # --- time

    def injected_now(self) -> int | None:
        """None: the statement asks the server's clock itself."""
        return None if self.clock is None else self.clock.now_ms()

    def now(self) -> int:
        """Never the local wall clock: the database's, or a test's."""
        if self.clock is not None:
            return self.clock.now_ms()
        row = self.one("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        assert row is not None
        return int(row[0])

    # --- transactions

    @contextmanager
    def write(self) -> Iterator[Cursor]:
        """One READ COMMITTED transaction; a lost connection is made anew before it begins."""
        try:
            cursor = self._begin()
            yield cursor
            cursor.execute("COMMIT", prepare=False)
        except psycopg.Error as error:
            raise self.translated(error) from error
        finally:
            self._roll_back()

    def run(self, work: Callable[[Cursor], T], undo: Callable[[], None] | None = None) -> T:
        """A transaction that is repeated at once when the server chose it as the victim of a deadlock.

        `undo`: forgets what was learnt in a transaction that failed.
        """
        for repeats_left in reversed(range(REPEATS_MAX)):
            try:
                with self.write() as cursor:
                    return work(cursor)
            except BaseException as error:
                if undo is not None:
                    undo()
                if not repeats_left or getattr(error.__cause__, "sqlstate", None) not in REPEATABLE:
                    raise
        raise AssertionError("unreachable: the last turn returns or raises")

    def read(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Asked again once on a new connection when the old one turns out to be dead."""
        try:
            try:
                return self._read(self._cursor(), sql, values)
            except psycopg.OperationalError:
                if self._connection is not None and not self._connection.closed:
                    raise
                return self._read(self._cursor(), sql, values)
        except psycopg.Error as error:
            raise self.translated(error) from error
        finally:
            self._watchdog.disarm()

    def one(self, sql: str, values: Values = ()) -> tuple[Any, ...] | None:
        rows = self.read(sql, values)
        return rows[0] if rows else None

    def prefer_indexes(self) -> None:
        """For a worker's connection, now and after every reconnect."""
        self._by_index = True
        self.read(BY_INDEX, (NOT_BY_INDEX,))

    @staticmethod
    def _read(cursor: Cursor, sql: str, values: Values) -> list[tuple[Any, ...]]:
        return cursor.execute(sql, values or None).fetchall()

    def _begin(self) -> Cursor:
        """An idle connection may be dead without a sign; nothing has been said on it yet, so another will do."""
        cursor = self._cursor()
        try:
            return cursor.execute("BEGIN ISOLATION LEVEL READ COMMITTED", prepare=False)
        except psycopg.OperationalError:
            if not cursor.connection.closed:
                raise
            return self._cursor().execute("BEGIN ISOLATION LEVEL READ COMMITTED", prepare=False)

    def _cursor(self) -> Cursor:
        connection = self._connection
        if connection is None or connection.closed:
            connection = self._reconnected()
        cursor = connection.cursor()
        assert isinstance(cursor, Cursor)
        return cursor

    def _roll_back(self) -> None:
        """What is still open of a transaction; nothing after a commit."""
        connection = self._connection
        if connection is None:
            return
        self._watchdog.arm()
        try:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.rollback()
        except psycopg.Error:
            self._lose()
        finally:
            self._watchdog.disarm()

    # --- the connection

    def _connect(self, *, first: bool) -> psycopg.Connection[tuple[Any, ...]]:
        try:
            connection = psycopg.connect(**self.parameters, autocommit=True)
        except psycopg.Error as error:
            raise self._unreachable(error, first) from None  # its cause may name the password
        connection.cursor_factory = type("WatchedCursor", (Cursor,), {"watchdog": self._watchdog})
        arrays.register(connection)
        self._watchdog.watch(connection.fileno())
        return connection

    def _reconnected(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Nothing is said on a connection that is not set up wholly."""
        self._lose()
        connection = self._connection = self._connect(first=False)
        with ExitStack() as failed:
            failed.callback(self._lose)
            self._check_version()
            if self._by_index:
                self._read(self._cursor(), BY_INDEX, (NOT_BY_INDEX,))
            failed.pop_all()
        return connection

    def _lose(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # --- schema

    def migrate(self) -> int:
        """Applies the missing numbered files in one transaction; answers the version. Two at once take turns."""
        steps = migrations("postgres")
        with self.write() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
            version = self._version(cursor)
            self._refuse_newer(version)
            for step in steps[version:]:
                self._watchdog.disarm()  # a large table may take its time
                psycopg.ClientCursor.execute(psycopg.ClientCursor(cursor.connection), step)
            if version < len(steps):
                cursor.execute("UPDATE nephila_schema SET version = %s", (len(steps),))
                cursor.execute(
                    "INSERT INTO partitions(part) SELECT generate_series(0, %s) ON CONFLICT DO NOTHING",
                    (PARTITIONS - 1,),
                )
        return len(steps)

    def _open(self, create: bool) -> None:
        version = self._version(self._cursor())
        if version == 0 and not create:
            raise UsageError(f"there is no crawl data in {self.place}: start with `nephila crawl URL --store ...`")
        if version == 0 and not self._any_version:
            self.migrate()
        self._check_version()

    def _check_version(self) -> None:
        if self._any_version:
            return
        version, known = self._version(self._cursor()), len(migrations("postgres"))
        self._refuse_newer(version)
        if version < known:
            old = f"schema {version}, this Nephila needs {known}"
            raise StoreVersionError(f"{self.place} is too old ({old}): run `nephila migrate --store ...`")

    def _refuse_newer(self, version: int) -> None:
        known = len(migrations("postgres"))
        if version > known:
            newer = f"schema {version}, this one knows {known}"
            raise StoreVersionError(f"{self.place} was written by a newer Nephila ({newer}): update Nephila")

    def _version(self, cursor: Cursor) -> int:
        """0: nothing is there yet. Looks before anything is written: the tables may be another program's."""
        try:
            ((ours, tables),) = self._read(cursor, WHOSE, ())
            if ours:
                return int(self._read(cursor, "SELECT version FROM nephila_schema", ())[0][0])
        except psycopg.Error as error:
            raise self.translated(error) from error
        finally:
            self._watchdog.disarm()
        if tables:
            raise UsageError(f"{self.place} holds tables that are not Nephila's: give it a database of its own")
        return 0

    # --- errors

    def translated(self, error: psycopg.Error) -> Exception:
        """A fault in our own SQL stays what it is."""
        if error.sqlstate == DISK_FULL:
            return DiskFull(f"no space left on the disk of {self.place}: free some, the crawl goes on by itself")
        if error.sqlstate == FORBIDDEN:
            return UsageError(f"{self.place} refuses: {_one_line(error)}: give its user the right to create and write")
        if (error.sqlstate or "").startswith(TOO_LARGE):
            return error
        if isinstance(error, psycopg.OperationalError | psycopg.InternalError | psycopg.InterfaceError):
            return StoreUnavailable(f"the store {self.place} does not answer: {_one_line(error)}")
        return error

    def _unreachable(self, error: psycopg.Error, first: bool) -> NephilaError:
        """Later the same words mean a fault that passes: a name server that is away, a database being restored."""
        text = _one_line(error)
        if first and any(words in text for words in WRONG_USER):
            return UsageError(f"{self.place} refuses this user ({text}): check user and password in --store")
        if first and any(words in text for words in WRONG_PLACE):
            return UsageError(f"{self.place} cannot be found ({text}): check host and database in --store")
        return StoreUnavailable(f"the store {self.place} does not answer: {text}")


def _parameters(url: str, lease_ms: int) -> dict[str, Any]:
    """Our own settings before those of the URL: an operator's word counts, except for what keeps a lease honest."""
    wrong = UsageError("this is no URL of a PostgreSQL database: write postgresql://USER@HOST/DATABASE")
    if not url.startswith(SCHEMES):
        raise wrong
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        raise wrong from None  # its text may show the password
    if "@" in str(given.get("host", "")):  # of a password that was not escaped
        raise wrong
    timeouts = {
        "statement_timeout": STATEMENT_MS_MAX,
        "lock_timeout": LOCK_MS_MAX,
        "idle_in_transaction_session_timeout": min(max(1000, lease_ms // 2), IDLE_MS_MAX),
        "jit": "off",  # our statements take a millisecond, compiling one takes fifty
        "client_encoding": "UTF8",
    }
    options = " ".join(f"-c {name}={value}" for name, value in timeouts.items())
    ours = {"connect_timeout": CONNECT_SECONDS_MAX, "application_name": "nephila", **TCP}
    return {**ours, **given, "options": f"{given.get('options', '')} {options}".strip()}


def _place(parameters: dict[str, Any]) -> str:
    host, port, name = (parameters.get(key) or "" for key in ("host", "port", "dbname"))
    return f"postgresql://{host}{port and f':{port}'}/{name}"


def _one_line(error: psycopg.Error) -> str:
    text = error.diag.message_primary or str(error)
    return " ".join(text.split()) or type(error).__name__
