"""The index of an embedded store: FTS5 in a file of its own, so that indexing never meets the frontier's write lock."""

import errno
import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from nephila.errors import DiskFull, StoreUnavailable, UsageError
from nephila.search.index import (
    MATCHES_MAX,
    NOTHING,
    RANKED_MAX,
    VERSION,
    Document,
    Found,
    Hit,
    crawl_word,
    entry_of,
    hit_document,
    host_word,
    packed_text,
)
from nephila.search.query import Query, Term
from nephila.statements import named_statements

SQL = named_statements("nephila.search", "sql", "sqlite.sql")
FILE = "search.db"
BUSY_TIMEOUT_MS = 10_000
# A power cut may take the last commits, never the file's order: they are made again from the archive.
PRAGMAS = ("synchronous = NORMAL", "cache_size = -32768", "temp_store = MEMORY")
BROKEN = (apsw.NotADBError, apsw.CorruptError)


class SqliteIndex:
    """Opened when it is first used; the file may be deleted at any time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._db: apsw.Connection | None = None
        self._opened: tuple[int, int] | None = None  # device and inode of what is open

    # --- changing it

    @contextmanager
    def turn(self) -> Iterator[bool]:
        with self._translating():
            fd = os.open(self.path.with_name(f"{FILE}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            yield self._took(fd)
        finally:
            os.close(fd)  # and the lock ends

    def _took(self, fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        with self._translating():
            self._make()
        return True

    def add(self, file: str, start: int, end: int, documents: Sequence[Document], uuids: Mapping[int, str]) -> bool:
        with self._translating(), self._transaction() as db:
            known = db.execute(SQL["mark_of"], (file,)).fetchall()
            if (known[0][0] if known else 0) != start:
                return False
            _take_out(db, [document.url_id for document in documents])
            for document in documents:
                entry, rest = entry_of(document), (document.fetched_at, packed_text(document.text))
                named = (document.url_id, document.crawl, document.host, document.url, document.title)
                db.execute(SQL["put_in"], (*named, *rest))
                db.execute(SQL["put_in_words"], (document.url_id, *map(" ".join, entry)))
            for crawl, count in Counter(document.crawl for document in documents).items():
                db.execute(SQL["count_crawl"], (crawl, uuids[crawl], count))
            db.execute(SQL["set_mark"], (file, end))
        return True

    def forget_crawl(self, crawl: int, documents_max: int) -> int:
        with self._translating(), self._transaction() as db:
            ids = [found for (found,) in db.execute(SQL["some_of_crawl"], (crawl, documents_max)).fetchall()]
            _take_out(db, ids)
            if not ids:
                db.execute(SQL["forget_crawl"], (crawl,))
        return len(ids)

    def forget_files(self, files: Sequence[str]) -> None:
        with self._translating(), self._transaction() as db:
            db.executemany(SQL["forget_mark"], [(file,) for file in files])

    # --- looking

    def marks(self) -> dict[str, int]:
        with self._reading() as db:
            return dict(db.execute(SQL["marks"]).fetchall()) if db else {}

    def crawls(self) -> dict[int, str]:
        with self._reading() as db:
            return dict(db.execute(SQL["crawls"]).fetchall()) if db else {}

    def count(self) -> int:
        with self._reading() as db:
            return int(db.execute(SQL["count"]).get) if db else 0

    def search(self, query: Query, crawls: Sequence[int] | None, host: str | None, limit: int, offset: int) -> Found:
        if crawls is not None and not crawls:
            return NOTHING
        match = match_expression(query, crawls, host)
        values = {"match": match, "ranked": RANKED_MAX, "limit": limit, "offset": offset}
        with self._reading() as db:
            if db is None:
                return NOTHING
            total = int(db.execute(SQL["total"], (match, MATCHES_MAX + 1)).get)
            rows = db.execute(SQL["best"], values).fetchall() if limit else []
        hits = [Hit(hit_document(*columns), score) for *columns, score in rows]
        return Found(hits, min(total, MATCHES_MAX), total <= MATCHES_MAX)

    # --- the file

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _make(self) -> None:
        """In the turn alone: two processes never make the same index."""
        try:
            db = self._connected(create=True)
            assert db is not None
            version = int(db.execute("PRAGMA user_version").get)
        except BROKEN:
            self._throw_away()
            return self._make()
        if version > VERSION:
            raise UsageError(
                f"{self.path} was made by a newer Nephila: update Nephila, or delete it to have it made anew"
            )
        if version < VERSION:
            with self._transaction():
                db.execute(SQL["drop"]).fetchall()
                db.execute(SQL["make"]).fetchall()
                db.execute(f"PRAGMA user_version = {VERSION}").fetchall()
        return None

    def _begin(self) -> None:
        """An empty file in its mode, put into its place whole: for a change of mode SQLite would not wait until those
        who look at the file are done."""
        new = self.path.with_name(f"{FILE}.new")
        new.unlink(missing_ok=True)
        db = apsw.Connection(str(new))
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        db.close()
        new.replace(self.path)

    def _throw_away(self) -> None:
        """It is derived data: what is damaged is made again."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(FILE + suffix).unlink(missing_ok=True)

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection | None]:
        """None: there is no index that we could read."""
        with self._translating():
            db = self._connected(create=False)
            yield db if db is not None and db.execute("PRAGMA user_version").get == VERSION else None

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        assert self._db is not None, "only in a turn"
        with self._db:
            yield self._db

    def _connected(self, *, create: bool) -> apsw.Connection | None:
        """Somebody may have deleted the file, or another process made it anew: then ours leads nowhere."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self.close()
            if not create:
                return None
            self._begin()
        else:
            if self._db is not None and self._opened == (found.st_dev, found.st_ino):
                return self._db
            self.close()
        self._db = apsw.Connection(str(self.path))
        self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
        for pragma in PRAGMAS:
            self._db.execute(f"PRAGMA {pragma}").fetchall()
        found = self.path.stat()
        self._opened = (found.st_dev, found.st_ino)
        return self._db

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except (OSError, apsw.Error) as error:
            if isinstance(error, apsw.FullError) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(f"no space left on the disk of {self.path}: free some") from error
            raise StoreUnavailable(
                f"the search index {self.path} does not answer ({error}): it may be deleted, it is made anew"
            ) from error


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
    places = [[crawl_word(crawl) for crawl in crawls]] if crawls is not None else []
    places += [[host_word(host)]] if host is not None else []
    filters = ["{place} : (" + " OR ".join(f'"{word}"' for word in place) + ")" for place in places]
    return " AND ".join([*filters, f"({wanted})"])


def _term(term: Term) -> str:
    phrase = " ".join(term.words)
    columns = "{title body}" if len(term.words) > 1 else "{title body rest}"
    return f'{columns} : "{phrase}"' + (" *" if term.prefix else "")
