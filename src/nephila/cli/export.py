"""`nephila export`: all URLs of a crawl as JSONL, JSON or CSV, streaming."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from nephila.cli import words
from nephila.cli.options import (
    CrawlArgument,
    DataOption,
    DepthFilter,
    HostFilter,
    ReasonFilter,
    StateFilter,
    StatusFilter,
    StoreOption,
    TextFilter,
    chosen_crawl,
    open_catalog,
    reading_settings,
    url_filter,
)
from nephila.control.export import Format, rows_of, whole_file, write_rows

STDOUT = Path("-")


def export(
    crawl: CrawlArgument = None,
    format: Annotated[Format, typer.Option(help="One object a line, one array, or a table.")] = Format.JSONL,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write, complete or not at all.",
            show_default="standard output",
        ),
    ] = None,
    state: StateFilter = None,
    host: HostFilter = None,
    status: StatusFilter = None,
    depth: DepthFilter = None,
    reason: ReasonFilter = None,
    text: TextFilter = None,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Export the URLs of a crawl with all that is known of them, to a file or to standard output."""
    catalog = open_catalog(reading_settings(data, store))
    found = chosen_crawl(catalog, crawl)
    rows = rows_of(catalog, found.id, url_filter(state, host, status, depth, reason, text))
    if output is None or output == STDOUT:
        write_rows(rows, format, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with whole_file(output) as out:
        written = write_rows(rows, format, out)
    print(f"{words.count(written)} URLs of crawl {found.id} in {output}", file=sys.stderr)
