"""`nephila crawl`: crawl now, with progress."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TextIO

import typer

from nephila import log
from nephila.cli import running
from nephila.cli.crawl_options import assignments_of, naming_options, with_overrides
from nephila.cli.display import SeedProgress
from nephila.cli.options import LOG_WARNINGS, WORK, JsonOption, QuietOption, blaming_option, open_catalog, with_settings
from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.control.naming import checked_name, with_labels
from nephila.control.notices import notices_of
from nephila.errors import UsageError
from nephila.fetch.manners import mannered
from nephila.frontier.store import UNNAMED, Crawl, Naming
from nephila.profiles import PROFILES, crawl_settings, environment_settings
from nephila.settings import ProcessSettings

STDIN = "-"
DEFAULT_PROFILE = "default"


@with_overrides
@with_settings(*WORK, *LOG_WARNINGS)
def crawl(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="URL", help="Where to begin: URLs or domains.", show_default=False)
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="FILE", help="File of further seeds, one per line; - is standard input.")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"Where the settings begin: {', '.join(PROFILES)}.", show_default=DEFAULT_PROFILE
        ),
    ] = None,
    like: Annotated[
        int | None,
        typer.Option(
            metavar="CRAWL",
            help="Where seeds and settings begin: those of this crawl. URLs that are given take the place of its "
            "seeds, options that of its settings.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What people call the crawl.", show_default="that of --like, else none"),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL",
            help="What the crawl is found by: a word like nightly, or key=value like team=docs (may be repeated).",
            show_default="those of --like, else none",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any crawl setting, like polite.floor_ms=500 (`nephila settings` lists them).",
        ),
    ] = None,
    *,
    overrides: dict[str, Any],
    settings: ProcessSettings,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Crawl now, with progress. Ctrl-C stops cleanly; the same command, or `nephila resume`, goes on.

    Where the same crawl runs already, the command joins it, and Ctrl-C ends only the command.
    """
    if like is not None and profile is not None:
        raise UsageError(f"--like takes the profile of crawl {like}: leave --profile out")
    assigned = assignments_of(setting or ())
    chosen = overrides | assigned
    if overrides.get("fetch.allow_private"):
        settings = settings.model_copy(update={"allow_private": True})
    settings = running.quieter(settings)
    if like is None:
        begins = Beginning((), profile or DEFAULT_PROFILE, environment_settings(os.environ), {}, UNNAMED)
    else:
        begins = beginning_like(open_catalog(settings).crawl(like))
    naming = naming_of(name, label or (), begins.naming)
    with naming_options(assigned):
        wanted = crawl_settings(begins.profile, {**begins.usual, **begins.chosen, **chosen})
        listings = crawls.sitemap_seeds(wanted)
        wanted_seeds = list(dict.fromkeys([*seeds_of(urls or [], seeds, begins.seeds or listings), *listings]))
        wanted = mannered(wanted, wanted_seeds, settings.own_hosts, {*begins.chosen, *chosen}).settings
        opened = running.open_for_work(settings, create=True)
        tell = SeedProgress(len(wanted_seeds), SystemClock(), quiet=quiet)
        found, begin = crawls.start(opened.catalog, wanted_seeds, wanted, tell, naming)
    for notice in notices_of(found, settings):
        log.component_log("command", crawl=found.id).warning(notice.event, detail=notice.text)
    raise typer.Exit(running.run_crawl(settings, opened, found, begin, json=json, quiet=quiet))


class Beginning(NamedTuple):
    """What a crawl has before seeds and options are given."""

    seeds: Sequence[str]
    profile: str
    usual: Mapping[str, Any]  # settings of the environment
    chosen: Mapping[str, Any]  # settings that a person has given
    naming: Naming


def beginning_like(crawl: Crawl) -> Beginning:
    """Where a crawl like this one begins. It has all of its settings: neither the environment nor another version of a
    profile changes them."""
    return Beginning(crawl.seeds, crawl.settings.profile, {}, crawl.settings.values(), crawl.naming)


def naming_of(name: str | None, labels: Sequence[str], usual: Naming) -> Naming:
    """The usual name and labels with what is given; a UsageError names the option."""
    with blaming_option("--name"):
        called = usual.name if name is None else checked_name(name)
    with blaming_option("--label"):
        return Naming(called, with_labels(usual.labels, labels))


def seeds_of(urls: list[str], source: str | None, usual: Sequence[str] = ()) -> list[str]:
    """The seeds that are given; where none are, the usual ones."""
    wanted = [crawls.seed_url(url) for url in urls]
    if source is not None:
        with _seed_lines(source) as lines:
            wanted += crawls.read_seeds(lines, "standard input" if source == STDIN else source)
    wanted = wanted or list(usual)
    if not wanted:
        raise UsageError("nothing to crawl: give at least one URL, --sitemap URL, or --seeds FILE")
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
