"""Listings and counts. Each dialect says which of its indexes fits a filter; the rest is the same on both databases."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from nephila.errors import UsageError
from nephila.frontier.records import (
    REFUSED_LINKS_MAX,
    REFUSED_RULES_MAX,
    SCAN_ROWS_MAX,
    SCATTERED_ROWS_MAX,
    SORTED_URLS_MAX,
    ErrorRow,
    FailingHost,
    RedirectEnd,
    Sizes,
    Throughput,
    UrlFilter,
    UrlPage,
    UrlRow,
    UrlSort,
)
from nephila.frontier.rows import (
    Claims,
    LinkRange,
    counted_by_state,
    link_ranges,
    linked_pages,
    linking_pages,
    listed_by_index,
    page_facts,
    redirect_end,
    sizes_of,
    tallies_of,
    unsortable_urls,
    url_row,
)
from nephila.frontier.selection import Selection
from nephila.frontier.store import ERRORS_KEPT, SLOT_MS, RefusedLink
from nephila.frontier.tables import OverTables
from nephila.models import OPEN, STATE_CODES, Kind, Tally, UrlState

ID_MAX = 2**63 - 1
IDS = "/* ids */"  # where a statement takes the ids of a selection


class UrlPages(Protocol):
    """What a stream of URLs needs."""

    def urls_page(
        self, crawl_id: int, after: int, limit: int, where: UrlFilter, *, descending: bool = False
    ) -> UrlPage:
        """As `Listings.urls`, but a filter looks at SCAN_ROWS_MAX (SCATTERED_ROWS_MAX) rows at most and stops there."""


class Listings(OverTables, ABC):
    parameter: ClassVar[str]  # how a value is named in this dialect: ":{}"
    filters: ClassVar[Mapping[str, str]]  # the condition of each field of a UrlFilter but states and host
    sorted_by: ClassVar[Mapping[UrlSort, str]]
    sorted_rows_max: ClassVar[int]  # ids that a listing takes from an index of another order and sorts

    @abstractmethod
    def _choose_sources(self, selection: Selection, states: Sequence[UrlState]) -> None:
        """Choose the index that fits: the fewer rows a filter has to look at, the fuller is a bounded page."""

    @abstractmethod
    def _state_filter(self, states: Sequence[UrlState]) -> list[str]: ...
    @abstractmethod
    def _is_scattered(self, selection: Selection, states: Sequence[UrlState]) -> bool: ...
    @abstractmethod
    def _link_values(self, links: list[LinkRange]) -> dict[str, Any]:
        """The parameters of the statements `linked` and `linked_ids`."""

    # --- numbers

    def tallies(self, crawl_id: int) -> dict[str, int]:
        """By Tally, by UrlState and by `reason_tally`; queued and in_progress are derived."""
        in_flight = self.tables.rows("in_flight", crawl=crawl_id)
        return tallies_of(self.tables.rows("tallies", crawl=crawl_id), in_flight)

    def refusals(self, crawl_id: int, host: str | None = None) -> list[tuple[str, str, int]]:
        """(host, reason, how often), the most frequent first; of one host, or of all."""
        return [(name, reason, n) for name, reason, n in self.tables.rows("refusals", crawl=crawl_id, host=host)]

    def refused_rules(self, crawl_id: int) -> list[tuple[str, str, int]]:
        """(reason, rule, how often) of the refusals where one of several rules decides, the most frequent first, up to
        REFUSED_RULES_MAX."""
        rows = self.tables.rows("refused_rules", crawl=crawl_id, limit=REFUSED_RULES_MAX)
        return [(reason, rule, n) for reason, rule, n in rows]

    def refused_links(self, crawl_id: int) -> list[RefusedLink]:
        """Some of the refused links of each host, reason and rule, up to REFUSED_LINKS_MAX."""
        rows = self.tables.rows("refused_links", crawl=crawl_id, limit=REFUSED_LINKS_MAX)
        return [RefusedLink(*row) for row in rows]

    def overdue_ms(self) -> int:
        """How long the most overdue queue has waited for a worker to take it up; 0 where none is due."""
        due = self.tables.value("oldest_due")
        return 0 if due is None else max(0, self.tables.now() - due)

    def throughput(self, window_ms: int) -> Throughput:
        """Of the last `window_ms`, to SLOT_MS exactly; of an hour at most."""
        after = (self.tables.now() - window_ms) // SLOT_MS
        pages, errors = self.tables.rows("throughput", after=after)[0]
        return Throughput(pages, errors)

    def redirects(self, crawl_id: int) -> dict[RedirectEnd, int]:
        """How the redirects of a crawl ended. Every one of them is read."""
        state = STATE_CODES[UrlState.REDIRECTED]
        counts: Counter[RedirectEnd] = Counter()
        for moved, reason, n in self.tables.rows("redirects", crawl=crawl_id, state=state):
            counts[redirect_end(bool(moved), reason)] += n
        return counts

    def sizes(self) -> Sizes:
        names = self.tables.texts((Tally.URLS, UrlState.VISITED, Tally.BYTES))
        store_bytes, archive_bytes = self.tables.value("store_bytes"), self.tables.value("archive_bytes")
        return sizes_of(self.tables.rows("sizes", names=names), store_bytes, archive_bytes)

    # --- URLs

    def urls(
        self, crawl_id: int, after: int, limit: int, where: UrlFilter, *, descending: bool = False
    ) -> list[UrlRow]:
        """A keyset page by id: URLs above `after`, or (descending) below it, where 0 means from the end. A page is
        full or the last one, however long it takes."""
        where = self._plain(crawl_id, where)
        return self._listed(self._selection(crawl_id, after, where, descending), limit)

    def urls_page(
        self, crawl_id: int, after: int, limit: int, where: UrlFilter, *, descending: bool = False
    ) -> UrlPage:
        """As `Listings.urls`, but a filter looks at SCAN_ROWS_MAX (SCATTERED_ROWS_MAX) rows at most and stops there."""
        where = self._plain(crawl_id, where)
        selection = self._selection(crawl_id, after, where, descending)
        rows_max = SCATTERED_ROWS_MAX if selection.scattered else SCAN_ROWS_MAX
        horizon = self._end_at(selection, rows_max) if selection.filters else None
        rows = self._listed(selection, limit + 1)
        return UrlPage(rows[:limit], rows[limit - 1].id if len(rows) > limit else horizon)

    def sorted_urls(
        self, crawl_id: int, where: UrlFilter, sort: UrlSort, *, descending: bool, limit: int, offset: int
    ) -> list[UrlRow]:
        """A page in the order of `sort`. UsageError where more than SORTED_URLS_MAX rows would have to be looked at,
        unless they are listed by id, filtered by state alone, and the page lies among the first SORTED_URLS_MAX. URLs
        without an answer count as the oldest, the smallest and the fastest."""
        where = self._plain(crawl_id, where)
        tallies = self.tallies(crawl_id)
        by_index = sort is UrlSort.ID and offset + limit <= SORTED_URLS_MAX and listed_by_index(tallies, where)
        if not by_index and (why := unsortable_urls(crawl_id, tallies, where)):
            raise UsageError(why)
        selection = self._selection(crawl_id, 0, where, descending)
        if sort is UrlSort.UPDATED_AT:
            selection.values["claims"] = json.dumps({id: since for id, (_, since) in self._claims().items()})
        return self._listed(selection, limit, sort, offset)

    def unsortable_urls(self, crawl_id: int, where: UrlFilter) -> str:
        """Why these URLs can be listed as found only: more than SORTED_URLS_MAX would have to be looked at. Empty: they
        can be sorted."""
        return unsortable_urls(crawl_id, self.tallies(crawl_id), where)

    def count_urls(self, crawl_id: int, where: UrlFilter) -> int:
        """How many URLs a filter lets through: from the tallies where it is by state alone, else counted among the
        first SORTED_URLS_MAX, which are all that `sorted_urls` would list."""
        counted = counted_by_state(where, self.tallies(crawl_id))
        if counted is not None:
            return counted
        selection = self._selection(crawl_id, 0, where, False)
        if not selection.sources:
            return 0
        self._end_at(selection, SORTED_URLS_MAX)
        return int(self.tables.read(selection.count(), selection.values | {"limit": SORTED_URLS_MAX})[0][0])

    def has_more_than(self, crawl_id: int, pages: int) -> bool:
        """Whether an export that ends after so many pages is cut."""
        if self.tallies(crawl_id).get(Tally.URLS, 0) <= pages:
            return False
        return self.tables.value("page_beyond", crawl=crawl_id, pages=pages) is not None

    def url(self, crawl_id: int, host: str, key: bytes) -> UrlRow | None:
        rows = self._url_rows(self.tables.sql["where_key"], {"crawl": crawl_id, "host": host, "key": key})
        return rows[0] if rows else None

    def url_by_id(self, url_id: int) -> UrlRow | None:
        rows = self._rows_of([url_id])
        return rows[0] if rows else None

    def urls_by_ids(self, ids: Sequence[int]) -> list[UrlRow]:
        """In the order of the ids; those that are unknown are left out."""
        rows = {row.id: row for row in self._rows_of(list(ids))}
        return [rows[url_id] for url_id in ids if url_id in rows]

    def ancestors(self, url_id: int, limit: int) -> list[UrlRow]:
        """The chain from the page that this URL was found on up to the seed."""
        ids = [found for (found,) in self.tables.rows("ancestors", url=url_id, limit=limit)]
        return sorted(self._rows_of(ids), key=lambda row: ids.index(row.id))

    def page_facts(self, url_id: int) -> dict[str, object]:
        row = self.tables.row("page_facts", url=url_id)
        return page_facts(row, self._linked) if row else {}

    def _linked(self, packed: bytes) -> list[str]:
        return [url for (url,) in self.tables.rows("linked", **self._link_values(list(link_ranges(packed))))]

    # --- how they are read

    def _plain(self, crawl_id: int, where: UrlFilter) -> UrlFilter:
        """The filter without a kind that all URLs of the crawl have: pages, where it has nothing else. (Callers leave
        out a robots.txt that another host redirected to.)"""
        if where.kind is not Kind.PAGE or self.tables.value("has_others", crawl=crawl_id):
            return where
        return replace(where, kind=None)

    def _selection(self, crawl_id: int, after: int, where: UrlFilter, descending: bool) -> Selection:
        asked = {name: getattr(where, name) for name in self.filters if getattr(where, name) is not None}
        if where.redirects is not None:
            asked["redirects"] = self.tables.texts(where.redirects)
        values: dict[str, Any] = {"crawl": crawl_id, **bounds(after, descending), **asked}
        selection = Selection([], [self.filters[name] for name in asked], values, descending, self.parameter)
        if OPEN.intersection(where.states):
            values["claimed"] = self.tables.ints(self._claims())
        if where.host is None or self._narrow_to_host(selection, where.host, where.states):
            self._choose_sources(selection, where.states)
        selection.scattered = self._is_scattered(selection, where.states)
        return selection

    def _narrow_to_host(self, selection: Selection, host: str, states: Sequence[UrlState]) -> bool:
        """Whether sources are still to be chosen: the host's URLs are so many that the host is one more filter.

        Fewer are sorted; of an unknown host there are none.
        """
        asked = {"crawl": selection.values["crawl"], "host": host, "rows_max": self.sorted_rows_max}
        queue, rows = self.tables.row("queue_rows", **asked) or (None, 0)
        selection.values["queue"] = queue
        if queue is None:
            return False
        if rows < self.sorted_rows_max:
            selection.sources = [self.tables.sql["urls_of_queue"]]
            selection.filters += self._state_filter(states)
            return False
        selection.filters.append(f"u.queue = {self.parameter.format('queue')}")
        return True

    def _end_at(self, selection: Selection, rows: int) -> int | None:
        """The selection ends at its `rows`-th row, counted before filters; None: it is shorter."""
        if not selection.sources:
            return None
        found = self.tables.read(selection.horizon(), selection.values | {"limit": rows})
        if not found:
            return None
        selection.end_at(found[0][0])
        return int(found[0][0])

    def _listed(self, selection: Selection, limit: int, sort: UrlSort = UrlSort.ID, offset: int = 0) -> list[UrlRow]:
        if not selection.sources:
            return []
        ids = selection.sorted(sort, self.sorted_by[sort])
        values = selection.values | {"limit": limit, "offset": offset}
        rows = self._url_rows(self.tables.sql["where_listed"].replace(IDS, ids), values)
        return in_order(rows, sort, selection.descending)

    def _rows_of(self, ids: list[int]) -> list[UrlRow]:
        """In any order."""
        return self._url_rows(self.tables.sql["where_ids"], {"ids": self.tables.ints(ids)})

    def _url_rows(self, condition: str, values: dict[str, Any]) -> list[UrlRow]:
        claims, now = self._claims(), self.tables.now()
        rows = self.tables.read(f"{self.tables.sql['url_columns']} {condition}", values)
        return [url_row(row, claims, now) for row in rows]

    def _claims(self) -> Claims:
        return {url_id: (worker, since) for worker, url_id, since in self.tables.rows("claims")}

    # --- links

    def links_of(self, url_id: int, after: int, limit: int) -> UrlPage:
        """The URLs of its crawl that its page links to: a keyset page by id."""
        ids = sorted({target for _, targets in self._linked_pages([url_id]) for target in targets if target > after})
        rows = in_order(self._rows_of(ids[:limit]), UrlSort.ID, False)
        return UrlPage(rows, ids[limit - 1] if len(ids) > limit else None)

    def _linked_pages(self, ids: list[int]) -> list[tuple[int, list[int]]]:
        linking = [(id, packed) for id, packed in self.tables.rows("linking", ids=self.tables.ints(ids))]
        return linked_pages(linking_pages(linking), self._ids_of_links)

    def _ids_of_links(self, links: list[LinkRange]) -> list[tuple[int, int]]:
        return [(place, id) for place, id in self.tables.rows("linked_ids", **self._link_values(links))]

    # --- errors

    def errors(self, limit: int, crawl_id: int | None = None) -> list[ErrorRow]:
        """The latest first."""
        rows = self.tables.rows("errors", crawl=crawl_id, limit=min(limit, ERRORS_KEPT))
        return [ErrorRow(*row) for row in rows]

    def hosts_by_errors(self, limit: int) -> list[FailingHost]:
        """The hosts with the most errors first."""
        return [FailingHost(*row[:4]) for row in self.tables.rows("hosts_by_errors", limit=limit)]


def _known(number: float | None) -> float:
    """URLs without an answer count as the least."""
    return -1 if number is None else number


def _stored(state: UrlState) -> UrlState:
    """What is in flight is queued in the store."""
    return UrlState.QUEUED if state is UrlState.IN_PROGRESS else state


def in_order(rows: list[UrlRow], sort: UrlSort, descending: bool) -> list[UrlRow]:
    """Rows in the order in which the statement chose their ids, which joins may have shuffled."""
    places: dict[UrlSort, Callable[[UrlRow], Any]] = {
        UrlSort.ID: lambda row: row.id,
        UrlSort.FETCHED_AT: lambda row: (row.fetched_at or 0, row.id),
        UrlSort.URL: lambda row: (row.url, row.id),
        UrlSort.UPDATED_AT: lambda row: (row.updated_at or 0, row.id),
        UrlSort.STATUS: lambda row: (_known(row.status), row.id),
        UrlSort.DEPTH: lambda row: (row.depth, row.id),
        UrlSort.BYTES: lambda row: (_known(row.bytes), row.id),
        UrlSort.LATENCY_MS: lambda row: (_known(row.latency_ms), row.id),
        UrlSort.STATE: lambda row: (STATE_CODES[_stored(row.state)], row.id),
        UrlSort.REASON: lambda row: (row.reason, row.id),
        UrlSort.TITLE: lambda row: (row.title or "", row.id),
        UrlSort.CONTENT_TYPE: lambda row: (row.content_type or "", row.id),
        UrlSort.RETRIES: lambda row: (row.retries, row.id),
    }
    return sorted(rows, key=places[sort], reverse=descending)


def bounds(after: int, descending: bool) -> dict[str, int]:
    """Above `after`, or (descending) below it, where 0 means from the end."""
    if descending:
        return {"low": 0, "high": after - 1 if after else ID_MAX}
    return {"low": after, "high": ID_MAX}
