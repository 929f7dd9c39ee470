"""A copy of the embedded store as it was at one moment, made while others write."""

import errno
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from nephila.errors import DiskFull, StoreDamaged, UsageError
from nephila.frontier.sqlite.connection import SqliteDatabase

STEP_PAGES = 2000

Tell = Callable[[int, int], None]  # pages that are copied, of how many


def copy_store(database: SqliteDatabase, path: Path, tell: Tell) -> list[tuple[str, int]]:
    """Copy the store into a new file and check it; answers the archive files that its rows name, each with its bytes.

    One read transaction for the whole copy: it is of one moment, and writers do not make it begin anew. Until it ends
    the log grows.
    """
    try:
        with closing(apsw.Connection(str(path))) as copy:
            copy.execute("PRAGMA synchronous = OFF").fetchall()  # made durable as a whole below
            with database.db, copy.backup("main", database.db, "main") as running:
                database.read("SELECT count(*) FROM sqlite_master")
                while not running.done:
                    running.step(STEP_PAGES)
                    tell(running.page_count - running.remaining, running.page_count)
            problem = copy.execute("PRAGMA quick_check(1)").get
            if problem != "ok":
                raise StoreDamaged(
                    f"{database.path} is damaged ({problem}): it was not copied; `nephila verify` says more"
                )
            files: list[tuple[str, int]] = copy.execute(SqliteDatabase.sql["archive_sizes"]).fetchall()
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except (apsw.FullError, OSError) as error:
        if isinstance(error, apsw.FullError) or error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no space left on the disk of {path.parent}") from error
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    except apsw.Error as error:
        raise database.translated(error) from error
    return files
