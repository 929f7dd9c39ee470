"""The index of a cluster: a tsvector with a GIN index, in tables of the store's own database."""

from collections.abc import Iterator, Sequence
from typing import Any

from nephila.derived.postgres_pages import Connection, PostgresPages, StatementCursor
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


class PostgresIndex(PostgresPages[Document]):
    def __init__(self, database: Connection) -> None:
        super().__init__(database, "search", VERSION, TURN_LOCK, SQL)

    def _row(self, page: Document) -> tuple[Any, ...]:
        return (*document_row(page), tsvector(entry_of(page)))

    def _put_in(self, cursor: StatementCursor, rows: Sequence[Any]) -> None:
        for some in _in_portions(rows):
            cursor.execute(SQL["put_in"], [list(column) for column in zip(*some, strict=True)])

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
        if not self._readable():
            return NOTHING
        with self.database.write() as cursor:
            cursor.execute(SQL["by_index"])
            rows = cursor.execute(SQL["search"], values).fetchall()
        return matches_of(int(rows[0][0]), [row[1:] for row in rows if row[-1] is not None])


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
