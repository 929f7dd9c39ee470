"""How a worker is: pages, CPU and memory, for its heartbeat."""

import os
import resource
from pathlib import Path

from nephila.clock import Clock
from nephila.frontier.store import Vitals

STATM = Path("/proc/self/statm")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class VitalSigns:
    """Rates are of the time since they were last taken."""

    def __init__(self, clock: Clock) -> None:
        self.pages = 0
        self._clock = clock
        self._tick = clock.tick_ms()
        self._pages_before = 0
        self._cpu_before = _cpu_seconds()

    def take(self) -> Vitals:
        now, cpu = self._clock.tick_ms(), _cpu_seconds()
        seconds = max((now - self._tick) / 1000, 0.001)
        taken = Vitals(
            self.pages, (self.pages - self._pages_before) / seconds, (cpu - self._cpu_before) / seconds, rss_bytes()
        )
        self._tick, self._pages_before, self._cpu_before = now, self.pages, cpu
        return taken


def _cpu_seconds() -> float:
    """Of this process and of the parsing helpers that have ended."""
    own, helpers = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + helpers.ru_utime + helpers.ru_stime


def rss_bytes() -> int:
    return int(STATM.read_text().split()[1]) * PAGE_BYTES
