"""What is derived of the pages of an embedded store: each in a file of its own, so that it never meets the frontier's
write lock. The file may be deleted at any time."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Generic, TypeVar

import apsw

from nephila.derived.pages import DerivedPage
from nephila.disposable import DisposableFile
from nephila.statements import named_statements

SQL = named_statements("nephila.derived", "sql", "sqlite_pages.sql")
FREE_SHARE = 4  # the file is made smaller where more than a fourth of it is free

P = TypeVar("P", bound=DerivedPage)


class SqlitePages(ABC, Generic[P]):
    """Marks and crawls; a derivation says what stands in tables of its own. Opened when it is first used.

    Its pages stand in the table `documents` with their id and crawl.
    """

    def __init__(self, path: Path, what: str, version: int, own: Mapping[str, str]) -> None:
        """`own`: statements of the derivation, of which `make` and `drop` are used here."""
        drop, make = f"{SQL['drop']};{own['drop']}", f"{SQL['make']};{own['make']}"
        self.file = DisposableFile(path, what, version, drop=drop, make=make)

    @abstractmethod
    def _put_in(self, db: apsw.Connection, pages: Sequence[P]) -> None:
        """None of them is there."""

    def _take_out(self, db: apsw.Connection, ids: Sequence[int]) -> None:
        """Remove from other tables than `documents` what is there of these pages, which are all in it."""

    def _tidy(self, db: apsw.Connection) -> None:
        """Before the file is made smaller."""

    # --- changing it

    def turn(self) -> AbstractContextManager[bool]:
        return self.file.turn()

    def add(self, file: str, start: int, end: int, pages: Sequence[P], uuids: Mapping[int, str]) -> bool:
        with self.file.changing() as db:
            known = db.execute(SQL["mark_of"], (file,)).fetchall()
            if (known[0][0] if known else 0) != start:
                return False
            self._take_away(db, [page.url_id for page in pages])
            self._put_in(db, pages)
            for crawl, count in Counter(page.crawl for page in pages).items():
                db.execute(SQL["count_crawl"], (crawl, uuids[crawl], count))
            db.execute(SQL["set_mark"], (file, end))
        return True

    def forget_crawl(self, crawl: int, pages_max: int) -> int:
        with self.file.changing() as db:
            ids = [found for (found,) in db.execute(SQL["some_of_crawl"], (crawl, pages_max)).fetchall()]
            self._take_away(db, ids)
            if not ids:
                db.execute(SQL["forget_crawl"], (crawl,))
        if not ids:
            self._give_back()
        return len(ids)

    def forget_files(self, files: Sequence[str]) -> None:
        with self.file.changing() as db:
            db.executemany(SQL["forget_mark"], [(file,) for file in files])

    def _take_away(self, db: apsw.Connection, ids: Sequence[int]) -> None:
        crawls = dict(db.execute(SQL["crawls_of"], (json.dumps(list(ids)),)).fetchall())
        self._take_out(db, list(crawls))
        db.executemany(SQL["take_out"], [(url_id,) for url_id in crawls])
        for crawl, count in Counter(crawls.values()).items():
            db.execute(SQL["discount_crawl"], (crawl, count))

    def _give_back(self) -> None:
        """Give the room of forgotten pages back to the disk where it is a large part of the file; readers do not wait
        for it."""
        db = self.file.db
        with self.file.translating():
            if (
                db is not None
                and db.execute("PRAGMA freelist_count").get * FREE_SHARE > db.execute("PRAGMA page_count").get
            ):
                self._tidy(db)
                db.execute("VACUUM").fetchall()
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    # --- looking

    def marks(self) -> dict[str, int]:
        return dict(self.file.rows(SQL["marks"]))

    def crawls(self) -> dict[int, str]:
        return dict(self.file.rows(SQL["crawls"]))

    def count(self) -> int:
        return sum(count for (count,) in self.file.rows(SQL["count"]))

    def close(self) -> None:
        self.file.close()
