"""Shares follow load; nothing flaps; no partition stays without an owner."""

import random

import pytest

from nephila.models import PARTITIONS
from nephila.policy.balance import Moves, balance

ALL = range(PARTITIONS)


@pytest.mark.parametrize(
    ("owners", "loads", "offers", "take", "give"),
    [
        pytest.param({0: None, 1: None}, {}, {}, (0,), (), id="free and without load: by count"),
        pytest.param({0: 2, 1: None}, {}, {}, (1,), (), id="the poorest takes"),
        pytest.param({0: 1, 1: None}, {}, {}, (), (), id="the richer does not"),
        pytest.param(
            {0: None, 1: 2}, {0: 1000.0}, {}, (0,), (), id="a heavy free one is taken, whatever the fair share"
        ),
        pytest.param({0: None, 1: None, 2: None}, {0: 9.0}, {}, (0,), (), id="the heavy one is a share of its own"),
        pytest.param({0: None, 1: 1}, {}, {0: 1}, (0,), (), id="an offer is honoured, also by the richer"),
        pytest.param({0: None}, {}, {0: 2}, (), (), id="what is offered to another is left to it"),
        pytest.param({0: None}, {}, {0: 7}, (0,), (), id="an offer to the dead is none"),
        pytest.param({0: 2, 1: 2}, {0: 5.0, 1: 5.0}, {}, (), (), id="nothing is taken from the living"),
        pytest.param({0: 1, 1: 1}, {0: 5.0, 1: 5.0}, {}, (), ((0, 2),), id="half goes to who has nothing"),
        pytest.param({0: 1, 1: 1}, {0: 5.0, 1: 5.0}, {0: 2}, (), (), id="once: what is on offer counts as gone"),
        pytest.param({0: 1, 1: 1, 2: 1}, {0: 100.0, 1: 1.0, 2: 1.0}, {}, (), ((1, 2), (2, 2)), id="a hot one stays"),
        pytest.param({0: 1, 1: 2}, {0: 110.0, 1: 100.0}, {}, (), (), id="a small difference moves nothing"),
    ],
)
def test_moves_of_worker_1_beside_worker_2(
    owners: dict[int, int | None],
    loads: dict[int, float],
    offers: dict[int, int],
    take: tuple[int, ...],
    give: tuple[tuple[int, int], ...],
) -> None:
    assert balance(1, [1, 2], owners, loads, offers) == Moves(take, give)


class Table:
    """The partitions as a store keeps them; a round lets every worker lease and hand back, in any order."""

    def __init__(self, loads: dict[int, float], seed: int) -> None:
        self.owners: dict[int, int | None] = dict.fromkeys(ALL)
        self.offers: dict[int, int] = {}
        self.loads = loads
        self.live: list[int] = []
        self.moved = 0
        self._random = random.Random(seed)

    def round(self) -> None:
        self.moved = 0
        for me in self._random.sample(self.live, len(self.live)):
            moves = balance(me, self.live, self.owners, self.loads, self.offers)
            for part in moves.take:
                assert self.owners[part] is None, "stolen from the living"
                self.owners[part] = me
                self.offers.pop(part, None)
            self.offers |= dict(moves.give)
            self.moved += len(moves.take) + len(moves.give)
            for part, to in self.offers.items():
                if self.owners[part] == me and to != me:
                    self.owners[part] = None
                    self.moved += 1

    def settle(self) -> None:
        for _ in range(50):
            self.round()
            if not self.moved:
                return
        raise AssertionError("partitions still move after 50 rounds")

    def die(self, worker: int) -> None:
        self.live.remove(worker)
        self.owners = {part: None if owner == worker else owner for part, owner in self.owners.items()}
        self.offers = {part: to for part, to in self.offers.items() if to != worker}

    def held(self, worker: int) -> float:
        return sum(self.loads.get(part, 0.0) for part, owner in self.owners.items() if owner == worker)

    def count(self, worker: int) -> int:
        return sum(owner == worker for owner in self.owners.values())


LOADS = {
    "none": {},
    "even": dict.fromkeys(ALL, 10.0),
    "one hot": {7: 1000.0},
    "one hot among others": dict.fromkeys(ALL, 1.0) | {7: 1000.0},
    "skewed": {part: 1000.0 / (part + 1) for part in ALL},
}


@pytest.mark.requirement("F-26", "F-28")
@pytest.mark.parametrize("loads", LOADS.values(), ids=LOADS)
@pytest.mark.parametrize("workers", range(1, 9))
def test_workers_come_and_go_and_every_partition_finds_an_owner(workers: int, loads: dict[int, float]) -> None:
    table = Table(loads, seed=workers)
    for worker in range(workers):
        table.live.append(worker)
        table.settle()
        assert None not in table.owners.values()
    for worker in range(workers - 1):
        table.die(worker)
        table.settle()
        assert None not in table.owners.values()


@pytest.mark.requirement("F-28")
@pytest.mark.parametrize("workers", range(1, 9))
def test_shares_without_load_go_by_count_and_with_load_by_load(workers: int) -> None:
    idle, busy = Table({}, 1), Table(LOADS["skewed"], 2)
    for table in (idle, busy):
        table.live = list(range(workers))
        table.settle()
    assert max(map(idle.count, idle.live)) - min(map(idle.count, idle.live)) <= 1
    heaviest = max(LOADS["skewed"].values())
    fair = sum(LOADS["skewed"].values()) / workers
    assert max(map(busy.held, busy.live)) <= max(1.2 * fair, heaviest)


def test_a_hot_partition_keeps_its_owner_while_the_others_leave_it() -> None:
    table = Table(dict(LOADS["one hot among others"]), 3)
    table.live = [1]
    table.settle()
    table.live.append(2)
    table.settle()
    assert table.owners[7] == 1
    assert (table.count(1), table.count(2)) == (1, PARTITIONS - 1)
