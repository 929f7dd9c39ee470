"""`balance` says which partitions a worker takes and which it hands back. Pure: the store carries it out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace

# The weight of a partition without load. Where no partition has any, shares go by count; a power of two adds exactly.
IDLE_WEIGHT = 2.0**-10
IMBALANCE = 1.2  # times the fair load: below it nothing moves, since moving costs a pause of its hosts


@dataclass(slots=True)
class Lease:
    """What a session owns after renewing. Hosts of a partition taken from a dead session first rest a full delay."""

    # partition -> ms since it was last taken from a dead session, None: never
    partitions: dict[int, int | None] = field(default_factory=dict)
    give: list[int] = field(default_factory=list)  # to hand back as soon as nothing of theirs is in flight
    workers: int = 1
    # Requests may start for this long, counted from before the renewal was sent; None: while the process lives.
    valid_ms: float | None = None
    fenced: int = 0  # dead sessions that this renewal took over from
    fenced_urls: int = 0  # that they had in flight


@dataclass(frozen=True, slots=True)
class Moves:
    take: tuple[int, ...]
    give: tuple[tuple[int, int], ...]  # partition, the worker it is offered to


def balance(
    me: int,
    live: Sequence[int],
    owners: Mapping[int, int | None],
    loads: Mapping[int, float],
    offers: Mapping[int, int],
) -> Moves:
    """Take this worker's share of the free partitions; offer the largest ones whose move still evens the loads out.

    One hot partition is never moved to and fro: it is heavier than half the difference, so its owner gives the others
    away instead. `me` is one of `live`; offers to the dead count for nothing.
    """
    weight = {part: loads.get(part, 0.0) + IDLE_WEIGHT for part in owners}
    held = _held(live, owners, weight, offers)
    take = _take(me, owners, weight, offers, held)
    give = () if take else _give(me, owners, weight, offers, held)
    return Moves(take, give)


def _held(
    live: Sequence[int], owners: Mapping[int, int | None], weight: Mapping[int, float], offers: Mapping[int, int]
) -> dict[int, float]:
    """The weight of each living worker, as if every offer had been taken."""
    held = dict.fromkeys(live, 0.0)
    for part, owner in owners.items():
        offered = offers.get(part)
        holder = offered if offered in held else owner
        if holder in held:
            held[holder] += weight[part]
    return held


def _take(
    me: int,
    owners: Mapping[int, int | None],
    weight: Mapping[int, float],
    offers: Mapping[int, int],
    held: Mapping[int, float],
) -> tuple[int, ...]:
    """The partitions offered to `me`, and its share when the least loaded worker takes the heaviest free one in turn.

    This way every free partition finds an owner, however heavy it is and however the shares round.
    """
    free = [part for part, owner in owners.items() if owner is None]
    taken = [part for part in free if offers.get(part) == me]
    shares = [(weight_held, worker) for worker, weight_held in held.items()]
    heapify(shares)
    for part in sorted((part for part in free if offers.get(part) not in held), key=lambda part: -weight[part]):
        share, poorest = shares[0]
        heapreplace(shares, (share + weight[part], poorest))
        if poorest == me:
            taken.append(part)
    return tuple(taken)


def _give(
    me: int,
    owners: Mapping[int, int | None],
    weight: Mapping[int, float],
    offers: Mapping[int, int],
    held: dict[int, float],
) -> tuple[tuple[int, int], ...]:
    """Offer nothing below IMBALANCE; above it, as much as brings `me` down to the fair share."""
    fair = sum(held.values()) / len(held)
    if held[me] <= fair * IMBALANCE:
        return ()
    mine = [part for part, owner in owners.items() if owner == me and offers.get(part) not in held]
    given: list[tuple[int, int]] = []
    for part in sorted(mine, key=lambda part: -weight[part]):
        poorest = min(held, key=lambda worker: held[worker])
        if held[me] <= fair:
            break
        if weight[part] <= (held[me] - held[poorest]) / 2:
            given.append((part, poorest))
            held[me] -= weight[part]
            held[poorest] += weight[part]
    return tuple(given)
