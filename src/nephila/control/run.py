"""The running of one crawl until it is over: workers are kept alive, upkeep is done, progress is shown."""

from collections.abc import Callable
from enum import Enum

from nephila.clock import Clock
from nephila.control.crew import POLL_SECONDS, Crew, Signals, Sleep
from nephila.control.progress import Progress, Snapshot
from nephila.errors import StoreDamaged, StoreUnavailable
from nephila.frontier.catalog import Catalog
from nephila.models import CrawlState

SNAPSHOT_MS = 1000.0
# Reading a crawl with millions of seeds is slow: snapshots may take a twentieth of the time.
SNAPSHOT_SHARE = 20
INTERRUPTED = "interrupted by the user"


class End(Enum):
    OVER = "over"
    PAUSED = "paused"  # by somebody else
    INTERRUPTED = "interrupted"
    LEFT = "left"  # other commands work on it, and it goes on without this one


class CrawlRun:
    def __init__(self, crawl_id: int, catalog: Catalog, crew: Crew, clock: Clock, *, joined: bool = False) -> None:
        """`joined`: others worked on the crawl when this command came."""
        self._joined = joined
        self.crawl_id = crawl_id
        self.catalog = catalog
        self.crew = crew
        self.clock = clock
        self.progress = Progress(catalog, crawl_id, clock)
        self._snapshot_tick = float("-inf")

    def until_end(self, show: Callable[[Snapshot], None], signals: Signals, sleep: Sleep) -> End:
        self.crew.start()
        while not signals():
            snapshot = self.step()
            if snapshot is not None:
                show(snapshot)
                if snapshot.crawl.state.over:
                    return End.OVER
                if snapshot.crawl.state is CrawlState.PAUSED:
                    return End.PAUSED
            sleep(POLL_SECONDS)
        return End.LEFT if self._is_others() else End.INTERRUPTED

    def _is_others(self) -> bool:
        """Whether the crawl goes on without this command: it has no workers, or it joined others, who still work."""
        if not self.crew.size:
            return True
        if not self._joined:
            return False
        own = set(self.crew.supervisor.pids)
        try:
            return any(worker.alive and worker.pid not in own for worker in self.catalog.workers())
        except StoreUnavailable:
            return True  # which could not be paused either

    def step(self) -> Snapshot | None:
        """One turn of the loop: a snapshot if one is due or a crawl has ended."""
        ended = self.crew.step()
        try:
            return self._look(at_once=ended)
        except StoreDamaged:
            raise
        except StoreUnavailable as error:
            self.crew.trouble = str(error)
            return None

    def _look(self, *, at_once: bool) -> Snapshot | None:
        now = self.clock.tick_ms()
        if now < self._snapshot_tick and not at_once:
            return None
        snapshot = self.progress.snapshot(self.crew.waiting)
        spent = self.clock.tick_ms() - now
        self._snapshot_tick = now + max(SNAPSHOT_MS, SNAPSHOT_SHARE * spent)
        return snapshot

    def pause(self, reason: str) -> None:
        """Pause the crawl, unless others work on it.

        If the store cannot be written, the crawl stays `running` without workers, which can be resumed as well.
        """
        if self._is_others():
            return
        try:
            self.catalog.steer(self.crawl_id, CrawlState.PAUSED, reason)
        except StoreUnavailable as error:
            self.crew.trouble = str(error)

    def interrupt(self, signals: Signals, sleep: Sleep) -> None:
        """Pause this crawl, unless others work on it, and drain the workers."""
        self.pause(INTERRUPTED)
        self.crew.drain(signals, sleep)

    def close(self) -> None:
        self.crew.close()
