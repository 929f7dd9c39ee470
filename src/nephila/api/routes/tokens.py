"""Access tokens. A secret is answered once, when it is made."""

from typing import Annotated

from fastapi import APIRouter, Path

from nephila import log
from nephila.api.access import Admin, Reader, guarded
from nephila.api.problems import Problem
from nephila.api.query import ID_MAX
from nephila.api.schemas import CallerView, NewToken, TokenList, TokenMade, TokenView
from nephila.api.services import Shared
from nephila.control.access import make_token, revoke_token
from nephila.errors import UsageError
from nephila.frontier.operators import Access

router = APIRouter(tags=["tokens"])


@router.get("/me", **guarded(Access.READ))
def get_caller(caller: Reader) -> CallerView:
    """Who asks, and what he may do."""
    return CallerView(name=caller.name, access=caller.access, token=caller.token is not None)


@router.get("/tokens", **guarded(Access.ADMIN))
def list_tokens(shared: Shared) -> TokenList:
    """Those that were revoked included."""
    with shared.pool.use() as store:
        found = store.rulebook.tokens()
    return TokenList(tokens=[TokenView.model_validate(token) for token in found])


@router.post("/tokens", status_code=201, **guarded(Access.ADMIN, 409))
def create_token(shared: Shared, body: NewToken, caller: Admin) -> TokenMade:
    """The first one should have access admin: from then on nobody is served without a token."""
    with shared.pool.use() as store:
        if body.access is not Access.ADMIN and not store.rulebook.has_tokens():
            raise Problem(409, "the first token must have access admin, or nobody could make another", field="access")
        try:
            token, secret = make_token(store.rulebook, body.name, body.access)
        except UsageError as error:
            raise Problem(409, str(error), field="name") from None
    shared.gate.forget()
    log.component_log("control-plane").info("token_made", token=token.id, name=token.name, by=caller.name)
    return TokenMade(**TokenView.model_validate(token).model_dump(), secret=secret)


@router.delete("/tokens/{token_id}", status_code=204, **guarded(Access.ADMIN, 404))
def delete_token(shared: Shared, token_id: Annotated[int, Path(ge=1, le=ID_MAX)], caller: Admin) -> None:
    """Revoke it: at once here, within two seconds at other servers of the same store."""
    with shared.pool.use() as store:
        if not revoke_token(store.rulebook, token_id):
            raise Problem(404, f"there is no living token {token_id}")
    shared.gate.forget()
    log.component_log("control-plane").info("token_revoked", token=token_id, by=caller.name)
