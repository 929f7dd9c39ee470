"""Access tokens: made once, shown once, stored as a digest."""

import hashlib
import secrets

from nephila.errors import UsageError
from nephila.frontier.operators import Access, Rulebook, Token

PREFIX = "nph_"  # so that secret scanners and people know it when they see it
SECRET_BYTES = 32  # 43 url-safe characters
SECRET_CHARS_MAX = 100
NAME_CHARS_MAX = 100

RANK = {access: rank for rank, access in enumerate(Access)}


def digest_of(secret: str) -> bytes:
    """Looked up by it: how long a comparison takes tells nothing about the secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def allows(given: Access, needed: Access) -> bool:
    return RANK[given] >= RANK[needed]


def make_token(rulebook: Rulebook, name: str, access: Access) -> tuple[Token, str]:
    """The token and its secret, which nobody can ask for again."""
    name = name.strip()
    if not name or len(name) > NAME_CHARS_MAX or not name.isprintable():
        raise UsageError(f"a token's name is one line of 1 to {NAME_CHARS_MAX} characters")
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    return rulebook.add_token(name, access, digest_of(secret)), secret


def revoke_token(rulebook: Rulebook, token_id: int) -> bool:
    """False: there is no living token of this number."""
    living = any(token.id == token_id and token.revoked_at is None for token in rulebook.tokens())
    return living and rulebook.revoke_token(token_id)
