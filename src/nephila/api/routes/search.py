"""Full-text search over what was crawled."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from nephila.api.access import guarded
from nephila.api.problems import asked_for
from nephila.api.query import CRAWL_PATTERN, PlainText
from nephila.api.routers import noun_router
from nephila.api.schemas import View, view_of
from nephila.api.services import Shared
from nephila.control import search as searching
from nephila.control.operators import host_key
from nephila.frontier.tokens import Access
from nephila.search.index import HITS_MAX, SKIPPED_MAX
from nephila.search.query import QUERY_CHARS_MAX, parse_query
from nephila.search.snippet import Part

RESULTS_DEFAULT = 20

router = noun_router("search")

CrawlFilter = Annotated[str | None, Query(pattern=CRAWL_PATTERN, description="number or uuid of a crawl; all, if none")]
Words = Annotated[
    PlainText,
    Query(
        max_length=QUERY_CHARS_MAX,
        description='words that must all be there, "phrases", -words to leave out, prefixes*',
        examples=["crawler"],
    ),
]


@view_of(
    Part,
    text=Field(description="a piece of the text", examples=["documentation"]),
)
class PartView(View):
    match: bool = Field(description="whether this is what was looked for", examples=[True])


@view_of(
    searching.Result,
    crawl_id=Field(description="number of the crawl", examples=[7]),
    crawl_uuid=Field(description="uuid of the crawl", examples=["6f1c2a8e-3d47-4b90-9c55-0e8b7a1d2f34"]),
    url_id=Field(description="number of the URL", examples=[815]),
    url=Field(description="as it was normalised", examples=["https://example.com/docs/"]),
    fetched_at=Field(description="when the page was visited", examples=["2026-03-02T09:30:00Z"]),
)
class ResultView(View):
    host: str = Field(
        description="politeness key of the host: its name without a leading `www.`", examples=["example.com"]
    )
    title: str = Field(description="title of the page; empty: it has none", examples=["Documentation"])
    snippet: list[PartView] = Field(description="the best place of the page; its parts joined are the text")
    score: float = Field(description="larger is better; only comparable within one answer", examples=[7.31])


class ResultList(View):
    results: list[ResultView] = Field(description="the best first")
    total: int = Field(description="pages that match, as far as they were counted", examples=[1])
    total_exact: bool = Field(description="false: there are more than `total`", examples=[True])
    indexed: int = Field(description="pages in the index, of all crawls", examples=[980])
    pending_bytes: int = Field(description="bytes of the archive that are not indexed yet", examples=[0])
    words: list[str] = Field(description="what was looked for, as it is compared", examples=[["documentation"]])


@router.get("/search", **guarded(Access.READ, 404))
def search_pages(
    shared: Shared,
    q: Words,
    crawl: CrawlFilter = None,
    host: Annotated[
        PlainText | None, Query(max_length=255, description="only pages of this host, with or without `www.`")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=HITS_MAX, description="the most that a page has")] = RESULTS_DEFAULT,
    offset: Annotated[int, Query(ge=0, le=SKIPPED_MAX, description="results to skip")] = 0,
) -> ResultList:
    """Search the text of visited pages.

    Pages whose title or text has all the words, the best first. What is not indexed yet is told, too.
    """
    query, key = asked_for("q", parse_query, q), asked_for("host", host_key, host) if host else None
    with shared.pool.use() as store:
        found = searching.search(store.catalog, store.index, query, crawl=crawl, host=key, limit=limit, offset=offset)
    return ResultList.model_validate(found)
