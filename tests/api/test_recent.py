"""The cache of recent answers: who computes, who waits, what is kept."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from nephila.api.recent import RecentAnswer, RecentAnswers
from nephila.clock import VirtualClock
from tests.patience import PATIENCE_SECONDS, until

KEPT_MS = 1000.0


class Numbers:
    """Computes 1, 2, 3, ...; `hold` keeps it waiting."""

    def __init__(self) -> None:
        self.count = 0
        self.began, self.hold = threading.Event(), threading.Event()
        self.hold.set()

    def __call__(self) -> int:
        self.count += 1
        self.began.set()
        assert self.hold.wait(PATIENCE_SECONDS)
        return self.count


def test_an_answer_is_good_for_its_time(clock: VirtualClock) -> None:
    recent: RecentAnswers[str, int] = RecentAnswers(clock, KEPT_MS, 2)
    numbers = Numbers()
    assert [recent.get("a", numbers), recent.get("a", numbers), recent.get("b", numbers)] == [1, 1, 2]
    clock.advance(KEPT_MS - 1)
    assert (recent.get("a", numbers), recent.ms_left("a")) == (1, 1)
    clock.advance(1)
    assert (recent.get("a", numbers), recent.ms_left("nothing")) == (3, 0)


def test_the_latest_are_kept_in_their_order(clock: VirtualClock) -> None:
    recent: RecentAnswers[int, int] = RecentAnswers(clock, KEPT_MS, 3)
    for key in range(10):
        recent.get(key, Numbers())
    assert len(recent) == 3
    assert [recent.ms_left(key) > 0 for key in range(10)] == [False] * 7 + [True] * 3


def test_an_answer_that_took_long_is_good_for_longer(clock: VirtualClock) -> None:
    recent: RecentAnswers[None, None] = RecentAnswers(clock, KEPT_MS, rest_share=4)
    for spent, left in ((0.0, KEPT_MS), (100.0, 900.0), (200.0, 800.0), (1000.0, 4000.0)):
        recent.get(None, lambda spent=spent: clock.advance(spent))  # type: ignore[misc]
        assert recent.ms_left(None) == left
        recent.clear()


def test_a_failure_is_not_kept(clock: VirtualClock) -> None:
    recent: RecentAnswers[None, int] = RecentAnswers(clock, KEPT_MS)

    def failing() -> int:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            recent.get(None, failing)
    assert recent.get(None, Numbers()) == 1


def test_equal_questions_have_one_computation_at_a_time(clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    recent: RecentAnswers[None, int] = RecentAnswers(clock, KEPT_MS)
    claim, claimed = recent.claim, list[bool]()

    def noted(key: None, **options: bool) -> tuple[RecentAnswer[int], bool]:
        answer, first = claim(key, **options)
        claimed.append(first)
        return answer, first

    monkeypatch.setattr(recent, "claim", noted)
    numbers = Numbers()
    numbers.hold.clear()
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(recent.get, None, numbers) for _ in range(8)]
        until(lambda: len(claimed) == 8)  # one that asks after the end would rightly begin anew
        assert numbers.began.wait(PATIENCE_SECONDS)
        assert recent.get_at_once(None, numbers, -1) == -1  # nothing was known before
        clock.advance(2 * KEPT_MS)  # too old already, and still the only one
        numbers.hold.set()
        assert [answer.result() for answer in asked] == [1] * 8


def test_while_one_computes_others_hear_the_answer_before(clock: VirtualClock) -> None:
    recent: RecentAnswers[None, int] = RecentAnswers(clock, KEPT_MS)
    numbers = Numbers()
    assert recent.get_at_once(None, numbers, -1) == 1
    clock.advance(KEPT_MS)
    numbers.hold.clear()
    numbers.began.clear()
    with ThreadPoolExecutor(1) as threads:
        second = threads.submit(recent.get_at_once, None, numbers, -1)
        assert numbers.began.wait(PATIENCE_SECONDS)
        assert recent.get_at_once(None, numbers, -1) == 1
        numbers.hold.set()
        assert second.result() == 2
    assert recent.get_at_once(None, numbers, -1) == 2


def test_what_is_forgotten_meanwhile_is_not_kept(clock: VirtualClock) -> None:
    recent: RecentAnswers[None, int] = RecentAnswers(clock, KEPT_MS)
    numbers = Numbers()
    answer, first = recent.claim(None)
    recent.clear()
    assert first and recent.settle(None, answer, numbers) == 1
    assert recent.get(None, numbers) == 2
