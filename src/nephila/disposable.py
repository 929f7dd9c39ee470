"""SQLite files of derived data, like `search.db`: they have a version and no migrations.

Such a file may be deleted or damaged at any time: it is made anew, and filled from the archive again. So is one of an
older version.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from nephila.errors import DiskFull, StoreUnavailable, UsageError

BUSY_TIMEOUT_MS = 10_000
# A power cut may take the last commits, never the file's order: they are made again from the archive.
PRAGMAS = ("synchronous = NORMAL", "cache_size = -32768", "temp_store = MEMORY")
BROKEN = (apsw.NotADBError, apsw.CorruptError)


class DisposableFile:
    """Opened when it is first used. `what` it is stands in messages; `drop` and `make` are statements."""

    def __init__(self, path: Path, what: str, version: int, *, drop: str, make: str) -> None:
        self.path = path
        self.db: apsw.Connection | None = None
        self._what, self._version, self._drop, self._make = what, version, drop, make
        self._opened: tuple[int, int] | None = None  # device and inode of what is open
        self._ours = False  # it is our turn to change it

    @contextmanager
    def turn(self, *, wait: bool = False) -> Iterator[bool]:
        """Whether this process may change the file until the context ends; of several one may. `wait`: until it may."""
        with self.translating():
            fd = os.open(self.path.with_name(f"{self.path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            self._ours = self._took(fd, wait)
            yield self._ours
        finally:
            self._ours = False
            os.close(fd)  # and the lock ends

    def _took(self, fd: int, wait: bool) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        with self.translating():
            self.make()
        return True

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """No rows where there is no file that we could read."""
        with self.reading() as db:
            return db.execute(sql, values).fetchall() if db else []

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection | None]:
        """The connection; None: there is no file that we could read."""
        with self.translating():
            db = self._connected(create=False)
            yield db if db is not None and db.execute("PRAGMA user_version").get == self._version else None

    @contextmanager
    def changing(self) -> Iterator[apsw.Connection]:
        """A transaction, in a turn."""
        with self.translating():
            assert self.db is not None, "only in a turn"
            with self.db:
                yield self.db

    def close(self) -> None:
        if self.db is not None:
            self.db.close()
            self.db = None

    def make(self) -> None:
        """Only inside a turn: two processes never make the same file."""
        try:
            db = self._connected(create=True)
            assert db is not None
            version = int(db.execute("PRAGMA user_version").get)
        except BROKEN:
            self._throw_away()
            return self.make()
        if version > self._version:
            raise UsageError(
                f"{self.path} was made by a newer Nephila: update Nephila, or delete it to have it made anew"
            )
        if version < self._version:
            with db:
                db.execute(self._drop).fetchall()
                db.execute(self._make).fetchall()
                db.execute(f"PRAGMA user_version = {self._version}").fetchall()
        return None

    def _begin(self) -> None:
        """Create an empty file in WAL mode and move it into its place: to change the mode of a file in use SQLite
        would not wait for its readers."""
        new = self.path.with_name(f"{self.path.name}.new")
        new.unlink(missing_ok=True)
        db = apsw.Connection(str(new))
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        db.close()
        new.replace(self.path)

    def _throw_away(self) -> None:
        """Delete a damaged file: it is derived data, and made again."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _connected(self, *, create: bool) -> apsw.Connection | None:
        """The connection to the file at the path: the one that we opened may be deleted, or replaced by another."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self.close()
            if not create:
                return None
            self._begin()
        else:
            if self.db is not None and self._opened == (found.st_dev, found.st_ino):
                return self.db
            self.close()
        self.db = apsw.Connection(str(self.path))
        self.db.set_busy_timeout(BUSY_TIMEOUT_MS)
        for pragma in PRAGMAS:
            self.db.execute(f"PRAGMA {pragma}").fetchall()
        found = self.path.stat()
        self._opened = (found.st_dev, found.st_ino)
        return self.db

    @contextmanager
    def translating(self) -> Iterator[None]:
        """A context whose faults of disk and database are those of a store."""
        try:
            yield
        except (OSError, apsw.Error) as error:
            if isinstance(error, apsw.FullError) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(f"no space left on the disk of {self.path}: free some") from error
            if self._ours and isinstance(error, BROKEN):
                self._throw_away()
                raise StoreUnavailable(
                    f"the {self._what} {self.path} was damaged: it is made anew, try again"
                ) from error
            raise StoreUnavailable(
                f"the {self._what} {self.path} does not answer ({error}): it may be deleted, it is made anew"
            ) from error
