"""`nephila search`: full-text search over what was crawled."""

import sys
from dataclasses import asdict
from time import sleep
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from nephila import wiring
from nephila.cli import words
from nephila.cli.display import print_json
from nephila.cli.options import (
    ArchiveOption,
    DataOption,
    HostFilter,
    JsonOption,
    StoreOption,
    data_hint,
    reading_settings,
)
from nephila.cli.running import EXIT_INTERRUPTED
from nephila.clock import SystemClock
from nephila.control import search as searching
from nephila.control.export import iso_time
from nephila.control.indexing import Indexer, Progress
from nephila.control.operators import host_key
from nephila.control.search import Result, Results
from nephila.search.index import HITS_MAX
from nephila.search.query import parse_query
from nephila.search.snippet import Part
from nephila.settings import ProcessSettings

EXIT_NOTHING = 1
TURN_SECONDS = 0.1  # between two looks while another process indexes
MATCH_STYLE = "bold yellow"


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
    host: HostFilter = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=HITS_MAX, help="At most so many.")] = 10,
    no_update: Annotated[
        bool, typer.Option("--no-update", metavar="", help="Search what is indexed already, without indexing more.")
    ] = False,
    data: DataOption = None,
    store: StoreOption = None,
    archive: ArchiveOption = None,
    json: JsonOption = False,
) -> None:
    """Find pages by their words. Indexes first what was crawled since. Exit code 1 where nothing is found."""
    wanted = parse_query(" ".join(query))
    key = host_key(host) if host else None
    settings = reading_settings(data, store, archive)
    opened = wiring.open_store(settings)
    if not no_update:
        update(Indexer(opened.catalog, opened.index, settings.archive_folder, SystemClock()), settings)
    found = searching.search(opened.catalog, opened.index, wanted, crawl=crawl, host=key, limit=limit)
    if json:
        print_json(as_json(found))
    else:
        show(found, Console(soft_wrap=True, highlight=False, markup=False))
    raise typer.Exit(0 if found.results else EXIT_NOTHING)


def update(indexer: Indexer, settings: ProcessSettings) -> None:
    """Until everything that can be reached is indexed, by whomever. Ctrl-C ends it; what was done stays."""
    console, progress = Console(stderr=True), indexer.progress()
    try:
        with console.status("looking at the archive") as status:
            while (done := indexer.step()) != 0:
                progress = indexer.progress()
                if done is None and not progress.pending_bytes:
                    break
                status.update(progress_line(progress))
                if done is None:
                    sleep(TURN_SECONDS)
    except KeyboardInterrupt:
        again = f"`nephila search --no-update{data_hint(settings)} ...` searches these"
        # As it was last seen: a store whose answer was cut off is not asked again.
        print(f"nephila: stopped: {progress_line(progress)}; {again}", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if unreachable := indexer.progress().unreachable:
        print(
            f"nephila: {words.count(unreachable)} archive file(s) are not in {settings.archive_folder}: "
            "their pages may be missing; say --archive DIR if they lie elsewhere",
            file=sys.stderr,
        )
    if indexer.skipped:
        print(
            f"nephila: {words.count(indexer.skipped)} archived page(s) could not be read: `nephila verify` says more",
            file=sys.stderr,
        )


def progress_line(progress: Progress) -> str:
    left = f", {words.size(progress.pending_bytes)} of the archive to go" if progress.pending_bytes else ""
    return f"{words.count(progress.indexed)} pages are indexed{left}"


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


def harmless(text: str) -> str:
    """Strangers wrote it: nothing in it may command the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


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
