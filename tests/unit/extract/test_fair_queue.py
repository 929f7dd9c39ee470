"""Jobs of many hosts that wait for helpers: whose turn it is, and who must leave."""

from collections import Counter

import pytest

from nephila.extract.fair_queue import COST_GUESS_SECONDS, HOSTS_REMEMBERED, FairQueue

PLENTY = 1 << 40


def turns(queue: FairQueue[str], costs: dict[str, float], seconds: float) -> Counter[str]:
    """One helper reads for so many seconds; every host of `costs` always has a page that waits. Jobs are host names."""
    read: Counter[str] = Counter()
    for host in costs:
        queue.put(host, host, 1)
    spent = 0.0
    while spent < seconds:
        host, expected = queue.take()
        read[host] += 1
        spent += costs[host]
        queue.spent(host, expected, costs[host])
        queue.put(host, host, 1)
    return read


def test_first_come_first_served_within_a_host() -> None:
    queue: FairQueue[int] = FairQueue(PLENTY)
    for job in range(3):
        assert queue.put("a", job, 10) == []
    assert [queue.take().job for _ in range(3)] == [0, 1, 2]
    assert not queue and queue.bytes == 0 and queue.next() is None


def test_hosts_take_turns() -> None:
    queue: FairQueue[str] = FairQueue(PLENTY)
    for host in "aabbc":
        queue.put(host, host, 1)
    assert [queue.take().job for _ in range(5)] == ["a", "b", "c", "a", "b"]


def test_hosts_share_the_time_of_helpers_not_their_number_of_pages() -> None:
    costs = {f"evil{n}": 4.0 for n in range(8)} | {"good": 0.01}
    read = turns(FairQueue(PLENTY), costs, seconds=900)
    assert read["good"] >= 80 / 0.01, "a ninth of the time, less what one page takes"
    assert max(read[host] for host in costs if host != "good") - min(read[host] for host in costs) <= 1


def test_who_comes_back_has_saved_nothing_up() -> None:
    queue: FairQueue[str] = FairQueue(PLENTY)
    turns(queue, {"idle": 1.0}, seconds=1)
    queue.take()
    assert turns(queue, {"busy": 1.0}, seconds=100)["busy"] == 100
    read = turns(queue, {"idle": 1.0, "busy": 1.0}, seconds=10)
    assert abs(read["idle"] - read["busy"]) <= 2


def test_a_host_that_left_for_a_moment_is_remembered() -> None:
    """An evil host has one page at a time: its next page must not be treated as the first of a new host."""
    queue: FairQueue[str] = FairQueue(PLENTY)
    order = []
    for _ in range(3):
        queue.put("evil", "evil", 1)
        queue.put("good", "good", 1)
        while queue:
            host, expected = queue.take()
            order.append(host)
            queue.spent(host, expected, 4.0 if host == "evil" else 0.01)
    assert order == ["evil", "good", "good", "evil", "good", "evil"]


def test_what_a_page_takes_is_learnt() -> None:
    queue: FairQueue[str] = FairQueue(PLENTY)
    assert queue.expected_seconds("a") == COST_GUESS_SECONDS
    for _ in range(20):
        queue.put("a", "a", 1)
        queue.spent("a", queue.take().seconds, 3.0)
    assert queue.expected_seconds("a") == pytest.approx(3.0, rel=0.01)
    queue.put("a", "a", 1)
    assert queue.next() == ("a", queue.expected_seconds("a")) and queue.bytes == 1, "it only looks"


def test_beyond_the_bound_the_host_with_the_most_bytes_takes_its_newest_back() -> None:
    queue: FairQueue[str] = FairQueue(100)
    assert queue.put("evil", "evil 1", 40) == [] and queue.put("evil", "evil 2", 40) == []
    assert queue.put("good", "good 1", 30) == ["evil 2"]
    assert queue.put("other", "large", 90) == ["large"], "its own, if that is the most"
    assert queue.bytes == 70
    assert [queue.take().job for _ in range(2)] == ["evil 1", "good 1"]


def test_a_job_beyond_the_bound_stays_if_it_is_alone() -> None:
    queue: FairQueue[str] = FairQueue(100)
    assert queue.put("a", "huge", 1000) == []
    assert queue.put("a", "second", 1) == ["second"]
    assert queue.take().job == "huge" and queue.bytes == 0


def test_remove() -> None:
    queue: FairQueue[str] = FairQueue(PLENTY)
    for job in ("first", "second"):
        queue.put("a", job, 5)
    assert queue.remove("a", "first") and not queue.remove("a", "first") and not queue.remove("b", "first")
    assert queue.bytes == 5 and queue.take().job == "second" and not queue.remove("a", "second")


def test_hosts_without_a_job_are_forgotten() -> None:
    queue: FairQueue[str] = FairQueue(PLENTY)
    queue.put("waits", "waits", 1)
    for n in range(HOSTS_REMEMBERED + 10):
        queue.spent(f"h{n}", 0.0, 1.0)
    assert len(queue._shares) <= HOSTS_REMEMBERED
    assert queue.take().job == "waits" and queue.expected_seconds(f"h{HOSTS_REMEMBERED + 9}") > COST_GUESS_SECONDS
