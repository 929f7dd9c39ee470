"""The index of an embedded store: FTS5 in a file of its own, so that indexing never meets the frontier's write lock."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import apsw

from nephila.disposable import DisposableFile
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
FREE_SHARE = 4  # the file is made smaller where more than a fourth of it is free


class SqliteIndex:
    """Opened when it is first used; the file may be deleted at any time."""

    def __init__(self, folder: Path) -> None:
        self.file = DisposableFile(folder / FILE, "search index", VERSION, drop=SQL["drop"], make=SQL["make"])

    # --- changing it

    def turn(self) -> AbstractContextManager[bool]:
        return self.file.turn()

    def add(self, file: str, start: int, end: int, documents: Sequence[Document], uuids: Mapping[int, str]) -> bool:
        with self.file.changing() as db:
            known = db.execute(SQL["mark_of"], (file,)).fetchall()
            if (known[0][0] if known else 0) != start:
                return False
            _take_out(db, [document.url_id for document in documents])
            for document in documents:
                db.execute(SQL["put_in"], document_row(document))
                db.execute(SQL["put_in_words"], (document.url_id, *map(" ".join, entry_of(document))))
            for crawl, count in Counter(document.crawl for document in documents).items():
                db.execute(SQL["count_crawl"], (crawl, uuids[crawl], count))
            db.execute(SQL["set_mark"], (file, end))
        return True

    def forget_crawl(self, crawl: int, documents_max: int) -> int:
        with self.file.changing() as db:
            ids = [found for (found,) in db.execute(SQL["some_of_crawl"], (crawl, documents_max)).fetchall()]
            _take_out(db, ids)
            if not ids:
                db.execute(SQL["forget_crawl"], (crawl,))
        if not ids:
            self._give_back()
        return len(ids)

    def _give_back(self) -> None:
        """Give the room of forgotten pages back to the disk where it is a large part of the file; readers do not wait
        for it."""
        db = self.file.db
        with self.file.translating():
            if (
                db is not None
                and db.execute("PRAGMA freelist_count").get * FREE_SHARE > db.execute("PRAGMA page_count").get
            ):
                db.execute(SQL["optimize"]).fetchall()
                db.execute("VACUUM").fetchall()
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def forget_files(self, files: Sequence[str]) -> None:
        with self.file.changing() as db:
            db.executemany(SQL["forget_mark"], [(file,) for file in files])

    # --- looking

    def marks(self) -> dict[str, int]:
        return dict(self.file.rows(SQL["marks"]))

    def crawls(self) -> dict[int, str]:
        return dict(self.file.rows(SQL["crawls"]))

    def count(self) -> int:
        return sum(count for (count,) in self.file.rows(SQL["count"]))

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

    def close(self) -> None:
        self.file.close()


def _take_out(db: apsw.Connection, ids: list[int]) -> None:
    found = db.execute(SQL["crawls_of"], (json.dumps(ids),)).fetchall()
    for url_id, _ in found:
        db.execute(SQL["take_out"], (url_id,))
        db.execute(SQL["take_out_words"], (url_id,))
    for crawl, count in Counter(crawl for _, crawl in found).items():
        db.execute(SQL["discount_crawl"], (crawl, count))


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
