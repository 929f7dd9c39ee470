"""What operators decide while crawls run, on SQLite."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import apsw

from nephila.errors import UsageError
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
from nephila.frontier.rows import block_rule, host_rule, token_of
from nephila.frontier.sqlite.connection import Database
from nephila.frontier.statements import statements
from nephila.urls.identity import partition_of

SQL = statements("sqlite", "rulebook")
WORKER_SQL = statements("sqlite", "worker")


class SqliteRulebook:
    def __init__(self, database: Database) -> None:
        self.database = database

    def rulings(self) -> Rulings:
        read, now = self.database.read, self.database.clock.now_ms()
        rules = [host_rule(row, now) for row in read(SQL["host_rules"])]
        blocks = tuple(block_rule(row) for row in read(SQL["blocks"]))
        return Rulings(blocks, {rule.host: rule for rule in rules}, read(SQL["floor"])[0][0])

    @contextmanager
    def _change(self) -> Iterator[apsw.Connection]:
        with self.database.write() as db:
            before = db.total_changes()
            yield db
            if db.total_changes() != before:
                db.execute(WORKER_SQL["bump_control"])

    # --- blocks, hosts, the floor

    def add_blocks(self, kind: BlockKind, values: Sequence[str], reason: str, by: str) -> list[BlockRule]:
        now, wanted = self.database.clock.now_ms(), list(dict.fromkeys(values))
        with self._change() as db:
            db.executemany(SQL["add_block"], [(kind, value, reason, by, now) for value in wanted])
            if db.execute(SQL["count_blocks"]).get > BLOCKS_MAX:
                raise UsageError(f"there can be at most {BLOCKS_MAX:,} block rules: remove some, or block a domain")
            return [block_rule(row) for value in wanted for row in db.execute(SQL["block"], (kind, value)).fetchall()]

    def remove_block(self, block_id: int) -> bool:
        with self._change() as db:
            db.execute(SQL["remove_block"], (block_id,))
            return bool(db.changes())

    def set_host(self, host: str, delay_ms: int | None, blocked_in_ms: int | None, reason: str, by: str) -> HostRule:
        now = self.database.clock.now_ms()
        row = (host, delay_ms, None if blocked_in_ms is None else now + blocked_in_ms, reason, by, now)
        with self._change() as db:
            db.execute(SQL["set_host"], row)
            if db.execute(SQL["count_host_rules"]).get > HOST_RULES_MAX:
                raise UsageError(f"there can be at most {HOST_RULES_MAX:,} host rules: remove some")
            self._wake(db, host, now)
        return host_rule(row, now)

    def clear_host(self, host: str) -> bool:
        with self._change() as db:
            db.execute(SQL["clear_host"], (host,))
            if not db.changes():
                return False
            self._wake(db, host, self.database.clock.now_ms())
        return True

    def _wake(self, db: apsw.Connection, host: str, now: int) -> None:
        db.execute(SQL["wake_host"], {"part": partition_of(host), "host": host, "now": now})

    def set_floor(self, floor_ms: int) -> None:
        with self._change() as db:
            db.execute(SQL["set_floor"], (floor_ms,))

    # --- tokens

    def add_token(self, name: str, access: Access, digest: bytes) -> Token:
        with self._change() as db:
            if db.execute(SQL["is_named"], (name,)).fetchall():
                raise UsageError(f"there is a token {name} already: revoke it first, or take another name")
            if db.execute(SQL["count_tokens"]).get >= TOKENS_MAX:
                raise UsageError(f"there can be at most {TOKENS_MAX:,} tokens: revoke some")
            db.execute(SQL["forget_revoked"], (TOKENS_MAX,))
            values = (name, access, digest, self.database.clock.now_ms())
            return token_of(db.execute(SQL["add_token"], values).fetchall()[0])

    def tokens(self) -> list[Token]:
        return [token_of(row) for row in self.database.read(SQL["tokens"])]

    def token(self, digest: bytes) -> Token | None:
        row = self.database.one(SQL["token"], (digest,))
        return token_of(row) if row else None

    def revoke_token(self, token_id: int) -> bool:
        with self._change() as db:
            db.execute(SQL["revoke_token"], (self.database.clock.now_ms(), token_id))
            return bool(db.changes())

    def has_tokens(self) -> bool:
        return bool(self.database.read(SQL["has_tokens"])[0][0])
