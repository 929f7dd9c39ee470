import pytest

from nephila.clock import VirtualClock
from nephila.models import (
    ANSWERED,
    ERRORS,
    ERRORS_WITH_REASON,
    EXPLAINED_ERRORS,
    OPEN,
    REASON_PREFIX,
    STATE_CODES,
    STATE_TRAITS,
    STATES_BY_CODE,
    TERMINAL,
    CrawlState,
    Kind,
    Reason,
    Refusal,
    Tally,
    UrlState,
    counted_type,
    reason_tally,
)


@pytest.mark.requirement("S-01")
@pytest.mark.parametrize("state", UrlState)
def test_a_state_is_open_or_terminal(state: UrlState) -> None:
    assert state.terminal is (state not in {UrlState.QUEUED, UrlState.IN_PROGRESS})
    assert (state in OPEN) is not (state in TERMINAL)


def test_every_state_is_classified() -> None:
    """A new state has its line in STATE_TRAITS, and every set of states follows from it."""
    assert set(STATE_TRAITS) == set(UrlState)
    assert {"visited", "redirected", "forbidden", "not_found", "http_error"} == ANSWERED
    assert {"forbidden", "not_found", "http_error", "failed"} == ERRORS
    assert ({"forbidden", "not_found"}, {"http_error", "failed"}) == (EXPLAINED_ERRORS, ERRORS_WITH_REASON)
    assert [state for state in UrlState if state.terminal] == list(TERMINAL)


def test_no_two_tallies_have_one_name() -> None:
    names = [*Tally, *UrlState, *(reason_tally(reason) for reason in Reason if reason)]
    assert len(set(names)) == len(names)
    assert reason_tally(Reason.TIMEOUT).removeprefix(REASON_PREFIX) == Reason.TIMEOUT


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


def test_media_types_are_compared_without_their_parameters() -> None:
    kinds = ("Text/HTML; charset=utf-8", None, "", "image/png, image/png", "a b/c", "x/" * 60)
    assert [counted_type(kind) for kind in kinds] == ["text/html", "none", "none", "image/png", "other", "other"]
