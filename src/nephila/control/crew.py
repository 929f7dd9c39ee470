"""The worker processes of a command and the upkeep beside them. A store that cannot be written now (a full disk, a
database that is down) makes it wait, never end."""

from collections.abc import Callable

from nephila.clock import Clock
from nephila.control.supervisor import Supervisor
from nephila.control.upkeep import Duty
from nephila.errors import NephilaError, StoreDamaged, StoreUnavailable
from nephila.supervision import BackgroundPart

POLL_SECONDS = 0.1
DUTY_MS = 500.0
DRAIN_SECONDS_MAX = 30.0

Signals = Callable[[], int]  # how often the user asked to stop
Sleep = Callable[[float], None]
Observer = Callable[[dict[str, int], float], None]  # counts of one upkeep round, and its seconds


class Crew:
    def __init__(self, supervisor: Supervisor, duty: Duty, clock: Clock, beside: Supervisor | None = None) -> None:
        """`beside`: a supervisor of processes that are no workers, like the follower."""
        self.supervisor = supervisor
        self.supervisors = (supervisor,) if beside is None else (beside, supervisor)
        self.duty = duty
        self.clock = clock
        self.observe: Observer = lambda done, seconds: None  # called after each upkeep round
        self.trouble = ""  # why the store could not be used at the last attempt
        self.stepped_tick = float("-inf")  # of the last step: others see that the loop runs
        self._duty_tick = float("-inf")
        self._part = BackgroundPart("upkeep", clock=clock)

    @property
    def alive(self) -> int:
        """Worker processes that lived at the last look. Any thread may ask."""
        found = [process.popen for process in self.supervisor.processes]
        return sum(popen is not None and popen.returncode is None for popen in found)

    @property
    def size(self) -> int:
        return len(self.supervisor.processes)

    @property
    def waiting(self) -> str:
        return self.supervisor.stalled or self.trouble

    @property
    def troubles(self) -> dict[str, str]:
        """The processes that died a moment ago or have a part that broke, and why. Any thread may ask."""
        return {name: why for supervisor in self.supervisors for name, why in supervisor.troubles.items()}

    def start(self) -> None:
        for supervisor in self.supervisors:
            supervisor.start()

    def step(self) -> bool:
        """Replace dead processes and do the upkeep that is due; true when that has ended a crawl.

        After a fault of ours it rests, longer each time, and goes on: a machine that had no file left may have one now.
        """
        self.stepped_tick = self.clock.tick_ms()
        if self._part.rest_seconds:
            return False
        try:
            # Let through is what the operator must mend, like workers that cannot start.
            with self._part.guarded(letting=NephilaError):
                for supervisor in self.supervisors:
                    supervisor.poll()
                return self._do_duty()
            self.trouble = self._part.trouble
        except StoreDamaged:
            raise
        except StoreUnavailable as error:
            self.trouble = str(error)
        return False

    def _do_duty(self) -> bool:
        now = self.clock.tick_ms()
        if now < self._duty_tick:
            return False
        self._duty_tick = now + DUTY_MS
        done = self.duty.run_once()
        self.observe(done, (self.clock.tick_ms() - now) / 1000)
        self.trouble = ""
        self._part.well()
        return done["ended"] > 0

    def serve(self, signals: Signals, sleep: Sleep) -> None:
        """Keep the workers alive until the user asks to stop."""
        self.start()
        while not signals():
            self.step()
            sleep(POLL_SECONDS)
        self.drain(signals, sleep)

    def drain(self, signals: Signals, sleep: Sleep) -> None:
        """Stop the workers when their requests in flight have ended; at a second signal at once, without loss."""
        for supervisor in self.supervisors:
            supervisor.stop()
        end = self.clock.tick_ms() + DRAIN_SECONDS_MAX * 1000
        while not self.supervisor.wait(0) and self.clock.tick_ms() < end:
            sleep(POLL_SECONDS)
            if signals() > 1:
                # Sent again each time: a process sees only one of two signals that come together.
                self.supervisor.stop()

    def close(self) -> None:
        """End what is left of the workers and close their archive files."""
        for supervisor in self.supervisors:
            supervisor.close()
        try:
            self.duty.run_once()
        except StoreUnavailable as error:
            self.trouble = str(error)
