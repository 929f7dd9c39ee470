"""`nephila export`: all URLs of a crawl as JSONL, JSON or CSV, streaming."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from nephila.cli import words
from nephila.cli.options import DATA, CrawlArgument, chosen_crawl, open_catalog, with_filter, with_settings
from nephila.control.export import Format, format_of, rows_of, whole_file, write_rows
from nephila.frontier.records import UrlFilter
from nephila.settings import ProcessSettings

STDOUT = Path("-")


@with_filter
@with_settings(*DATA)
def export(
    crawl: CrawlArgument = None,
    format: Annotated[
        Format | None,
        typer.Option(
            help="One object a line, one array, or a table.", show_default="what the name of FILE ends in, else jsonl"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write, complete or not at all; compressed where it ends in .gz.",
            show_default="standard output",
        ),
    ] = None,
    *,
    where: UrlFilter,
    settings: ProcessSettings,
) -> None:
    """Export the URLs of a crawl with all that is known of them, to a file or to standard output."""
    chosen = format or (Format.JSONL if output in (None, STDOUT) else format_of(output))
    catalog = open_catalog(settings)
    found = chosen_crawl(catalog, crawl)
    rows = rows_of(catalog, found.id, where)
    if output is None or output == STDOUT:
        write_rows(rows, chosen, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with whole_file(output) as out:
        written = write_rows(rows, chosen, out)
    print(f"{words.count(written)} URLs of crawl {found.id} in {output}", file=sys.stderr)
