"""Which partitions a worker takes and which it hands back. Pure: the store only carries it out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

IDLE_WEIGHT = 0.001  # of a partition without load: where there is no load at all, shares go by count
IMBALANCE = 1.2  # below this share of the fair load nothing moves: moving costs a pause of its hosts


@dataclass(slots=True)
class Lease:
    """What a session owns after renewing. `forced` holds when a partition was taken from a dead session: its hosts first rest a full delay."""

    partitions: dict[int, int | None] = field(
        default_factory=dict
    )  # partition -> ms since it was forced, None: handed over in peace
    give: list[int] = field(default_factory=list)  # to hand back as soon as nothing of theirs is in flight
    workers: int = 1
    valid_ms: float | None = None  # requests may start so long, counted from before the renewal was sent; None: as long as the process lives


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
    """Take what is free up to a fair share; offer the largest partitions whose move still evens things out.

    One hot partition is never moved to and fro: it is heavier than half the difference, so its owner gives the others away instead.
    """
    weight = {part: loads.get(part, 0.0) + IDLE_WEIGHT for part in owners}
    fair = sum(weight.values()) / max(1, len(live))
    held = dict.fromkeys(live, 0.0)
    for part, owner in owners.items():
        if owner in held:
            held[owner] += weight[part]
    take = _take(me, live, owners, weight, offers, fair - held.get(me, 0.0))
    give = () if take else _give(me, owners, weight, offers, held, fair)
    return Moves(take, give)


def _take(
    me: int,
    live: Sequence[int],
    owners: Mapping[int, int | None],
    weight: Mapping[int, float],
    offers: Mapping[int, int],
    room: float,
) -> tuple[int, ...]:
    taken = [part for part, owner in owners.items() if owner is None and offers.get(part) == me]
    room -= sum(weight[part] for part in taken)
    for part, owner in owners.items():
        if owner is None and offers.get(part) not in live and room > weight[part] / 2:
            taken.append(part)
            room -= weight[part]
    return tuple(taken)


def _give(
    me: int,
    owners: Mapping[int, int | None],
    weight: Mapping[int, float],
    offers: Mapping[int, int],
    held: dict[int, float],
    fair: float,
) -> tuple[tuple[int, int], ...]:
    mine = sorted(
        (part for part, owner in owners.items() if owner == me and part not in offers), key=lambda part: -weight[part]
    )
    held = dict(held)
    for part, to in offers.items():
        if owners.get(part) == me and to in held:
            held[me] -= weight[part]
            held[to] += weight[part]
    given: list[tuple[int, int]] = []
    for part in mine:
        poorest = min(held, key=lambda worker: held[worker])
        if poorest == me or held.get(me, 0.0) <= fair * IMBALANCE:
            break
        if weight[part] <= (held[me] - held[poorest]) / 2:
            given.append((part, poorest))
            held[me] -= weight[part]
            held[poorest] += weight[part]
    return tuple(given)
