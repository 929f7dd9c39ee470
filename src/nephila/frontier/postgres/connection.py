"""One PostgreSQL connection: schema, transactions that never hang, errors in our own words.

What keeps a call from hanging, from the inside out: statement_timeout and lock_timeout on the server, TCP keepalives
and tcp_user_timeout in the kernel, and a watchdog thread here, for a proxy that accepts bytes and never answers. What
keeps a frozen client from holding locks: idle_in_transaction_session_timeout, half a lease.

Behind a pooler (pgbouncer) each transaction may run on another connection of the server, so nothing may be left there:
no prepared statements, and the settings above are made anew, for the one transaction, with its BEGIN.
"""

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread
from time import monotonic
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from nephila.clock import Clock
from nephila.errors import DiskFull, NephilaError, StoreUnavailable, StoreVersionError, UsageError
from nephila.frontier.columns import storable
from nephila.frontier.postgres import arrays
from nephila.frontier.statements import migrations, shared_statements
from nephila.frontier.tables import T, TableReader, Tables, TableWriter, Values
from nephila.models import PARTITIONS
from nephila.supervision import BackgroundPart, start_thread

CONNECT_SECONDS_MAX = 5
CALL_SECONDS_MAX = 10.0  # of one statement, seen from here
STATEMENT_MS_MAX = 8_000  # below CALL_SECONDS_MAX: where the server can speak, it says why
LOCK_MS_MAX = 5_000
IDLE_MS_MAX = 60_000  # inside a transaction; half the lease where that is shorter
WATCH_SECONDS = 0.5  # how often the watchdog looks: two wake-ups a second cost nothing, one per call would
TCP = {"keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 9000}
SCHEMES = ("postgresql://", "postgres://")
SCHEMA_LOCK = 0x4E455048  # "NEPH": advisory, held while the schema is made
PREPARE_THRESHOLD = 5  # executions after which psycopg prepares a statement
REPEATS_MAX = 4  # turns of a transaction that the server rolled back by itself

DISK_FULL = "53100"
REPEATABLE = ("40001", "40P01")  # serialization failure, deadlock: rolled back, nothing happened
READ_ONLY = "25006"  # the server became a standby, or refuses writes because its disk is full
FORBIDDEN = "42501"
TOO_LARGE = "54"  # a value beyond what the server can hold: no waiting helps
# A connection that is refused has no SQLSTATE: libpq hands over only the text.
WRONG_USER = ("authentication failed", "no password supplied", "pg_hba.conf", "role ", "permission denied")
NOT_WRITABLE = "session is read-only"
WRONG_PLACE = ("resolve host", "translate host name", "does not exist", "invalid connection option", "invalid port")

# Plans must not depend on statistics: a queue of ten rows becomes one of a million before the server counts it again,
# and a prepared statement keeps its plan. Every statement of a worker goes by an index.
NOT_BY_INDEX = ("seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin", "material", "memoize")
BY_INDEX = {f"enable_{name}": "off" for name in NOT_BY_INDEX}

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
# Whether we speak to the server itself: a pooler hands out a number of its own as that of the server's process.
IS_DIRECT = "SELECT pg_backend_pid() = %s"
SET = "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS setting(name, value)"
NO_TRANSACTIONS = "statement pooling mode"
NO_OPTIONS = "unsupported startup parameter"

WHOSE = """
SELECT to_regclass('nephila_schema') IS NOT NULL, count(*) FROM pg_tables WHERE schemaname = current_schema()
"""

Parameters = Sequence[Any] | Mapping[str, Any]


class Watchdog:
    """Shuts a socket down when a call on it takes too long: whoever waits for it wakes up with an error."""

    def __init__(self) -> None:
        self._deadline = float("inf")  # written by the calling thread, read by the watching one
        self._socket: socket.socket | None = None
        self._ended = Event()
        self._thread: Thread | None = None

    def watch(self, fd: int) -> None:
        """Watch a duplicate of this descriptor: the number itself may be closed and reused at any moment."""
        self._drop()
        self._socket = socket.socket(fileno=os.dup(fd))
        if self._thread is None:
            self._thread = start_thread("store watchdog", self._run, ended=self._ended)

    def arm(self) -> None:
        self._deadline = monotonic() + CALL_SECONDS_MAX

    def disarm(self) -> None:
        self._deadline = float("inf")

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._drop()

    def _run(self, _part: BackgroundPart) -> None:
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


class PostgresWriter(TableWriter):
    sql = shared_statements("postgres")

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def read(self, sql: str, values: Mapping[str, Any]) -> list[Values]:
        return self._cursor.execute(sql, _stored(values)).fetchall()

    def change(self, name: str, /, **values: Any) -> int:
        return self._cursor.execute(self.sql[name], _stored(values)).rowcount


class PostgresSnapshot(TableReader):
    """One state of the database, whatever is written meanwhile."""

    sql = PostgresWriter.sql

    def __init__(self, connection: psycopg.Connection[Values]) -> None:
        self._connection = connection

    def read(self, sql: str, values: Mapping[str, Any]) -> list[Values]:
        return self._connection.execute(sql, _stored(values)).fetchall()


class PostgresDatabase(Tables):
    """One connection, made anew when it is lost. Not shared between threads: each has its own."""

    sql = PostgresWriter.sql

    def __init__(
        self,
        url: str,
        clock: Clock | None = None,
        *,
        lease_ms: int = 15_000,
        create: bool = True,
        any_version: bool = False,
    ) -> None:
        """`any_version`: `migrate` opens schemas that are too old for everybody else."""
        self.clock = clock
        self.lease_ms = lease_ms
        self.parameters = _parameters(url)
        self.place = _place(self.parameters)  # without the password
        self.pooled = False  # a pooler is between us and the server: nothing may be left on a connection
        self._settings = _settings(lease_ms)
        self._begin_sql = BEGIN
        self._any_version = any_version
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
        """The time of a test; None: the statement asks the server's clock itself, never the local one."""
        return None if self.clock is None else self.clock.now_ms()

    # --- transactions

    @contextmanager
    def write(self) -> Iterator[Cursor]:
        """One READ COMMITTED transaction; a lost connection is made anew before it begins."""
        try:
            cursor = self._begin()
            yield cursor
            cursor.execute("COMMIT", prepare=False)
        except psycopg.Error as error:
            raise self._failed(error) from error
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

    def transact(self, work: Callable[[TableWriter], T], undo: Callable[[], None] | None = None) -> T:
        return self.run(lambda cursor: work(PostgresWriter(cursor)), undo)

    @contextmanager
    def snapshot(self) -> Iterator[TableReader]:
        try:
            with psycopg.connect(**self.parameters, autocommit=True) as connection, connection.transaction():
                connection.prepare_threshold = None if self.pooled else PREPARE_THRESHOLD
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                connection.execute(_set_locally(self._settings | {"statement_timeout": "0"}))
                yield PostgresSnapshot(connection)
        except psycopg.Error as error:
            raise self.translated(error) from None  # its cause may name the password

    def read(self, sql: str, values: Parameters = ()) -> list[Values]:
        """Read; once more on a new connection when the old one turns out to be dead."""
        try:
            try:
                return self._read(self._cursor(), sql, values)
            except psycopg.OperationalError:
                if self._connection is not None and not self._connection.closed:
                    raise
                return self._read(self._cursor(), sql, values)
        except psycopg.Error as error:
            raise self._failed(error) from error
        finally:
            self._watchdog.disarm()

    def one(self, sql: str, values: Parameters = ()) -> Values | None:
        rows = self.read(sql, values)
        return rows[0] if rows else None

    def ints(self, numbers: Iterable[int]) -> arrays.Ints:
        return arrays.Ints(numbers)

    def texts(self, texts: Iterable[str]) -> arrays.Texts:
        return arrays.Texts(map(storable, texts))

    def hold_session(self, name: str) -> None:
        """Nothing to do: see `session_alive`."""

    def session_alive(self, session: str) -> bool:
        """Always true: the statement has compared the session's lease with the clock."""
        return True

    def prefer_indexes(self) -> None:
        """Plan by indexes alone, now and after every reconnect: for a worker's connection."""
        self._settings |= BY_INDEX
        if self._connection is not None:
            try:
                self._set_up(self._connection)
            except psycopg.Error as error:
                raise self._failed(error) from error

    @staticmethod
    def _read(cursor: Cursor, sql: str, values: Parameters) -> list[Values]:
        return cursor.execute(sql, _stored(values) if isinstance(values, Mapping) else values or None).fetchall()

    def _begin(self) -> Cursor:
        """Begin a transaction; on a new connection where the idle one turns out to be dead: nothing was sent yet."""
        cursor = self._cursor()
        try:
            return cursor.execute(self._begin_sql, prepare=False)
        except psycopg.OperationalError:
            if not cursor.connection.closed:
                raise
            cursor = self._cursor()
            return cursor.execute(self._begin_sql, prepare=False)

    def _cursor(self) -> Cursor:
        connection = self._connection
        if connection is None or connection.closed:
            connection = self._reconnected()
        cursor = connection.cursor()
        assert isinstance(cursor, Cursor)
        return cursor

    def _roll_back(self) -> None:
        """Roll back what is still open of a transaction: nothing after a commit."""
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
        with ExitStack() as failed:
            try:
                connection = psycopg.connect(**self.parameters, autocommit=True)
                failed.callback(connection.close)
                connection.cursor_factory = type("WatchedCursor", (Cursor,), {"watchdog": self._watchdog})
                arrays.register(connection)
                self._watchdog.watch(connection.fileno())
                self._set_up(connection)
            except psycopg.Error as error:
                raise self._unreachable(error, first) from None  # its cause may name the password
            failed.pop_all()
        return connection

    def _set_up(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        """Make our settings, for all statements on this connection; behind a pooler for each transaction."""
        connection.prepare_threshold = None
        cursor = connection.cursor()
        try:
            direct = cursor.execute(IS_DIRECT, (connection.info.backend_pid,)).fetchall() == [(True,)]
            if direct:
                cursor.execute(SET, (list(self._settings), list(self._settings.values())))
                connection.prepare_threshold = PREPARE_THRESHOLD
        finally:
            self._watchdog.disarm()
        self.pooled = not direct
        self._begin_sql = BEGIN if direct else f"{BEGIN}; {_set_locally(self._settings)}"

    def _reconnected(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A new connection, wholly set up before it is used."""
        self._lose()
        connection = self._connection = self._connect(first=False)
        with ExitStack() as failed:
            failed.callback(self._lose)
            self._check_version()
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
            raise UsageError(f"there is no crawl data in {self.place}: start with `nephila crawl URL`")
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
            raise StoreVersionError(f"{self.place} is too old ({old}): run `nephila migrate`")

    def _refuse_newer(self, version: int) -> None:
        known = len(migrations("postgres"))
        if version > known:
            newer = f"schema {version}, this one knows {known}"
            raise StoreVersionError(f"{self.place} was written by a newer Nephila ({newer}): update Nephila")

    def _version(self, cursor: Cursor) -> int:
        """The version of the schema; 0: nothing is there yet. Raises where the tables are another program's."""
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

    def _failed(self, error: psycopg.Error) -> Exception:
        """The error in our own words. The connection to a server that takes no writes is dropped: the next one is made
        to whichever server of the URL does."""
        if error.sqlstate == READ_ONLY:
            self._lose()
        return self.translated(error)

    def translated(self, error: psycopg.Error) -> Exception:
        """The error in our own words. A fault in our own SQL stays what it is."""
        if error.sqlstate == DISK_FULL:
            return DiskFull(f"no space left on the disk of {self.place}: free some, the crawl goes on by itself")
        if error.sqlstate == READ_ONLY:
            return self._read_only()
        if NO_TRANSACTIONS in str(error):
            return self._unfit_pooler()
        if error.sqlstate == FORBIDDEN:
            return UsageError(f"{self.place} refuses: {_one_line(error)}: give its user the right to create and write")
        if (error.sqlstate or "").startswith(TOO_LARGE):
            return error
        if isinstance(error, psycopg.OperationalError | psycopg.InternalError | psycopg.InterfaceError):
            return StoreUnavailable(f"the store {self.place} does not answer: {_one_line(error)}")
        return error

    def _unreachable(self, error: psycopg.Error, first: bool) -> NephilaError:
        """The error of a connection that was refused. After the first one the same words mean a fault that passes: a
        name server that is away, a database being restored."""
        text = _one_line(error)
        if NOT_WRITABLE in text:
            return self._read_only()
        if NO_OPTIONS in text:
            return UsageError(f"a pooler stands before {self.place} ({text}): leave `options` out of --store")
        if first and any(words in text for words in WRONG_USER):
            return UsageError(f"{self.place} refuses this user ({text}): check user and password in --store")
        several = "," in str(self.parameters.get("host", ""))  # one of these may be away for long
        if first and not several and any(words in text for words in WRONG_PLACE):
            return UsageError(f"{self.place} cannot be found ({text}): check host and database in --store")
        return StoreUnavailable(f"the store {self.place} does not answer: {text}")

    def _unfit_pooler(self) -> UsageError:
        return UsageError(
            f"the pooler of {self.place} is in statement mode, which has no transactions: use another mode"
        )

    def _read_only(self) -> StoreUnavailable:
        return StoreUnavailable(f"the store {self.place} can only be read: no server of it takes writes now")


def _stored(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Values as PostgreSQL takes them: it has no NUL in a text. None: no parameters, so % in a statement is plain."""
    return {name: storable(value) if isinstance(value, str) else value for name, value in values.items()} or None


def _parameters(url: str) -> dict[str, Any]:
    """Parameters of a connection: those of the URL go before ours. A pooler takes none but these."""
    wrong = UsageError("this is no URL of a PostgreSQL database: write postgresql://USER@HOST/DATABASE")
    if not url.startswith(SCHEMES):
        raise wrong
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        raise wrong from None  # its text may show the password
    if "@" in str(given.get("host", "")):  # of a password that was not escaped
        raise wrong
    # Of several servers the one that takes writes: after a failover the old one may answer, as a standby.
    ours = {"connect_timeout": CONNECT_SECONDS_MAX, "application_name": "nephila", "target_session_attrs": "read-write"}
    return {**ours, **TCP, **given, "client_encoding": "UTF8"}


def _settings(lease_ms: int) -> dict[str, str]:
    """What keeps a lease honest, whatever the URL says."""
    return {
        "statement_timeout": str(STATEMENT_MS_MAX),
        "lock_timeout": str(LOCK_MS_MAX),
        "idle_in_transaction_session_timeout": str(min(max(1000, lease_ms // 2), IDLE_MS_MAX)),
        "jit": "off",  # our statements take a millisecond, compiling one takes fifty
    }


def _set_locally(settings: Mapping[str, str]) -> str:
    """Statements that set these until the transaction ends."""
    return "; ".join(f"SET LOCAL {name} = {value}" for name, value in settings.items())


def _place(parameters: dict[str, Any]) -> str:
    host, port, name = (parameters.get(key) or "" for key in ("host", "port", "dbname"))
    return f"postgresql://{host}{port and f':{port}'}/{name}"


def _one_line(error: psycopg.Error) -> str:
    text = error.diag.message_primary or str(error)
    return " ".join(text.split()) or type(error).__name__
