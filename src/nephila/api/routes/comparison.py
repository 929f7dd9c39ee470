"""How two crawls differ, stretch by stretch: a request looks at a bounded number of URLs, whatever their size."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from nephila.api.access import guarded
from nephila.api.lookup import crawl_named
from nephila.api.query import CRAWL_PATTERN, CrawlRef
from nephila.api.routers import noun_router
from nephila.api.schemas import View
from nephila.api.services import Shared
from nephila.control.compare import SAME, By, Change, Known, Reached, Side, comparable, stretch
from nephila.frontier.tokens import Access
from nephila.models import Tally, UrlState

LIMIT_DEFAULT, LIMIT_MAX = 200, 1000
PLACE_PATTERN = r"^(first|second):[0-9]{1,18}$"

router = noun_router("crawls")


class KnownView(View):
    """A URL as one of the crawls has it."""

    id: int = Field(description="number of the URL in its crawl", examples=[17])
    state: UrlState = Field(description="what became of it; `queued` for whatever is open", examples=["visited"])


class DifferenceView(View):
    change: Change = Field(description="what differs", examples=["state"])
    url: str = Field(description="normalised", examples=["https://example.com/about"])
    first: KnownView | None = Field(description="null: the first crawl does not have it")
    second: KnownView | None = Field(
        description="null: the second crawl does not have it", examples=[{"id": 21, "state": "not_found"}]
    )


class CountsView(View):
    """Of the URLs that this answer looked at."""

    gone: int = Field(description="only the first crawl has them", examples=[3])
    added: int = Field(description="only the second crawl has them", examples=[12])
    state: int = Field(description="both have them, in different states", examples=[1])
    content: int = Field(description="both have them in the same state, with different bodies", examples=[40])
    same: int = Field(description="both have them alike", examples=[9944])


class ComparisonView(View):
    first: int = Field(description="number of the first crawl", examples=[1])
    second: int = Field(description="number of the second crawl", examples=[2])
    comparable: bool = Field(
        description="false: the crawls normalise URLs differently, so that spellings of one page may count as gone "
        "and added; `nephila compare` compares such crawls in one normal form",
        examples=[True],
    )
    differences: list[DifferenceView] = Field(description="`limit` at most, of the changes that were asked for")
    counts: CountsView = Field(description="of the URLs that this answer looked at, whatever `limit` and `change` are")
    looked_at: int = Field(description="URLs that this answer looked at, of both crawls", examples=[10_000])
    total: int = Field(description="URLs of both crawls together, as they are counted now", examples=[20_012])
    next: str | None = Field(
        description="give it as `after` to go on; null: all URLs were looked at", examples=["first:10412"]
    )


@router.get("/crawls/{crawl}/differences", **guarded(Access.READ, 404))
def compare_crawls(
    shared: Shared,
    crawl: CrawlRef,
    to: Annotated[str, Query(pattern=CRAWL_PATTERN, description="number or uuid of the second crawl", examples=["2"])],
    by: Annotated[
        By, Query(description="what is compared: which URLs there are, also their states, also their content")
    ] = By.CONTENT,
    change: Annotated[
        list[Change] | None, Query(max_length=len(Change), description="list only these; may be repeated")
    ] = None,
    limit: Annotated[
        int, Query(ge=0, le=LIMIT_MAX, description="differences to list at most; 0: only count")
    ] = LIMIT_DEFAULT,
    after: Annotated[
        str, Query(pattern=PLACE_PATTERN, description="what `next` of the answer before says", examples=["first:0"])
    ] = "first:0",
) -> ComparisonView:
    """Compare this crawl, the first, with another one.

    It tells what is gone, added, in another state or of another content. An answer looks at 10,000 URLs at most, and
    ends where `limit` differences are found. It counts all that it looked at; the sum of the counts up to the answer
    without `next` is the whole comparison.
    """
    side, _, id = after.partition(":")
    wanted = frozenset(change or Change) if limit else frozenset[Change]()
    with shared.pool.use() as store:
        first, second = crawl_named(store, crawl), crawl_named(store, to)
        part = stretch(store.catalog, (first.id, second.id), Reached(Side(side), int(id)), by, wanted, limit or 1)
        total = sum(store.catalog.tallies(each.id).get(Tally.URLS, 0) for each in (first, second))
    return ComparisonView(
        first=first.id,
        second=second.id,
        comparable=comparable(first, second),
        differences=[
            DifferenceView(change=each.change, url=each.url, first=_known(each.first), second=_known(each.second))
            for each in part.found
        ],
        counts=CountsView(**{name: part.counts[name] for name in (*Change, SAME)}),
        looked_at=part.looked_at,
        total=total,
        next=None if part.next is None else f"{part.next.side}:{part.next.after}",
    )


def _known(known: Known | None) -> KnownView | None:
    return None if known is None else KnownView(id=known.id or 0, state=UrlState(known.state))
