"""How long tests wait for what must happen: no promise, since what passes never waits so long."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# On two cores on which four others compute, ten workers need half a minute to start.
PATIENCE_SECONDS = 180.0
PATIENCE_MS = 1000 * int(PATIENCE_SECONDS)
POLL_SECONDS = 0.02


def until(met: Callable[[], T], what: str = "what the test waits for") -> T:
    """Wait for an event: until the condition holds. Answers what it found."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := met()):
        assert time.monotonic() < end, f"not within {PATIENCE_SECONDS:.0f} s: {what}"
        time.sleep(POLL_SECONDS)
    return found
