"""Upkeep of the SQLite store: idempotent, runs in any process, no leader."""

import apsw

from nephila.frontier.sqlite.connection import BUSY_TIMEOUT_MS, Database
from nephila.frontier.sqlite.frontier import SESSION_SQL, end_at_limit, fence_dead
from nephila.frontier.sqlite.frontier import SQL as WORKER_SQL
from nephila.frontier.statements import statements
from nephila.frontier.store import ERRORS_KEPT, FORGET_EVERY_MS, FORGET_ROWS, KEYS_KEPT_MS
from nephila.models import CrawlState, Reason

SQL = statements("sqlite", "upkeep")
RESTART_WAIT_MS = 100  # for readers of old pages, while the writers wait; then the next look tries again
CHECKPOINT_PAGES = 20_000  # of write-ahead log; measured: below it checkpoints cost more than they free


class SqliteUpkeep:
    def __init__(self, database: Database) -> None:
        self.database = database
        self._forgot_at: int | None = None

    def run_once(self) -> dict[str, int]:
        """Looks without the write lock first: most times there is nothing to do."""
        done = {"fenced": 0, "ended": 0, "limited": 0}
        if any(not self.database.session_alive(session) for _, session in self.database.read(SESSION_SQL["live"])):
            with self.database.write() as db:
                done["fenced"] = fence_dead(self.database, db, self.database.clock.now_ms())
        for crawl, state, seeding, since, active, seconds_max, bytes_max in self.database.read(SQL["running"]):
            if not seeding and not self._has_open(crawl):
                done["ended"] += self._complete(crawl)
            elif state == CrawlState.RUNNING:
                now = self.database.clock.now_ms()
                if seconds_max is not None and active + now - (since or now) >= seconds_max * 1000:
                    done["limited"] += self._limit(crawl, Reason.LIMIT_TIME, "max_seconds")
                elif bytes_max is not None and self.database.read(SQL["bytes"], (crawl,))[0][0] >= bytes_max:
                    done["limited"] += self._limit(crawl, Reason.LIMIT_BYTES, "max_bytes")
        self._forget()
        return done

    def _forget(self) -> None:
        """Old errors and keys of requests, now and then: a look first, and the lock only where there are some."""
        now = self.database.clock.now_ms()
        if self._forgot_at is not None and now - self._forgot_at < FORGET_EVERY_MS:
            return
        self._forgot_at = now
        if old := self.database.one(SQL["old_errors"], (ERRORS_KEPT,)):
            with self.database.write() as db:
                db.execute(SQL["forget_errors"], (old[0], FORGET_ROWS))
        if self.database.read(SQL["old_keys"], (now - KEYS_KEPT_MS,))[0][0]:
            with self.database.write() as db:
                db.execute(SQL["forget_keys"], (now - KEYS_KEPT_MS, FORGET_ROWS))

    def _has_open(self, crawl: int) -> bool:
        return bool(self.database.read(SQL["has_open"], (crawl,))[0][0])

    def _complete(self, crawl: int) -> int:
        """Looks once more inside the transaction: exact, because parent and children commit together."""
        now = self.database.clock.now_ms()
        with self.database.write() as db:
            row = db.execute(
                "SELECT state, reason, seeding FROM crawls WHERE id = ? AND NOT deleted", (crawl,)
            ).fetchall()
            if (
                not row
                or row[0][0] not in ("running", "paused", "ending")
                or row[0][2]
                or db.execute(SQL["has_open"], (crawl,)).get
            ):
                return 0
            cancelled = row[0][0] == CrawlState.ENDING and row[0][1] == Reason.CANCELLED
            db.execute(WORKER_SQL["bump_control"])
            db.execute(SQL["end_crawl"], (CrawlState.CANCELLED if cancelled else CrawlState.COMPLETED, now, now, crawl))
        return 1

    def _limit(self, crawl: int, reason: Reason, limited_by: str) -> int:
        with self.database.write() as db:
            return int(end_at_limit(db, crawl, reason, limited_by))

    def checkpoint(self) -> int:
        """The long part beside the writers; only what came meanwhile is folded while they wait.

        Without the lock that last step starved for 7.9 s.
        """
        db = self.database.db
        try:
            frames = db.execute("PRAGMA wal_checkpoint(NOOP)").fetchall()[0][1]
            if frames < CHECKPOINT_PAGES:
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

    def purge(self, crawl_id: int, rows_max: int) -> int:
        with self.database.write() as db:
            if not db.execute(SQL["is_deleted"], (crawl_id,)).get:
                return 0
            purged = self._purge_queues(db, crawl_id, rows_max)
            for sql in (SQL["purge_refusals"], SQL["purge_errors"]):
                if purged < rows_max:
                    db.execute(sql, (crawl_id, rows_max - purged))
                    purged += db.changes()
            if not purged:
                for sql in SQL["purge_rest"].split(";"):
                    db.execute(sql, (crawl_id,))
        return purged

    def _purge_queues(self, db: apsw.Connection, crawl_id: int, rows_max: int) -> int:
        """One queue after the other, so that no chunk has to step over the empty ones."""
        purged = 0
        while purged < rows_max and (queue := db.execute(SQL["any_queue"], (crawl_id,)).get) is not None:
            pages = [page for (page,) in db.execute(SQL["purge_urls"], (queue, rows_max - purged)).fetchall()]
            db.executemany(SQL["purge_page"], [(page,) for page in pages if page is not None])
            purged += len(pages)
            if purged < rows_max:
                db.execute(SQL["purge_queue"], (queue,))
                purged += 1
        return purged

    def abandoned_files(self) -> list[tuple[str, int]]:
        return [(name, size) for name, size in self.database.read(SESSION_SQL["abandoned_files"])]

    def file_closed(self, name: str, cut: int) -> None:
        with self.database.write() as db:
            db.execute(SESSION_SQL["close_file"], (cut, name))
