import pytest

from nephila.clock import VirtualClock
from nephila.models import STATE_CODES, STATES_BY_CODE, CrawlState, Kind, Reason, Refusal, UrlState

OPEN = {UrlState.QUEUED, UrlState.IN_PROGRESS}


@pytest.mark.requirement("S-01")
@pytest.mark.parametrize("state", UrlState)
def test_a_state_is_open_or_terminal(state: UrlState) -> None:
    assert state.terminal is (state not in OPEN)


def test_every_stored_state_has_a_number_of_its_own() -> None:
    assert set(STATE_CODES) == set(UrlState) - {UrlState.IN_PROGRESS}
    assert {STATES_BY_CODE[code] for code in STATE_CODES.values()} == set(STATE_CODES)


def test_numbers_in_stores_of_earlier_versions_keep_their_meaning() -> None:
    assert [STATES_BY_CODE[code] for code in range(9)] == [
        "queued",
        "visited",
        "redirected",
        "forbidden",
        "not_found",
        "http_error",
        "failed",
        "excluded",
        "cancelled",
    ]
    assert [(kind.name, kind.value) for kind in Kind][:2] == [("PAGE", 0), ("ROBOTS", 1)]


@pytest.mark.requirement("S-03", "S-05")
@pytest.mark.parametrize("state", CrawlState)
def test_a_crawl_is_over_or_not(state: CrawlState) -> None:
    assert state.over is (state.value in {"completed", "cancelled", "failed"})


@pytest.mark.parametrize("words", [UrlState, CrawlState, Reason, Refusal])
def test_words_are_plain(words: type[UrlState]) -> None:
    assert all(word.value.replace("_", "").isalnum() and word.value.islower() for word in words if word.value)


def test_the_virtual_clock_moves_only_when_told() -> None:
    clock = VirtualClock(1000)
    clock.advance(250.5)
    assert (clock.now_ms(), clock.tick_ms()) == (1250, 250.5)
    with pytest.raises(AssertionError):
        clock.advance(-1)
