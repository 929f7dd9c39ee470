"""The time of a store: what is noted of it, and what it is when the clock leaps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.frontier.store_clock import CATCH_UP, LEAP_MS, NOTE_EVERY_MS, STEP_MS, StoreClock

HOUR = 3_600_000
AT = 1_700_000_000_000


def test_a_clock_that_goes_on_is_the_time() -> None:
    clock = StoreClock(0, AT)
    assert clock.now(AT + 7) == AT + 7
    assert clock.noted(AT + NOTE_EVERY_MS) == (0, AT + NOTE_EVERY_MS)


@pytest.mark.parametrize("back", [1, STEP_MS])
def test_a_small_step_back_is_waited_for(back: int) -> None:
    clock = StoreClock(0, AT)
    assert clock.now(AT - back) == AT
    assert clock.noted(AT - back) == clock


def test_a_clock_that_is_set_back_gets_what_it_lost() -> None:
    clock = StoreClock(0, AT).noted(AT - HOUR)
    assert clock == (HOUR, AT)
    assert clock.now(AT - HOUR + 1000) == AT + 1000
    assert clock.noted(AT - 2 * HOUR) == (2 * HOUR, AT), "and again"


def test_what_is_added_shrinks_slowly() -> None:
    clock = StoreClock(HOUR, AT).noted(AT - HOUR + NOTE_EVERY_MS)
    assert clock == (HOUR - NOTE_EVERY_MS // CATCH_UP, AT + NOTE_EVERY_MS - NOTE_EVERY_MS // CATCH_UP)


def test_a_clock_that_is_put_right_changes_nothing() -> None:
    clock = StoreClock(HOUR, AT)
    assert clock.now(AT) == AT
    assert clock.noted(AT) == (0, AT)


def test_a_long_pause_uses_up_what_is_added() -> None:
    clock = StoreClock(HOUR, AT)
    assert clock.now(AT + HOUR) == AT + HOUR, "two hours later by the clock: one was added before"
    assert clock.noted(AT + HOUR).offset_ms == 0


def test_a_write_is_worth_a_step_or_some_seconds() -> None:
    known = StoreClock(HOUR, AT)
    assert not StoreClock(HOUR - 50, AT + NOTE_EVERY_MS - 1).differs(known)
    assert StoreClock(HOUR, AT + NOTE_EVERY_MS).differs(known)
    assert StoreClock(0, AT).differs(known) and StoreClock(2 * HOUR, AT).differs(known)


@given(st.lists(st.integers(-2 * HOUR, 2 * HOUR) | st.integers(0, LEAP_MS), max_size=30))
def test_the_time_never_goes_back(steps: list[int]) -> None:
    clock, wall = StoreClock(0, AT), AT
    for step in steps:
        wall += step
        before, shown = clock.seen_at, clock.now(wall)
        clock = clock.noted(wall)
        assert clock.offset_ms >= 0
        assert before <= clock.seen_at <= clock.now(wall) <= shown
