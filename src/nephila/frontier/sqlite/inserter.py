"""New URLs into the frontier: one multi-row insert per crawl that ignores what is known."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import apsw

from nephila.frontier.sqlite.connection import ROWS_PER_STATEMENT
from nephila.frontier.statements import repeated, statements
from nephila.models import Child, Refusal
from nephila.urls.identity import partition_of

SQL = statements("sqlite", "worker")

QUEUE_IDS_MAX = 200_000  # (crawl, host) -> queue id: only saves look-ups


class Inserter:
    """Remembers the ids of queues. `forget` after a transaction that was rolled back: its ids never existed."""

    def __init__(self) -> None:
        self.queue_ids: dict[tuple[int, str], int] = {}
        self._limited: dict[int, bool] = {}  # crawl -> has max_urls, which never changes

    def forget(self) -> None:
        self.queue_ids.clear()

    def insert(self, db: apsw.Connection, crawl: int, children: Sequence[Child], now: int, refusals: Counter[tuple[int, str, str]]) -> int:
        """How many were new."""
        self._find_queues(db, crawl, {child.host for child in children}, now)
        ids = self.queue_ids
        rows = [(crawl, ids[crawl, c.host], c.key, c.priority, c.url, c.depth, c.kind, c.hops, c.parent, c.raw) for c in children]
        rows.sort(key=_queue_and_key)
        left = self._urls_left(db, crawl)
        if left is None:
            return insert_many(db, SQL["insert_urls"], rows)
        return self._insert_limited(db, crawl, rows, left, refusals)

    def wake(self, db: apsw.Connection, crawl: int, hosts: set[str], owned: set[int], now: int) -> None:
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

    def _insert_limited(self, db: apsw.Connection, crawl: int, rows: list[tuple[Any, ...]], left: int, refusals: Counter[tuple[int, str, str]]) -> int:
        inserted = refused = 0
        for row in rows:
            if inserted < left:
                db.execute(SQL["insert_urls"], row)
                inserted += db.changes()
            elif not db.execute("SELECT 1 FROM urls WHERE queue = ? AND key = ?", row[1:3]).fetchall():
                refused += 1
        if refused:
            refusals[crawl, "", Refusal.LIMIT] += refused
        db.execute(SQL["grant_urls"], (inserted, refused > 0, crawl))
        return inserted

    def _urls_left(self, db: apsw.Connection, crawl: int) -> int | None:
        if self._limited.get(crawl) is False:
            return None
        row = db.execute(SQL["urls_left"], (crawl,)).fetchall()
        self._limited[crawl] = bool(row)
        return int(row[0][0]) if row else None

    def _find_queues(self, db: apsw.Connection, crawl: int, hosts: set[str], now: int) -> None:
        ids = self.queue_ids
        if len(ids) > QUEUE_IDS_MAX:
            ids.clear()
        missing = [host for host in hosts if (crawl, host) not in ids]
        if not missing:
            return
        for host, queue in db.execute(SQL["find_queues"], (crawl, json.dumps(missing))):
            ids[crawl, host] = queue
        for host in missing:
            if (crawl, host) not in ids:
                ids[crawl, host] = db.execute(SQL["insert_queue"], (crawl, host, partition_of(host), now)).get


def insert_many(db: apsw.Connection, sql: str, rows: list[tuple[Any, ...]]) -> int:
    """All rows by multi-row statements; answers how many were new."""
    before = db.total_changes()
    for start in range(0, len(rows), ROWS_PER_STATEMENT):
        part = rows[start : start + ROWS_PER_STATEMENT]
        db.execute(repeated(sql, len(part)), [value for row in part for value in row])
    return int(db.total_changes() - before)


def _queue_and_key(row: tuple[Any, ...]) -> tuple[int, bytes]:
    return row[1], row[2]
