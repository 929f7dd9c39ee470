"""What upkeep does its own way on SQLite: fencing by the locks of processes, checkpoints, purging."""

from collections.abc import Callable

import apsw

from nephila.frontier.session import FencedSessions
from nephila.frontier.sqlite.connection import BUSY_TIMEOUT_MS, SqliteDatabase
from nephila.frontier.sqlite.frontier import SESSION_SQL, end_at_limit, fence_dead
from nephila.frontier.statements import statements
from nephila.frontier.upkeep import Upkeep
from nephila.models import Reason

SQL = statements("sqlite", "upkeep")
RESTART_WAIT_MS = 100  # how long readers of old pages are waited for while writers wait; then the next look tries again
PAGE_BYTES = 4096
VACUUM_PAGES = 2000  # of one step
CHECKPOINT_PAGES = 20_000  # of write-ahead log; measured: below it checkpoints cost more than they free


class SqliteUpkeep(Upkeep):
    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database)
        self.database = database

    def _fence_dead(self, now: int) -> FencedSessions:
        if all(self.database.session_alive(session) for _, session, _ in self.database.read(SESSION_SQL["live"])):
            return FencedSessions()
        with self.database.write() as db:
            return fence_dead(self.database, db, now)

    def _limit(self, crawl: int, reason: Reason, limited_by: str) -> bool:
        with self.database.write() as db:
            return end_at_limit(db, crawl, reason, limited_by)

    def checkpoint(self) -> int:
        return self._fold(CHECKPOINT_PAGES)

    def _fold(self, pages_min: int) -> int:
        """Fold the log, most of it beside the writers; they wait only while the rest, which came meanwhile, is folded.

        Without the lock the last step starved for 7.9 s.
        """
        db = self.database.db
        try:
            frames = db.execute("PRAGMA wal_checkpoint(NOOP)").fetchall()[0][1]
            if frames < pages_min:
                return 0
            db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            with self.database.exclusive():
                db.set_busy_timeout(RESTART_WAIT_MS)
                db.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        except apsw.BusyError:
            return 0  # a reader holds an old snapshot: next time
        except (OSError, apsw.Error) as error:
            raise self.database.translated(error) from error
        finally:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
        return int(frames)

    def run_once(self) -> dict[str, int]:
        done = super().run_once()
        if done["ended"]:
            self._end_sessions()
        return done

    def _forget(self, now: int) -> bool:
        due = super()._forget(now)
        if due:
            self._end_sessions()
        return due

    def _end_sessions(self) -> None:
        """End this process's part in crawls that are over, and remove the files of all sessions that have ended."""
        held = self.database.held_sessions()  # before the look: a crawl that begins just now is kept
        self.database.release_sessions(held - {f"crawl-{crawl}" for crawl, *_ in self.tables.rows("running")})
        live = {session for _, session, _ in self.database.read(SESSION_SQL["live"])}
        self.database.remove_session_files(live)

    def give_back(self, tell: Callable[[int], None]) -> None:
        """In steps, so that no writer waits for long. A store that was made without this is left as it is: the room is
        used again."""
        free = self._free_pages()
        while free:
            tell(free * PAGE_BYTES)
            with self.database.write() as db:
                db.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()
            before, free = free, self._free_pages()
            if free >= before:
                break
        self._fold(0)
        tell(0)

    def _free_pages(self) -> int:
        return int(self.database.read("PRAGMA freelist_count")[0][0])

    def purge(self, crawl_id: int, rows_max: int) -> int:
        with self.database.write() as db:
            if not db.execute(SQL["is_deleted"], (crawl_id,)).get:
                return 0
            pages = [page for (page,) in db.execute(SQL["purge_urls"], (crawl_id, rows_max)).fetchall()]
            db.executemany(SQL["purge_page"], [(page,) for page in sorted(filter(None, pages))])
            purged = len(pages)
            for sql in (
                SQL["purge_queues"],
                SQL["purge_refusals"],
                SQL["purge_refused_links"],
                SQL["purge_sitemap_entries"],
                SQL["purge_errors"],
                SQL["purge_changes"],
            ):
                if purged < rows_max:
                    db.execute(sql, {"crawl": crawl_id, "rows_max": rows_max - purged})
                    purged += db.changes()
            if not purged:
                for sql in SQL["purge_rest"].split(";"):
                    db.execute(sql, (crawl_id,))
        return purged
