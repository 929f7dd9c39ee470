"""Upkeep: idempotent, runs in any process, no leader. Each dialect fences the dead and purges in its own way."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from nephila.frontier.crawls import NOBODY
from nephila.frontier.history import HistoryKeeper
from nephila.frontier.rows import open_of
from nephila.frontier.session import ENTRY_URLS_MAX, FencedSessions
from nephila.frontier.store import (
    ERRORS_KEPT,
    FORGET_EVERY_MS,
    FORGET_ROWS,
    KEYS_KEPT_MS,
    SLOT_MS,
    THROUGHPUT_KEPT_MS,
    WORKERS_KEPT,
)
from nephila.frontier.tables import OverTables, Tables, TableWriter, move_control
from nephila.models import ANSWERED, STATE_CODES, CrawlState, Reason, Tally, UrlState, reason_tally
from nephila.policy.ending import failure_of
from nephila.urls.identity import origin_of

EVICT_SPARE = 20  # eviction makes room for a twentieth of max_frontier, so that not every run has to look
EVICT_CHUNK = ENTRY_URLS_MAX  # rows that one transaction evicts: one entry of `changes`, some 0.03 s
# Rows that one run evicts, or a hundredth of max_frontier if that is more: its look reads every open row of the crawl.
EVICT_MAX = 50_000
SEEDS_LOOKED_AT = 1000  # of the rest it is enough that robots.txt of their host could not be had
EVICT_LAST = 256  # rows of each held queue that leave last: the window of a host, unless it is very fast


class Upkeep(OverTables, ABC):
    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self._forgot_at: int | None = None
        self._history = HistoryKeeper(tables)

    @abstractmethod
    def _fence_dead(self, now: int) -> FencedSessions:
        """Fence sessions whose process is gone or whose lease is over."""

    @abstractmethod
    def _limit(self, crawl: int, reason: Reason, limited_by: str) -> bool:
        """End the crawl at this limit, unless it is ending already."""

    @abstractmethod
    def checkpoint(self) -> int:
        """Fold the log into the database when it has grown; answers how many pages."""

    @abstractmethod
    def purge(self, crawl_id: int, rows_max: int) -> int:
        """Delete up to `rows_max` rows of a deleted crawl; answers how many, 0 when nothing is left."""

    def run_once(self) -> dict[str, int]:
        """Fence the dead, end crawls that are done or over a limit; answers counts of what was done. Idempotent.

        Looks without a lock first: most times there is nothing to do.
        """
        now = self.tables.note_time()
        fenced = self._fence_dead(now)
        done = {"fenced": fenced.sessions, "fenced_urls": fenced.urls, "limited": 0, "evicted": 0}
        running, over = [], []
        for crawl, state, since, active, *limits, silent, finished in self.tables.rows("running"):
            seconds_max, bytes_max, open_max = limits
            if state != CrawlState.PAUSED:
                running.append(crawl)
            if finished:
                if self.tables.transact(partial(_complete, crawl, now)):
                    over.append(crawl)
            elif state == CrawlState.RUNNING:
                if silent and self._unreachable(crawl):
                    done["limited"] += self._limit(crawl, Reason.UNREACHABLE, "")
                elif seconds_max is not None and active + now - (since or now) >= seconds_max * 1000:
                    done["limited"] += self._limit(crawl, Reason.LIMIT_TIME, "max_seconds")
                elif bytes_max is not None and self._bytes(crawl) >= bytes_max:
                    done["limited"] += self._limit(crawl, Reason.LIMIT_BYTES, "max_bytes")
                elif open_max is not None:
                    done["evicted"] += self._evict(crawl, open_max, now)
        done["ended"] = len(over)
        done["samples"] = self._history.keep([crawl for crawl in running if crawl not in over], over, now)
        self._forget(now)
        return done

    def _unreachable(self, crawl: int) -> bool:
        """Whether the origin of every open URL is silent, where all hosts of the crawl are: a host may have several.

        Since nothing was had, all open URLs are seeds or what these redirected to.
        """
        tallies: dict[str, int] = dict(self.tables.rows("tallies", crawl=crawl))
        asked = {origin_of(url) for (url,) in self.tables.rows("some_open", crawl=crawl, rows_max=SEEDS_LOOKED_AT)}
        silent = {origin for (origin,) in self.tables.rows("silent_origins", crawl=crawl)}
        return bool(asked) and asked <= silent and not any(tallies.get(state) for state in ANSWERED)

    def _bytes(self, crawl: int) -> int:
        return int(self.tables.value("tally", crawl=crawl, name=Tally.BYTES))

    def _evict(self, crawl: int, open_max: int, now: int) -> int:
        """Evict the least important open URLs of a crawl that has too many; answers how many.

        Two who do so at once mostly choose the same ones, which leave once.
        """
        excess = open_of({name: int(n) for name, n in self.tables.rows("tallies", crawl=crawl)}) - open_max
        if excess <= 0:
            return 0
        wanted = min(excess + open_max // EVICT_SPARE, max(EVICT_MAX, open_max // 100))
        with self.tables.snapshot() as reader:
            values = {"crawl": crawl, "window": EVICT_LAST, "rows_max": wanted}
            urls = [url for (url,) in reader.rows("least_important", **values)]
        chunks = (self.tables.ints(urls[start : start + EVICT_CHUNK]) for start in range(0, len(urls), EVICT_CHUNK))
        return sum(self.tables.transact(partial(self._evict_chunk, crawl, chunk, now)) for chunk in chunks)

    def _evict_chunk(self, crawl: int, urls: Any, now: int, tables: TableWriter) -> int:
        end = {"state": STATE_CODES[UrlState.EVICTED], "reason": Reason.LIMIT_FRONTIER}
        tables.rows("evicting")
        gone = tables.rows("evict", crawl=crawl, urls=urls, now=now, **end)
        if gone:
            tables.change("note_evicted", crawl=crawl, urls=self.tables.ints(url for url, _ in gone))
            tables.change("wake_emptied", queues=self.tables.ints(sorted({queue for _, queue in gone})), now=now)
            tables.change("limited", crawl=crawl, limited_by="max_frontier")
            for name in (UrlState.EVICTED, reason_tally(Reason.LIMIT_FRONTIER)):
                tables.change("tally_more", crawl=crawl, worker=NOBODY, name=name, n=len(gone))
        return len(gone)

    @abstractmethod
    def give_back(self, tell: Callable[[int], None]) -> None:
        """Give the room of deleted rows back to the disk, in short steps; `tell` is told how many bytes are left."""

    def _forget(self, now: int) -> bool:
        """Forget sessions that ended, old errors, throughput and keys of requests, every FORGET_EVERY_MS; whether it
        was time.

        Locks only where a look found some.
        """
        if self._forgot_at is not None and now - self._forgot_at < FORGET_EVERY_MS:
            return False
        self._forgot_at = now
        if self.tables.value("has_old_errors", kept=ERRORS_KEPT):
            self.tables.change("forget_errors", kept=ERRORS_KEPT, rows_max=FORGET_ROWS)
        slot = (now - THROUGHPUT_KEPT_MS) // SLOT_MS
        if self.tables.value("has_old_throughput", before=slot):
            self.tables.change("forget_throughput", before=slot)
        if self.tables.value("has_old_keys", before=now - KEYS_KEPT_MS):
            self.tables.change("forget_keys", before=now - KEYS_KEPT_MS, rows_max=FORGET_ROWS)
        if self.tables.value("has_gone_workers", kept=WORKERS_KEPT):
            self.tables.change("forget_workers", kept=WORKERS_KEPT, rows_max=FORGET_ROWS)
        return True

    def abandoned_files(self) -> list[tuple[str, int]]:
        """Archive files of sessions that have ended, and how many bytes of each are known to be whole."""
        return [(name, size) for name, size in self.tables.rows("abandoned_files")]

    def file_closed(self, name: str, cut: int) -> None:
        """Note that an abandoned file was closed, and how many torn bytes were cut off."""
        self.tables.change("close_file", name=name, cut=cut)


def _complete(crawl: int, now: int, tables: TableWriter) -> int:
    """End a crawl that was seen to have no open rows. One look is exact, no second one a lease later is needed.

    Parent and children commit together, so open rows come only from open rows: where none are left, none will be.
    """
    failure = failure_of({name: int(n) for name, n in tables.rows("tallies", crawl=crawl)})
    ended = tables.change("end_crawl", crawl=crawl, now=now, failure=failure)
    if ended:
        move_control(tables)
    return ended
