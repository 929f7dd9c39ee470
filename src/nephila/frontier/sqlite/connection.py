"""One SQLite connection: pragmas, schema, fair write transactions, liveness of sessions by file locks."""

import errno
import fcntl
import json
import os
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from nephila.clock import Clock, SystemClock
from nephila.errors import (
    DiskFull,
    NephilaError,
    StoreBusy,
    StoreDamaged,
    StoreUnavailable,
    StoreVersionError,
    UsageError,
)
from nephila.frontier.sqlite.lock import WriteLock
from nephila.frontier.statements import migrations, shared_statements
from nephila.frontier.tables import Patience, T, TableReader, Tables, TableWriter, Values
from nephila.models import PARTITIONS

# For what the file lock does not order: other programs, and the log that is recovered after a crash.
BUSY_TIMEOUT_MS = 10_000
CACHE_KIB = 65_536  # of each connection; a foreign commit empties it anyway
ROWS_PER_STATEMENT = 64  # measured: 5.8 us a row against 6.4 one by one, and 64 times fewer hand-overs of the GIL

APPLICATION_ID = 0x4E455048  # "NEPH" in the file's head: says that it is ours

# What damage looks like. Our statements fit our tables: an error in one is damage, too. UnicodeDecodeError: of a text.
DAMAGE = (apsw.CorruptError, apsw.FormatError, apsw.SQLError, apsw.MismatchError, UnicodeDecodeError)

FILE_PRAGMAS = ("page_size = 4096", "auto_vacuum = INCREMENTAL", "journal_mode = WAL")  # the file keeps them
PRAGMAS = (
    "synchronous = FULL",
    f"cache_size = -{CACHE_KIB}",
    "wal_autocheckpoint = 0",  # Upkeep.checkpoint does it: a checkpoint inside a flush would be a pause of the crawl
    "temp_store = MEMORY",
)


_held: dict[Path, int] = {}  # files of sessions that this process holds, and their descriptors
_HOLDING = threading.Lock()


def _lock_at_once(path: Path) -> int | None:
    """The file, locked; None where a living process holds it, or there is none."""
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


