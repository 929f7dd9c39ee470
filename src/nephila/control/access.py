"""Access tokens: made once, shown once, stored as a digest."""

import hashlib
import secrets

from nephila.errors import UsageError
from nephila.frontier.tokens import Access, Token, Tokens

PREFIX = "nph_"  # so that secret scanners and people know it when they see it
SECRET_BYTES = 32  # 43 url-safe characters
SECRET_CHARS_MAX = 100
NAME_CHARS_MAX = 100

RANK = {access: rank for rank, access in enumerate(Access)}


def digest_of(secret: str) -> bytes:
    """The digest of a secret, which the store looks up: the time of the comparison tells nothing about the secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def allows(given: Access, needed: Access) -> bool:
    return RANK[given] >= RANK[needed]


def make_token(tokens: Tokens, name: str, access: Access) -> tuple[Token, str]:
    """The token and its secret, which nobody can ask for again."""
    name = name.strip()
    if not name or len(name) > NAME_CHARS_MAX or not name.isprintable():
        raise UsageError(f"a token's name is one line of 1 to {NAME_CHARS_MAX} characters")
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    return tokens.add_token(name, access, digest_of(secret)), secret


def revoke_token(tokens: Tokens, token_id: int) -> bool:
    """Revoke a token; false where this number has none, or one that is revoked already."""
    living = any(token.id == token_id and token.revoked_at is None for token in tokens.tokens())
    return living and tokens.revoke_token(token_id)
