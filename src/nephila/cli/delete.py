"""`nephila delete`: a crawl with its rows and archive files."""

import sys
from typing import Annotated

import typer

from nephila import wiring
from nephila.cli import words
from nephila.cli.display import seeds_text
from nephila.cli.options import ArchiveOption, CrawlArgument, DataOption, StoreOption, chosen_crawl, reading_settings
from nephila.control import crawls
from nephila.errors import UsageError


def delete(
    crawl: CrawlArgument = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Do not ask.")] = False,
    data: DataOption = None,
    store: StoreOption = None,
    archive: ArchiveOption = None,
) -> None:
    """Delete a crawl: its rows, and the archive files that no other crawl needs."""
    settings = reading_settings(data, store, archive)
    opened = wiring.open_store(settings)
    found = chosen_crawl(opened.catalog, crawl)
    urls = opened.catalog.tallies(found.id).get("urls", 0)
    question = f"delete crawl {found.id} ({seeds_text(found.seeds)}, {words.count(urls)} URLs) and its archive files?"
    if not yes and not _agreed(question):
        print("nothing was deleted")
        raise typer.Exit(1)
    _, files = crawls.delete(opened.catalog, opened.upkeep, settings.archive_folder, found.id)
    print(f"crawl {found.id} is deleted: {words.count(urls)} URLs, {words.count(files)} archive files")


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("delete asks first, and there is no terminal to ask at: say --yes")
    return typer.confirm(question)
