"""The end of a crawl in words: what came of it, what went wrong, where the data is, what to do next."""

from collections.abc import Sequence
from typing import NamedTuple

from nephila.cli import words
from nephila.cli.display import numbered
from nephila.cli.hints import command
from nephila.control.progress import KindCounts, Snapshot, errors_of
from nephila.frontier.listings import Listings
from nephila.frontier.records import UrlFilter
from nephila.models import ERRORS, CrawlState, Kind, Tally, UrlState
from nephila.policy.ending import LIMIT_REASONS, used_of
from nephila.settings import ProcessSettings

ERRORS_TOLD = 5
REFUSALS_TOLD = 6
LIMITS = {  # settings and their options
    "max_pages": "max_pages",
    "max_urls": "max_urls",
    "max_frontier": "max_frontier",
    "max_seconds": "max_time",
    "max_bytes": "max_bytes",
}


class FrequentError(NamedTuple):
    kind: str
    number: int
    example: str


def top_errors(catalog: Listings, snapshot: Snapshot) -> list[FrequentError]:
    """The most frequent errors, each with an example: one of a frequent kind is found early."""
    return _frequent(catalog, snapshot, errors_of(snapshot.counts), Kind.PAGE)


def broken_requisites(catalog: Listings, snapshot: Snapshot) -> list[FrequentError]:
    """The same of what pages need."""
    return _frequent(catalog, snapshot, list(snapshot.requisites.errors.items()), Kind.REQUISITE)


def _frequent(
    catalog: Listings, snapshot: Snapshot, errors: Sequence[tuple[str, int]], kind: Kind
) -> list[FrequentError]:
    crawl_id = snapshot.crawl.id
    return [FrequentError(error, n, _example(catalog, crawl_id, error, kind)) for error, n in errors[:ERRORS_TOLD]]


def _example(catalog: Listings, crawl_id: int, error: str, kind: Kind) -> str:
    states = (UrlState(error),) if error in ERRORS else ()
    where = UrlFilter(states, reason=None if states else error, kind=kind)
    found = catalog.urls_page(crawl_id, 0, 1, where).rows
    return found[0].url if found else ""


def summary_lines(
    snapshot: Snapshot,
    errors: Sequence[FrequentError],
    refusals: Sequence[tuple[str, int]],
    settings: ProcessSettings,
    broken: Sequence[FrequentError] = (),
) -> list[str]:
    lines = [headline(snapshot)]
    lines += _table("", [(str(state), number, "") for state, number in snapshot.states.items()])
    lines += _table("errors:", [(error.kind, error.number, error.example) for error in errors])
    lines += requisite_lines(snapshot.requisites, broken)
    lines += sitemap_lines(snapshot.sitemaps)
    lines += _table("links not admitted:", [(reason, number, "") for reason, number in refusals[:REFUSALS_TOLD]])
    return [*lines, *where_and_next(snapshot, errors, settings)]


def sitemap_lines(sitemaps: KindCounts) -> list[str]:
    """Of sitemaps that were read: one that was only looked for is nothing to speak of."""
    read = sitemaps.states.get(UrlState.VISITED, 0)
    return [f"sitemaps: {words.count(read)} of {words.count(sitemaps.urls)} read"] if read else []


def requisite_lines(requisites: KindCounts, broken: Sequence[FrequentError]) -> list[str]:
    """What pages need, and what of it is broken; nothing where the crawl has none."""
    if not requisites.urls:
        return []
    lines = [f"requisites: {words.urls(requisites.urls)} that pages need, {words.count(requisites.broken)} broken"]
    lines += _table("", [(str(state), number, "") for state, number in requisites.states.items()])
    return lines + _table("broken requisites:", [(error.kind, error.number, error.example) for error in broken])


def headline(snapshot: Snapshot) -> str:
    crawl, counts = snapshot.crawl, snapshot.counts
    seconds = max(crawl.active_ms, 1) / 1000
    limit = f" at its limit ({option_of(crawl.limited_by)})" if crawl.limited_by else ""
    if crawl.state is CrawlState.FAILED:
        limit = f" (no seed could be had: {snapshot.cause or crawl.reason})"
    visited, urls = (words.count(counts.get(name, 0)) for name in (UrlState.VISITED, Tally.URLS))
    requests, received = counts.get(Tally.REQUESTS, 0), words.size(counts.get(Tally.BYTES, 0))
    answered = counts.get(Tally.ANSWERED, requests)  # an older version counted requests alone
    asked = f"{received} in {words.count(requests)} requests, {words.rate(answered / seconds)}"
    after = words.duration(crawl.active_ms)
    return f"{numbered(crawl)} {crawl.state}{limit} after {after}: {visited} pages visited of {urls} URLs, {asked}"


def option_of(limit: str) -> str:
    return f"--{LIMITS.get(limit, limit).replace('_', '-')}"


def _table(title: str, rows: Sequence[tuple[str, int, str]]) -> list[str]:
    if not rows:
        return []
    wide = max(len(name) for name, _, _ in rows)
    high = max(len(words.count(number)) for _, number, _ in rows)
    lines = [f"  {name:<{wide}}  {words.count(number):>{high}}  {example}".rstrip() for name, number, example in rows]
    return [title, *lines] if title else lines


def where_and_next(snapshot: Snapshot, errors: Sequence[FrequentError], settings: ProcessSettings) -> list[str]:
    crawl = snapshot.crawl
    if snapshot.requisites.broken:
        commands = [command(settings, "urls", crawl.id), command(settings, "urls", crawl.id, kind="requisite")]
    else:
        commands = [command(settings, "urls", crawl.id)]
    commands += [
        command(settings, "export", crawl.id, output=f"crawl-{crawl.id}.jsonl"),
    ]
    if url := (errors[0].example if errors else "") or next(iter(crawl.seeds), ""):
        commands.append(command(settings, "explain", crawl.id, url))
    if crawl.reason in LIMIT_REASONS:
        limit, used = crawl.limited_by, used_of(snapshot.counts, crawl.active_ms)
        raised = {LIMITS[limit]: str(2 * max(getattr(crawl.settings.limits, limit), used[limit]))}
        commands.append(command(settings, "resume", crawl.id, **raised))
    data = f"data: {settings.shown_store}, responses in {settings.archive_folder}"
    return [data, f"next: {commands[0]}", *(f"      {command}" for command in commands[1:])]
