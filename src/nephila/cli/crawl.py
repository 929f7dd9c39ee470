"""`nephila crawl`: crawl now, with progress."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from nephila.cli import running
from nephila.cli.options import (
    ArchiveOption,
    ConcurrencyOption,
    DataOption,
    JsonOption,
    LogFileOption,
    LogFormatOption,
    LogLevelOption,
    QuietOption,
    StoreOption,
    WorkersOption,
)
from nephila.cli.wishes import ScopeChoice, assignments_of, checked_proxy, given, headers_of, pace_of
from nephila.cli.words import parse_duration, parse_size
from nephila.control import crawls
from nephila.errors import UsageError
from nephila.profiles import PROFILES, RedirectMode, RobotsMode, crawl_settings

SCOPE, LIMITS, POLITE, REQUESTS = "What belongs to the crawl", "Limits", "Politeness", "Requests"
STDIN = "-"


def crawl(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="URL", help="Where to begin: URLs or domains.", show_default=False)
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="FILE", help="File of further seeds, one per line; - is standard input.")
    ] = None,
    profile: Annotated[
        str, typer.Option(metavar="NAME", help=f"Where the settings begin: {', '.join(PROFILES)}.")
    ] = "default",
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any crawl setting, like polite.floor_ms=500 (`nephila settings` lists them).",
        ),
    ] = None,
    scope: Annotated[
        ScopeChoice | None,
        typer.Option(help="Hosts of the seeds, their domains, a list, or any host.", rich_help_panel=SCOPE),
    ] = None,
    scope_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST", help="A host of --scope list; .example.com means: and all below it.", rich_help_panel=SCOPE
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Only URLs that match (with * and ?).", rich_help_panel=SCOPE),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="No URLs that match (with * and ?).", rich_help_panel=SCOPE),
    ] = None,
    include_documents: Annotated[
        bool,
        typer.Option(
            "--include-documents", metavar="", help="Images, archives, PDFs and the like, too.", rich_help_panel=SCOPE
        ),
    ] = False,
    redirects: Annotated[
        RedirectMode | None,
        typer.Option(
            help="A target is a URL of its own, is only recorded, or is followed at once.", rich_help_panel=SCOPE
        ),
    ] = None,
    max_depth: Annotated[
        int | None, typer.Option(metavar="N", help="Links away from a seed.", rich_help_panel=LIMITS)
    ] = None,
    max_pages: Annotated[
        int | None, typer.Option(metavar="N", help="Pages that are visited.", rich_help_panel=LIMITS)
    ] = None,
    max_urls: Annotated[
        int | None, typer.Option(metavar="N", help="URLs that are admitted at all.", rich_help_panel=LIMITS)
    ] = None,
    max_time: Annotated[
        str | None, typer.Option(metavar="TIME", help="Seconds, or 90s, 10m, 2h.", rich_help_panel=LIMITS)
    ] = None,
    max_bytes: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Bytes, or 500kB, 10MB, 2GiB.", rich_help_panel=LIMITS)
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS", help="Gap between two requests to a host; no adaptive part.", rich_help_panel=POLITE
        ),
    ] = None,
    max_inflight: Annotated[
        int | None, typer.Option(metavar="N", help="Requests to one host at a time.", rich_help_panel=POLITE)
    ] = None,
    robots: Annotated[
        RobotsMode | None, typer.Option(help="What robots.txt and robots meta are worth.", rich_help_panel=POLITE)
    ] = None,
    user_agent: Annotated[
        str | None, typer.Option(metavar="TEXT", help="How the crawler names itself.", rich_help_panel=REQUESTS)
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="'Name: value'", help="A further request header.", rich_help_panel=REQUESTS),
    ] = None,
    proxy: Annotated[
        str | None, typer.Option(metavar="URL", help="http, https or socks5 proxy.", rich_help_panel=REQUESTS)
    ] = None,
    allow_private: Annotated[
        bool,
        typer.Option(
            "--allow-private", metavar="", help="Permit private and loopback addresses.", rich_help_panel=REQUESTS
        ),
    ] = False,
    data: DataOption = None,
    store: StoreOption = None,
    archive: ArchiveOption = None,
    workers: WorkersOption = None,
    concurrency: ConcurrencyOption = None,
    log_level: LogLevelOption = None,
    log_format: LogFormatOption = None,
    log_file: LogFileOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Crawl now, with progress. Ctrl-C stops cleanly; the same command, or `nephila resume`, goes on."""
    wishes: dict[str, Any] = {
        "scope.mode": scope and scope.replace("-", "_"),
        "scope.hosts": scope_host,
        "scope.include": include,
        "scope.exclude": exclude,
        "scope.include_documents": include_documents,
        "scope.max_depth": max_depth,
        "redirects.mode": redirects,
        "limits.max_pages": max_pages,
        "limits.max_urls": max_urls,
        "limits.max_seconds": None if max_time is None else round(parse_duration(max_time, "--max-time")),
        "limits.max_bytes": None if max_bytes is None else parse_size(max_bytes, "--max-bytes"),
        "polite.max_inflight": max_inflight,
        "robots.mode": robots,
        "fetch.user_agent": user_agent,
        "fetch.headers": headers_of(header or ()),
        "fetch.proxy": checked_proxy(proxy),
        "fetch.allow_private": allow_private,
    }
    wanted = crawl_settings(profile, given(wishes) | pace_of(delay) | assignments_of(setting or ()))
    settings = running.worker_settings(
        data=data,
        store=store,
        archive=archive,
        workers=workers,
        concurrency=concurrency,
        allow_private=allow_private or None,
        log_level=log_level,
        log_format=log_format,
        log_file=log_file,
    )
    wanted_seeds = seeds_of(urls or [], seeds)
    opened = running.open_for_work(settings, create=True)
    found, new = crawls.start(opened.catalog, wanted_seeds, wanted)
    raise typer.Exit(running.run_crawl(settings, opened, found, new=new, json=json, quiet=quiet))


def seeds_of(urls: list[str], source: str | None) -> list[str]:
    wanted = [crawls.seed_url(url) for url in urls]
    if source is not None:
        with _seed_lines(source) as lines:
            wanted += crawls.read_seeds(lines, "standard input" if source == STDIN else source)
    if not wanted:
        raise UsageError("nothing to crawl: give at least one URL, or --seeds FILE")
    return wanted


@contextmanager
def _seed_lines(source: str) -> Iterator[TextIO]:
    if source == STDIN:
        yield sys.stdin
        return
    try:
        with Path(source).open(encoding="utf-8-sig", errors="replace") as lines:
            yield lines
    except OSError as error:
        raise UsageError(f"the seeds file {source} cannot be read: {error.strerror}") from None
