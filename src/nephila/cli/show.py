"""`nephila show`: the archived response of a page."""

import sys
from typing import Annotated

import typer

from nephila.archive.reader import ArchivedResponse, read_response
from nephila.cli import words
from nephila.cli.options import (
    ArchiveOption,
    CrawlAndUrl,
    DataOption,
    StoreOption,
    crawl_and_url,
    open_catalog,
    reading_settings,
)
from nephila.control.explain import known_url
from nephila.errors import UsageError
from nephila.fetch.body import decode_body
from nephila.frontier.store import UrlRow
from nephila.models import ArchivePlace

BINARY_LOOK = 8192


def show(
    target: CrawlAndUrl,
    headers: Annotated[bool, typer.Option("--headers", metavar="", help="Only the headers, as received.")] = False,
    body: Annotated[bool, typer.Option("--body", metavar="", help="Only the body, decoded.")] = False,
    raw: Annotated[bool, typer.Option("--raw", metavar="", help="Headers and body, both as received.")] = False,
    data: DataOption = None,
    store: StoreOption = None,
    archive: ArchiveOption = None,
) -> None:
    """Print the archived response of a page: its headers and its decoded body."""
    if headers + body + raw > 1:
        raise UsageError("--headers, --body and --raw exclude each other: give one")
    settings = reading_settings(data, store, archive)
    catalog = open_catalog(settings)
    crawl, url = crawl_and_url(catalog, target)
    row = known_url(catalog, crawl, url)
    if row is None:
        raise UsageError(f"crawl {crawl.id} does not know {url}: `nephila explain {crawl.id} '{url}'` says why")
    response = read_response(settings.archive_folder, place_of(row))
    limit = crawl.settings.fetch.body_bytes_max
    parts = [] if body else [response.header_bytes]
    if raw:
        parts.append(response.body)
    elif not headers:
        parts.append(_shown_body(response, limit))
    _write(parts)


def place_of(row: UrlRow) -> ArchivePlace:
    if row.archive_file is None or row.archive_offset is None or row.archive_length is None:
        raise UsageError(
            f"nothing is archived of {row.url}: it is {row.state}{f' ({row.reason})' if row.reason else ''}"
        )
    return ArchivePlace(row.archive_file, row.archive_offset, row.archive_length)


def _shown_body(response: ArchivedResponse, limit: int) -> bytes:
    content = decode_body(response.headers, response.body, limit).body
    if sys.stdout.isatty() and looks_binary(content):
        return f"({words.size(len(content))} of binary data: `--body > FILE` saves them)\n".encode()
    return content


def looks_binary(content: bytes) -> bool:
    return b"\0" in content[:BINARY_LOOK]


def _write(parts: list[bytes]) -> None:
    out = sys.stdout.buffer
    for part in parts:
        out.write(part)
    if sys.stdout.isatty() and parts and not parts[-1].endswith(b"\n"):
        out.write(b"\n")
    out.flush()
