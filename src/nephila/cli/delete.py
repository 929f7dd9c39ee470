"""`nephila delete`: a crawl with its rows and archive files."""

import sys
from contextlib import suppress
from typing import Annotated

import typer
from rich.console import Console

from nephila.cli import words
from nephila.cli.display import called
from nephila.cli.options import ARCHIVE, DATA, open_store, with_settings
from nephila.cli.output import EXIT_FAILED
from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.errors import StoreUnavailable, UsageError
from nephila.models import Tally
from nephila.settings import ProcessSettings
from nephila.wiring import new_follower


@with_settings(*DATA, ARCHIVE)
def delete(
    crawl: Annotated[int | None, typer.Argument(metavar="CRAWL", help="Its number.", show_default=False)] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Do not ask.")] = False,
    *,
    settings: ProcessSettings,
) -> None:
    """Delete a crawl: its rows, and the archive files that no other crawl needs."""
    opened = open_store(settings)
    if crawl is None:
        found = crawls.latest(opened.catalog)
        raise UsageError(f"delete needs the number of a crawl: the latest is {found.id} ({called(found)})")
    found = opened.catalog.crawl(crawl)
    urls = opened.catalog.tallies(found.id).get(Tally.URLS, 0)
    question = f"delete crawl {found.id} ({called(found)}, {words.count(urls)} URLs) and its archive files?"
    if not yes and not _agreed(question):
        print("nothing was deleted")
        raise typer.Exit(EXIT_FAILED)
    with Console(stderr=True).status("deleting") as status:
        _, files = crawls.delete(opened.catalog, opened.upkeep, opened.archive, found.id, status.update)
        with suppress(StoreUnavailable):  # of the index: whoever derives next forgets the pages
            new_follower(opened, SystemClock()).forget_deleted()
    print(f"crawl {found.id} is deleted: {words.count(urls)} URLs, {words.count(files)} archive files")


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("delete asks first, and there is no terminal to ask at: say --yes")
    return typer.confirm(question)
