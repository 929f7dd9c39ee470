"""Block rules: honoured at admission and at dispatch, also for URLs that are queued already."""

from typing import Annotated

from fastapi import APIRouter, Path

from nephila.api.access import Admin, guarded
from nephila.api.problems import Problem
from nephila.api.query import ID_MAX
from nephila.api.schemas import BlockList, BlockView, NewBlocks
from nephila.api.services import Shared
from nephila.control.operators import block
from nephila.errors import UsageError
from nephila.frontier.operators import Access

router = APIRouter(tags=["blocks"])


@router.get("/blocks", **guarded(Access.READ))
def list_blocks(shared: Shared) -> BlockList:
    with shared.pool.use() as store:
        found = store.rulebook.rulings().blocks
    return BlockList(blocks=[BlockView.model_validate(rule) for rule in found])


@router.post("/blocks", status_code=201, **guarded(Access.ADMIN))
def add_blocks(shared: Shared, body: NewBlocks, caller: Admin) -> BlockList:
    """A rule that exists already is answered as it is."""
    with shared.pool.use() as store:
        try:
            made = block(store.rulebook, body.kind, body.values, body.reason, caller.name)
        except UsageError as error:
            raise Problem(422, str(error), field="values") from None
    return BlockList(blocks=[BlockView.model_validate(rule) for rule in made])


@router.delete("/blocks/{block_id}", status_code=204, **guarded(Access.ADMIN, 404))
def remove_block(shared: Shared, block_id: Annotated[int, Path(ge=1, le=ID_MAX)]) -> None:
    with shared.pool.use() as store:
        if not store.rulebook.remove_block(block_id):
            raise Problem(404, f"there is no block rule {block_id}")
