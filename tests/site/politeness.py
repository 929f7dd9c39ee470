"""The politeness oracle: judges the server's own log, so that a crawler cannot vouch for itself."""

import heapq
from collections.abc import Iterable
from itertools import pairwise

from tests.site.server import Hit

# The server stamps an end before its last write and a start after its read, so what it measures from end to start is
# never shorter than what the client kept, and needs no tolerance. Three things do: a start stamped late because another
# thread holds the interpreter (sys.getswitchinterval, 5 ms, perhaps twice), which makes the NEXT start-to-start gap
# look short; a large body's end, known only when the loop next turns; and a client's departure, noticed as late. Delays
# under test are 100 ms and more, so a real violation is far above this.
TOLERANCE_MS = 10.0


def politeness_key(host: str) -> str:
    """The politeness key, written here again on purpose: an oracle must not share code with what it judges."""
    bare = host.removeprefix("www.")
    return bare if "." in bare else host


def violations(
    hits: Iterable[Hit], delay_ms: float, max_inflight: int = 1, tolerance_ms: float = TOLERANCE_MS
) -> list[str]:
    """One line per broken promise; empty: polite. A robots.txt and a redirect hop are requests like any other."""
    found = []
    for key, asked in sorted(_by_key(hits).items()):
        gaps = _end_gaps(asked) if max_inflight == 1 else _start_gaps(asked)
        found += [
            f"{key}: {gap:.1f} ms, not {delay_ms:.0f}, from {earlier.host}{earlier.path} to {later.host}{later.path}"
            for earlier, later, gap in gaps
            if gap < delay_ms - tolerance_ms
        ]
        found += _overlaps(key, asked, max_inflight, tolerance_ms)
    return found


def _by_key(hits: Iterable[Hit]) -> dict[str, list[Hit]]:
    groups: dict[str, list[Hit]] = {}
    for hit in sorted(hits, key=lambda hit: hit.started):
        groups.setdefault(politeness_key(hit.host), []).append(hit)
    return groups


def _end_gaps(asked: list[Hit]) -> Iterable[tuple[Hit, Hit, float]]:
    """Gaps from the latest end of ALL earlier requests to each start, so that no pair is left out."""
    latest = asked[0]
    for hit in asked[1:]:
        yield latest, hit, (hit.started - latest.ended) * 1000
        if hit.ended > latest.ended:
            latest = hit


def _start_gaps(asked: list[Hit]) -> Iterable[tuple[Hit, Hit, float]]:
    """Gaps between neighbouring starts: they are sorted, so neighbours are the closest pairs."""
    for earlier, later in pairwise(asked):
        yield earlier, later, (later.started - earlier.started) * 1000


def _overlaps(key: str, asked: list[Hit], max_inflight: int, tolerance_ms: float) -> list[str]:
    found = []
    ends: list[float] = []
    for hit in asked:
        while ends and ends[0] <= hit.started + tolerance_ms / 1000:
            heapq.heappop(ends)
        heapq.heappush(ends, hit.ended)
        if len(ends) > max_inflight:
            found.append(f"{key}: {len(ends)} in flight instead of {max_inflight} at {hit.host}{hit.path}")
    return found
