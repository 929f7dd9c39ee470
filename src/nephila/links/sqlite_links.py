"""The link index of an embedded store: FTS5 in a file of its own. Words of a page are the numbers of its targets."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import apsw

from nephila.derived.sqlite_pages import SqlitePages
from nephila.links.index import (
    LINKING_MAX,
    NOBODY,
    VERSION,
    Link,
    Linking,
    PageLinks,
    linking_of,
    target_number,
    unpacked_links,
)
from nephila.statements import named_statements

SQL = named_statements("nephila.links", "sql", "sqlite.sql")
FILE = "links.db"


class SqliteLinks(SqlitePages[PageLinks]):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FILE, "link index", VERSION, SQL)

    def _put_in(self, db: apsw.Connection, pages: Sequence[PageLinks]) -> None:
        db.executemany(SQL["put_in"], [(page.url_id, page.crawl, page.packed) for page in pages])
        db.executemany(SQL["put_in_words"], [(page.url_id, " ".join(map(_word, page.targets))) for page in pages])

    def _take_out(self, db: apsw.Connection, ids: Sequence[int]) -> None:
        db.executemany(SQL["take_out_words"], [(url_id,) for url_id in ids])

    def _tidy(self, db: apsw.Connection) -> None:
        db.execute(SQL["optimize"]).fetchall()

    def linking(self, crawl: int, url: str, limit: int, offset: int) -> Linking:
        word = _word(target_number(crawl, url))
        with self.file.reading() as db:
            if db is None:
                return NOBODY
            total = int(db.execute(SQL["total"], (word, LINKING_MAX + 1)).get)
            ids = [found for (found,) in db.execute(SQL["linking"], (word, limit, offset)).fetchall()]
        return linking_of(ids, total)

    def links_of(self, ids: Iterable[int]) -> dict[int, list[Link]]:
        rows = self.file.rows(SQL["links_of"], (json.dumps(list(ids)),))
        return {url_id: unpacked_links(packed) for url_id, packed in rows}


def _word(target: int) -> str:
    """Letters and digits only: nothing of FTS5's language can be in it."""
    return f"{target & 0xFFFFFFFFFFFFFFFF:x}"
