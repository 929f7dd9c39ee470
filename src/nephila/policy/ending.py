"""How a crawl with no open row has ended. Pure."""

from collections.abc import Mapping
from math import ceil

from nephila.models import REASON_PREFIX, TERMINAL, Reason, Tally, UrlState, reason_tally
from nephila.profiles import LimitSettings

# Where a URL ended so, its seed was had: links and redirects are found nowhere else.
HAD = (UrlState.VISITED, UrlState.REDIRECTED)
UNTRIED = (UrlState.EVICTED, reason_tally(Reason.LIMIT_FRONTIER))

# A crawl that ends so has URLs that nobody asked for: with a higher limit it can go on.
LIMIT_REASONS = (Reason.LIMIT_PAGES, Reason.LIMIT_TIME, Reason.LIMIT_BYTES)


def failure_of(tallies: Mapping[str, int]) -> str:
    """Why a crawl has failed: the most frequent reason for which its seeds could not be had; "" where one could.

    A crawl fails if not one of its URLs was visited or redirected. Then all of them are seeds, since children come from
    such URLs alone. URLs that its own settings only record (`Reason.DEPTH`) are no failure, and those that were evicted
    say nothing.
    """
    if any(tallies.get(state) for state in HAD) or tallies.get(reason_tally(Reason.DEPTH)):
        return ""
    tallies = {name: n for name, n in tallies.items() if name not in UNTRIED}
    reasons = {name.removeprefix(REASON_PREFIX): n for name, n in tallies.items() if name.startswith(REASON_PREFIX)}
    reasons = reasons or {str(state): tallies[state] for state in TERMINAL if tallies.get(state)}
    return max(reasons, key=lambda reason: reasons[reason], default="")


def used_of(tallies: Mapping[str, int], active_ms: int) -> dict[str, int]:
    """How much of each limit that can end it a crawl has used; started seconds count."""
    return {
        "max_pages": tallies.get(UrlState.VISITED, 0) - tallies.get(reason_tally(Reason.CONTENT_TYPE), 0),
        "max_seconds": ceil(active_ms / 1000),
        "max_bytes": tallies.get(Tally.BYTES, 0),
    }


def spent_limit(limits: LimitSettings, used: Mapping[str, int]) -> str:
    """The name of a limit that a crawl has reached, "" where it has reached none."""
    reached = (name for name, n in used.items() if (most := getattr(limits, name)) is not None and n >= most)
    return next(reached, "")
