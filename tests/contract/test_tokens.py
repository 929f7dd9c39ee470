"""Access tokens: found by their digest, one living one of a name, bounded."""

from collections.abc import Callable

import pytest

from nephila.errors import UsageError
from nephila.frontier import tokens as shared
from nephila.frontier.tokens import Access, Tokens
from tests.contract.backend import Backend
from tests.contract.test_rulebook import control


@pytest.fixture
def tokens(backend: Backend) -> Tokens:
    return backend.tokens()


def test_at_first_there_are_none(tokens: Tokens) -> None:
    assert (tokens.tokens(), tokens.has_tokens(), tokens.token(b"x" * 32)) == ([], False, None)


CHANGES: dict[str, tuple[Callable[[Tokens], object], int]] = {
    "add_token": (lambda tokens: tokens.add_token("new", Access.READ, b"n" * 32), 1),
    "revoke_token": (lambda tokens: tokens.revoke_token(1), 1),
    "revoke_unknown": (lambda tokens: tokens.revoke_token(99), 0),
}


@pytest.mark.parametrize(("change", "moved"), CHANGES.values(), ids=CHANGES)
def test_every_change_moves_the_control_version(
    backend: Backend, tokens: Tokens, change: Callable[[Tokens], object], moved: int
) -> None:
    tokens.add_token("old", Access.READ, b"o" * 32)
    before = control(backend)
    change(tokens)
    assert control(backend) == before + moved


def test_a_token_is_found_by_its_digest_until_it_is_revoked(backend: Backend, tokens: Tokens) -> None:
    token = tokens.add_token("ci", Access.WRITE, b"1" * 32)
    other = backend.tokens()
    assert other.token(b"1" * 32) == token
    assert (token.name, token.access, token.revoked_at) == ("ci", Access.WRITE, None)
    assert other.token(b"2" * 32) is None
    assert other.has_tokens()
    backend.clock.advance(1)
    assert other.revoke_token(token.id)
    assert not other.revoke_token(token.id)
    assert tokens.token(b"1" * 32) is None
    assert not tokens.has_tokens()
    assert [each.revoked_at for each in tokens.tokens()] == [backend.clock.now_ms()], "it stays in the list"


def test_a_name_is_given_to_one_living_token(tokens: Tokens) -> None:
    first = tokens.add_token("ci", Access.READ, b"1" * 32)
    with pytest.raises(UsageError, match="there is a token ci already"):
        tokens.add_token("ci", Access.ADMIN, b"2" * 32)
    tokens.revoke_token(first.id)
    second = tokens.add_token("ci", Access.ADMIN, b"2" * 32)
    assert [token.id for token in tokens.tokens()] == [first.id, second.id]


def test_tokens_have_a_bound_and_the_revoked_are_forgotten_in_time(
    tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "TOKENS_MAX", 2)
    for number in range(6):
        tokens.revoke_token(tokens.add_token(f"t{number}", Access.READ, bytes([number]) * 32).id)
    for name in ("a", "b"):
        tokens.add_token(name, Access.READ, name.encode() * 32)
    with pytest.raises(UsageError, match="at most 2 tokens"):
        tokens.add_token("c", Access.READ, b"c" * 32)
    assert [token.name for token in tokens.tokens()] == ["t4", "t5", "a", "b"]
