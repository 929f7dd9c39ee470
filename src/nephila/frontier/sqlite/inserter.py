"""New URLs into the frontier: one multi-row insert per crawl that ignores what is known."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from typing import Any

import apsw

from nephila.frontier.sqlite.connection import ROWS_PER_STATEMENT
from nephila.frontier.statements import repeated, statements
from nephila.models import Child, Refusal
from nephila.urls.identity import partition_of

SQL = statements("sqlite", "worker")

QUEUE_IDS_MAX = 200_000  # (crawl, host) -> queue id: only saves look-ups

Refusals = Counter[tuple[int, str, str]]
Values = tuple[Any, ...]


class Inserter:
    """Remembers the ids of queues. `forget` after a transaction that was rolled back: its ids never existed."""

    def __init__(self) -> None:
        self.queue_ids: dict[tuple[int, str], int] = {}
        self._limited: dict[int, bool] = {}  # crawl -> has max_urls, which never changes

    def forget(self) -> None:
        self.queue_ids.clear()
        self._limited.clear()

    def insert(
        self,
        db: apsw.Connection,
        crawl: int,
        children: Sequence[Child],
        owned: Set[int],
        now: int,
        refusals: Refusals,
    ) -> int:
        """How many were new. Their queues are due afterwards, or their owners will hear of them."""
        if len(self.queue_ids) > QUEUE_IDS_MAX:
            self.queue_ids.clear()
        hosts = {child.host for child in children}
        created = self._create_queues(db, crawl, hosts, now)
        rows = self._rows(crawl, children)
        left = self._urls_left(db, crawl)
        if left is None:
            inserted = insert_many(db, SQL["insert_urls"], rows)
        elif left >= len(rows):
            inserted = insert_many(db, SQL["insert_urls"], rows)
            db.execute(SQL["grant_urls"], (inserted, False, crawl))
        else:
            inserted = self._insert_up_to(db, crawl, rows, left, refusals)
        if inserted:
            self._wake(db, crawl, hosts - created, owned, now)
        return inserted

    def find_queues(self, db: apsw.Connection, crawl: int, hosts: Iterable[str]) -> list[str]:
        """Learn the ids of these hosts' queues; answers the hosts that have none."""
        ids = self.queue_ids
        missing = [host for host in hosts if (crawl, host) not in ids]
        if missing:
            for host, queue in db.execute(SQL["find_queues"], (crawl, json.dumps(missing))):
                ids[crawl, host] = queue
        return [host for host in missing if (crawl, host) not in ids]

    def _create_queues(self, db: apsw.Connection, crawl: int, hosts: set[str], now: int) -> set[str]:
        new = self.find_queues(db, crawl, hosts)
        if new:
            insert_many(db, SQL["insert_queues"], [(crawl, host, partition_of(host), now) for host in sorted(new)])
            self.find_queues(db, crawl, new)
        return set(new)

    def _rows(self, crawl: int, children: Sequence[Child]) -> list[Values]:
        """In the order of the index that decides what is new."""
        ids = self.queue_ids
        rows = [
            (crawl, ids[crawl, c.host], c.key, c.priority, c.url, c.depth, c.kind, c.hops, c.parent, c.raw)
            for c in children
        ]
        rows.sort(key=_queue_and_key)
        return rows

    def _wake(self, db: apsw.Connection, crawl: int, hosts: set[str], owned: Set[int], now: int) -> None:
        """Queues of ours become due; those of others are told by an arrival, since only the owner changes a queue."""
        mine, foreign = [], []
        for host in hosts:
            queue, part = self.queue_ids[crawl, host], partition_of(host)
            if part in owned:
                mine.append((now, queue))
            else:
                foreign.append((part, queue, crawl))
        db.executemany(SQL["wake_queue"], sorted(mine))
        db.executemany(SQL["insert_arrival"], sorted(foreign))

    def _insert_up_to(
        self, db: apsw.Connection, crawl: int, rows: list[Values], left: int, refusals: Refusals
    ) -> int:
        """One by one: the limit falls among these."""
        hosts = {queue: host for (of, host), queue in self.queue_ids.items() if of == crawl}
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


def insert_many(db: apsw.Connection, sql: str, rows: list[Values]) -> int:
    """All rows by multi-row statements; answers how many were new.

    The rest of a list goes in powers of two, so that few statements exist and all stay prepared.
    """
    before = db.total_changes()
    start, count, size = 0, len(rows), ROWS_PER_STATEMENT
    while start < count:
        while start + size > count:
            size //= 2
        db.execute(repeated(sql, size), [value for row in rows[start : start + size] for value in row])
        start += size
    return int(db.total_changes() - before)


def _queue_and_key(row: Values) -> tuple[int, bytes]:
    return row[1], row[2]
