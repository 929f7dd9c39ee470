"""The rules of operators (operators.py), read and changed. Every change moves the control version."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from nephila.errors import UsageError
from nephila.frontier.operators import BLOCKS_MAX, HOST_RULES_MAX, BlockKind, BlockRule, HostRule, Rulings
from nephila.frontier.rows import stored
from nephila.frontier.tables import OverTables, Tables, TableWriter, Values, move_control
from nephila.urls.identity import partition_of

T = TypeVar("T")


class Rulebook(OverTables):
    @stored
    def rulings(self) -> Rulings:
        now = self.tables.now()
        rules = [host_rule(row, now) for row in self.tables.rows("host_rules")]
        blocks = tuple(block_rule(row) for row in self.tables.rows("blocks"))
        return Rulings(blocks, {rule.host: rule for rule in rules}, int(self.tables.value("floor")))

    def add_blocks(self, kind: BlockKind, values: Sequence[str], reason: str, by: str) -> list[BlockRule]:
        """Add block rules; one that exists already is answered as it is. UsageError above BLOCKS_MAX."""
        now, wanted = self.tables.now(), self.tables.texts(dict.fromkeys(values))

        def work(tables: TableWriter) -> int:
            added = tables.change("add_blocks", kind=kind, values=wanted, reason=reason, by=by, now=now)
            if tables.value("count_blocks") > BLOCKS_MAX:
                raise UsageError(f"there can be at most {BLOCKS_MAX:,} block rules: remove some, or block a domain")
            return added

        decide(self.tables, work)
        return [block_rule(row) for row in self.tables.rows("blocks_of", kind=kind, values=wanted)]

    def remove_block(self, block_id: int) -> bool:
        return decide(self.tables, lambda tables: tables.change("remove_block", id=block_id) > 0)

    def set_host(self, host: str, delay_ms: int | None, blocked_in_ms: int | None, reason: str, by: str) -> HostRule:
        """Replace the rule of this host. UsageError above HOST_RULES_MAX."""
        now = self.tables.now()
        until = None if blocked_in_ms is None else now + blocked_in_ms
        rule = {"host": host, "delay_ms": delay_ms, "until": until, "reason": reason, "by": by, "now": now}

        def work(tables: TableWriter) -> bool:
            tables.change("set_host", **rule)
            if tables.value("count_host_rules") > HOST_RULES_MAX:
                raise UsageError(f"there can be at most {HOST_RULES_MAX:,} host rules: remove some")
            return _wake(tables, host, now)

        decide(self.tables, work)
        return host_rule((host, delay_ms, until, reason, by, now), now)

    def clear_host(self, host: str) -> bool:
        now = self.tables.now()
        return decide(
            self.tables, lambda tables: tables.change("clear_host", host=host) > 0 and _wake(tables, host, now)
        )

    def set_floor(self, floor_ms: int) -> None:
        decide(self.tables, lambda tables: tables.change("set_floor", floor_ms=floor_ms))


def decide(tables: Tables, work: Callable[[TableWriter], T]) -> T:
    """Change rules or tokens. Changes take turns, so that their bounds are exact. A falsy answer of `work` means that
    nothing changed; otherwise the control version moves."""
    return tables.transact(partial(_turn, work))


def _turn(work: Callable[[TableWriter], T], tables: TableWriter) -> T:
    tables.rows("take_turn")
    done = work(tables)
    if done:
        move_control(tables)
    return done


def _wake(tables: TableWriter, host: str, now: int) -> bool:
    """Wake the host's sleeping queues: their owner looks at them with the new rule."""
    tables.rows("wait_for_flushes")  # a flush may put this host's queue to rest
    tables.change("wake_host", part=partition_of(host), host=host, now=now)
    return True


@stored
def block_rule(row: Values) -> BlockRule:
    id, kind, value, reason, created_by, created_at = row
    return BlockRule(id, BlockKind(kind), value, reason, created_by, created_at)


@stored
def host_rule(row: Values, now: int) -> HostRule:
    """Expired blocks are ignored."""
    host, delay_ms, blocked_until, *said = row
    blocked = blocked_until is not None and blocked_until > now
    return HostRule(host, delay_ms, blocked_until - now if blocked else None, *said)
