"""`nephila urls`: list and filter URLs."""

from itertools import islice
from typing import Annotated

import typer

from nephila.cli.options import (
    CrawlArgument,
    DataOption,
    DepthFilter,
    HostFilter,
    JsonOption,
    ReasonFilter,
    StateFilter,
    StatusFilter,
    StoreOption,
    TextFilter,
    chosen_crawl,
    json_text,
    open_catalog,
    reading_settings,
    url_filter,
)
from nephila.control.export import record_of, rows_of
from nephila.frontier.store import UrlRow

STATE_WIDTH = 11


def urls(
    crawl: CrawlArgument = None,
    state: StateFilter = None,
    host: HostFilter = None,
    status: StatusFilter = None,
    depth: DepthFilter = None,
    reason: ReasonFilter = None,
    text: TextFilter = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=0, help="At most so many.")] = None,
    after: Annotated[int, typer.Option(metavar="ID", min=0, help="Only URLs with a larger id: the next page.")] = 0,
    data: DataOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """List the URLs of a crawl: id, state, status, depth, URL and reason, in the order of discovery."""
    catalog = open_catalog(reading_settings(data, store))
    found = chosen_crawl(catalog, crawl)
    rows = rows_of(catalog, found.id, url_filter(state, host, status, depth, reason, text), after)
    for row in islice(rows, limit):
        print(json_text(record_of(row)) if json else line_of(row))


def line_of(row: UrlRow) -> str:
    to = f" -> {row.redirect_to}" if row.redirect_to else ""
    reason = f"  ({row.reason})" if row.reason else ""
    return f"{row.id:>7} {row.state:<{STATE_WIDTH}} {row.status or '':>3} {row.depth:>3}  {row.url}{to}{reason}"
