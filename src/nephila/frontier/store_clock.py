"""`StoreClock`: the time of a store, which is that of the clock under it, but never goes back.

Leases, rests and retries are stored as times. Where the clock is set back by an hour, or another server with another
clock takes over, all of them would last an hour longer. So the store keeps the latest time that was noted, and how much
it adds to the clock. Pure: the clock comes in.
"""

from typing import NamedTuple, Self

NOTE_EVERY_MS = 5000  # how often the time is noted: by so much it may stand still after the clock was set back
STEP_MS = 1000  # a clock that goes back by less is waited for
LEAP_MS = 60_000  # more than passes between two notes while somebody works: the clock was put right, or all was down
CATCH_UP = 20  # what is added shrinks by one in so many: leases and rests last longer by as much, never shorter


class StoreClock(NamedTuple):
    offset_ms: int  # what is added to the clock
    seen_at: int  # the latest time that was noted

    def now(self, clock_ms: int) -> int:
        """The time by this clock. 0008.sql says the same to the statements of PostgreSQL."""
        return max(clock_ms + self._offset(clock_ms), self.seen_at)

    def noted(self, clock_ms: int) -> Self:
        """What to note now."""
        offset = self._offset(clock_ms)
        passed = clock_ms + offset - self.seen_at
        if passed < -STEP_MS:
            return self._replace(offset_ms=self.seen_at - clock_ms)
        offset -= min(offset, max(0, passed) // CATCH_UP)
        return self._replace(offset_ms=offset, seen_at=max(self.seen_at, clock_ms + offset))

    def differs(self, known: Self) -> bool:
        """Whether it is worth a write."""
        return abs(self.offset_ms - known.offset_ms) > STEP_MS or self.seen_at >= known.seen_at + NOTE_EVERY_MS

    def _offset(self, clock_ms: int) -> int:
        """What is added: after a leap of the clock less by as much, so that a clock that was put right changes nothing
        and the time in which all was down is not counted twice."""
        passed = clock_ms + self.offset_ms - self.seen_at
        return self.offset_ms - min(self.offset_ms, passed) if passed > LEAP_MS else self.offset_ms
