"""`nephila search`: full-text search over what was crawled."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from nephila.cli import words
from nephila.cli.catching_up import catch_up
from nephila.cli.hints import command
from nephila.cli.options import ARCHIVE, DATA, FILTER_PANEL, JsonOption, open_store, with_settings
from nephila.cli.output import EXIT_DONE, EXIT_FAILED, harmless, print_json
from nephila.control import search as searching
from nephila.control.derivers import SEARCH
from nephila.control.export import iso_time
from nephila.control.operators import host_key
from nephila.control.search import Result, Results
from nephila.search.index import HITS_MAX
from nephila.search.query import parse_query
from nephila.search.snippet import Part
from nephila.settings import ProcessSettings

MATCH_STYLE = "bold yellow"


@with_settings(*DATA, ARCHIVE)
def search(
    query: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY", help='Words that must all be there, "phrases", -words to leave out, prefixes*.'
        ),
    ],
    crawl: Annotated[
        str | None, typer.Option("--crawl", metavar="N", help="Only this crawl: its number or uuid.")
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Only URLs of this host.", rich_help_panel=FILTER_PANEL)
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=HITS_MAX, help="At most so many.")] = 10,
    no_update: Annotated[
        bool, typer.Option("--no-update", metavar="", help="Search what is indexed already, without indexing more.")
    ] = False,
    *,
    settings: ProcessSettings,
    json: JsonOption = False,
) -> None:
    """Find pages by their words. Indexes first what was crawled since. Exit code 1 where nothing is found."""
    wanted = parse_query(" ".join(query))
    key = host_key(host) if host else None
    opened = open_store(settings)
    if not no_update:
        narrowed = {name: value for name, value in (("crawl", crawl), ("host", host)) if value}
        without = command(settings, "search", *query, no_update=True, limit=str(limit), **narrowed)
        catch_up(opened, SEARCH, settings, without)
    found = searching.search(opened.catalog, opened.index, wanted, crawl=crawl, host=key, limit=limit)
    if json:
        print_json(as_json(found))
    else:
        show(found, Console(soft_wrap=True, highlight=False, markup=False))
    raise typer.Exit(EXIT_DONE if found.results else EXIT_FAILED)


def show(found: Results, console: Console) -> None:
    for result in found.results:
        console.print(Text(harmless(result.title or result.url), style="bold"))
        console.print(Text(harmless(result.url), style="blue"))
        console.print(highlighted(result.snippet))
        console.print()
    console.print(Text(total_line(found)))


def highlighted(parts: list[Part]) -> Text:
    pieces = ((harmless(part.text), MATCH_STYLE if part.match else "") for part in parts)
    return Text.assemble(*pieces)


def total_line(found: Results) -> str:
    about = f"of {words.count(found.indexed)} indexed pages"
    if not found.total:
        return f"no page has {' '.join(found.words)} ({about})"
    total = words.count(found.total) if found.total_exact else f"more than {words.count(found.total)}"
    return f"{words.count(len(found.results))} of {total} found ({about})"


def as_json(found: Results) -> dict[str, object]:
    return asdict(found) | {"results": [result_json(result) for result in found.results]}


def result_json(result: Result) -> dict[str, object]:
    parts = [part._asdict() for part in result.snippet]
    return asdict(result) | {"snippet": parts, "fetched_at": iso_time(result.fetched_at)}
