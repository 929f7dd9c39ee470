"""Two crawls compared URL by URL: what was added, what is gone, what ended otherwise, whose content is another.

Two crawls of one store that normalise URLs alike are compared by the store, stretch by stretch, in any size. All others
(exports, a crawl and an export, crawls that normalise differently) are compared in memory, by the URL as the default
settings normalise it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

from nephila.control.export import rows_of
from nephila.control.export_reader import ExportedUrl
from nephila.frontier.catalog import Catalog
from nephila.frontier.counterparts import Counterparts
from nephila.frontier.records import UrlFilter
from nephila.frontier.store import Crawl
from nephila.models import UrlState
from nephila.profiles import NormSettings
from nephila.urls.normalize import Normalizer

STRETCH_ROWS = 10_000  # that the store is asked for at once


class Change(StrEnum):
    GONE = "gone"  # only the first has the URL
    ADDED = "added"  # only the second has it
    STATE = "state"  # it ended otherwise
    CONTENT = "content"  # it ended alike, and its body is another


class By(StrEnum):
    """How much of a URL is compared; each includes those before it."""

    URLS = "urls"
    STATES = "states"
    CONTENT = "content"


SAME: Literal["same"] = "same"
Counts = Counter[str]  # by Change, and SAME


class Known(NamedTuple):
    """What one side has of a URL."""

    state: str
    content_hash: str | bytes | None
    id: int | None = None  # in the store


class Difference(NamedTuple):
    change: Change
    url: str
    first: Known | None
    second: Known | None


def change_of(first: Known | None, second: Known | None, by: By) -> Change | None:
    """None: the same. A body that one of them does not have is no other body."""
    if first is None or second is None:
        return Change.ADDED if first is None else Change.GONE
    if by is not By.URLS and state_of(first) != state_of(second):
        return Change.STATE
    both = first.content_hash and second.content_hash
    return Change.CONTENT if by is By.CONTENT and both and first.content_hash != second.content_hash else None


def state_of(known: Known) -> str:
    """Open URLs are alike: who claims one changes every second."""
    return UrlState.QUEUED if known.state == UrlState.IN_PROGRESS else known.state


# --- in memory


def differences(
    first: Iterable[ExportedUrl], second: Iterable[ExportedUrl], by: By, counts: Counts
) -> Iterator[Difference]:
    """The differences, and in `counts` how many there are of each and how many URLs are the same. The URLs of `first`
    are held in memory, `second` is a stream of which only the URLs that are not in `first` are held."""
    known = {entry.url: Known(entry.state, entry.content_hash) for entry in first}
    met: set[str] = set()
    for entry in second:
        if entry.url not in met:
            met.add(entry.url)
            now = Known(entry.state, entry.content_hash)
            yield from _told(entry.url, known.get(entry.url), now, by, counts)
    for url, before in known.items():
        if url not in met:
            yield from _told(url, before, None, by, counts)


def _told(url: str, first: Known | None, second: Known | None, by: By, counts: Counts) -> Iterator[Difference]:
    change = change_of(first, second, by)
    counts[change or SAME] += 1
    if change is not None:
        yield Difference(change, url, first, second)


def entries_of(catalog: Catalog, crawl_id: int) -> Iterator[ExportedUrl]:
    """The URLs of a crawl as its export has them."""
    normalizer = Normalizer(NormSettings())
    for row in rows_of(catalog, crawl_id, UrlFilter()):
        yield ExportedUrl(normalizer.resolve(row.url)[0] or row.url, row.state, row.content_hash or "")


# --- in the store


class Side(StrEnum):
    FIRST = "first"
    SECOND = "second"


class Reached(NamedTuple):
    """How far a comparison is: first the URLs of one crawl are looked at, then those of the other."""

    side: Side = Side.FIRST
    after: int = 0  # the last URL that was looked at


@dataclass(slots=True)
class Compared:
    """What a part of a comparison found."""

    next: Reached | None  # where to go on; None: this was the last one
    found: list[Difference] = field(default_factory=list)
    counts: Counts = field(default_factory=Counter)
    looked_at: int = 0


def comparable(first: Crawl, second: Crawl) -> bool:
    """Whether a URL has the same key in both."""
    return first.settings.norm == second.settings.norm


def stretch(
    catalog: Counterparts,
    crawls: tuple[int, int],
    reached: Reached,
    by: By = By.CONTENT,
    wanted: frozenset[Change] = frozenset(Change),
    limit: int = STRETCH_ROWS,
) -> Compared:
    """Look at the next URLs, at most STRETCH_ROWS and until `limit` differences of the wanted kinds are found. All that
    were looked at are counted."""
    first, second = crawls if reached.side is Side.FIRST else crawls[::-1]
    rows = catalog.counterparts(first, second, reached.after, STRETCH_ROWS)
    part = Compared(next=reached)
    for row in rows:
        own = Known(row.own.state, row.own.content_hash, row.own.id)
        other = row.other and Known(row.other.state, row.other.content_hash, row.other.id)
        part.looked_at += 1
        part.next = Reached(reached.side, row.own.id)
        if reached.side is Side.FIRST:
            part.found += (each for each in _told(row.url, own, other, by, part.counts) if each.change in wanted)
        elif other is None:
            part.found += (each for each in _told(row.url, None, own, by, part.counts) if each.change in wanted)
        if len(part.found) >= limit:
            return part
    if len(rows) < STRETCH_ROWS:
        part.next = Reached(Side.SECOND) if reached.side is Side.FIRST else None
    return part


def walk(catalog: Counterparts, crawls: tuple[int, int], by: By, counts: Counts) -> Iterator[Difference]:
    """All differences of two crawls of a store, as `differences` has them."""
    reached: Reached | None = Reached()
    while reached is not None:
        part = stretch(catalog, crawls, reached, by)
        counts.update(part.counts)
        yield from part.found
        reached = part.next
