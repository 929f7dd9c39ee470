"""The index of a cluster: a tsvector with a GIN index, in tables of the store's own database."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Protocol, TypeVar

from nephila.errors import NephilaError, UsageError
from nephila.search.index import (
    MATCHES_MAX,
    NOTHING,
    RANKED_MAX,
    VERSION,
    Document,
    Entry,
    Matches,
    document_row,
    entry_of,
    filter_words,
    matches_of,
)
from nephila.search.query import Query, Term
from nephila.statements import named_statements

SQL = named_statements("nephila.search", "sql", "postgres.sql")
TURN_LOCK = 0x4E455053  # "NEPS": advisory, of whoever changes the index
PORTION_CHARS = 1_000_000  # of the words of documents put in by one statement; the last may be longer
PLACES_MAX = 256  # of one word that a tsvector keeps
PLACE = ":"  # before the words of crawl and host: no word of a text begins so

Values = Sequence[Any] | dict[str, Any]
T = TypeVar("T")


class StatementCursor(Protocol):
    def execute(self, query: Any, params: Any = None, **options: Any) -> Any: ...
    def fetchall(self) -> list[tuple[Any, ...]]: ...


class Connection(Protocol):
    """What is needed of frontier.postgres.Database, a sibling that this package may not import."""

    pooled: bool

    def read(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]: ...
    def write(self) -> AbstractContextManager[Any]: ...
    def run(self, work: Callable[[Any], T]) -> T: ...
    def close(self) -> None: ...


class PostgresIndex:
    def __init__(self, database: Connection) -> None:
        self.database = database

    # --- changing it

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """A lost connection loses the lock, too: `add` then sees by the mark that another process was here.

        Behind a pooler there is no lock that outlives a transaction: the marks alone keep two apart.
        """
        locks = not self.database.pooled
        took = not locks or bool(self.database.read(SQL["take_turn"], (TURN_LOCK,))[0][0])
        try:
            if took:
                self._make()
            yield took
        finally:
            if took and locks:
                with suppress(NephilaError):  # a lost connection has let it go
                    self.database.read(SQL["end_turn"], (TURN_LOCK,))

    def add(self, file: str, start: int, end: int, documents: Sequence[Document], uuids: Mapping[int, str]) -> bool:
        rows = [(*document_row(document), tsvector(entry_of(document))) for document in documents]
        counts = Counter(document.crawl for document in documents)
        counted = [list(counts), [uuids[crawl] for crawl in counts], list(counts.values())]

        def work(cursor: StatementCursor) -> bool:
            if start == 0:
                cursor.execute(SQL["begin_mark"], (file,))
            if not cursor.execute(SQL["move_mark"], {"file": file, "start": start, "end": end}).fetchall():
                return False
            if rows:
                cursor.execute(SQL["take_out"], ([row[0] for row in rows],))
                for some in _in_portions(rows):
                    cursor.execute(SQL["put_in"], [list(column) for column in zip(*some, strict=True)])
                cursor.execute(SQL["count_crawls"], counted)
            return True

        return self.database.run(work)

    def forget_crawl(self, crawl: int, documents_max: int) -> int:
        def work(cursor: StatementCursor) -> int:
            ids = [found for (found,) in cursor.execute(SQL["some_of_crawl"], (crawl, documents_max)).fetchall()]
            if ids:
                cursor.execute(SQL["take_out"], (ids,))
            else:
                cursor.execute(SQL["forget_crawl"], (crawl,))
            return len(ids)

        return self.database.run(work)

    def forget_files(self, files: Sequence[str]) -> None:
        with self.database.write() as cursor:
            cursor.execute(SQL["forget_marks"], (list(files),))

    # --- looking

    def marks(self) -> dict[str, int]:
        return dict(self._rows(SQL["marks"]))

    def crawls(self) -> dict[int, str]:
        return dict(self._rows(SQL["crawls"]))

    def count(self) -> int:
        return sum(count for (count,) in self._rows(SQL["count"]))

    def search(self, query: Query, crawls: Sequence[int] | None, host: str | None, limit: int, offset: int) -> Matches:
        if crawls is not None and not crawls:
            return NOTHING
        values = {
            "match": tsquery(query, crawls, host),
            "rank": " & ".join(map(_term, query.terms)),
            "matches": MATCHES_MAX + 1,
            "ranked": RANKED_MAX,
            "limit": limit,
            "offset": offset,
        }
        if self._version() != VERSION:
            return NOTHING
        with self.database.write() as cursor:
            cursor.execute(SQL["by_index"])
            rows = cursor.execute(SQL["search"], values).fetchall()
        return matches_of(int(rows[0][0]), [row[1:] for row in rows if row[-1] is not None])

    def close(self) -> None:
        self.database.close()

    # --- the tables

    def _version(self) -> int | None:
        if not self.database.read(SQL["exists"])[0][0]:
            return None
        found = self.database.read(SQL["state"])
        return int(found[0][0]) if found else None

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        """No rows where there is no index that we could read."""
        return self.database.read(sql) if self._version() == VERSION else []

    def _make(self) -> None:
        version = self._version()
        if version is not None and version > VERSION:
            raise UsageError("the search index was made by a newer Nephila: update Nephila")
        if version == VERSION:
            return
        with self.database.write() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            for statement in (*SQL["drop"].split(";"), *SQL["make"].split(";")):
                cursor.execute(statement)
            cursor.execute(SQL["set_version"], (VERSION,))


def _in_portions(rows: Sequence[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows for one statement each. Pages of a hundred thousand different words, all at once, would take longer than a
    statement may, and be tried for ever."""
    portion: list[tuple[Any, ...]] = []
    chars = 0
    for row in rows:
        portion.append(row)
        chars += len(row[-1])
        if chars >= PORTION_CHARS:
            yield portion
            portion, chars = [], 0
    if portion:
        yield portion


# --- PostgreSQL's own language. Words are letters and digits, so nothing of it can be in them.


def tsvector(entry: Entry) -> str:
    """As text, without the server's parser: what that takes for a word depends on its locale."""
    places: dict[str, list[str]] = {}
    for at, word in enumerate(entry.title, 1):
        places.setdefault(word, []).append(f"{at}A")
    for at, word in enumerate(entry.body, len(entry.title) + 2):  # one is left out: no phrase goes over the border
        places.setdefault(word, []).append(str(at))
    found = [f"'{word}':{','.join(at[:PLACES_MAX])}" for word, at in places.items()]
    return " ".join([*found, *(f"'{word}'" for word in entry.rest), *(f"'{PLACE}{word}'" for word in entry.place)])


def tsquery(query: Query, crawls: Sequence[int] | None, host: str | None) -> str:
    parts = [_term(term) for term in query.terms] + [f"!({_term(term)})" for term in query.excluded]
    for any_of in filter_words(crawls, host):
        parts.append("(" + " | ".join(f"'{PLACE}{word}'" for word in any_of) + ")")
    return " & ".join(parts)


def _term(term: Term) -> str:
    found = " <-> ".join(f"'{word}'" for word in term.words) + (":*" if term.prefix else "")
    return f"({found})" if len(term.words) > 1 else found
