"""`nephila show`: the archived response of a page."""

import sys
from typing import Annotated

import typer

from nephila import wiring
from nephila.cli import words
from nephila.cli.hints import command
from nephila.cli.options import ARCHIVE, DATA, CrawlAndUrl, crawl_and_url, open_catalog, with_settings
from nephila.control.explain import known_url
from nephila.control.pages import PageContent, page_of
from nephila.errors import UsageError
from nephila.settings import ProcessSettings


@with_settings(*DATA, ARCHIVE)
def show(
    target: CrawlAndUrl,
    headers: Annotated[bool, typer.Option("--headers", metavar="", help="Only the headers, as received.")] = False,
    body: Annotated[bool, typer.Option("--body", metavar="", help="Only the body, decoded.")] = False,
    raw: Annotated[bool, typer.Option("--raw", metavar="", help="Headers and body, both as received.")] = False,
    *,
    settings: ProcessSettings,
) -> None:
    """Print the archived response of a page: its headers and its decoded body."""
    if headers + body + raw > 1:
        raise UsageError("--headers, --body and --raw exclude each other: give one")
    catalog = open_catalog(settings)
    crawl, url = crawl_and_url(catalog, target)
    row = known_url(catalog, crawl, url)
    if row is None:
        explain = command(settings, "explain", crawl.id, url)
        raise UsageError(f"crawl {crawl.id} does not know {url}: `{explain}` says why")
    page = page_of(wiring.open_archive(settings), row, crawl.settings)
    parts = [] if body else [page.response.header_bytes]
    if raw:
        parts.append(page.response.body)
    elif not headers:
        parts.append(_shown_body(page))
    _write(parts)


def _shown_body(page: PageContent) -> bytes:
    if sys.stdout.isatty() and page.is_binary:
        return f"({words.size(len(page.body))} of binary data: `--body > FILE` saves them)\n".encode()
    return page.body


def _write(parts: list[bytes]) -> None:
    out = sys.stdout.buffer
    for part in parts:
        out.write(part)
    if sys.stdout.isatty() and parts and not parts[-1].endswith(b"\n"):
        out.write(b"\n")
    out.flush()
