"""`nephila report`: what is wrong with a crawled site."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from nephila.cli import words
from nephila.cli.catching_up import catch_up
from nephila.cli.hints import command
from nephila.cli.links import NO_UPDATE, link_lines, linked_from
from nephila.cli.options import ARCHIVE, DATA, CrawlArgument, JsonOption, chosen_crawl, open_store, with_settings
from nephila.cli.output import EXIT_DONE, EXIT_FAILED, print_json
from nephila.control.derivers import LINKS
from nephila.control.export import iso_time
from nephila.control.links import IN_LINKS_MAX, BrokenUrl, broken_urls
from nephila.settings import ProcessSettings

app = typer.Typer(no_args_is_help=True, help="What is wrong with a crawled site: broken links.")


@app.callback()
def _report() -> None:
    """With one verb only, typer would take its name away."""


@app.command()
@with_settings(*DATA, ARCHIVE)
def broken(
    crawl: CrawlArgument = None,
    pages: Annotated[
        int, typer.Option(metavar="N", min=1, max=IN_LINKS_MAX, help="At most so many linking pages of each URL.")
    ] = 10,
    no_update: Annotated[bool, NO_UPDATE] = False,
    *,
    settings: ProcessSettings,
    json: JsonOption = False,
) -> None:
    """List the URLs that cannot be had, why, since when, and the pages that link there with the words of the link. A
    redirect in between is followed back. Exit code 1 where something is broken."""
    opened = open_store(settings)
    chosen = chosen_crawl(opened.catalog, crawl)
    if not no_update:
        catch_up(opened, LINKS, settings, command(settings, "report", "broken", chosen.id, no_update=True))
    count = 0
    for url in broken_urls(opened.catalog, opened.links, chosen, pages_max=pages):  # as they are found: may be many
        count += 1
        if json:
            print_json(broken_json(url))
        else:
            print("\n".join(broken_lines(url)), end="\n\n")
    if not json:
        print(f"{words.count(count)} broken URL{'' if count == 1 else 's'} in crawl {chosen.id}")
    raise typer.Exit(EXIT_FAILED if count else EXIT_DONE)


def broken_lines(url: BrokenUrl) -> Iterator[str]:
    row = url.row
    yield row.url
    status = f"status {row.status}" if row.status is not None else row.reason or row.error or ""
    since = f", seen {iso_time(row.fetched_at)}" if row.fetched_at else ""
    yield f"  {row.state}{f' ({status})' if status else ''}{since}"
    if not url.linked.links:
        yield "  no page links there: it is a seed, or what links there is not indexed"
        return
    yield f"  linked from {linked_from(url.linked)}:"
    for link in url.linked.links:
        yield from (f"    {line}" for line in link_lines(link))


def broken_json(url: BrokenUrl) -> dict[str, object]:
    row = url.row
    fetched = None if not row.fetched_at else iso_time(row.fetched_at)
    known = {"id": row.id, "url": row.url, "state": row.state, "reason": row.reason, "status": row.status}
    return known | {"error": row.error, "fetched_at": fetched, "linked": asdict(url.linked)}
