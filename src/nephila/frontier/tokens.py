"""Access tokens of the API. Every change moves the control version, as with all that operators decide."""

from dataclasses import dataclass
from enum import StrEnum

from nephila.errors import UsageError
from nephila.frontier.rows import stored
from nephila.frontier.rulebook import decide
from nephila.frontier.tables import OverTables, TableWriter, Values

TOKENS_MAX = 1000


class Access(StrEnum):
    """What a token may do; each includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Token:
    """A token. Its secret was shown once and is stored hashed."""

    id: int
    name: str
    access: Access
    created_at: int
    revoked_at: int | None


class Tokens(OverTables):
    def add_token(self, name: str, access: Access, digest: bytes) -> Token:
        """Make a token. UsageError where a living one has this name, or above TOKENS_MAX."""
        now = self.tables.now()

        def work(tables: TableWriter) -> Token:
            if tables.row("is_named", name=name):
                raise UsageError(f"there is a token {name} already: revoke it first, or take another name")
            if tables.value("count_tokens") >= TOKENS_MAX:
                raise UsageError(f"there can be at most {TOKENS_MAX:,} tokens: revoke some")
            tables.change("forget_revoked", kept=TOKENS_MAX)
            (made,) = tables.rows("add_token", name=name, access=access, digest=digest, now=now)
            return token_of(made)

        return decide(self.tables, work)

    def tokens(self) -> list[Token]:
        return [token_of(row) for row in self.tables.rows("tokens")]

    def token(self, digest: bytes) -> Token | None:
        """The living token with this SHA-256 of its secret."""
        row = self.tables.row("token", digest=digest)
        return token_of(row) if row else None

    def revoke_token(self, token_id: int) -> bool:
        now = self.tables.now()
        return decide(self.tables, lambda tables: tables.change("revoke_token", id=token_id, now=now) > 0)

    def has_tokens(self) -> bool:
        return bool(self.tables.value("has_tokens"))


@stored
def token_of(row: Values) -> Token:
    id, name, access, created_at, revoked_at = row
    return Token(id, name, Access(access), created_at, revoked_at)
