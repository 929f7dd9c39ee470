"""What upkeep does its own way on PostgreSQL: fencing by leases, queues that a late flush parked, purging."""

from collections.abc import Callable
from functools import partial

from nephila.frontier.postgres.connection import Cursor, PostgresDatabase
from nephila.frontier.postgres.frontier import end_at_limit
from nephila.frontier.postgres.sessions import fence_dead
from nephila.frontier.session import FencedSessions
from nephila.frontier.statements import statements
from nephila.frontier.upkeep import Upkeep
from nephila.models import Reason

SQL = statements("postgres", "upkeep")
PURGED = 0x4E4551  # the class of the advisory locks of crawls that are being purged

PURGE_CHUNK = (
    SQL["purge_open"],
    SQL["purge_ended"],
    SQL["purge_queues"],
    SQL["purge_refusals"],
    SQL["purge_refused_rules"],
    SQL["purge_refused_links"],
    SQL["purge_sitemap_entries"],
    SQL["purge_errors"],
    SQL["purge_changes"],
)  # in order
PURGE_LAST = (
    SQL["purge_arrivals"],
    SQL["purge_tallies"],
    SQL["purge_history"],
    SQL["purge_histories"],
    SQL["purge_grants"],
    SQL["purge_keys"],
    SQL["purge_crawl"],
)


class PostgresUpkeep(Upkeep):
    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self.database = database
        self._unparked = -1  # the control version up to which no queue of a running crawl can be parked

    def _fence_dead(self, now: int) -> FencedSessions:
        dead = self.database.read(SQL["any_dead"], (now,))[0][0]
        fenced = self.database.run(partial(fence_dead, now=now)) if dead else FencedSessions()
        self._unpark()
        return fenced

    def _unpark(self) -> None:
        """Free queues of running crawls that a flush has parked because it had not yet heard of the resumption."""
        ((version, lagging),) = self.database.read(SQL["control"])
        if version == self._unparked:
            return
        with self.database.write() as cursor:
            cursor.execute(SQL["unpark_running"])
        if not lagging:
            self._unparked = version

    def _limit(self, crawl: int, reason: Reason, limited_by: str) -> bool:
        with self.database.write() as cursor:
            return end_at_limit(cursor, crawl, reason, limited_by)

    def checkpoint(self) -> int:
        """The server does it itself."""
        return 0

    def give_back(self, tell: Callable[[int], None]) -> None:
        """The server does it itself: autovacuum makes the room free for other rows."""
        tell(0)

    def purge(self, crawl_id: int, rows_max: int) -> int:
        return self.database.run(partial(_purge, crawl_id, rows_max))


def _purge(crawl_id: int, rows_max: int, cursor: Cursor) -> int:
    """Purge a chunk. Rows that a flush is just ending are passed over; the last step waits for flushes under way."""
    cursor.execute(SQL["purge_turn"], (PURGED, crawl_id))
    if not cursor.execute(SQL["is_deleted"], (crawl_id,)).fetchall():
        return 0
    if purged := _purge_rows(crawl_id, rows_max, cursor):
        return purged
    cursor.execute(PostgresDatabase.sql["wait_for_flushes"])
    if purged := _purge_rows(crawl_id, rows_max, cursor):
        return purged
    for sql in PURGE_LAST:
        cursor.execute(sql, (crawl_id,))
    return 0


def _purge_rows(crawl_id: int, rows_max: int, cursor: Cursor) -> int:
    """Purge rows of one table, the queues after their URLs: so no lock is waited for while others are held."""
    for sql in PURGE_CHUNK:
        cursor.execute(sql, {"crawl": crawl_id, "rows_max": rows_max})
        if cursor.rowcount:
            return cursor.rowcount
    return 0
