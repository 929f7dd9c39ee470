"""The stores under contract: each gives the three protocols on connections of their own, and ways to break them."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import apsw

from nephila.clock import VirtualClock
from nephila.frontier.sqlite import Database, SqliteCatalog, SqliteFrontier, SqliteUpkeep
from nephila.frontier.store import Catalog, Frontier, Upkeep


class Backend(Protocol):
    """One fresh store. What it gives out is closed with it."""

    clock: VirtualClock

    def catalog(self) -> Catalog: ...
    def upkeep(self) -> Upkeep: ...
    def frontier(self) -> Frontier: ...
    def kill(self, frontier: Frontier) -> None:
        """The sudden death of a session's process; its connection lives on, as if it had only seemed dead."""

    def full_disk(self, frontier: Frontier, after: int) -> AbstractContextManager[None]:
        """A context in which the store has no space from its `after`th statement on."""

    def close(self) -> None: ...


class SqliteBackend:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = VirtualClock()
        self._open: list[Database] = []

    def database(self) -> Database:
        database = Database(self.folder, self.clock)
        self._open.append(database)
        return database

    def catalog(self) -> SqliteCatalog:
        return SqliteCatalog(self.database())

    def upkeep(self) -> SqliteUpkeep:
        return SqliteUpkeep(self.database())

    def frontier(self) -> SqliteFrontier:
        return SqliteFrontier(self.database())

    def kill(self, frontier: Frontier) -> None:
        assert isinstance(frontier, SqliteFrontier)
        os.close(frontier._lock_fd)

    @contextmanager
    def full_disk(self, frontier: Frontier, after: int) -> Iterator[None]:
        assert isinstance(frontier, SqliteFrontier)
        left = after

        def trace(cursor: apsw.Cursor, sql: str, values: Any) -> bool:
            nonlocal left
            left -= 1
            if left < 0 and not sql.startswith("ROLLBACK"):
                raise apsw.FullError("database or disk is full")
            return True

        frontier.database.db.exec_trace = trace
        try:
            yield
        finally:
            frontier.database.db.exec_trace = None

    def close(self) -> None:
        for database in self._open:
            database.close()


BACKENDS: dict[str, Callable[[Path], Backend]] = {"sqlite": SqliteBackend}
