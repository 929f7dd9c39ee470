"""Block rules: honoured at admission and at dispatch, also for URLs that are queued already."""

from typing import Annotated

from fastapi import Path
from pydantic import Field

from nephila.api.access import Admin, guarded
from nephila.api.problems import Problem, blaming
from nephila.api.query import ID_MAX, TEXT_CHARS_MAX, PlainText
from nephila.api.routers import noun_router
from nephila.api.schemas import Body, ReasonText, View, view_of
from nephila.api.services import Shared
from nephila.control.operators import block
from nephila.frontier.operators import BlockKind, BlockRule
from nephila.frontier.tokens import Access

BLOCKS_AT_ONCE_MAX = 1000

router = noun_router("blocks")


@view_of(
    BlockRule,
    id=Field(description="number of the rule", examples=[5]),
    kind=Field(description="what `value` is: a domain with all below it, or a pattern", examples=["domain"]),
    value=Field(description="what is blocked", examples=["spam.example"]),
    reason=Field(description="why, in the operator's words", examples=["spam"]),
    created_by=Field(description="token that made the rule; `local`: this machine", examples=["operator"]),
    created_at=Field(description="when the rule was made", examples=["2026-03-02T09:30:00Z"]),
)
class BlockView(View):
    pass


class BlockList(View):
    blocks: list[BlockView] = Field(description="block rules")


class NewBlocks(Body):
    kind: BlockKind = Field(
        BlockKind.DOMAIN,
        description="`domain`: the name and all below it; `pattern`: of the whole URL, with * and ?",
        examples=["domain"],
    )
    values: list[Annotated[PlainText, Field(min_length=1, max_length=TEXT_CHARS_MAX)]] = Field(
        min_length=1,
        max_length=BLOCKS_AT_ONCE_MAX,
        examples=[["spam.example"]],
        description="domains or patterns, one rule each",
    )
    reason: ReasonText = Field("", examples=["spam"], description="why: shown wherever the rules are")


@router.get("/blocks", **guarded(Access.READ))
def list_blocks(shared: Shared) -> BlockList:
    """List the block rules.

    They hold for all crawls, for links that are found and for URLs that are queued already.
    """
    with shared.pool.use() as store:
        return BlockList.model_validate(store.rulebook.rulings())


@router.post("/blocks", status_code=201, **guarded(Access.ADMIN))
def add_blocks(shared: Shared, body: NewBlocks, caller: Admin) -> BlockList:
    """Block domains or patterns.

    One rule for each value. One that exists already is answered as it is. URLs that are queued and match end
    `excluded`.
    """
    with shared.pool.use() as store, blaming("values"):
        made = block(store.rulebook, body.kind, body.values, body.reason, caller.name)
    return BlockList.model_validate({"blocks": made})


@router.delete("/blocks/{block_id}", status_code=204, **guarded(Access.ADMIN, 404))
def remove_block(
    shared: Shared, block_id: Annotated[int, Path(ge=1, le=ID_MAX, description="number of the rule")]
) -> None:
    """Remove a block rule.

    URLs that it has ended stay ended; links that are found from now on are taken up again.
    """
    with shared.pool.use() as store:
        if not store.rulebook.remove_block(block_id):
            raise Problem(404, f"there is no block rule {block_id}")
