"""Clocks. Time is injected: everything that waits or stores a time takes a `Clock`, so tests never sleep."""

import time
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall time in milliseconds since 1970: for what is stored and shown."""

    def tick_ms(self) -> float:
        """Milliseconds that never jump and go on while the machine sleeps (CLOCK_BOOTTIME): for gaps and leases."""


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def tick_ms(self) -> float:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1_000_000


class VirtualClock:
    """A clock that only `advance` moves: wall time and ticks together."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.elapsed_ms = 0.0
        self.start_ms = now_ms

    def now_ms(self) -> int:
        return self.start_ms + int(self.elapsed_ms)

    def tick_ms(self) -> float:
        return self.elapsed_ms

    def advance(self, ms: float) -> None:
        assert ms >= 0, "time only goes forward"
        self.elapsed_ms += ms
