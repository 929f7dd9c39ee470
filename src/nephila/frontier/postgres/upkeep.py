"""Upkeep of the PostgreSQL store: idempotent, runs in any process, no leader."""

from functools import partial

from nephila.frontier.postgres.connection import Cursor, Database
from nephila.frontier.postgres.frontier import end_at_limit
from nephila.frontier.postgres.sessions import fence_dead
from nephila.frontier.statements import statements
from nephila.frontier.store import ERRORS_KEPT, FORGET_EVERY_MS, FORGET_ROWS, KEYS_KEPT_MS
from nephila.models import CrawlState, Reason

SQL = statements("postgres", "upkeep")
WORKER_SQL = statements("postgres", "worker")
PURGED = 0x4E4551  # the class of the advisory locks of crawls that are being purged

PURGE_CHUNK = (
    SQL["purge_open"],
    SQL["purge_ended"],
    SQL["purge_queues"],
    SQL["purge_refusals"],
    SQL["purge_errors"],
)  # in order
PURGE_LAST = (SQL["purge_arrivals"], SQL["purge_tallies"], SQL["purge_grants"], SQL["purge_keys"], SQL["purge_crawl"])


class PostgresUpkeep:
    def __init__(self, database: Database) -> None:
        self.database = database
        self._unparked = -1  # the control version up to which no queue of a running crawl can be parked
        self._forgot_at: int | None = None

    def run_once(self) -> dict[str, int]:
        """Looks without a lock first: most times there is nothing to do."""
        now = self.database.now()
        done = {"fenced": self._fence(now), "ended": 0, "limited": 0}
        self._unpark()
        for crawl, state, since, active, seconds_max, bytes_max, finished in self.database.read(SQL["running"]):
            if finished:
                done["ended"] += self._complete(crawl, now)
            elif state == CrawlState.RUNNING:
                if seconds_max is not None and active + now - (since or now) >= seconds_max * 1000:
                    done["limited"] += self._limit(crawl, Reason.LIMIT_TIME, "max_seconds")
                elif bytes_max is not None and self.database.read(SQL["bytes"], (crawl,))[0][0] >= bytes_max:
                    done["limited"] += self._limit(crawl, Reason.LIMIT_BYTES, "max_bytes")
        self._forget(now)
        return done

    def _forget(self, now: int) -> None:
        """Old errors and keys of requests, now and then."""
        if self._forgot_at is not None and now - self._forgot_at < FORGET_EVERY_MS:
            return
        self._forgot_at = now
        with self.database.write() as cursor:
            cursor.execute(SQL["forget_errors"], (ERRORS_KEPT, FORGET_ROWS))
            cursor.execute(SQL["forget_keys"], (now - KEYS_KEPT_MS, FORGET_ROWS))

    def _fence(self, now: int) -> int:
        if not self.database.read(SQL["any_dead"], (now,))[0][0]:
            return 0
        return self.database.run(partial(fence_dead, now=now))

    def _unpark(self) -> None:
        """A flush that had not yet heard of the resumption may have parked queues beside it."""
        ((version, lagging),) = self.database.read(SQL["control"])
        if version == self._unparked:
            return
        with self.database.write() as cursor:
            cursor.execute(SQL["unpark"])
        if not lagging:
            self._unparked = version

    def _complete(self, crawl: int, now: int) -> int:
        """One look is exact, no second one a lease later is needed.

        It was one statement with one snapshot; parent and children commit together, so open rows come only from open
        rows: where none are left, none will be.
        """
        with self.database.write() as cursor:
            cursor.execute(SQL["end_crawl"], {"crawl": crawl, "now": now})
            if not cursor.rowcount:
                return 0
            cursor.execute(WORKER_SQL["bump_control"])
        return 1

    def _limit(self, crawl: int, reason: Reason, limited_by: str) -> int:
        with self.database.write() as cursor:
            return int(end_at_limit(cursor, crawl, reason, limited_by))

    def checkpoint(self) -> int:
        """The server does it itself."""
        return 0

    def purge(self, crawl_id: int, rows_max: int) -> int:
        return self.database.run(partial(_purge, crawl_id, rows_max))

    def abandoned_files(self) -> list[tuple[str, int]]:
        return [(name, size) for name, size in self.database.read(SQL["abandoned_files"])]

    def file_closed(self, name: str, cut: int) -> None:
        with self.database.write() as cursor:
            cursor.execute(SQL["close_file"], (cut, name))


def _purge(crawl_id: int, rows_max: int, cursor: Cursor) -> int:
    """What a flush is just ending is passed over; before the last word all that are under way are waited for."""
    cursor.execute(SQL["purge_turn"], (PURGED, crawl_id))
    if not cursor.execute(SQL["is_deleted"], (crawl_id,)).fetchall():
        return 0
    if purged := _purge_rows(crawl_id, rows_max, cursor):
        return purged
    cursor.execute(SQL["wait_for_flushes"])
    if purged := _purge_rows(crawl_id, rows_max, cursor):
        return purged
    for sql in PURGE_LAST:
        cursor.execute(sql, (crawl_id,))
    return 0


def _purge_rows(crawl_id: int, rows_max: int, cursor: Cursor) -> int:
    """Of one table at a time, the queues after their URLs: so no lock is waited for while others are held."""
    for sql in PURGE_CHUNK:
        cursor.execute(sql, {"crawl": crawl_id, "rows_max": rows_max})
        if cursor.rowcount:
            return cursor.rowcount
    return 0
