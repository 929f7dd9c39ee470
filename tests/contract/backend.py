"""The stores under contract: each gives the protocols on connections of their own, and ways to break them."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import apsw
import psycopg

from nephila.clock import VirtualClock
from nephila.derived.ledger import Ledger
from nephila.derived.postgres_ledger import PostgresLedger
from nephila.derived.sqlite_ledger import SqliteLedger
from nephila.frontier.catalog import Catalog
from nephila.frontier.postgres import (
    PostgresCatalog,
    PostgresDatabase,
    PostgresFrontier,
    PostgresUpkeep,
)
from nephila.frontier.rulebook import Rulebook
from nephila.frontier.sqlite import SqliteCatalog, SqliteDatabase, SqliteFrontier, SqliteUpkeep
from nephila.frontier.store import Frontier
from nephila.frontier.tables import Patience
from nephila.frontier.tokens import Tokens
from nephila.frontier.upkeep import Upkeep
from nephila.links.index import LinkIndex
from nephila.links.postgres_links import PostgresLinks
from nephila.links.sqlite_links import SqliteLinks
from nephila.search.index import SearchIndex
from nephila.search.postgres_fts import PostgresIndex
from nephila.search.sqlite_fts import SqliteIndex
from tests import postgres
from tests.patience import PATIENCE_SECONDS


class Backend(Protocol):
    """One fresh store. What it gives out is closed with it."""

    clock: VirtualClock

    def catalog(self) -> Catalog: ...
    def upkeep(self) -> Upkeep: ...
    def rulebook(self) -> Rulebook: ...
    def tokens(self) -> Tokens: ...
    def frontier(self) -> Frontier: ...
    def index(self) -> SearchIndex: ...
    def links(self) -> LinkIndex: ...
    def ledger(self) -> Ledger: ...
    def kill(self, frontier: Frontier) -> None:
        """Make a session look as if its process had died; its connection lives on, so it can still try to write."""

    def full_disk(self, frontier: Frontier, after: int) -> AbstractContextManager[None]:
        """A context in which the store has no space from its `after`th statement on."""

    def close(self) -> None: ...


class SqliteBackend:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = VirtualClock()
        self._open: list[SqliteDatabase] = []
        self._indexes: list[SqliteIndex | SqliteLinks | SqliteLedger] = []

    def database(self) -> SqliteDatabase:
        database = SqliteDatabase(self.folder, self.clock, patience=Patience(PATIENCE_SECONDS))
        self._open.append(database)
        return database

    def catalog(self) -> SqliteCatalog:
        return SqliteCatalog(self.database())

    def upkeep(self) -> SqliteUpkeep:
        return SqliteUpkeep(self.database())

    def rulebook(self) -> Rulebook:
        return Rulebook(self.database())

    def tokens(self) -> Tokens:
        return Tokens(self.database())

    def frontier(self) -> SqliteFrontier:
        return SqliteFrontier(self.database())

    def index(self) -> SqliteIndex:
        index = SqliteIndex(self.folder)
        self._indexes.append(index)
        return index

    def links(self) -> SqliteLinks:
        links = SqliteLinks(self.folder)
        self._indexes.append(links)
        return links

    def ledger(self) -> SqliteLedger:
        ledger = SqliteLedger(self.folder)
        self._indexes.append(ledger)
        return ledger

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
        for opened in [*self._open, *self._indexes]:
            opened.close()


class PostgresBackend:
    """PostgreSQL with leases that outlast every leap of the virtual clock: only `kill` ends a session."""

    LEASE_MS = 10**12

    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock()
        self._made = ExitStack()
        self.url = self._made.enter_context(postgres.database())

    def database(self) -> PostgresDatabase:
        database = PostgresDatabase(self.url, self.clock, lease_ms=self.LEASE_MS)
        self._made.callback(database.close)
        return database

    def catalog(self) -> PostgresCatalog:
        return PostgresCatalog(self.database())

    def upkeep(self) -> PostgresUpkeep:
        return PostgresUpkeep(self.database())

    def rulebook(self) -> Rulebook:
        return Rulebook(self.database())

    def tokens(self) -> Tokens:
        return Tokens(self.database())

    def frontier(self) -> PostgresFrontier:
        return PostgresFrontier(self.database())

    def index(self) -> PostgresIndex:
        return PostgresIndex(self.database())

    def links(self) -> PostgresLinks:
        return PostgresLinks(self.database())

    def ledger(self) -> PostgresLedger:
        return PostgresLedger(self.database())

    def kill(self, frontier: Frontier) -> None:
        assert isinstance(frontier, PostgresFrontier)
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("UPDATE workers SET lease_until = 0 WHERE id = %s", (frontier.worker,))

    @contextmanager
    def full_disk(self, frontier: Frontier, after: int) -> Iterator[None]:
        assert isinstance(frontier, PostgresFrontier)
        left = after
        connection = frontier.database._connection
        assert connection is not None
        normal = connection.cursor_factory

        class FullCursor(normal):  # type: ignore[misc, valid-type]
            def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
                nonlocal left
                left -= 1
                if left < 0:
                    raise psycopg.errors.DiskFull("could not extend file: No space left on device")
                return super().execute(query, params, **options)

        connection.cursor_factory = FullCursor
        try:
            yield
        finally:
            connection.cursor_factory = normal

    def close(self) -> None:
        self._made.close()


BACKENDS: dict[str, Callable[[Path], Backend]] = {"sqlite": SqliteBackend, "postgres": PostgresBackend}
