"""`nephila urls`: list and filter URLs."""

from itertools import islice
from typing import Annotated

import typer

from nephila.cli.options import (
    DATA,
    CrawlArgument,
    JsonOption,
    chosen_crawl,
    open_catalog,
    with_filter,
    with_settings,
)
from nephila.cli.output import print_json
from nephila.control.export import record_of, rows_of
from nephila.frontier.records import UrlFilter, UrlRow
from nephila.settings import ProcessSettings

STATE_WIDTH = 11


@with_filter
@with_settings(*DATA)
def urls(
    crawl: CrawlArgument = None,
    *,
    where: UrlFilter,
    limit: Annotated[int | None, typer.Option(metavar="N", min=0, help="At most so many.")] = None,
    after: Annotated[int, typer.Option(metavar="ID", min=0, help="Only URLs with a larger id: the next page.")] = 0,
    settings: ProcessSettings,
    json: JsonOption = False,
) -> None:
    """List the URLs of a crawl: id, state, status, depth, URL and reason, in the order of discovery."""
    catalog = open_catalog(settings)
    found = chosen_crawl(catalog, crawl)
    rows = rows_of(catalog, found.id, where, after)
    for row in islice(rows, limit):
        print_json(record_of(row), flush=False) if json else print(line_of(row))


def line_of(row: UrlRow) -> str:
    to = f" -> {row.redirect_to}" if row.redirect_to else ""
    reason = f"  ({row.reason})" if row.reason else ""
    return f"{row.id:>7} {row.state:<{STATE_WIDTH}} {row.status or '':>3} {row.depth:>3}  {row.url}{to}{reason}"
