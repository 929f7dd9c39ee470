"""One crawl until it is over: its workers are kept alive, upkeep is done, progress is told. A store that cannot be
written now (a full disk) is a reason to wait, never to end."""

from collections.abc import Callable
from enum import Enum

from nephila.clock import Clock
from nephila.control.progress import Progress, Snapshot
from nephila.control.supervisor import Supervisor
from nephila.control.upkeep import Duty
from nephila.errors import StoreUnavailable
from nephila.frontier.store import Catalog
from nephila.models import CrawlState

POLL_SECONDS = 0.1
DUTY_MS = 500.0
SNAPSHOT_MS = 1000.0
# Reading a crawl with millions of seeds takes long: snapshots may use a twentieth of the time.
SNAPSHOT_SHARE = 20
DRAIN_SECONDS_MAX = 30.0
INTERRUPTED = "interrupted by the user"


class End(Enum):
    OVER = "over"
    PAUSED = "paused"  # by somebody else
    INTERRUPTED = "interrupted"


class Run:
    def __init__(self, crawl_id: int, catalog: Catalog, duty: Duty, supervisor: Supervisor, clock: Clock) -> None:
        self.crawl_id = crawl_id
        self.catalog = catalog
        self.duty = duty
        self.supervisor = supervisor
        self.clock = clock
        self.progress = Progress(catalog, crawl_id, clock)
        self.trouble = ""  # why the store could not be used at the last attempt
        self._duty_tick = self._snapshot_tick = float("-inf")

    def until_end(
        self, show: Callable[[Snapshot], None], signals: Callable[[], int], sleep: Callable[[float], None]
    ) -> End:
        """`signals` counts how often the user asked to stop."""
        self.supervisor.start()
        while not signals():
            snapshot = self.step()
            if snapshot is not None:
                show(snapshot)
                if snapshot.crawl.state.over:
                    return End.OVER
                if snapshot.crawl.state is CrawlState.PAUSED:
                    return End.PAUSED
            sleep(POLL_SECONDS)
        return End.INTERRUPTED

    def step(self) -> Snapshot | None:
        """One turn of the loop; a snapshot when it is time for one or when a crawl has ended."""
        ended = False
        try:
            self.supervisor.poll()
            ended = self._do_duty()
        except StoreUnavailable as error:
            self.trouble = str(error)
        try:
            return self._look(at_once=ended)
        except StoreUnavailable as error:
            self.trouble = str(error)
            return None

    def _do_duty(self) -> bool:
        now = self.clock.tick_ms()
        if now < self._duty_tick:
            return False
        self._duty_tick = now + DUTY_MS
        ended = self.duty.run_once()["ended"]
        self.trouble = ""
        return ended > 0

    def _look(self, *, at_once: bool) -> Snapshot | None:
        now = self.clock.tick_ms()
        if now < self._snapshot_tick and not at_once:
            return None
        snapshot = self.progress.snapshot(self.waiting)
        spent = self.clock.tick_ms() - now
        self._snapshot_tick = now + max(SNAPSHOT_MS, SNAPSHOT_SHARE * spent)
        return snapshot

    @property
    def waiting(self) -> str:
        return self.supervisor.stalled or self.trouble

    def pause(self, reason: str) -> None:
        """Where the store cannot be written the crawl stays `running` without workers: that can be resumed as well."""
        try:
            self.catalog.steer(self.crawl_id, CrawlState.PAUSED, reason)
        except StoreUnavailable as error:
            self.trouble = str(error)

    def interrupt(self, signals: Callable[[], int], sleep: Callable[[float], None]) -> None:
        """Pause this crawl and drain the workers; asked a second time, end them at once. Nothing is lost either way."""
        self.pause(INTERRUPTED)
        self.supervisor.stop()
        end = self.clock.tick_ms() + DRAIN_SECONDS_MAX * 1000
        while not self.supervisor.wait(0) and self.clock.tick_ms() < end:
            sleep(POLL_SECONDS)
            if signals() > 1:
                # Each time: of two signals that come together a process sees one.
                self.supervisor.stop()

    def close(self) -> None:
        """End what is left of the workers and look after their files."""
        self.supervisor.close()
        try:
            self.duty.run_once()
        except StoreUnavailable as error:
            self.trouble = str(error)
