"""Options and arguments that several verbs share, and what is opened by them."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from nephila import wiring
from nephila.control import crawls
from nephila.errors import UsageError
from nephila.frontier.store import Catalog, Crawl, UrlFilter
from nephila.models import UrlState
from nephila.settings import LogFormat, LogLevel, ProcessSettings, process_settings
from nephila.urls.identity import politeness_key

DATA_PANEL = "Where the data is"
WORKER_PANEL = "Workers and logs"
FILTER_PANEL = "Which URLs"
OUTPUT_PANEL = "Output"

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Folder of the embedded store and of the archive.",
        rich_help_panel=DATA_PANEL,
        show_default="./nephila-data",
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="PostgreSQL database of a cluster, postgresql://user@host/name.",
        rich_help_panel=DATA_PANEL,
        show_default="nephila.db in the data folder",
    ),
]
ArchiveOption = Annotated[
    Path | None,
    typer.Option(
        "--archive",
        metavar="DIR",
        help="Folder of the WARC files.",
        rich_help_panel=DATA_PANEL,
        show_default="warc/ in the data folder",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", metavar="N", help="Worker processes to start.", rich_help_panel=WORKER_PANEL, show_default="1"
    ),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        metavar="N",
        help="Requests in flight per worker.",
        rich_help_panel=WORKER_PANEL,
        show_default="64",
    ),
]
PermitPrivateOption = Annotated[
    bool,
    typer.Option(
        "--allow-private",
        metavar="",
        help="Workers of a cluster: permit private addresses to crawls that ask for them.",
        rich_help_panel=WORKER_PANEL,
    ),
]
LogLevelOption = Annotated[
    LogLevel | None,
    typer.Option(
        "--log-level", help="`info` has one line per visit.", rich_help_panel=WORKER_PANEL, show_default="warning"
    ),
]
LogFormatOption = Annotated[
    LogFormat | None,
    typer.Option(
        "--log-format", help="For people, or one object per line.", rich_help_panel=WORKER_PANEL, show_default="console"
    ),
]
LogFileOption = Annotated[
    Path | None,
    typer.Option(
        "--log-file", metavar="FILE", help="Log lines are appended to this file, too.", rich_help_panel=WORKER_PANEL
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", metavar="", help="For machines: JSON on standard output.", rich_help_panel=OUTPUT_PANEL),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", metavar="", help="Only the summary at the end.", rich_help_panel=OUTPUT_PANEL)
]

CrawlArgument = Annotated[
    int | None,
    typer.Argument(metavar="[CRAWL]", help="Number of the crawl; left out: the latest one.", show_default=False),
]
CrawlAndUrl = Annotated[
    list[str],
    typer.Argument(
        metavar="[CRAWL] URL", help="Number of the crawl (left out: the latest one) and the URL.", show_default=False
    ),
]

StateFilter = Annotated[
    list[UrlState] | None,
    typer.Option("--state", help="Only URLs in this state (may be repeated).", rich_help_panel=FILTER_PANEL),
]
HostFilter = Annotated[
    str | None, typer.Option("--host", metavar="HOST", help="Only URLs of this host.", rich_help_panel=FILTER_PANEL)
]
StatusFilter = Annotated[
    int | None,
    typer.Option("--status", metavar="N", help="Only URLs with this HTTP status.", rich_help_panel=FILTER_PANEL),
]
DepthFilter = Annotated[
    int | None,
    typer.Option(
        "--depth", metavar="N", help="Only URLs so many links away from a seed.", rich_help_panel=FILTER_PANEL
    ),
]
ReasonFilter = Annotated[
    str | None,
    typer.Option("--reason", metavar="WORD", help="Only URLs with this reason.", rich_help_panel=FILTER_PANEL),
]
TextFilter = Annotated[
    str | None,
    typer.Option("--text", metavar="TEXT", help="Only URLs that contain this text.", rich_help_panel=FILTER_PANEL),
]


def reading_settings(data: Path | None, store: str | None, archive: Path | None = None) -> ProcessSettings:
    return process_settings({"data": data, "store": store, "archive": archive})


def open_catalog(settings: ProcessSettings) -> Catalog:
    return wiring.open_store(settings).catalog


def chosen_crawl(catalog: Catalog, crawl_id: int | None) -> Crawl:
    return crawls.latest(catalog) if crawl_id is None else catalog.crawl(crawl_id)


def crawl_and_url(catalog: Catalog, words: list[str]) -> tuple[Crawl, str]:
    """`3 https://...`, or only the URL: then the latest crawl is meant."""
    match words:
        case [url]:
            return crawls.latest(catalog), url
        case [number, url] if number.isdecimal():
            return catalog.crawl(int(number)), url
        case [number, _]:
            raise UsageError(f"{number!r} is no crawl: give its number, `nephila status` lists them")
    raise UsageError("give the number of a crawl and one URL, or only the URL")


def url_filter(
    state: list[UrlState] | None,
    host: str | None,
    status: int | None,
    depth: int | None,
    reason: str | None,
    text: str | None,
) -> UrlFilter:
    host = politeness_key(host.strip().lower()) if host else None
    return UrlFilter(tuple(state or ()), host, status, depth, text, reason)


def data_hint(settings: ProcessSettings) -> str:
    """What a suggested command must repeat to find the same data."""
    given = [f" --data {settings.data}" if settings.data != Path("nephila-data") else ""]
    given.append(f" --store {settings.shown_store}" if settings.store else "")
    given.append(f" --archive {settings.archive}" if settings.archive else "")
    return "".join(given)


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
