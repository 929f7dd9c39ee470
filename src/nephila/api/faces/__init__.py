"""The APIs of the documents 000 (runs) and 004 (jobs), as thin translations; here is what both need."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Literal

from fastapi.responses import StreamingResponse

from nephila import log
from nephila.api.access import Caller
from nephila.api.problems import Problem
from nephila.api.routes.export import chunks
from nephila.api.services import Services
from nephila.control import crawls
from nephila.control.access import allows
from nephila.control.export import Record, csv_lines, json_lines
from nephila.errors import UsageError
from nephila.frontier.operators import Access
from nephila.frontier.store import Crawl, UrlRow
from nephila.profiles import CrawlSettings

Format = Literal["json", "csv"]
MEDIA_TYPES: dict[Format, str] = {"json": "application/json", "csv": "text/csv; charset=utf-8"}


def create(services: Services, caller: Caller, seeds: Sequence[str], settings: CrawlSettings, field: str) -> Crawl:
    """A new crawl of the caller's; `field` is what the document calls its seeds."""
    with services.pool.use() as store:
        services.quota.check(caller, store.catalog)
        try:
            crawl = crawls.create(store.catalog, seeds, settings, created_by=caller.creator)
        except UsageError as error:
            raise Problem(422, str(error), field=field) from None
    log.component_log("control-plane").info("crawl_started", crawl=crawl.id, by=caller.name)
    return crawl


def may_go_private(services: Services, caller: Caller) -> bool:
    """The documents have no word for it: an admin's crawls may ask private addresses if the operator lets workers."""
    return services.settings.allow_private and allows(caller.access, Access.ADMIN)


def exported(model: Any) -> dict[str, Any]:
    """For OpenAPI: an array of these, or the same as CSV."""
    return {"model": model, "description": "the rows", "content": {"text/csv": {"schema": {"type": "string"}}}}


def streamed(
    rows: Iterator[UrlRow],
    to_record: Callable[[UrlRow], Record],
    columns: Iterable[str],
    format: Format,
    name: str,
) -> StreamingResponse:
    """The first page is read before the answer begins: a store that is away is then still a 503."""
    first = list(islice(rows, 1))
    records = (to_record(row) for row in chain(first, rows))
    lines = json_lines(records) if format == "json" else csv_lines(records, columns)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{format}"'}
    return StreamingResponse(chunks(lines), media_type=MEDIA_TYPES[format], headers=headers)
