"""Access tokens. A secret is answered once, when it is made."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Path
from pydantic import Field

from nephila.api.access import Admin, Reader, guarded
from nephila.api.problems import Problem, blaming
from nephila.api.query import ID_MAX, PlainText
from nephila.api.routers import noun_router
from nephila.api.schemas import Body, View, view_of
from nephila.api.services import Shared
from nephila.control.access import NAME_CHARS_MAX, make_token, revoke_token
from nephila.frontier.tokens import Access, Token

router = noun_router("tokens")


class CallerView(View):
    name: str = Field(description="of the token; `local`: this machine, without one", examples=["dashboard"])
    access: Access = Field(
        description="what the caller may do: `write` includes `read`, `admin` includes both", examples=["read"]
    )
    token: bool = Field(description="false: no token was needed", examples=[True])


class NewToken(Body):
    name: PlainText = Field(
        min_length=1,
        max_length=NAME_CHARS_MAX,
        examples=["dashboard"],
        description="whose token it is: shown beside all that it does",
    )
    access: Access = Field(
        Access.READ, description="what it may do: `write` includes `read`, `admin` includes both", examples=["read"]
    )


@view_of(
    Token,
    id=Field(description="number of the token", examples=[2]),
    name=Field(description="whose token it is", examples=["dashboard"]),
    access=Field(description="what it may do: `write` includes `read`, `admin` includes both", examples=["read"]),
    created_at=Field(description="when it was made", examples=["2026-03-02T09:30:00Z"]),
    revoked_at=Field(description="when it was revoked; null: it is good", examples=[None]),
)
class TokenView(View):
    pass


class TokenMade(TokenView):
    secret: str = Field(
        description="what to send as `Authorization: Bearer ...`; it is shown this once",
        examples=["nph_EXAMPLE-not-a-real-secret"],
    )


class TokenList(View):
    tokens: list[TokenView] = Field(description="all tokens, without their secrets")


@router.get("/me", **guarded(Access.READ))
def get_caller(caller: Reader) -> CallerView:
    """Show who is asking.

    Name and access of the token that was sent.
    """
    return CallerView(name=caller.name, access=caller.access, token=caller.token is not None)


@router.get("/tokens", **guarded(Access.ADMIN))
def list_tokens(shared: Shared) -> TokenList:
    """List all tokens.

    Revoked ones included; secrets are never shown again.
    """
    with shared.pool.use() as store:
        return TokenList.model_validate({"tokens": store.tokens.tokens()})


@router.post("/tokens", status_code=201, **guarded(Access.ADMIN, 409))
def create_token(shared: Shared, body: NewToken, caller: Admin) -> TokenMade:
    """Make a token.

    Its secret is answered once. The first token must have access admin: from then on nobody is served without a token.
    """
    with shared.pool.use() as store:
        if body.access is not Access.ADMIN and not store.tokens.has_tokens():
            raise Problem(409, "the first token must have access admin, or nobody could make another", field="access")
        with blaming("name", status=409):
            token, secret = make_token(store.tokens, body.name, body.access)
    shared.gate.forget()
    caller.log("token_made", token=token.id, name=token.name)
    return TokenMade.model_validate(asdict(token) | {"secret": secret})


@router.delete("/tokens/{token_id}", status_code=204, **guarded(Access.ADMIN, 404))
def delete_token(
    shared: Shared, token_id: Annotated[int, Path(ge=1, le=ID_MAX, description="number of the token")], caller: Admin
) -> None:
    """Revoke a token.

    It holds at once here, and within two seconds at other servers of the same store. Streams that it opened end.
    """
    with shared.pool.use() as store:
        if not revoke_token(store.tokens, token_id):
            raise Problem(404, f"there is no living token {token_id}")
    shared.gate.forget()
    caller.log("token_revoked", token=token_id)
