"""`Room` says how many requests may be in flight: as many as hosts allow and this machine keeps up with. Pure: ticks
and measures come in.
"""

FIRST = 64  # requests, before anything is known, and as long as the event loop does not keep up
LOOK_MS = 200.0  # between two adjustments
LATE_MS_MAX = 60.0  # how long what is ready may wait for the event loop
GROWTH, SHRINKAGE = 1.25, 0.85
BODY_BYTES_MAX = 256 << 20  # of bodies that are not whole yet: beyond, no request starts
PAUSE_MS = 1000.0


class Room:
    """`size` requests, at most `most`. It grows while all of it is used and the event loop turns to what is ready in
    time, and shrinks while it does not: more requests in flight would only wait for us, and look like slow hosts.

    What this machine lacks, open files, ports or memory, halves it and closes it for PAUSE_MS.
    """

    __slots__ = ("_closed_until", "_late_ms", "_look_at", "_used", "most", "size")

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = min(FIRST, most)
        self._closed_until = self._look_at = self._late_ms = 0.0
        self._used = False

    def has(self, in_flight: int, now: float) -> bool:
        return in_flight < self.size and now >= self._closed_until

    def seen(self, in_flight: int, late_ms: float, now: float) -> bool:
        """So many requests were in flight, and what was ready had waited so long; true: it is time to `adjust`."""
        self._used = self._used or in_flight >= self.size
        self._late_ms = max(self._late_ms, late_ms)
        return now >= self._look_at

    def adjust(self, body_bytes: int, now: float) -> None:
        if self._late_ms > LATE_MS_MAX:
            self.size = max(int(self.size * SHRINKAGE), min(self.size, FIRST))
        elif self._used:
            self.size = min(int(self.size * GROWTH) + 1, self.most)
        if body_bytes > BODY_BYTES_MAX:
            self._closed_until = max(self._closed_until, now + LOOK_MS)
        self._look_at, self._late_ms, self._used = now + LOOK_MS, 0.0, False

    def lacked(self, in_flight: int, now: float) -> bool:
        """Something was lacking; true if this is news: many requests may meet the same lack."""
        if now < self._closed_until:
            return False
        self.size = max(1, min(self.size, in_flight) // 2)
        self._closed_until = now + PAUSE_MS
        return True
