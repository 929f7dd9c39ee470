"""New URLs into the frontier: one multi-row insert per crawl that ignores what is known."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import apsw

from nephila.frontier.remembered import Remembered
from nephila.frontier.sqlite.connection import ROWS_PER_STATEMENT
from nephila.frontier.statements import repeated, statements
from nephila.models import PARTITIONS, Child, Refusal
from nephila.urls.identity import partition_of

SQL = statements("sqlite", "worker")

Refusals = Counter[tuple[int, str, str]]
Values = tuple[Any, ...]
_queue = itemgetter(1)


class Inserter(Remembered):
    def insert(
        self,
        db: apsw.Connection,
        crawl: int,
        children: Sequence[Child],
        owned: Sequence[int],
        now: int,
        refusals: Refusals,
    ) -> int:
        """How many were new. Their queues are due afterwards, or their owners will hear of them."""
        self._make_room()
        hosts = {child.host for child in children}
        created = self._create_queues(db, crawl, hosts, now)
        rows = self._rows(crawl, children)
        left = self._urls_left(db, crawl)
        if left is None:
            inserted = write_many(db, SQL["insert_urls"], rows)
        elif left >= len(rows):
            inserted = write_many(db, SQL["insert_urls"], rows)
            db.execute(SQL["grant_urls"], (inserted, False, crawl))
        else:
            inserted = self._insert_up_to(db, crawl, rows, left, refusals)
        if inserted:
            self._wake(db, crawl, hosts - created, owned, now)  # a new queue is due anyway
        return inserted

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

    def _rows(self, crawl: int, children: Sequence[Child]) -> list[Values]:
        """By queue, as the indexes are: half the pages to touch. (By key as well costs more than it saves.)"""
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

    def _insert_up_to(self, db: apsw.Connection, crawl: int, rows: list[Values], left: int, refusals: Refusals) -> int:
        """One by one: the limit falls among these."""
        hosts = {queue: host for host, queue in self.ids(crawl).items()}
        inserted = refused = 0
        for row in rows:
            if inserted < left:
                db.execute(SQL["insert_urls"], row)
                inserted += db.changes()
            elif not db.execute(SQL["is_known"], row[1:3]).fetchall():
                refused += 1
                refusals[crawl, hosts[row[1]], Refusal.LIMIT] += 1
        db.execute(SQL["grant_urls"], (inserted, refused > 0, crawl))
        return inserted

    def _urls_left(self, db: apsw.Connection, crawl: int) -> int | None:
        if self._limited.get(crawl) is False:
            return None
        row = db.execute(SQL["urls_left"], (crawl,)).fetchall()
        self._limited[crawl] = bool(row)
        return int(row[0][0]) if row else None


def write_many(db: apsw.Connection, sql: str, rows: list[Values]) -> int:
    """All rows by multi-row statements; answers how many were written.

    The rest of a list goes in powers of two, so that few statements exist and all stay prepared.
    """
    before = db.total_changes()
    start, count, size = 0, len(rows), ROWS_PER_STATEMENT
    while start < count:
        while start + size > count:
            size //= 2
        db.execute(repeated(sql, size), tuple(chain.from_iterable(rows[start : start + size])))
        start += size
    return int(db.total_changes() - before)
