"""`nephila links`: links both ways. Which pages link to a URL, with which words, and what it links to itself."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from nephila.cli import words
from nephila.cli.catching_up import catch_up
from nephila.cli.hints import command
from nephila.cli.options import ARCHIVE, DATA, CrawlAndUrl, JsonOption, crawl_and_url, open_store, with_settings
from nephila.cli.output import EXIT_DONE, EXIT_FAILED, harmless, print_json, print_lines
from nephila.control.derivers import LINKS
from nephila.control.explain import known_url
from nephila.control.links import IN_LINKS_MAX, InLink, InLinks, OutLink, in_links, out_links
from nephila.errors import UsageError
from nephila.links.index import REDIRECT
from nephila.settings import ProcessSettings
from nephila.urls.normalize import Normalizer

NO_UPDATE = typer.Option("--no-update", metavar="", help="Take what is indexed already, without indexing more.")


@with_settings(*DATA, ARCHIVE)
def links(
    target: CrawlAndUrl,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=IN_LINKS_MAX, help="At most so many pages that link there.")
    ] = 20,
    out: Annotated[
        bool, typer.Option("--out", metavar="", help="What it links to, instead of who links to it.")
    ] = False,
    no_update: Annotated[bool, NO_UPDATE] = False,
    *,
    settings: ProcessSettings,
    json: JsonOption = False,
) -> None:
    """Who links to a URL, and with which words; with --out what it links to. The URL may be of another site. Indexes
    first what was crawled since. Exit code 1 where there is none."""
    opened = open_store(settings)
    crawl, asked = crawl_and_url(opened.catalog, target)
    if not no_update:
        catch_up(opened, LINKS, settings, command(settings, "links", crawl.id, asked, no_update=True))
    row = known_url(opened.catalog, crawl, asked)
    url = row.url if row else Normalizer(crawl.settings.norm).resolve(asked)[0]
    if url is None:
        raise UsageError(f"{asked} is no web address: give one with http:// or https://")
    if out:
        if row is None:
            explain = command(settings, "explain", crawl.id, asked)
            raise UsageError(f"crawl {crawl.id} does not know {asked}: `{explain}` says why")
        found = out_links(opened.catalog, opened.links, crawl, row)
        print_json([asdict(link) for link in found]) if json else print_lines(out_lines(url, found))
        raise typer.Exit(EXIT_DONE if found else EXIT_FAILED)
    linked = in_links(opened.catalog, opened.links, crawl, url, limit)
    print_json(asdict(linked)) if json else print_lines(in_lines(url, linked))
    raise typer.Exit(EXIT_DONE if linked.links else EXIT_FAILED)


def in_lines(url: str, linked: InLinks) -> Iterator[str]:
    if not linked.links:
        yield f"no page links to {url}"
        return
    yield f"{linked_from(linked)} link{'s' if linked.total == 1 else ''} to {url}"
    for link in linked.links:
        yield from ("", *link_lines(link))


def linked_from(linked: InLinks) -> str:
    """`12 pages`, with how many of them are shown where that is not all."""
    total = words.count(linked.total) if linked.total_exact else f"more than {words.count(linked.total)}"
    pages = f"{total} page{'' if linked.total == 1 else 's'}"
    direct = sum(link.via is None for link in linked.links)
    return pages if direct == linked.total else f"{pages} (the first {words.count(direct)} are shown)"


def link_lines(link: InLink) -> list[str]:
    lines = [harmless(link.title)] if link.title else []
    said = "redirects there" if link.rel == REDIRECT else _said(link.text, link.rel)
    return [*lines, link.url, f"    {said}{f' to {link.via}, which redirects there' if link.via else ''}"]


def out_lines(url: str, found: list[OutLink]) -> Iterator[str]:
    if not found:
        yield f"no links are known of {url}"
        return
    yield f"{url} links to {words.count(len(found))} URL{'' if len(found) == 1 else 's'}"
    for link in found:
        state = "not of this crawl" if link.state is None else str(link.state)
        yield from ("", link.url, f"    {_said(link.text, link.rel)}; {state}")


def _said(text: str, rel: str) -> str:
    said = f"“{harmless(text)}”" if text else "without a text"
    return f"{said} ({harmless(rel)})" if rel else said
