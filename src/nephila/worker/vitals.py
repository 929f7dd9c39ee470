"""Vital signs of a worker for its heartbeat: pages, CPU and memory."""

import os
import resource
from pathlib import Path

from nephila.clock import Clock
from nephila.frontier.store import Vitals

STATM = Path("/proc/self/statm")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class VitalSigns:
    """Pages, CPU, memory and network of this process. `take` answers rates over the time since it was last called."""

    def __init__(self, clock: Clock, network: tuple[float, float]) -> None:
        """`network`: bytes that this process has received and sent, before this session too."""
        self.pages = 0
        self._clock = clock
        self._tick = clock.tick_ms()
        self._pages_before = 0
        self._cpu_before = _cpu_seconds()
        self._network_before = network

    def take(self, network: tuple[float, float]) -> Vitals:
        now, cpu = self._clock.tick_ms(), _cpu_seconds()
        seconds = max((now - self._tick) / 1000, 0.001)
        received, sent = (total - before for total, before in zip(network, self._network_before, strict=True))
        taken = Vitals(
            self.pages,
            (self.pages - self._pages_before) / seconds,
            (cpu - self._cpu_before) / seconds,
            rss_bytes(),
            received / seconds,
            sent / seconds,
        )
        self._tick, self._pages_before, self._cpu_before = now, self.pages, cpu
        self._network_before = network
        return taken


def _cpu_seconds() -> float:
    """CPU seconds of this process and of its helpers that have ended."""
    own, helpers = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + helpers.ru_utime + helpers.ru_stime


def rss_bytes() -> int:
    return int(STATM.read_text().split()[1]) * PAGE_BYTES
