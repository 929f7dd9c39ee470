"""What a session remembers, and what follows from it without a database."""

import pytest

from nephila.frontier.session import (
    FencedSessions,
    SessionMemory,
    lease_of,
    moves_of,
    pages_of,
    state_without_request,
)
from nephila.frontier.store import ERRORS_PER_FLUSH, ErrorNote, Outcome
from nephila.models import CrawlState, Reason, UrlState

ME, OTHER, DEAD = 1, 2, 3
# part, owner, offered to, load, forced at
TABLE = [(0, ME, None, 1.0, None), (1, ME, OTHER, 1.0, 400), (2, ME, DEAD, 1.0, 1200), (3, OTHER, None, 1.0, None)]


def remembering(*crawls: int) -> SessionMemory:
    memory = SessionMemory()
    memory._remember_crawls(7, [(crawl, CrawlState.RUNNING, "", False) for crawl in crawls])
    return memory


def test_a_lease_names_own_partitions_and_those_to_hand_back() -> None:
    lease = lease_of(ME, [ME, OTHER], TABLE, 1000, FencedSessions(1, 5))
    assert lease.partitions == {0: None, 1: 600, 2: 0}
    assert (lease.give, lease.workers, lease.fenced, lease.fenced_urls) == ([1], 2, 1, 5), (
        "an offer to a dead worker is none"
    )


def test_a_free_partition_is_taken() -> None:
    assert moves_of(ME, [ME], [(0, None, None, 0.0, None), (1, ME, None, 0.0, None)]).take == (0,)


def test_loading_begins_behind_the_partition_where_it_stopped() -> None:
    memory = SessionMemory()
    memory._own((3, 1, 2))
    assert memory._rotated_parts() == [1, 2, 3]
    memory._last_part = 2
    assert memory._rotated_parts() == [3, 1, 2]


def test_nothing_is_written_of_a_crawl_that_was_deleted_meanwhile() -> None:
    memory = remembering(1)
    assert memory._countable({(1, "urls"): 2, (1, "bytes"): 0, (9, "urls"): 3}) == [(1, "urls", 2)]
    notes = [ErrorNote(crawl, 5, "timeout", "", 1) for crawl in (1, 9)]
    assert [row[2] for row in memory._error_rows(notes, 100)] == [1]
    assert len(memory._error_rows(notes[:1] * (ERRORS_PER_FLUSH + 1), 100)) == ERRORS_PER_FLUSH


def test_a_robots_txt_is_no_page() -> None:
    page = Outcome(1, 1, UrlState.VISITED, "", 1)
    failed, robots = Outcome(2, 1, UrlState.FAILED, "", 1), Outcome(3, 1, UrlState.VISITED, "", 1, counts=False)
    assert pages_of([page, page, failed, robots]) == {1: 2}


@pytest.mark.parametrize(
    ("reason", "state"),
    [
        (Reason.HOST_DEAD, UrlState.FAILED),
        (Reason.CANCELLED, UrlState.CANCELLED),
        (Reason.LIMIT_HOST, UrlState.EXCLUDED),
        (Reason.LIMIT_PAGES, UrlState.EXCLUDED),
    ],
)
def test_the_reason_tells_the_state_of_rows_that_end_without_a_request(reason: Reason, state: UrlState) -> None:
    assert state_without_request(reason) is state
