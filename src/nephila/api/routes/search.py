"""Full-text search over what was crawled."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from nephila.api.access import guarded
from nephila.api.problems import asked_for
from nephila.api.query import CRAWL_PATTERN, PlainText
from nephila.api.schemas import Moment, View
from nephila.api.services import Shared
from nephila.control import search as searching
from nephila.control.operators import host_key
from nephila.frontier.operators import Access
from nephila.search.index import HITS_MAX, SKIPPED_MAX
from nephila.search.query import QUERY_CHARS_MAX, parse_query

RESULTS_DEFAULT = 20

router = APIRouter(tags=["search"])

CrawlFilter = Annotated[str | None, Query(pattern=CRAWL_PATTERN, description="number or uuid of a crawl; all, if none")]
Words = Annotated[
    PlainText,
    Query(
        max_length=QUERY_CHARS_MAX,
        description='words that must all be there, "phrases", -words to leave out, prefixes*',
        examples=["crawler"],
    ),
]


class PartView(View):
    text: str
    match: bool = Field(description="this is what was looked for")


class ResultView(View):
    crawl_id: int
    crawl_uuid: str
    url_id: int
    url: str
    host: str = Field(description="politeness key")
    title: str = Field(description="empty where it has none")
    snippet: list[PartView] = Field(description="the best place of the page; its parts joined are the text")
    fetched_at: Moment
    score: float = Field(description="larger is better; only comparable within one answer")


class ResultList(View):
    results: list[ResultView] = Field(description="the best first")
    total: int
    total_exact: bool = Field(description="false: there are more than `total`")
    indexed: int = Field(description="pages in the index, of all crawls")
    pending_bytes: int = Field(description="of the archive, not indexed yet")
    words: list[str] = Field(description="what was looked for, as it is compared")


@router.get("/search", **guarded(Access.READ, 404))
def search_pages(
    shared: Shared,
    q: Words,
    crawl: CrawlFilter = None,
    host: Annotated[PlainText | None, Query(max_length=255, description="politeness key or any host of it")] = None,
    limit: Annotated[int, Query(ge=1, le=HITS_MAX)] = RESULTS_DEFAULT,
    offset: Annotated[int, Query(ge=0, le=SKIPPED_MAX)] = 0,
) -> ResultList:
    """Visited pages whose title or text has all the words."""
    query, key = asked_for("q", parse_query, q), asked_for("host", host_key, host) if host else None
    with shared.pool.use() as store:
        found = searching.search(store.catalog, store.index, query, crawl=crawl, host=key, limit=limit, offset=offset)
    return ResultList.model_validate(found)
