from typing import Any

import pytest

from nephila.clock import VirtualClock
from nephila.control.crew import DUTY_MS, POLL_SECONDS, Crew
from nephila.control.progress import Snapshot
from nephila.control.run import CrawlRun, End
from nephila.errors import DiskFull, StoreUnavailable, UsageError
from nephila.models import CrawlState
from nephila.supervision import REST_MS_MAX
from tests.unit.control.filled import Filled


class Workers:
    """A supervisor without processes."""

    def __init__(self) -> None:
        self.processes = [object()]
        self.calls: list[str] = []
        self.stalled = ""
        self.waits = 0  # until they have ended

    def start(self) -> None:
        self.calls.append("start")

    def poll(self) -> None:
        pass

    def stop(self) -> None:
        self.calls.append("stop")

    def wait(self, seconds: float) -> bool:
        self.waits -= 1
        return self.waits < 0

    def close(self) -> None:
        self.calls.append("close")


class Duties:
    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.done: list[float] = []
        self.error: Exception | None = None
        self.ended = 0

    def run_once(self) -> dict[str, int]:
        self.done.append(self.clock.tick_ms())
        if self.error:
            raise self.error
        return {"ended": self.ended}


class Loop:
    """A run on a virtual clock: `at` says what happens when."""

    def __init__(self, filled: Filled, clock: VirtualClock, at: dict[float, Any]) -> None:
        self.clock, self.at, self.pressed = clock, at, 0
        self.workers, self.duties = Workers(), Duties(clock)
        self.shown: list[Snapshot] = []
        self.crew = Crew(self.workers, self.duties, clock)  # type: ignore[arg-type]
        self.run = CrawlRun(filled.crawl.id, filled.catalog, self.crew, clock)

    def sleep(self, seconds: float) -> None:
        self.clock.advance(seconds * 1000)
        for tick in [tick for tick in self.at if tick <= self.clock.tick_ms()]:
            self.at.pop(tick)(self)

    def go(self) -> End:
        return self.run.until_end(self.shown.append, lambda: self.pressed, self.sleep)


def press(loop: Loop) -> None:
    loop.pressed += 1


def test_runs_until_the_crawl_is_over(filled: Filled, clock: VirtualClock) -> None:
    def complete(loop: Loop) -> None:
        with filled.catalog.database.write() as db:
            db.execute("UPDATE crawls SET state = 'completed'")
        loop.duties.ended = 1

    loop = Loop(filled, clock, {3100.0: complete})
    assert loop.go() is End.OVER
    assert loop.duties.done[:3] == [0, DUTY_MS, 2 * DUTY_MS]
    assert [snapshot.crawl.state.over for snapshot in loop.shown] == [False, False, False, False, True]
    assert clock.tick_ms() < 3100 + DUTY_MS + POLL_SECONDS * 1000  # not at the next second: at once


@pytest.mark.requirement("RC-04", "RC-06")
def test_interrupt_pauses_and_drains_and_a_second_one_ends_at_once(filled: Filled, clock: VirtualClock) -> None:
    loop = Loop(filled, clock, {1000.0: press, 2000.0: press})
    assert loop.go() is End.INTERRUPTED
    loop.workers.waits = 30
    loop.run.interrupt(lambda: loop.pressed, loop.sleep)
    assert loop.workers.calls[:2] == ["start", "stop"] and 15 < len(loop.workers.calls) < 25
    crawl = filled.catalog.crawl(filled.crawl.id)
    assert (crawl.state, crawl.reason) == (CrawlState.PAUSED, "interrupted by the user")


def test_draining_is_bounded(filled: Filled, clock: VirtualClock) -> None:
    loop = Loop(filled, clock, {})
    loop.workers.waits = 10**6
    loop.run.interrupt(lambda: 1, loop.sleep)
    loop.run.close()
    assert loop.workers.calls == ["stop", "close"]


def test_a_fault_of_ours_ends_nothing_and_is_told(clock: VirtualClock) -> None:
    """EMFILE, or whatever we did not think of: the crew rests, longer each time, and goes on when it is over."""
    duties = Duties(clock)
    crew = Crew(Workers(), duties, clock)  # type: ignore[arg-type]
    duties.error = OSError(24, "Too many open files")
    for _ in range(100):
        assert not crew.step()
        clock.advance(100)
    assert duties.done == [0.0, 1000.0, 3000.0, 7000.0]
    assert crew.trouble == "a fault of ours: OSError(24, 'Too many open files')"
    duties.error = None
    clock.advance(REST_MS_MAX)
    crew.step()
    assert crew.trouble == ""
    duties.error = UsageError("the workers cannot start")
    clock.advance(DUTY_MS)
    with pytest.raises(UsageError):
        crew.step()


def test_ends_when_somebody_else_pauses_the_crawl(filled: Filled, clock: VirtualClock) -> None:
    loop = Loop(filled, clock, {500.0: lambda _: filled.catalog.steer(filled.crawl.id, CrawlState.PAUSED)})
    assert loop.go() is End.PAUSED


def test_a_full_disk_is_shown_and_waited_for(filled: Filled, clock: VirtualClock) -> None:
    def fill_disk(loop: Loop) -> None:
        loop.duties.error = DiskFull("no space left")

    def free_disk(loop: Loop) -> None:
        loop.duties.error = None

    loop = Loop(filled, clock, {1050.0: fill_disk, 3050.0: free_disk, 5500.0: press})
    assert loop.go() is End.INTERRUPTED
    assert [snapshot.waiting for snapshot in loop.shown] == ["", "", "no space left", "no space left", "", ""]


def test_a_stalled_worker_is_the_reason_to_wait(filled: Filled, clock: VirtualClock) -> None:
    loop = Loop(filled, clock, {1100.0: press})
    loop.workers.stalled = "full disk"
    loop.go()
    assert loop.shown[0].waiting == "full disk"


@pytest.mark.parametrize(("error", "waiting"), [(DiskFull, "no space left"), (StoreUnavailable, "the store is away")])
def test_a_crew_without_its_store_waits_and_serves_on(
    filled: Filled, clock: VirtualClock, error: type[StoreUnavailable], waiting: str
) -> None:
    loop = Loop(filled, clock, {900.0: press})
    loop.duties.error = error(waiting)
    loop.crew.serve(lambda: loop.pressed, loop.sleep)
    assert loop.crew.waiting == waiting
    assert loop.workers.calls == ["start", "stop"]


def test_a_command_without_workers_only_watches(filled: Filled, clock: VirtualClock) -> None:
    """The crawl is the cluster's: it goes on when the watcher goes."""
    loop = Loop(filled, clock, {1000.0: press})
    loop.workers.processes.clear()
    assert loop.go() is End.LEFT
    loop.run.pause("nobody watches")
    assert filled.catalog.crawl(filled.crawl.id).state is CrawlState.RUNNING
