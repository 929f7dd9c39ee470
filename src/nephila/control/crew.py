"""The worker processes of a command and the duty beside them. A store that cannot be written now (a full disk, a
database that is down) is a reason to wait, never to end."""

from collections.abc import Callable

from nephila.clock import Clock
from nephila.control.supervisor import Supervisor
from nephila.control.upkeep import Duty
from nephila.errors import StoreUnavailable

POLL_SECONDS = 0.1
DUTY_MS = 500.0
DRAIN_SECONDS_MAX = 30.0

Signals = Callable[[], int]  # how often the user asked to stop
Sleep = Callable[[float], None]
Observer = Callable[[dict[str, int], float], None]  # what was done, in how many seconds


class Crew:
    def __init__(self, supervisor: Supervisor, duty: Duty, clock: Clock, beside: Supervisor | None = None) -> None:
        """`beside`: processes that are no workers."""
        self.supervisor = supervisor
        self.beside = beside
        self.duty = duty
        self.clock = clock
        self.observe: Observer = lambda done, seconds: None  # of each round of the duty
        self.trouble = ""  # why the store could not be used at the last attempt
        self._duty_tick = float("-inf")

    @property
    def size(self) -> int:
        return len(self.supervisor.processes)

    @property
    def waiting(self) -> str:
        return self.supervisor.stalled or self.trouble

    def start(self) -> None:
        self.supervisor.start()
        if self.beside is not None:
            self.beside.start()

    def step(self) -> bool:
        """Replace the dead and do what is due; true when a crawl has ended by that."""
        try:
            self.supervisor.poll()
            if self.beside is not None:
                self.beside.poll()
            return self._do_duty()
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
        return done["ended"] > 0

    def serve(self, signals: Signals, sleep: Sleep) -> None:
        """Until the user asks to stop."""
        self.start()
        while not signals():
            self.step()
            sleep(POLL_SECONDS)
        self.drain(signals, sleep)

    def drain(self, signals: Signals, sleep: Sleep) -> None:
        """What is in flight is finished; asked a second time, it ends at once. Nothing is lost either way."""
        if self.beside is not None:
            self.beside.stop()
        self.supervisor.stop()
        end = self.clock.tick_ms() + DRAIN_SECONDS_MAX * 1000
        while not self.supervisor.wait(0) and self.clock.tick_ms() < end:
            sleep(POLL_SECONDS)
            if signals() > 1:
                # Each time: of two signals that come together a process sees one.
                self.supervisor.stop()

    def close(self) -> None:
        """End what is left of the workers and look after their files."""
        if self.beside is not None:
            self.beside.close()
        self.supervisor.close()
        try:
            self.duty.run_once()
        except StoreUnavailable as error:
            self.trouble = str(error)
