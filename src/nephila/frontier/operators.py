"""What operators decide while crawls run: block rules, host rules, the floor of all delays.

Every change moves the control version, so each worker reads its Rulings anew with its next flush.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nephila.urls.blocks import Blocks

BLOCKS_MAX = 10_000  # every worker holds them all in memory
HOST_RULES_MAX = 10_000


class BlockKind(StrEnum):
    DOMAIN = "domain"  # the name and all below it
    PATTERN = "pattern"  # of the whole URL, with * and ?


@dataclass(frozen=True, slots=True)
class BlockRule:
    """A rule against URLs, honoured at admission and, for URLs that are queued already, at dispatch."""

    id: int
    kind: BlockKind
    value: str
    reason: str
    created_by: str
    created_at: int


@dataclass(frozen=True, slots=True)
class HostRule:
    """An operator's rule about one politeness key."""

    host: str
    delay_ms: int | None  # the least time between two requests
    blocked_in_ms: int | None  # how much longer nothing is asked of it; None: it is not blocked
    reason: str
    created_by: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Rulings:
    """All rules that a worker must honour."""

    blocks: tuple[BlockRule, ...] = ()
    hosts: Mapping[str, HostRule] = field(default_factory=dict)
    floor_ms: int = 0  # of every delay, in all crawls


def blocks_of(rulings: Rulings) -> Blocks:
    domains = [(rule.value, rule.reason) for rule in rulings.blocks if rule.kind is BlockKind.DOMAIN]
    patterns = [(rule.value, rule.reason) for rule in rulings.blocks if rule.kind is BlockKind.PATTERN]
    return Blocks(domains, patterns)
