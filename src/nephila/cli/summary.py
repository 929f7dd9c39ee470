"""The end of a crawl in words: what came of it, what went wrong, where the data is, what to do next."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from nephila.cli import words
from nephila.cli.options import data_hint
from nephila.control.progress import TERMINAL, Snapshot, errors_of
from nephila.frontier.store import Catalog, UrlFilter
from nephila.models import UrlState
from nephila.settings import ProcessSettings

ERRORS_TOLD = 5
REFUSALS_TOLD = 6
LIMITS = {"max_pages": "--max-pages", "max_urls": "--max-urls", "max_seconds": "--max-time", "max_bytes": "--max-bytes"}


class ErrorLine(NamedTuple):
    kind: str
    number: int
    example: str


def top_errors(catalog: Catalog, snapshot: Snapshot) -> list[ErrorLine]:
    """Only the most frequent: an example of those is found early, not after a scan of the whole crawl."""
    return [
        ErrorLine(kind, number, _example(catalog, snapshot.crawl.id, kind))
        for kind, number in errors_of(snapshot.counts)[:ERRORS_TOLD]
    ]


def _example(catalog: Catalog, crawl_id: int, kind: str) -> str:
    by_state = kind in (UrlState.NOT_FOUND, UrlState.FORBIDDEN)
    where = UrlFilter(states=(UrlState(kind),)) if by_state else UrlFilter(reason=kind)
    found = catalog.urls_page(crawl_id, 0, 1, where).rows
    return found[0].url if found else ""


def refusals_by_reason(refusals: Sequence[tuple[str, str, int]]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for _, reason, number in refusals:
        counts[reason] += number
    return counts.most_common(REFUSALS_TOLD)


def summary_lines(
    snapshot: Snapshot, errors: Sequence[ErrorLine], refusals: Sequence[tuple[str, int]], settings: ProcessSettings
) -> list[str]:
    lines = [headline(snapshot)]
    lines += _table("", [(str(state), snapshot.counts[state], "") for state in TERMINAL if snapshot.counts.get(state)])
    lines += _table("errors:", [(error.kind, error.number, error.example) for error in errors])
    lines += _table("links not admitted:", [(reason, number, "") for reason, number in refusals])
    return [*lines, *where_and_next(snapshot, errors, settings)]


def headline(snapshot: Snapshot) -> str:
    crawl, counts = snapshot.crawl, snapshot.counts
    seconds = max(crawl.active_ms, 1) / 1000
    limit = f" at its limit ({LIMITS.get(crawl.limited_by, crawl.limited_by)})" if crawl.limited_by else ""
    facts = [
        f"{words.count(counts.get(UrlState.VISITED, 0))} pages visited of {words.count(counts.get('urls', 0))} URLs",
        f"{words.rate(snapshot.ended / seconds)}",
        f"{words.size(counts.get('bytes', 0))} in {words.count(counts.get('requests', 0))} requests",
    ]
    return f"crawl {crawl.id} {crawl.state}{limit} after {words.duration(crawl.active_ms)}: {', '.join(facts)}"


def _table(title: str, rows: Sequence[tuple[str, int, str]]) -> list[str]:
    if not rows:
        return []
    wide = max(len(name) for name, _, _ in rows)
    high = max(len(words.count(number)) for _, number, _ in rows)
    lines = [f"  {name:<{wide}}  {words.count(number):>{high}}  {example}".rstrip() for name, number, example in rows]
    return [title, *lines] if title else lines


def where_and_next(snapshot: Snapshot, errors: Sequence[ErrorLine], settings: ProcessSettings) -> list[str]:
    crawl, hint = snapshot.crawl, data_hint(settings)
    commands = [f"nephila urls {crawl.id}{hint}", f"nephila export {crawl.id}{hint} --output crawl-{crawl.id}.jsonl"]
    if errors and errors[0].example:
        commands.append(f"nephila explain {crawl.id} '{errors[0].example}'{hint}")
    elif crawl.seeds:
        commands.append(f"nephila show {crawl.id} '{crawl.seeds[0]}'{hint}")
    data = f"data: {settings.shown_store}, responses in {settings.archive_folder}"
    return [data, f"next: {commands[0]}", *(f"      {command}" for command in commands[1:])]
