"""Puts new URLs into the frontier: one multi-row insert for each crawl, which ignores known URLs."""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter

import apsw

from nephila.frontier.rows import open_of
from nephila.frontier.session import (
    ENTRY_URLS_MAX,
    Added,
    Counts,
    QueueMemory,
    Vacancies,
    counted_apart,
    within,
    without_linked,
)
from nephila.frontier.sqlite.connection import ROWS_PER_STATEMENT
from nephila.frontier.statements import repeated, statements
from nephila.frontier.tables import Values
from nephila.models import PARTITIONS, Child, Kind
from nephila.urls.identity import partition_of, url_key

SQL = statements("sqlite", "worker")
CATALOG_SQL = statements("sqlite", "catalog")

_queue = itemgetter(1)
_depth_and_kind = itemgetter(Child._fields.index("depth"), Child._fields.index("kind"))


class SqliteInserter(QueueMemory):
    def insert(
        self,
        db: apsw.Connection,
        crawl: int,
        children: Sequence[Child],
        owned: Sequence[int],
        now: int,
        counts: Counts,
    ) -> Added:
        """Insert children of one crawl; answers what was new.

        Queues in `owned` partitions that got rows are due afterwards; an arrival tells the owners of the others.
        """
        self._make_room()
        hosts = {child.host for child in children}
        created = self._create_queues(db, crawl, hosts, now)
        room = self._room(db, crawl, counts)
        if room is not None and not room.fits(len(children)):
            children = within(children, {crawl: room}, self._known_keys(db, crawl, children), counts)
        children = without_linked(children, partial(self._pages_of, db, crawl))
        inserted = write_many(db, SQL["insert_urls"], self._rows(crawl, children), (now,))
        depths, apart = count_new(db, children, db.last_insert_rowid() - inserted) if inserted else ({}, {})
        if room is not None and (room.urls is not None or room.limited_by):
            db.execute(SQL["grant_urls"], (inserted, room.limited_by, crawl))
        if room is not None and room.limited_by:
            empty = self._remove_empty(db, crawl, created)
            hosts -= empty
            created -= empty
        if inserted:
            note_found(db, crawl, db.last_insert_rowid(), inserted)
            self._wake(db, crawl, hosts - created, owned, now)  # a new queue is due anyway
        urls = inserted - sum(apart.values())
        return Added(urls, len(created), depths, self._deeper(crawl, depths), apart)

    def find_queues(self, db: apsw.Connection, crawl: int, hosts: set[str]) -> set[str]:
        """Learn the ids of these hosts' queues; answers the hosts that have none."""
        ids = self.ids(crawl)
        missing = hosts.difference(ids)
        if missing:
            found = db.execute(SQL["find_queues"], (crawl, json.dumps(list(missing)))).fetchall()
            self._learn((crawl, host, queue) for host, queue in found)
        return missing.difference(ids)

    def _create_queues(self, db: apsw.Connection, crawl: int, hosts: set[str], now: int) -> set[str]:
        new = self.find_queues(db, crawl, hosts)
        if new:
            write_many(db, SQL["insert_queues"], [(crawl, host, partition_of(host), now) for host in sorted(new)])
            self.find_queues(db, crawl, new)
        return new

    def _remove_empty(self, db: apsw.Connection, crawl: int, created: set[str]) -> set[str]:
        """Remove new queues that a limit lets no row into; answers their hosts."""
        ids = self.ids(crawl)
        made = json.dumps([ids[host] for host in created])
        empty = {host for (host,) in db.execute(SQL["remove_empty"], (made,)).fetchall()}
        for host in empty:
            del ids[host]
        return empty

    def _rows(self, crawl: int, children: Sequence[Child]) -> list[Values]:
        """Rows of `urls`, sorted by queue as its indexes are: half as many pages of the database are touched.

        (Sorting by key as well costs more than it saves.)
        """
        ids = self.ids(crawl)
        rows = [(crawl, ids[child[1]], *child[2:]) for child in children]  # the columns stand in the order of Child
        rows.sort(key=_queue)
        return rows

    def _wake(self, db: apsw.Connection, crawl: int, hosts: set[str], owned: Sequence[int], now: int) -> None:
        ids = self.ids(crawl)
        values = {"queues": json.dumps(list(map(ids.__getitem__, hosts))), "parts": json.dumps(owned), "now": now}
        if owned:
            db.execute(SQL["wake_queues"], values)
        if len(owned) < PARTITIONS:
            db.execute(SQL["insert_arrivals"], values)

    # --- max_urls, max_frontier

    def _room(self, db: apsw.Connection, crawl: int, counts: Counts) -> Vacancies | None:
        """What the limits of a crawl leave; None: it has none. Writers take turns, so this is exact."""
        if self._limited.get(crawl) is False:
            return None
        found = db.execute(SQL["limits"], (crawl,)).fetchall()
        urls_left, open_max = found[0] if found else (None, None)
        self._limited[crawl] = urls_left is not None or open_max is not None
        if open_max is None:
            return None if urls_left is None else Vacancies(urls_left, None)
        stored = dict(db.execute(CATALOG_SQL["tallies"], {"crawl": crawl}).fetchall())
        return Vacancies(urls_left, open_max - open_of(stored) + counts.ended(crawl))

    def _pages_of(self, db: apsw.Connection, crawl: int, requisites: list[Child]) -> list[bytes]:
        ids = self.ids(crawl)
        wanted = [(ids[child.host], url_key(child.url)) for child in requisites]
        return [key for (key,) in read_many(db, SQL["known"], wanted)]

    def _known_keys(self, db: apsw.Connection, crawl: int, children: Sequence[Child]) -> set[tuple[int, bytes]]:
        ids = self.ids(crawl)
        wanted = [(ids[child.host], child.key) for child in children]
        return {(crawl, key) for (key,) in read_many(db, SQL["known"], wanted)}


