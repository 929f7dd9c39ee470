"""`nephila sitemaps`: the sitemaps of a crawl, and what they and its links disagree about."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from nephila.cli import words
from nephila.cli.options import DATA, CrawlArgument, JsonOption, chosen_crawl, open_store, with_settings
from nephila.cli.output import print_json, print_lines
from nephila.control.sitemaps import SitemapFigures, list_sitemaps, unlinked, unlisted
from nephila.errors import UsageError
from nephila.frontier.sitemaps import ListedPage
from nephila.settings import ProcessSettings


@with_settings(*DATA)
def sitemaps(
    crawl: CrawlArgument = None,
    only_listed: Annotated[
        bool, typer.Option("--unlinked", metavar="", help="Pages that a sitemap lists and that no page links to.")
    ] = False,
    only_linked: Annotated[
        bool, typer.Option("--unlisted", metavar="", help="Visited pages that links lead to and that no sitemap lists.")
    ] = False,
    *,
    settings: ProcessSettings,
    json: JsonOption = False,
) -> None:
    """List the sitemaps of a crawl, with what they list and what is wrong with them; or what they and links disagree
    about, one URL in a line."""
    if only_listed and only_linked:
        raise UsageError("give one of --unlinked and --unlisted")
    catalog = open_store(settings).catalog
    chosen = chosen_crawl(catalog, crawl)
    if only_listed:
        return _print_pages(unlinked(catalog, chosen), json=json)
    if only_linked:
        return _print_pages(unlisted(catalog, chosen), json=json)
    found = list_sitemaps(catalog, chosen)
    if json:
        print_json([asdict(each) for each in found])
    elif found:
        print_lines(line for each in found for line in _lines(each))
    else:
        print(f"crawl {chosen.id} has met no sitemap")
    return None


def _print_pages(pages: Iterator[ListedPage], *, json: bool) -> None:
    """As they are found: there may be millions."""
    for page in pages:
        if json:
            print_json({"id": page.id, "url": page.url, "state": page.state, "sitemap": page.sitemap})
        else:
            print(page.url)


def _lines(found: SitemapFigures) -> list[str]:
    listed = f"{words.count(found.entries)} URLs, {words.count(found.admitted)} admitted"
    ended = f"{found.state} ({found.reason})" if found.reason else str(found.state)
    what = f"{found.format}, {listed}" if found.format else ended
    if noted := _noted(found):
        what = f"{what}; {noted}"
    lines = [found.url, f"    {what}; {found.found}{f' (id {found.found_in})' if found.found_in is not None else ''}"]
    return [*lines, f"    {found.problem}"] if found.problem else lines


def _noted(found: SitemapFigures) -> str:
    """What it lists beside URLs: "310 images, 4 videos"; empty: nothing."""
    kinds = {"images": found.images, "videos": found.videos, "news": found.news, "alternates": found.alternates}
    return ", ".join(f"{words.count(number)} {kind}" for kind, number in kinds.items() if number)
