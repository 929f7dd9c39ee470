"""Options and arguments that several verbs share, each declared once. `with_settings` hands a verb the process settings
that its options make, `with_filter` the filter of URLs."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from nephila import wiring
from nephila.cli.hints import located
from nephila.control import crawls
from nephila.errors import NephilaError, SettingRefused, UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import ListedKind, UrlFilter, reason_named
from nephila.frontier.store import Crawl
from nephila.frontier.tables import Patience
from nephila.models import UrlState
from nephila.settings import LogFormat, LogLevel, ProcessSettings, process_settings
from nephila.urls.identity import politeness_key

DATA_PANEL = "Where the data is"
WORKER_PANEL = "Workers and logs"
FILTER_PANEL = "Which URLs"
OUTPUT_PANEL = "Output"

WRITE_SECONDS = 15.0  # that a command waits for another process that writes

Verb = Callable[..., None]


def option(
    panel: str, kind: Any, flag: str, help: str, metavar: str | None = None, default: str | bool = True
) -> inspect.Parameter:
    """An option whose value is None if it is not given; `default` is what the help shows for that."""
    info = typer.Option(None, flag, metavar=metavar, help=help, rich_help_panel=panel, show_default=default)
    name = flag.removeprefix("--").replace("-", "_")
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=info, annotation=kind | None)


def flag_of(option: inspect.Parameter) -> str:
    return str(option.default.param_decls[0])


def with_options(
    parameter: str, options: tuple[inspect.Parameter, ...], make: Callable[..., Any]
) -> Callable[[Verb], Verb]:
    """A decorator: the command line has these options in place of `parameter`, and the verb is handed what `make` makes
    of their values."""

    def decorate(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def with_made(**values: Any) -> None:
            given = {each.name: values.pop(each.name) for each in options}
            verb(**values, **{parameter: make(**given)})

        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(verb).parameters.values():
            parameters += options if own.name == parameter else [own.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
        with_made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return with_made

    return decorate


def log_options(level: LogLevel) -> tuple[inspect.Parameter, ...]:
    """The options of logging; `level` is the verb's level if none is given."""
    return (
        option(WORKER_PANEL, LogLevel, "--log-level", "`info` has one line per visit.", default=level.value),
        option(WORKER_PANEL, LogFormat, "--log-format", "For people, or one object per line.", default="console"),
        option(WORKER_PANEL, Path, "--log-file", "Log lines are appended to this file, too.", "FILE"),
    )


DATA = (
    option(DATA_PANEL, Path, "--data", "Folder of the embedded store and of the archive.", "DIR", "./nephila-data"),
    option(
        DATA_PANEL,
        str,
        "--store",
        "PostgreSQL database of a cluster, postgresql://user@host/name.",
        "URL",
        "nephila.db in the data folder",
    ),
)
ARCHIVE = option(DATA_PANEL, Path, "--archive", "Folder of the WARC files.", "DIR", "warc/ in the data folder")
CONCURRENCY = option(WORKER_PANEL, int, "--concurrency", "Requests in flight per worker at most.", "N", "5000")
WORK = (*DATA, ARCHIVE, option(WORKER_PANEL, int, "--workers", "Worker processes to start.", "N", "1"), CONCURRENCY)
ALLOW_PRIVATE = option(
    WORKER_PANEL,
    bool,
    "--allow-private",
    "Workers of a cluster: permit private addresses to crawls that ask for them.",
    "",
    False,
)
LOG, LOG_WARNINGS = log_options(LogLevel.INFO), log_options(LogLevel.WARNING)
FILTER = (
    option(FILTER_PANEL, list[UrlState], "--state", "Only URLs in this state (may be repeated)."),
    option(FILTER_PANEL, str, "--host", "Only URLs of this host.", "HOST"),
    option(FILTER_PANEL, int, "--status", "Only URLs with this HTTP status.", "N"),
    option(FILTER_PANEL, int, "--depth", "Only URLs so many links away from a seed.", "N"),
    option(FILTER_PANEL, str, "--reason", "Only URLs with this reason.", "WORD"),
    option(FILTER_PANEL, str, "--text", "Only URLs that contain this text.", "TEXT"),
    option(FILTER_PANEL, ListedKind, "--kind", "Pages, or what they need.", None, "page"),
)

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
OpenCrawlArgument = Annotated[
    int | None,
    typer.Argument(metavar="[CRAWL]", help="Number of the crawl; left out: the only one.", show_default=False),
]
CrawlAndUrl = Annotated[
    list[str],
    typer.Argument(
        metavar="[CRAWL] URL", help="Number of the crawl (left out: the latest one) and the URL.", show_default=False
    ),
]


def with_settings(*options: inspect.Parameter) -> Callable[[Verb], Verb]:
    """A decorator for a verb with the parameter `settings`: the process settings that these options make.

    The commands that its errors advise get the options that find the same data.
    """

    def made(**given: Any) -> ProcessSettings:
        try:
            return process_settings(given)
        except SettingRefused as refused:
            flags = {each.name: flag_of(each) for each in options}
            raise refused.at(flags[refused.setting]) if refused.setting in flags else refused from None

    def decorate(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def advising(*, settings: ProcessSettings, **values: Any) -> None:
            try:
                verb(settings=settings, **values)
            except NephilaError as error:
                error.args = (located(str(error), settings),)
                raise

        return with_options("settings", options, made)(advising)

    return decorate


@contextmanager
def blaming_option(flag: str) -> Iterator[None]:
    """A UsageError inside is about this option, and says so."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from None


def url_filter(
    state: list[UrlState] | None,
    host: str | None,
    status: int | None,
    depth: int | None,
    reason: str | None,
    text: str | None,
    kind: ListedKind | None,
) -> UrlFilter:
    host = politeness_key(host.strip().lower()) if host else None
    with blaming_option("--reason"):
        why = reason_named(reason) if reason else None
    return UrlFilter(tuple(state or ()), host, status, depth, text, why, kind=(kind or ListedKind.PAGE).kind)


with_filter = with_options("where", FILTER, url_filter)


def open_store(settings: ProcessSettings, *, create: bool = False) -> wiring.Store:
    """The store for a command: a write that has to wait for another process says for whom, and gives up in the end."""
    patience = Patience(WRITE_SECONDS, lambda text: print(f"nephila: {text}", file=sys.stderr, flush=True))
    return wiring.open_store(settings, create=create, patience=patience)


def open_catalog(settings: ProcessSettings) -> Catalog:
    return open_store(settings).catalog


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
