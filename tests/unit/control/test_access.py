import pytest

from nephila import wiring
from nephila.control.access import PREFIX, allows, digest_of, make_token, revoke_token
from nephila.errors import UsageError
from nephila.frontier.tokens import Access, Tokens
from nephila.settings import process_settings
from tests.unit.control.filled import Filled


@pytest.fixture
def tokens(filled: Filled) -> Tokens:
    return wiring.open_store(process_settings({"data": filled.folder})).tokens


def test_a_higher_access_includes_the_lower_ones() -> None:
    given = [[allows(given, needed) for needed in Access] for given in Access]
    assert given == [[True, False, False], [True, True, False], [True, True, True]]


def test_a_secret_is_random_and_only_its_digest_is_kept(tokens: Tokens) -> None:
    (token, secret), (_, other) = make_token(tokens, " ci ", Access.WRITE), make_token(tokens, "x", Access.READ)
    assert secret.startswith(PREFIX) and secret != other
    assert (token.name, token.access) == ("ci", Access.WRITE)
    assert len(digest_of(secret)) == 32 and digest_of(secret) != digest_of(other)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 101])
def test_a_name_is_one_short_line(tokens: Tokens, name: str) -> None:
    with pytest.raises(UsageError, match="one line of 1 to 100"):
        make_token(tokens, name, Access.READ)


def test_a_token_is_revoked_once(tokens: Tokens) -> None:
    token, _ = make_token(tokens, "x", Access.READ)
    assert revoke_token(tokens, token.id)
    assert not revoke_token(tokens, token.id)
    assert not revoke_token(tokens, token.id + 1)
