"""The index of an embedded store: FTS5 in a file of its own."""

from collections.abc import Sequence
from pathlib import Path

import apsw

from nephila.derived.sqlite_pages import SqlitePages
from nephila.search.index import (
    MATCHES_MAX,
    NOTHING,
    RANKED_MAX,
    VERSION,
    Document,
    Matches,
    document_row,
    entry_of,
    filter_words,
    matches_of,
)
from nephila.search.query import Query, Term
from nephila.statements import named_statements

SQL = named_statements("nephila.search", "sql", "sqlite.sql")
FILE = "search.db"


class SqliteIndex(SqlitePages[Document]):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FILE, "search index", VERSION, SQL)

    def _put_in(self, db: apsw.Connection, pages: Sequence[Document]) -> None:
        for document in pages:
            db.execute(SQL["put_in"], document_row(document))
            db.execute(SQL["put_in_words"], (document.url_id, *map(" ".join, entry_of(document))))

    def _take_out(self, db: apsw.Connection, ids: Sequence[int]) -> None:
        db.executemany(SQL["take_out_words"], [(url_id,) for url_id in ids])

    def _tidy(self, db: apsw.Connection) -> None:
        db.execute(SQL["optimize"]).fetchall()

    def search(self, query: Query, crawls: Sequence[int] | None, host: str | None, limit: int, offset: int) -> Matches:
        if crawls is not None and not crawls:
            return NOTHING
        match = match_expression(query, crawls, host)
        values = {"match": match, "ranked": RANKED_MAX, "limit": limit, "offset": offset}
        with self.file.reading() as db:
            if db is None:
                return NOTHING
            total = int(db.execute(SQL["total"], (match, MATCHES_MAX + 1)).get)
            rows = db.execute(SQL["best"], values).fetchall() if limit else []
        return matches_of(total, rows)


# --- FTS5's own language. Words are letters and digits, so nothing of it can be in them.


def match_expression(query: Query, crawls: Sequence[int] | None, host: str | None) -> str:
    wanted = " AND ".join(map(_term, query.terms))
    if query.excluded:
        wanted = f"({wanted}) NOT ({' OR '.join(map(_term, query.excluded))})"
    filters = [
        "{place} : (" + " OR ".join(f'"{word}"' for word in any_of) + ")" for any_of in filter_words(crawls, host)
    ]
    return " AND ".join([*filters, f"({wanted})"])


def _term(term: Term) -> str:
    phrase = " ".join(term.words)
    columns = "{title body}" if len(term.words) > 1 else "{title body rest}"
    return f'{columns} : "{phrase}"' + (" *" if term.prefix else "")
