"""What operators decide while crawls run, on PostgreSQL."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from nephila.errors import UsageError
from nephila.frontier.columns import storable
from nephila.frontier.operators import (
    BLOCKS_MAX,
    HOST_RULES_MAX,
    TOKENS_MAX,
    Access,
    BlockKind,
    BlockRule,
    HostRule,
    Rulings,
    Token,
)
from nephila.frontier.postgres.arrays import Texts
from nephila.frontier.postgres.connection import Cursor, Database
from nephila.frontier.rows import block_rule, host_rule, token_of
from nephila.frontier.statements import statements
from nephila.urls.identity import partition_of

SQL = statements("postgres", "rulebook")
CATALOG_SQL = statements("postgres", "catalog")
WORKER_SQL = statements("postgres", "worker")
RULES_LOCK = 0x4E4552  # advisory: changes of rules and tokens take turns, so that their bounds are exact

T = TypeVar("T")


class PostgresRulebook:
    def __init__(self, database: Database) -> None:
        self.database = database

    def rulings(self) -> Rulings:
        read, now = self.database.read, self.database.now()
        rules = [host_rule(row, now) for row in read(SQL["host_rules"])]
        blocks = tuple(block_rule(row) for row in read(SQL["blocks"]))
        return Rulings(blocks, {rule.host: rule for rule in rules}, read(SQL["floor"])[0][0])

    def _change(self, work: Callable[[Cursor], T]) -> T:
        """Falsy answers say that nothing changed."""

        def turn(cursor: Cursor) -> T:
            cursor.execute(SQL["turn"], (RULES_LOCK,))
            done = work(cursor)
            if done:
                cursor.execute(WORKER_SQL["bump_control"])
            return done

        return self.database.run(turn)

    # --- blocks, hosts, the floor

    def add_blocks(self, kind: BlockKind, values: Sequence[str], reason: str, by: str) -> list[BlockRule]:
        wanted = Texts(dict.fromkeys(map(storable, values)))
        named: dict[str, Any] = {"kind": str(kind), "values": wanted, "reason": storable(reason), "by": storable(by)}
        self._change(partial(_add_blocks, {**named, "now": self.database.now()}))
        return [block_rule(row) for row in self.database.read(SQL["blocks_of"], named)]

    def remove_block(self, block_id: int) -> bool:
        return self._change(lambda cursor: cursor.execute(SQL["remove_block"], (block_id,)).rowcount > 0)

    def set_host(self, host: str, delay_ms: int | None, blocked_in_ms: int | None, reason: str, by: str) -> HostRule:
        now = self.database.now()
        until = None if blocked_in_ms is None else now + blocked_in_ms
        row = (storable(host), delay_ms, until, storable(reason), storable(by), now)

        def work(cursor: Cursor) -> bool:
            cursor.execute(SQL["set_host"], row)
            if cursor.execute(SQL["count_host_rules"]).fetchall()[0][0] > HOST_RULES_MAX:
                raise UsageError(f"there can be at most {HOST_RULES_MAX:,} host rules: remove some")
            return _wake(cursor, host, now)

        self._change(work)
        return host_rule(row, now)

    def clear_host(self, host: str) -> bool:
        now = self.database.now()

        def work(cursor: Cursor) -> bool:
            return cursor.execute(SQL["clear_host"], (storable(host),)).rowcount > 0 and _wake(cursor, host, now)

        return self._change(work)

    def set_floor(self, floor_ms: int) -> None:
        self._change(lambda cursor: cursor.execute(SQL["set_floor"], (floor_ms,)).rowcount)

    # --- tokens

    def add_token(self, name: str, access: Access, digest: bytes) -> Token:
        now = self.database.now()

        def work(cursor: Cursor) -> Token:
            if cursor.execute(SQL["is_named"], (storable(name),)).fetchall():
                raise UsageError(f"there is a token {name} already: revoke it first, or take another name")
            if cursor.execute(SQL["count_tokens"]).fetchall()[0][0] >= TOKENS_MAX:
                raise UsageError(f"there can be at most {TOKENS_MAX:,} tokens: revoke some")
            cursor.execute(SQL["forget_revoked"], (TOKENS_MAX,))
            values = (storable(name), str(access), digest, now)
            return token_of(cursor.execute(SQL["add_token"], values).fetchall()[0])

        return self._change(work)

    def tokens(self) -> list[Token]:
        return [token_of(row) for row in self.database.read(SQL["tokens"])]

    def token(self, digest: bytes) -> Token | None:
        row = self.database.one(SQL["token"], (digest,))
        return token_of(row) if row else None

    def revoke_token(self, token_id: int) -> bool:
        now = self.database.now()
        return self._change(lambda cursor: cursor.execute(SQL["revoke_token"], (now, token_id)).rowcount > 0)

    def has_tokens(self) -> bool:
        return bool(self.database.read(SQL["has_tokens"])[0][0])


def _add_blocks(named: dict[str, Any], cursor: Cursor) -> int:
    added = cursor.execute(SQL["add_blocks"], named).rowcount
    if cursor.execute(SQL["count_blocks"]).fetchall()[0][0] > BLOCKS_MAX:
        raise UsageError(f"there can be at most {BLOCKS_MAX:,} block rules: remove some, or block a domain")
    return added


def _wake(cursor: Cursor, host: str, now: int) -> bool:
    cursor.execute(CATALOG_SQL["wait_for_flushes"])  # one of them may put this host's queue to rest
    cursor.execute(SQL["wake_host"], {"part": partition_of(host), "host": storable(host), "now": now})
    return True
