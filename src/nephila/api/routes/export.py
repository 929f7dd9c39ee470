"""A crawl's URLs as a stream: memory does not grow with the crawl, a slow reader holds no store."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Annotated

from fastapi import Header, Query
from fastapi.responses import StreamingResponse
from isal import isal_zlib

from nephila.api.access import guarded
from nephila.api.lookup import crawl_named
from nephila.api.query import CrawlRef
from nephila.api.routers import noun_router
from nephila.api.routes.urls import Where
from nephila.api.services import Shared, lent_catalog
from nephila.api.ui import accepted_encodings
from nephila.control.export import LINES, Format, Record, csv_lines, rows_of
from nephila.frontier.tokens import Access

GZIP, GZIP_LEVEL, GZIP_BITS = "gzip", 1, 31
CHUNK_CHARS = 65_536  # each chunk is a change of threads: a chunk per line would be 1,000 changes a page

MEDIA_TYPES = {
    Format.JSONL: "application/x-ndjson",
    Format.JSON: "application/json",
    Format.CSV: "text/csv; charset=utf-8",
}
EXAMPLE: Record = {
    "id": 815,
    "url": "https://example.com/docs/",
    "state": "visited",
    "status": 200,
    "depth": 2,
}  # some fields
STREAMS = {
    "description": "the rows, by id",
    "content": {
        "application/x-ndjson": {"schema": {"type": "string"}, "example": f"{json.dumps(EXAMPLE)}\n"},
        "application/json": {"schema": {"type": "array", "items": {"type": "object"}}, "example": [EXAMPLE]},
        "text/csv": {"schema": {"type": "string"}, "example": "".join(csv_lines([EXAMPLE], EXAMPLE))},
    },
}

Accepted = Annotated[str, Header(alias="Accept-Encoding", include_in_schema=False)]

router = noun_router("export")


@router.get(
    "/crawls/{crawl}/export", response_class=StreamingResponse, **guarded(Access.READ, 404, answers={200: STREAMS})
)
def export_crawl(
    shared: Shared,
    crawl: CrawlRef,
    where: Where,
    format: Annotated[Format, Query(description="CSV is safe against formulas of spreadsheets")] = Format.JSONL,
    accepted: Accepted = "",
) -> StreamingResponse:
    """Export the URLs of a crawl.

    Every URL that the filter lets through, by id, as a stream: memory does not grow with the crawl. It is compressed
    for whoever sends `Accept-Encoding: gzip`.
    """
    with shared.pool.use() as store:
        crawl_id = crawl_named(store, crawl).id
    rows = rows_of(lent_catalog(shared.pool), crawl_id, where)
    return attached(LINES[format](rows), format, f"crawl-{crawl_id}", accepted)


def attached(lines: Iterable[str], format: Format, name: str, accepted: str) -> StreamingResponse:
    """A file to be saved, compressed where `accepted` names gzip.

    Its first chunk is read before the answer begins: a store that is away is still a 503.
    """
    chunks = _chunks(lines)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{format}"', "Vary": "Accept-Encoding"}
    if GZIP in accepted_encodings(accepted):
        chunks, headers["Content-Encoding"] = _gzipped(chunks), GZIP
    first = next(chunks, b"")
    return StreamingResponse(chain((first,), chunks), media_type=MEDIA_TYPES[format], headers=headers)


def _chunks(lines: Iterable[str]) -> Iterator[bytes]:
    held: list[str] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= CHUNK_CHARS:
            yield "".join(held).encode("utf-8", "backslashreplace")
            held, size = [], 0
    yield "".join(held).encode("utf-8", "backslashreplace")


def _gzipped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Each chunk can be read as soon as it is there: nothing waits in the compressor for more."""
    packer = isal_zlib.compressobj(GZIP_LEVEL, wbits=GZIP_BITS)
    for chunk in chunks:
        yield packer.compress(chunk) + packer.flush(isal_zlib.Z_SYNC_FLUSH)
    yield packer.flush()
