"""What changed in a crawl, for readers who follow it: which URLs were found, tried again or ended, in order of commit.

Every transaction that changes URLs adds entries with their ids, in numbers that grow. A place is the number of an entry
and how many of its ids were read, in one integer. Decision 15 says why a reader misses nothing.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from nephila.frontier.listings import Listings
from nephila.frontier.records import SCAN_ROWS_MAX, UrlRow
from nephila.frontier.rows import linked_pages, linking_pages
from nephila.frontier.session import ENTRY_URLS_MAX
from nephila.frontier.tables import Values

ENTRIES_AT_ONCE = 128


class ChangeEntry(NamedTuple):
    number: int
    ended: bool  # else they were found, or are tried again
    urls: Sequence[int]


@dataclass(frozen=True, slots=True)
class ChangePage:
    """URLs that changed. It may be short, even empty, before the end: only `more` tells."""

    places: dict[int, int]  # the place behind each URL, in order of the changes
    next: int  # the place to go on from
    more: bool  # whether there is more now


@dataclass(frozen=True, slots=True)
class LinkPage:
    pages: list[tuple[int, list[int]]]  # ended URLs, each with the ids of what its page links to
    next: int


class Changes(Listings):
    @abstractmethod
    def _last_change(self) -> int:
        """The number up to which no entry can appear any more that is not there now."""

    @abstractmethod
    def _change_entry(self, row: Values) -> ChangeEntry: ...

    def changes(self, crawl_id: int, after: int, limit: int, *, ended_only: bool = False) -> ChangePage:
        """At most `limit` URLs that changed since the place `after` (0: since the beginning).

        One that was found and has ended since is left to the entry of its end: so a crawl that is over is read with
        each URL once, and a page never comes behind what was found on it.
        """
        places: dict[int, int] = {}
        looked, place = 0, after
        while entries := self._entries(crawl_id, place // ENTRY_URLS_MAX):
            unread = [(entry.ended, *each) for entry in entries for each in _places(entry, place)]
            still_open = set() if ended_only else self._still_open(id for ended, _, id in unread if not ended)
            for ended, behind, id in unread:
                if (ended or id in still_open) and id not in places:
                    if len(places) == limit:
                        return ChangePage(places, place, more=True)
                    places[id] = behind
                place = behind
            place = (entries[-1].number + 1) * ENTRY_URLS_MAX
            looked += len(unread)
            if looked >= SCAN_ROWS_MAX:
                return ChangePage(places, place, more=True)
        return ChangePage(places, place, more=False)

    def changed_urls(self, page: ChangePage) -> list[UrlRow]:
        """Its rows as they are now, in order of the changes."""
        rows = {row.id: row for row in self._rows_of(list(page.places))}
        return [rows[id] for id in page.places if id in rows]

    def links(self, crawl_id: int, after: int, limit: int) -> LinkPage:
        """The links of at most `limit` pages that ended since the place `after`."""
        ended = self.changes(crawl_id, after, limit, ended_only=True)
        packed: dict[int, bytes | None] = dict(self.tables.rows("linking", ids=self.tables.ints(ended.places)))
        linking = linking_pages((id, packed.get(id)) for id in ended.places)
        next = ended.next if len(linking) == len(ended.places) else ended.places[linking[-1][0]]
        return LinkPage(linked_pages(linking, self._ids_of_links), next)

    def _entries(self, crawl_id: int, number: int) -> list[ChangeEntry]:
        """The first entries from this number on."""
        asked = {"crawl": crawl_id, "number": number, "last": self._last_change(), "limit": ENTRIES_AT_ONCE}
        return [self._change_entry(row) for row in self.tables.rows("changes", **asked)]

    def _still_open(self, ids: Iterable[int]) -> set[int]:
        asked = list(ids)
        return {id for (id,) in self.tables.rows("still_open", ids=self.tables.ints(asked))} if asked else set()


def _places(entry: ChangeEntry, after: int) -> Iterator[tuple[int, int]]:
    """(place behind it, id) of the URLs of an entry that come after a place."""
    first = entry.number * ENTRY_URLS_MAX
    read = max(0, after - first)
    return enumerate(islice(entry.urls, read, None), first + read + 1)
