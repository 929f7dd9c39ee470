"""`nephila robots`: what a robots.txt says of URLs."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from nephila import wiring
from nephila.cli import words
from nephila.cli.options import DATA, JsonOption, open_store, with_settings
from nephila.cli.output import EXIT_DONE, EXIT_FAILED, print_json, print_lines
from nephila.clock import SystemClock
from nephila.control.export import iso_time
from nephila.control.robots_source import (
    RobotsPlace,
    RobotsSource,
    asked_robots,
    by_origin,
    check_may_ask,
    check_public,
    stored_robots,
)
from nephila.errors import UsageError
from nephila.fetch.robots import FETCH_BYTES_MAX, RobotsAnswer, fetch_robots
from nephila.policy.robots_trial import RobotsTrial, UrlTrial, agent_token, try_robots
from nephila.profiles import CrawlSettings, crawl_settings, environment_settings
from nephila.settings import ProcessSettings, user_agent_of

STDIN = "-"
SITEMAPS_SHOWN = 10
PLACES = {RobotsPlace.FILE: "given", RobotsPlace.STORE: "from the store", RobotsPlace.WEB: "asked for now"}


@with_settings(*DATA)
def robots(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="What is to be asked for.", show_default=False)],
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A crawler's name or User-Agent; * for any.", show_default="Nephila's own"),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Try this text; - is standard input.", show_default="what the store knows"),
    ] = None,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", metavar="", help="Permit private and loopback addresses.")
    ] = False,
    *,
    settings: ProcessSettings,
    json: JsonOption = False,
) -> None:
    """Try a robots.txt: may a crawler ask for these URLs, and which line says so? Exit code 1 if not for all of them.

    Without --file it is the one that the store has of the host; of a host that no crawl has asked, it is asked for.
    """
    environment = environment_settings(os.environ)
    crawl = crawl_settings(overrides=environment | ({"fetch.allow_private": True} if allow_private else {}))
    agent = agent_token(user_agent_of(crawl, settings) if agent is None else agent)
    wanted = by_origin(urls)
    text = None if file is None else RobotsSource(RobotsPlace.FILE, "", _read(file))
    sources = [text or _known(settings, crawl, origin) for origin in wanted]
    tried = [
        (source, try_robots(source.body, asked, agent, crawl.polite))
        for source, asked in zip(sources, wanted.values(), strict=True)
    ]
    for origin, (source, trial) in zip(wanted, tried, strict=True):
        print_json(_json(origin, source, trial)) if json else print_lines(_lines(origin, source, trial))
    raise typer.Exit(EXIT_DONE if all(url.allowed for _, trial in tried for url in trial.urls) else EXIT_FAILED)


def _read(file: str) -> bytes:
    try:
        if file == STDIN:
            return sys.stdin.buffer.read(FETCH_BYTES_MAX)
        with Path(file).open("rb") as lines:
            return lines.read(FETCH_BYTES_MAX)
    except OSError as error:
        raise UsageError(f"the file {file} cannot be read: {error.strerror}") from None


def _known(settings: ProcessSettings, crawl: CrawlSettings, origin: str) -> RobotsSource:
    if settings.store is not None or (settings.data / "nephila.db").exists():
        store = open_store(settings)
        found = stored_robots(store.catalog, origin)
        if found is not None:
            return found
        check_may_ask(store.catalog, store.rulebook.rulings(), origin)
    if not crawl.fetch.allow_private:
        check_public(origin)
    return asked_robots(origin, asyncio.run(_ask(settings, crawl, origin)))


async def _ask(settings: ProcessSettings, crawl: CrawlSettings, origin: str) -> RobotsAnswer:
    _, fetcher = wiring.new_fetcher(settings, SystemClock(), 1)
    try:
        return await fetch_robots(fetcher, crawl, user_agent_of(crawl, settings), origin, asyncio.sleep)
    finally:
        await fetcher.close()


def _json(origin: str, source: RobotsSource, trial: RobotsTrial) -> dict[str, object]:
    at = None if source.fetched_at is None else iso_time(source.fetched_at)
    return {"origin": origin, "source": source.place, "status": source.status, "fetched_at": at} | trial.as_json()


def _lines(origin: str, source: RobotsSource, trial: RobotsTrial) -> list[str]:
    lines = [_verdict(url) for url in trial.urls]
    at = f", {iso_time(source.fetched_at)}" if source.fetched_at is not None else ""
    status = f", status {source.status}" if source.status is not None else ""
    old = ", expired" if source.expires_in_ms is not None and source.expires_in_ms <= 0 else ""
    lines += [f"  robots.txt   of {origin}, {PLACES[source.place]}{at}{status}{old}"]
    where = f" (line {', '.join(map(str, trial.group_lines))})" if trial.group_lines else ""
    lines += [f"  group        {trial.group or 'none'}{where}, for {trial.agent}"]
    if trial.crawl_delay_ms is not None:
        lines += [f"  crawl-delay  {words.duration(trial.crawl_delay_ms)}"]
    lines += [f"  parked       {trial.parked}"] if trial.parked else []
    lines += [f"  sitemap      {sitemap}" for sitemap in trial.sitemaps[:SITEMAPS_SHOWN]]
    left = len(trial.sitemaps) - SITEMAPS_SHOWN
    lines += [f"  sitemap      and {words.count(left)} more"] if left > 0 else []
    return lines + (["  cut          the text is longer than is read of a robots.txt"] if trial.cut else [])


def _verdict(url: UrlTrial) -> str:
    return f"{'allowed' if url.allowed else 'DISALLOWED'}  {url.url}  {url.detail}"
