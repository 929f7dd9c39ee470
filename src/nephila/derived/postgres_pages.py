"""What is derived of the pages of a cluster: tables of the store's own database, whose names begin with that of the
derivation."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

from nephila.derived.pages import DerivedPage
from nephila.errors import NephilaError, UsageError
from nephila.statements import named_statements

PREFIX = "derived_"  # of the tables in the statements: in its place comes the name of the derivation

Values = Sequence[Any] | dict[str, Any]
T = TypeVar("T")
P = TypeVar("P", bound=DerivedPage)


class StatementCursor(Protocol):
    def execute(self, query: Any, params: Any = None, **options: Any) -> Any: ...
    def fetchall(self) -> list[tuple[Any, ...]]: ...


class Connection(Protocol):
    """What is needed of frontier.postgres.Database, a package above this one."""

    pooled: bool

    def read(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]: ...
    def write(self) -> AbstractContextManager[Any]: ...
    def run(self, work: Callable[[Any], T]) -> T: ...
    def close(self) -> None: ...


@cache
def _statements(name: str) -> dict[str, str]:
    found = named_statements("nephila.derived", "sql", "postgres_pages.sql")
    return {key: sql.replace(PREFIX, f"{name}_") for key, sql in found.items()}


class PostgresPages(ABC, Generic[P]):
    """Marks and crawls; a derivation says what stands in tables of its own.

    Its pages stand in the table `<name>_documents` with their id and crawl.
    """

    def __init__(self, database: Connection, name: str, version: int, lock: int, own: Mapping[str, str]) -> None:
        """`lock`: advisory, of whoever changes it. `own`: statements, of which `make` and `drop` are used here."""
        self.database = database
        self._name, self._pages_version, self._lock, self._own = name, version, lock, own
        self._sql = _statements(name)

    @abstractmethod
    def _put_in(self, cursor: StatementCursor, rows: Sequence[Any]) -> None:
        """Rows as `_row` makes them; none of them is there."""

    @abstractmethod
    def _row(self, page: P) -> Any:
        """What `_put_in` takes of a page: made once, also where the transaction is tried again."""

    # --- changing it

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """A lost connection loses the lock, too: `add` then sees by the mark that another process was here.

        Behind a pooler there is no lock that outlives a transaction: the marks alone keep two apart.
        """
        locks = not self.database.pooled
        took = not locks or bool(self.database.read(self._sql["take_turn"], (self._lock,))[0][0])
        try:
            if took:
                self._make()
            yield took
        finally:
            if took and locks:
                with suppress(NephilaError):  # a lost connection has let it go
                    self.database.read(self._sql["end_turn"], (self._lock,))

    def add(self, file: str, start: int, end: int, pages: Sequence[P], uuids: Mapping[int, str]) -> bool:
        rows, ids = [self._row(page) for page in pages], [page.url_id for page in pages]
        counts = Counter(page.crawl for page in pages)
        counted = [list(counts), [uuids[crawl] for crawl in counts], list(counts.values())]
        sql = self._sql

        def work(cursor: StatementCursor) -> bool:
            if start == 0:
                cursor.execute(sql["begin_mark"], (file,))
            if not cursor.execute(sql["move_mark"], {"file": file, "start": start, "end": end}).fetchall():
                return False
            if rows:
                cursor.execute(sql["take_out"], (ids,))
                self._put_in(cursor, rows)
                cursor.execute(sql["count_crawls"], counted)
            return True

        return self.database.run(work)

    def forget_crawl(self, crawl: int, pages_max: int) -> int:
        sql = self._sql

        def work(cursor: StatementCursor) -> int:
            ids = [found for (found,) in cursor.execute(sql["some_of_crawl"], (crawl, pages_max)).fetchall()]
            if ids:
                cursor.execute(sql["take_out"], (ids,))
            else:
                cursor.execute(sql["forget_crawl"], (crawl,))
            return len(ids)

        return self.database.run(work)

    def forget_files(self, files: Sequence[str]) -> None:
        with self.database.write() as cursor:
            cursor.execute(self._sql["forget_marks"], (list(files),))

    # --- looking

    def marks(self) -> dict[str, int]:
        return dict(self._rows(self._sql["marks"]))

    def crawls(self) -> dict[int, str]:
        return dict(self._rows(self._sql["crawls"]))

    def count(self) -> int:
        return sum(count for (count,) in self._rows(self._sql["count"]))

    def close(self) -> None:
        self.database.close()

    # --- the tables

    def _readable(self) -> bool:
        return self._version() == self._pages_version

    def _version(self) -> int | None:
        if not self.database.read(self._sql["exists"])[0][0]:
            return None
        found = self.database.read(self._sql["state"])
        return int(found[0][0]) if found else None

    def _rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """No rows where there is nothing that we could read."""
        return self.database.read(sql, values) if self._readable() else []

    def _make(self) -> None:
        version = self._version()
        if version is not None and version > self._pages_version:
            raise UsageError(f"the {self._name} index was made by a newer Nephila: update Nephila")
        if version == self._pages_version:
            return
        with self.database.write() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            for part in (self._own["drop"], self._sql["drop"], self._sql["make"], self._own["make"]):
                for statement in part.split(";"):
                    cursor.execute(statement)
            cursor.execute(self._sql["set_version"], (self._pages_version,))
