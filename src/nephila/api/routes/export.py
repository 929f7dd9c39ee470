"""A crawl's URLs as a stream: memory does not grow with the crawl, a slow reader holds no store."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from nephila.api.access import guarded
from nephila.api.lookup import crawl_named
from nephila.api.query import CrawlRef
from nephila.api.routes.urls import Where
from nephila.api.services import Shared, lent_catalog
from nephila.control.export import LINES, Format, record_of, rows_of
from nephila.frontier.operators import Access

CHUNK_CHARS = 65_536  # each chunk is a change of threads: a line each would be 1,000 of them a page

MEDIA_TYPES = {
    Format.JSONL: "application/x-ndjson",
    Format.JSON: "application/json",
    Format.CSV: "text/csv; charset=utf-8",
}
STREAMS = {
    "description": "the rows, by id",
    "content": {media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()}
    | {"application/json": {"schema": {"type": "array", "items": {"type": "object"}}}},
}

router = APIRouter(tags=["export"])


@router.get(
    "/crawls/{crawl}/export", response_class=StreamingResponse, **guarded(Access.READ, 404, answers={200: STREAMS})
)
def export_crawl(
    shared: Shared,
    crawl: CrawlRef,
    where: Where,
    format: Annotated[Format, Query(description="CSV is safe against formulas of spreadsheets")] = Format.JSONL,
) -> StreamingResponse:
    """Every URL that the filter lets through."""
    with shared.pool.use() as store:
        crawl_id = crawl_named(store, crawl).id
    records = map(record_of, rows_of(lent_catalog(shared.pool), crawl_id, where))
    parts = chunks(LINES[format](records))
    first = next(parts, b"")  # a store that is away is a 503, not a broken stream
    disposition = f'attachment; filename="crawl-{crawl_id}.{format}"'
    return StreamingResponse(
        chain((first,), parts), media_type=MEDIA_TYPES[format], headers={"Content-Disposition": disposition}
    )


def chunks(lines: Iterable[str]) -> Iterator[bytes]:
    held: list[str] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= CHUNK_CHARS:
            yield "".join(held).encode("utf-8", "backslashreplace")
            held, size = [], 0
    yield "".join(held).encode("utf-8", "backslashreplace")
