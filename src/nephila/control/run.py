"""One crawl until it is over: its workers are kept alive, upkeep is done, progress is told."""

from collections.abc import Callable
from enum import Enum

from nephila.clock import Clock
from nephila.control.crew import POLL_SECONDS, Crew, Signals, Sleep
from nephila.control.progress import Progress, Snapshot
from nephila.errors import StoreUnavailable
from nephila.frontier.store import Catalog
from nephila.models import CrawlState

SNAPSHOT_MS = 1000.0
# Reading a crawl with millions of seeds takes long: snapshots may use a twentieth of the time.
SNAPSHOT_SHARE = 20
INTERRUPTED = "interrupted by the user"


class End(Enum):
    OVER = "over"
    PAUSED = "paused"  # by somebody else
    INTERRUPTED = "interrupted"
    LEFT = "left"  # others work on it, and it goes on without us


class Run:
    def __init__(self, crawl_id: int, catalog: Catalog, crew: Crew, clock: Clock) -> None:
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
        return End.INTERRUPTED if self.crew.size else End.LEFT

    def step(self) -> Snapshot | None:
        """One turn of the loop; a snapshot when it is time for one or when a crawl has ended."""
        ended = self.crew.step()
        try:
            return self._look(at_once=ended)
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
        """Where the store cannot be written the crawl stays `running` without workers: that can be resumed as well.

        A command that only watches does not pause what others work on.
        """
        if not self.crew.size:
            return
        try:
            self.catalog.steer(self.crawl_id, CrawlState.PAUSED, reason)
        except StoreUnavailable as error:
            self.crew.trouble = str(error)

    def interrupt(self, signals: Signals, sleep: Sleep) -> None:
        """Pause this crawl and drain the workers."""
        self.pause(INTERRUPTED)
        self.crew.drain(signals, sleep)

    def close(self) -> None:
        self.crew.close()