def count_new(db: apsw.Connection, children: Sequence[Child], before: int) -> tuple[dict[int, int], dict[str, int]]:
    """The depths of the pages that were just inserted, with ids above `before`, and how many have each; and how many
    are of kinds that are counted apart.

    Mostly all children are of one depth, and the number of ids is the answer."""
    if len(found := set(map(_depth_and_kind, children))) == 1:
        ((depth, kind),) = found
        count = db.last_insert_rowid() - before
        return ({depth: count} if kind.traits.page else {}), counted_apart([(kind, count)])
    counted = db.execute(SQL["new_since"], (before,)).fetchall()
    depths = {depth: n for kind, depth, n in counted if kind == Kind.PAGE}
    return depths, counted_apart((kind, n) for kind, _, n in counted)


def note_found(db: apsw.Connection, crawl: int, last: int, count: int) -> None:
    """Note URLs that were found: `count` ids in a row up to `last`, because all writers take turns."""
    starts = range(last - count + 1, last + 1, ENTRY_URLS_MAX)
    entries = [(crawl, False, first, min(last, first + ENTRY_URLS_MAX - 1), None) for first in starts]
    db.executemany(SQL["add_change"], entries)


def note_changes(db: apsw.Connection, urls: Iterable[tuple[int, int]], *, ended: bool) -> None:
    """Note URLs that ended or are tried again: (crawl, id)."""
    by_crawl: dict[int, list[int]] = {}
    for crawl, id in urls:
        by_crawl.setdefault(crawl, []).append(id)
    for crawl, ids in by_crawl.items():
        for start in range(0, len(ids), ENTRY_URLS_MAX):
            part = json.dumps(ids[start : start + ENTRY_URLS_MAX])
            db.execute(SQL["add_change"], (crawl, ended, None, None, part))


def write_many(db: apsw.Connection, sql: str, rows: list[Values], common: Values = ()) -> int:
    """Write all rows by multi-row statements; answers how many were written. `common`: the first parameters of each
    statement, the same for all rows."""
    before = db.total_changes()
    read_many(db, sql, rows, common)
    return int(db.total_changes() - before)


def read_many(db: apsw.Connection, sql: str, rows: list[Values], common: Values = ()) -> list[Values]:
    """What multi-row statements answer of all rows.

    The rest of a list goes in powers of two, so that few statements exist and all stay prepared.
    """
    found: list[Values] = []
    start, count, size = 0, len(rows), ROWS_PER_STATEMENT
    while start < count:
        while start + size > count:
            size //= 2
        found += db.execute(repeated(sql, size), (*common, *chain.from_iterable(rows[start : start + size])))
        start += size
    return found
