"""`nephila search`: full-text search over what was crawled."""

import sys
from contextlib import closing
from dataclasses import asdict
from time import sleep
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from nephila.cli import words
from nephila.cli.hints import command
from nephila.cli.options import ARCHIVE, DATA, FILTER_PANEL, JsonOption, open_store, with_settings
from nephila.cli.output import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, print_json
from nephila.clock import SystemClock
from nephila.control import search as searching
from nephila.control.derivation import DerivationProgress
from nephila.control.export import iso_time
from nephila.control.follower import Follower
from nephila.control.operators import host_key
from nephila.control.search import Result, Results
from nephila.search.index import HITS_MAX
from nephila.search.query import parse_query
from nephila.search.snippet import Part
from nephila.settings import ProcessSettings
from nephila.wiring import new_follower

TURN_SECONDS = 0.1  # between two looks while another process indexes
TURN_SECONDS_MAX = 15.0  # then what is indexed is searched
SKIPPED_SHOWN = 10
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
        follower = new_follower(opened, SystemClock())
        narrowed = {name: value for name, value in (("crawl", crawl), ("host", host)) if value}
        update(follower, settings, command(settings, "search", *query, no_update=True, limit=str(limit), **narrowed))
    found = searching.search(opened.catalog, opened.index, wanted, crawl=crawl, host=key, limit=limit)
    if json:
        print_json(as_json(found))
    else:
        show(found, Console(soft_wrap=True, highlight=False, markup=False))
    raise typer.Exit(EXIT_DONE if found.results else EXIT_FAILED)


def update(follower: Follower, settings: ProcessSettings, without: str) -> None:
    """Index until all pages within reach are indexed, by us or by another process. Ctrl-C ends it without loss.

    `without` is the command that searches and does not index.
    """
    console, (progress,) = Console(stderr=True), follower.progress()
    try:
        with closing(follower), console.status("looking at the archive") as status:
            waited = 0.0  # for another process, which indexes nothing meanwhile
            while (done := follower.step()) != 0:
                before, (progress,) = progress, follower.progress()
                if done is None and not progress.pending_bytes:
                    break
                status.update(progress_line(progress))
                waited = waited + TURN_SECONDS if done is None and progress == before else 0.0
                if waited > TURN_SECONDS_MAX:
                    print(
                        f"nephila: another process indexes and does not get on: {progress_line(progress)}",
                        file=sys.stderr,
                    )
                    break
                if done is None:
                    sleep(TURN_SECONDS)
    except KeyboardInterrupt:
        # The last known progress: a store whose answer was cut off is not asked again.
        print(f"nephila: stopped: {progress_line(progress)}; `{without}` searches these", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if unreachable := len(follower.unreachable):
        print(
            f"nephila: {words.count(unreachable)} archive file(s) are not in {follower.archive.location}: "
            "their pages may be missing; say --archive DIR if they lie elsewhere",
            file=sys.stderr,
        )
    if follower.skipped:
        print_skipped(follower)
        print(
            f"nephila: {words.count(follower.skipped)} archived page(s) could not be read: "
            f"`{command(settings, 'verify')}` says more",
            file=sys.stderr,
        )


def print_skipped(follower: Follower) -> None:
    """Name pages that ended the process that derives them: they are searched for in vain."""
    for each in follower.derivations:
        for record in follower.ledger.skipped(each.what, SKIPPED_SHOWN):
            row = follower.catalog.url_by_id(record.url_id) if record.tries else None
            if row is not None:
                print(f"nephila: skipped {harmless(row.url)}: {record.why}", file=sys.stderr)


def progress_line(progress: DerivationProgress) -> str:
    left = f", {words.size(progress.pending_bytes)} of the archive to go" if progress.pending_bytes else ""
    return f"{words.count(progress.pages)} pages are indexed{left}"


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
    """Text of a stranger without control characters: none may command the terminal."""
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
