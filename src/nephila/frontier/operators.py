"""What operators decide while crawls run: block rules, host rules, the floor of all delays, access tokens.

Every change moves the control version, so each worker reads its Rulings anew with its next flush.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from nephila.urls.blocks import Blocks

BLOCKS_MAX = 10_000  # every worker holds them all in memory
HOST_RULES_MAX = 10_000
TOKENS_MAX = 1000


class BlockKind(StrEnum):
    DOMAIN = "domain"  # the name and all below it
    PATTERN = "pattern"  # of the whole URL, with * and ?


class Access(StrEnum):
    """What a token may do; each includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class BlockRule:
    """Honoured at admission and, for URLs that are queued already, at dispatch."""

    id: int
    kind: BlockKind
    value: str
    reason: str
    created_by: str
    created_at: int


@dataclass(frozen=True, slots=True)
class HostRule:
    """An operator's word about one politeness key."""

    host: str
    delay_ms: int | None  # at least so long between two requests
    blocked_in_ms: int | None  # for how much longer nothing is asked of it; None: it is not blocked
    reason: str
    created_by: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Rulings:
    """All that a worker must honour."""

    blocks: tuple[BlockRule, ...] = ()
    hosts: Mapping[str, HostRule] = field(default_factory=dict)
    floor_ms: int = 0  # of every delay, in all crawls


def blocks_of(rulings: Rulings) -> Blocks:
    domains = [(rule.value, rule.reason) for rule in rulings.blocks if rule.kind is BlockKind.DOMAIN]
    patterns = [(rule.value, rule.reason) for rule in rulings.blocks if rule.kind is BlockKind.PATTERN]
    return Blocks(domains, patterns)


@dataclass(frozen=True, slots=True)
class Token:
    """Its secret was shown once and is stored hashed."""

    id: int
    name: str
    access: Access
    created_at: int
    revoked_at: int | None


class Rulebook(Protocol):
    def rulings(self) -> Rulings: ...
    def add_blocks(self, kind: BlockKind, values: Sequence[str], reason: str, by: str) -> list[BlockRule]:
        """A rule that exists already is answered as it is. UsageError above BLOCKS_MAX."""

    def remove_block(self, block_id: int) -> bool: ...
    def set_host(self, host: str, delay_ms: int | None, blocked_in_ms: int | None, reason: str, by: str) -> HostRule:
        """Replaces what was said of this host before. UsageError above HOST_RULES_MAX."""

    def clear_host(self, host: str) -> bool: ...
    def set_floor(self, floor_ms: int) -> None: ...

    def add_token(self, name: str, access: Access, digest: bytes) -> Token:
        """UsageError where a living token has this name, or above TOKENS_MAX."""

    def tokens(self) -> list[Token]: ...
    def token(self, digest: bytes) -> Token | None:
        """The living token with this SHA-256 of its secret."""

    def revoke_token(self, token_id: int) -> bool: ...
    def has_tokens(self) -> bool: ...
