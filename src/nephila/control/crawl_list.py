"""Lists of crawls: filtered, sorted, counted, page by page. The command line and the API call these."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from nephila.control.crawls import paused_if_interrupted
from nephila.control.naming import is_labelled
from nephila.control.progress import ended_of, errors_of
from nephila.errors import UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import CrawlHead
from nephila.frontier.store import Crawl
from nephila.models import (
    EXPLAINED_ERRORS,
    HARMLESS_REASONS,
    TERMINAL,
    CrawlState,
    Reason,
    Tally,
    UrlState,
    reason_tally,
)

CRAWLS_SORTED_MAX = 5_000  # more are listed in the order of their numbers only
HEADS_MAX = 10_000  # crawls that one page of a filtered list looks at: it may be short, its `next` goes on
UNSORTABLE = f"there are more than {CRAWLS_SORTED_MAX:,} crawls: list them by number, the newest first"
ERROR_TALLIES = (
    *EXPLAINED_ERRORS,
    UrlState.HTTP_ERROR,
    *(reason_tally(reason) for reason in Reason if reason and reason not in HARMLESS_REASONS),
)


class CrawlSort(StrEnum):
    ID = "id"
    NAME = "name"
    STATUS = "status"
    ENDED = "ended"
    ACTIVE_MS = "active_ms"
    BYTES = "bytes"
    ERRORS = "errors"


TALLIES: dict[CrawlSort, tuple[str, ...]] = {
    CrawlSort.ENDED: tuple(TERMINAL),
    CrawlSort.BYTES: (Tally.BYTES,),
    CrawlSort.ERRORS: ERROR_TALLIES,
}


@dataclass(frozen=True, slots=True)
class CrawlFilter:
    state: CrawlState | None = None
    labels: tuple[str, ...] = ()  # all of them; a key alone stands for all of its values
    text: str = ""  # in its number, its name, its labels or the beginning of its seeds


@dataclass(frozen=True, slots=True)
class CrawlPage:
    """A page of a list. It may be short before the end: only `next` tells."""

    crawls: list[Crawl]
    next: int | None  # the `after` of the next page; None: this was the last
    total: int | None  # that pass the filter; None: too many to look at them all
    unsortable: str  # why they are listed by number only; empty: they can be sorted


def crawl_page(
    catalog: Catalog,
    where: CrawlFilter,
    limit: int,
    *,
    after: int = 0,
    offset: int = 0,
    sort: CrawlSort = CrawlSort.ID,
    descending: bool = True,
) -> CrawlPage:
    """A page behind the crawl `after` (0: from the first), by `sort`. UsageError where more than CRAWLS_SORTED_MAX
    would have to be sorted, and where the crawl `after` is not in the list."""
    if where == CrawlFilter() and sort is CrawlSort.ID and descending and not offset:
        return _newest(catalog, limit, after)
    heads = catalog.crawl_heads(limit=HEADS_MAX + 1)
    whole, unsortable = len(heads) <= HEADS_MAX, UNSORTABLE if len(heads) > CRAWLS_SORTED_MAX else ""
    if unsortable and (sort is not CrawlSort.ID or not descending):
        raise UsageError(unsortable)
    if not whole:
        heads = catalog.crawl_heads(after, HEADS_MAX)
    matching = [head for head in as_shown(catalog, heads) if passes(head, where)]
    ordered = in_order(catalog, matching, sort, descending=descending)
    behind = ordered[_place_behind(ordered, after, sort, descending=descending) :][offset:]
    page = [paused_if_interrupted(catalog, catalog.crawl(head.id)) for head in behind[:limit]]
    goes_on = page[-1].id if len(behind) > limit else None
    if not whole and goes_on is None and len(heads) == HEADS_MAX:
        goes_on = heads[-1].id
    return CrawlPage(page, goes_on, len(matching) if whole else None, unsortable)


def _newest(catalog: Catalog, limit: int, after: int) -> CrawlPage:
    """What most ask for, once a second: a page of the index, and a count."""
    found = [paused_if_interrupted(catalog, crawl) for crawl in catalog.crawls(after, limit + 1)]
    total = sum(catalog.count_crawls().by_state.values())
    goes_on = found[limit - 1].id if len(found) > limit else None
    return CrawlPage(found[:limit], goes_on, total, UNSORTABLE if total > CRAWLS_SORTED_MAX else "")


def as_shown(catalog: Catalog, heads: Iterable[CrawlHead]) -> list[CrawlHead]:
    """As `paused_if_interrupted` shows them; who lives is asked once."""
    alive: bool | None = None
    shown = []
    for head in heads:
        if head.state is CrawlState.RUNNING and not catalog.is_looked_after(head.id):
            alive = any(worker.alive for worker in catalog.workers()) if alive is None else alive
            head = head if alive else replace(head, state=CrawlState.PAUSED)
        shown.append(head)
    return shown


def passes(head: CrawlHead, where: CrawlFilter) -> bool:
    if where.state is not None and head.state is not where.state:
        return False
    if not all(is_labelled(head.naming.labels, label) for label in where.labels):
        return False
    text = where.text.casefold()
    return not text or any(text in part.casefold() for part in _searched(head))


def _searched(head: CrawlHead) -> Iterable[str]:
    return (str(head.id), head.naming.name, *head.naming.labels, head.seeds)


def in_order(catalog: Catalog, heads: Sequence[CrawlHead], sort: CrawlSort, *, descending: bool) -> list[CrawlHead]:
    place = _placing(catalog, heads, sort)
    return sorted(heads, key=lambda head: (place(head), head.id), reverse=descending)


def _placing(catalog: Catalog, heads: Sequence[CrawlHead], sort: CrawlSort) -> Callable[[CrawlHead], Any]:
    match sort:
        case CrawlSort.ID:
            return lambda head: head.id
        case CrawlSort.NAME:  # those without a name by their seeds, behind the others
            return lambda head: (not head.naming.name, head.naming.name.casefold() or head.seeds)
        case CrawlSort.STATUS:
            return lambda head: head.state
        case CrawlSort.ACTIVE_MS:
            return lambda head: head.active_ms
    tallies = catalog.tallies_of_crawls([head.id for head in heads], TALLIES[sort])
    return lambda head: _counted(tallies.get(head.id, {}), sort)


def _counted(counts: dict[str, int], sort: CrawlSort) -> int:
    match sort:
        case CrawlSort.ENDED:
            return ended_of(counts)
        case CrawlSort.ERRORS:
            return sum(number for _, number in errors_of(counts))
    return counts.get(Tally.BYTES, 0)


def _place_behind(ordered: Sequence[CrawlHead], after: int, sort: CrawlSort, *, descending: bool) -> int:
    """Where the page behind a crawl begins: by its place now. By number the crawl need not be there any more."""
    if not after:
        return 0
    for place, head in enumerate(ordered):
        if head.id == after:
            return place + 1
        if sort is CrawlSort.ID and (head.id < after) is descending:
            return place
    if sort is CrawlSort.ID:
        return len(ordered)
    raise UsageError(f"crawl {after} is no longer in this list: begin again with its first page")
