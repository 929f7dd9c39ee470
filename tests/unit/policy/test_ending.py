"""Whether a crawl has failed: one line per way to end."""

import pytest

from nephila.models import Reason, UrlState, reason_tally
from nephila.policy.ending import failure_of, spent_limit, used_of
from nephila.profiles import LimitSettings

REFUSED, EVICTED = reason_tally(Reason.CONNECT), reason_tally(Reason.LIMIT_FRONTIER)


@pytest.mark.parametrize(
    ("tallies", "failure"),
    [
        ({}, ""),  # no seeds at all
        ({UrlState.VISITED: 1}, ""),
        ({UrlState.REDIRECTED: 1, reason_tally(Reason.REDIRECT_OUT_OF_SCOPE): 1}, ""),  # it was had
        ({UrlState.VISITED: 1, UrlState.FAILED: 9, REFUSED: 9}, ""),  # one seed of many is enough
        ({UrlState.FAILED: 1, REFUSED: 1}, Reason.CONNECT),
        ({UrlState.FAILED: 3, REFUSED: 1, reason_tally(Reason.NXDOMAIN): 2}, Reason.NXDOMAIN),  # the most frequent
        ({UrlState.EXCLUDED: 1, reason_tally(Reason.ROBOTS_UNREACHABLE): 1}, Reason.ROBOTS_UNREACHABLE),
        ({UrlState.EXCLUDED: 1, reason_tally(Reason.ROBOTS): 1}, Reason.ROBOTS),
        ({UrlState.NOT_FOUND: 1}, UrlState.NOT_FOUND),
        ({UrlState.EXCLUDED: 1, reason_tally(Reason.DEPTH): 1}, ""),  # as it was asked to
        ({UrlState.FAILED: 1, REFUSED: 1, UrlState.EVICTED: 9, EVICTED: 9}, Reason.CONNECT),  # those were never tried
        ({UrlState.NOT_FOUND: 1, UrlState.EVICTED: 9, EVICTED: 9}, UrlState.NOT_FOUND),
    ],
)
def test_failures(tallies: dict[str, int], failure: str) -> None:
    assert failure_of(tallies) == failure


@pytest.mark.parametrize(
    ("limits", "spent"),
    [
        ({}, ""),
        ({"max_pages": 8}, ""),
        ({"max_pages": 7}, "max_pages"),
        ({"max_seconds": 2}, "max_seconds"),
        ({"max_seconds": 3}, ""),
        ({"max_pages": 8, "max_bytes": 100}, "max_bytes"),
        ({"max_urls": 1, "max_urls_per_host": 1}, ""),
    ],
)
def test_a_limit_is_spent_when_nothing_of_it_is_left(limits: dict[str, int], spent: str) -> None:
    used = used_of({"visited": 9, "reason:content_type": 2, "bytes": 100}, active_ms=1001)
    assert used == {"max_pages": 7, "max_seconds": 2, "max_bytes": 100}
    assert spent_limit(LimitSettings(**limits), used) == spent