class SqliteDatabase(Tables):
    """A data folder's store. Not shared between threads: each has its own."""

    sql = shared_statements("sqlite")

    def __init__(
        self, folder: Path, clock: Clock | None = None, *, create: bool = True, patience: Patience | None = None
    ) -> None:
        self.folder = folder
        self.clock = clock or SystemClock()
        self.path = folder / "nephila.db"
        self._sessions = folder / "sessions"
        self._look(create)
        try:
            self._sessions.mkdir(parents=True, exist_ok=True)
            lock = folder / "nephila.db.lock"
            self.lock = WriteLock(lock, self.path, self.clock, patience or Patience())
            self.db = apsw.Connection(str(self.path))
            self.db.set_busy_timeout(BUSY_TIMEOUT_MS)
            self._open()
        except (OSError, apsw.Error, UnicodeDecodeError) as error:
            raise self.translated(error) from error

    def _look(self, create: bool) -> None:
        """Look at the file before SQLite does: of an empty one it makes an empty store, and deletes the log beside it.

        An empty file is what a first start leaves that was killed at once, so only whoever would make a store goes on.
        """
        try:
            empty = self.path.stat().st_size == 0
        except OSError:
            if not create:
                start = "start with `nephila crawl URL`, or say --data DIR"
                raise UsageError(f"there is no crawl data in {self.folder}: {start}") from None
            return
        if self.path.is_dir():
            raise UsageError(f"{self.path} is a folder, not a store: move it away or say --data DIR")
        if empty and not (create and self._was_never_used()):
            raise StoreDamaged(f"{self.path} is empty: {self._advice()}; or delete it and begin anew")

    def _was_never_used(self) -> bool:
        log = self.path.with_name("nephila.db-wal")
        return not (log.exists() and log.stat().st_size) and not any(self.folder.glob("warc/*"))

    @property
    def version(self) -> int:
        return self._pragma("user_version")

    def _open(self) -> None:
        """Set the connection up. A store that is up to date is only read: opening it never waits for a writer."""
        if not self._is_current():
            with self.exclusive():  # two processes may make the same store
                self._make()
        for pragma in PRAGMAS:
            self.db.execute(f"PRAGMA {pragma}").fetchall()

    def _is_current(self) -> bool:
        """Looks before anything is written: the file may be another program's, or a newer Nephila's."""
        version, tables = self.version, self.db.execute("SELECT count(*) FROM sqlite_master").get
        if (version or tables) and self._pragma("application_id") != APPLICATION_ID:
            raise self._foreign()
        known = len(migrations("sqlite"))
        if version > known:
            schemas = f"schema {version}, this one knows {known}"
            raise StoreVersionError(f"{self.path} was written by a newer Nephila ({schemas}): update Nephila")
        return version == known and self.db.execute("PRAGMA journal_mode").get == "wal"

    def _make(self) -> None:
        for pragma in FILE_PRAGMAS:
            self.db.execute(f"PRAGMA {pragma}").fetchall()
        steps, version = migrations("sqlite"), self.version
        if version < len(steps):
            with self._transaction():
                self._migrate(steps, version)

    def close(self) -> None:
        self.db.close()
        self.lock.close()

    # --- transactions

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """A write transaction. The file lock queues writers fairly; SQLite's busy handler starves some for seconds."""
        try:
            with self.exclusive(), self._transaction():
                yield self.db
        except (OSError, apsw.Error, UnicodeDecodeError) as error:
            raise self.translated(error) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.db.execute("COMMIT")
        except BaseException:
            if not self.db.get_autocommit():
                self.db.execute("ROLLBACK")
            raise

    def exclusive(self) -> AbstractContextManager[None]:
        return self.lock.held()

    def transact(self, work: Callable[[TableWriter], T], undo: Callable[[], None] | None = None) -> T:
        with ExitStack() as failed:
            if undo is not None:
                failed.callback(undo)
            with self.write():
                done = work(SqliteWriter(self))
            failed.pop_all()
        return done

    @contextmanager
    def snapshot(self) -> Iterator[TableReader]:
        """No snapshot: a reader that stays for minutes would keep the log from being folded into the database."""
        yield self

    def read(self, sql: str, values: Any = ()) -> list[Values]:
        try:
            return self.db.execute(sql, values).fetchall()  # type: ignore[no-any-return]
        except (apsw.Error, UnicodeDecodeError) as error:
            raise self.translated(error) from error

    def one(self, sql: str, values: Any = ()) -> Values | None:
        rows = self.read(sql, values)
        return rows[0] if rows else None

    def injected_now(self) -> int:
        return self.clock.now_ms()

    def ints(self, numbers: Iterable[int]) -> str:
        return json.dumps(list(numbers))

    def texts(self, texts: Iterable[str]) -> str:
        return json.dumps(list(texts))

    # --- sessions

    def hold_session(self, name: str) -> None:
        """Hold it once in this process, whichever connection is asked. Several processes may hold it."""
        path = self.session_file(name)
        with _HOLDING:
            if path not in _held:
                _held[path] = self._locked(path, fcntl.LOCK_SH)

    def held_sessions(self) -> set[str]:
        """The sessions of this process."""
        with _HOLDING:
            return {path.stem for path in _held if path.parent == self._sessions}

    def release_sessions(self, names: Iterable[str]) -> None:
        with _HOLDING:
            for path in map(self.session_file, names):
                if path in _held:
                    os.close(_held.pop(path))

    def remove_session_files(self, kept: Container[str]) -> None:
        """Remove the files of sessions whose process is gone, except for these."""
        for path in self._sessions.glob("*.lock"):
            if path.stem not in kept and (fd := _lock_at_once(path)) is not None:
                path.unlink(missing_ok=True)
                os.close(fd)

    def session_file(self, session: str) -> Path:
        return self._sessions / f"{session}.lock"

    def lock_session(self, session: str) -> int:
        """A lock for the life of the process. The kernel frees it at any death: nobody waits for a lease to run out."""
        return self._locked(self.session_file(session), fcntl.LOCK_EX)

    def _locked(self, path: Path, kind: int) -> int:
        """A lock on the file at the path: another process may remove the file between our two calls.

        It waits only for those who look whether the session lives.
        """
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(fd, kind)
            with suppress(FileNotFoundError):
                if path.stat().st_ino == os.fstat(fd).st_ino:
                    return fd
            os.close(fd)

    def session_alive(self, session: str) -> bool:
        path = self.session_file(session)
        fd = _lock_at_once(path)
        if fd is None:
            return path.exists()
        os.close(fd)
        return False

    # --- schema

    def _migrate(self, steps: list[str], version: int) -> None:
        for number in range(version, len(steps)):
            self.db.execute(steps[number]).fetchall()
        self.db.execute(f"PRAGMA application_id = {APPLICATION_ID}").fetchall()
        self.db.execute(f"PRAGMA user_version = {len(steps)}").fetchall()
        parts = [(part,) for part in range(PARTITIONS)]
        self.db.executemany("INSERT INTO partitions(part) VALUES (?) ON CONFLICT DO NOTHING", parts)

    def _pragma(self, name: str) -> int:
        return int(self.db.execute(f"PRAGMA {name}").get)

    def _foreign(self) -> UsageError:
        return UsageError(f"{self.path} is no Nephila store: move it away or say --data DIR")

    def _headless(self) -> NephilaError:
        """Another program's file, or ours whose head is damaged: then a log or an archive lies beside it."""
        if self._was_never_used():
            return self._foreign()
        return StoreDamaged(f"{self.path} is no store any more, its head is damaged: {self._advice()}")

    def _advice(self) -> str:
        return f"stop what uses it, keep a copy of {self.folder}, and put the last backup in its place"

    def translated(self, error: Exception) -> Exception:
        if isinstance(error, apsw.FullError) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            return DiskFull(f"no space left on the disk of {self.folder}: free some, the crawl goes on by itself")
        if isinstance(error, apsw.NotADBError):
            return self._headless()
        if isinstance(error, DAMAGE):
            save = f"or save what can be read with `sqlite3 {self.path} .recover`"
            return StoreDamaged(f"{self.path} is damaged ({error}): {self._advice()}, {save}")
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            return StoreBusy(f"another program holds {self.path} ({error}): nothing was changed, end it or try again")
        if isinstance(
            error, PermissionError | apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError | apsw.AuthError
        ):
            return UsageError(f"cannot write in {self.folder} ({error}): check who owns it, or say --data DIR")
        if isinstance(error, NotADirectoryError | FileExistsError | FileNotFoundError):
            return UsageError(f"{self.folder} is no folder and cannot be made one: say --data DIR")
        return StoreUnavailable(f"the store {self.path} does not answer: {error}")


class SqliteWriter(TableWriter):
    sql = SqliteDatabase.sql

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def read(self, sql: str, values: Mapping[str, Any]) -> list[Values]:
        return self._database.read(sql, values)

    def change(self, name: str, /, **values: Any) -> int:
        self.rows(name, **values)
        return int(self._database.db.changes())
