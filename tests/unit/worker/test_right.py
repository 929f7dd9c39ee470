"""The right to send, and a store that does not answer."""

from typing import Any

import pytest

from nephila.errors import StoreUnavailable
from nephila.worker.right import SendRight, StoreThread


@pytest.fixture
async def events() -> list[dict[str, Any]]:
    return []


@pytest.fixture
async def store(events: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> StoreThread:
    monkeypatch.setattr("nephila.worker.right.RETRY_MS_MIN", 1.0)
    return StoreThread(events.append)


class Answers:
    """Raises what is an exception, answers what is not."""

    def __init__(self, *answers: object) -> None:
        self.left = list(answers)

    def __call__(self) -> object:
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_a_store_that_is_away_is_asked_until_it_answers(store: StoreThread, events: list[dict[str, Any]]) -> None:
    away = StoreUnavailable("away")
    assert await store.insist(Answers(away, away, 7)) == 7
    assert store.stalled, "only a flush proves that it takes results"
    store.go_on()
    store.go_on()
    assert [event["event"] for event in events] == ["stalled", "going_on"], "each is told once"
    assert not store.stalled


async def test_the_lease_is_renewed_before_each_repetition(store: StoreThread) -> None:
    """A store that does not even take that is not asked for more."""
    renewed, flush = [True, False, False, True], Answers(StoreUnavailable("full"), StoreUnavailable("full"), 7)

    async def renew() -> bool:
        return renewed.pop(0)

    assert await store.insist(flush, renew=renew) == 7
    assert renewed == []


async def test_who_stops_does_not_wait(store: StoreThread) -> None:
    store.stopping = True
    assert await store.insist(Answers(StoreUnavailable("away"))) is None
    assert store.stalled


async def test_other_faults_are_not_waited_for(store: StoreThread) -> None:
    with pytest.raises(ValueError):
        await store.insist(Answers(ValueError("broken")))


async def test_what_ends_the_right_to_send(store: StoreThread) -> None:
    right = SendRight(store)
    assert right.holds(1e9), "without a lease: as long as the process lives"
    right.until_tick = 100.0
    assert right.holds(99.0) and not right.holds(100.0) and not right.over
    store.stalled = True
    assert not right.holds(0.0) and not right.over, "it comes back"
    store.stalled, right.fenced = False, True
    assert not right.holds(0.0) and right.over
    right.fenced, store.stopping = False, True
    assert not right.holds(0.0) and right.over
