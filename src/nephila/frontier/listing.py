"""Listings of URLs, for both stores: pieces of SQL by name, put together. Only constant text goes into a statement."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from nephila.frontier.rows import LinkRange, counted_by_state, linked_pages, linking_pages, refuse_unsortable
from nephila.frontier.store import (
    SCAN_ROWS_MAX,
    SCATTERED_ROWS_MAX,
    SORTED_URLS_MAX,
    UrlFilter,
    UrlPage,
    UrlRow,
    UrlSort,
)

CONDITIONS = "/* conditions */"  # where a source takes the filters
ID_MAX = 2**63 - 1


@dataclass(slots=True)
class Listing:
    """Ids between two bounds (values low, high): what passes all filters, from sources in the order of an index.

    A source gives each id once, as `id`, and none that another one gives; it is open for an ORDER BY.
    """

    sources: list[str]  # none: there is nothing to list
    filters: list[str]
    values: dict[str, Any]
    descending: bool
    parameter: str  # how a value is named in this store's SQL: ":{}"
    scattered: bool = False  # its rows do not lie side by side

    def page(self) -> str:
        return self._merged(self.filters)

    def horizon(self) -> str:
        """The limit-th id before any filter."""
        last = f"LIMIT 1 OFFSET {self._limit} - 1"
        return f"SELECT id FROM ({self._merged([])}) AS seen ORDER BY id {self._order} {last}"

    def count(self) -> str:
        return f"SELECT count(*) FROM ({self._merged(self.filters)}) AS found"

    def sorted(self, sort: UrlSort, place: str) -> str:
        """From an offset on. By id in the order of the indexes; else `place` is the expression to sort by."""
        if sort is UrlSort.ID:
            reach = self._merged(self.filters, f"{self._limit} + {self._offset}")
            return (
                f"SELECT id FROM ({reach}) AS found ORDER BY id {self._order} LIMIT {self._limit} OFFSET {self._offset}"
            )
        placed = f"AS id, {place} AS place"
        found = " UNION ALL ".join(_select(source, self.filters).replace("AS id", placed, 1) for source in self.sources)
        order = f"ORDER BY place {self._order}, id {self._order}"
        return f"SELECT id FROM ({found}) AS found {order} LIMIT {self._limit} OFFSET {self._offset}"

    def end_at(self, id: int) -> None:
        self.values |= {"low": id - 1} if self.descending else {"high": id}

    @property
    def _order(self) -> str:
        return "DESC" if self.descending else "ASC"

    @property
    def _limit(self) -> str:
        return self.parameter.format("limit")

    @property
    def _offset(self) -> str:
        return self.parameter.format("offset")

    def _merged(self, filters: list[str], limit: str = "") -> str:
        """Of each source so many, and so many of all of these."""
        first = f"ORDER BY id {self._order} LIMIT {limit or self._limit}"
        parts = [f"SELECT id FROM ({_select(source, filters)} {first}) AS source" for source in self.sources]
        return f"{' UNION ALL '.join(parts)} {first}"


class Reader(Protocol):
    """A connection of either store."""

    def read(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]: ...
    def one(self, sql: str, values: Any = ()) -> tuple[Any, ...] | None: ...


class Listings(ABC):
    """The part of a Catalog that lists URLs. A store says which of its indexes fits, and how rows are read by it."""

    @property
    @abstractmethod
    def _reader(self) -> Reader: ...
    @abstractmethod
    def tallies(self, crawl_id: int) -> dict[str, int]: ...
    @abstractmethod
    def _listing(self, crawl_id: int, after: int, where: UrlFilter, descending: bool) -> Listing: ...
    @abstractmethod
    def _rows(self, listing: Listing, limit: int, sort: UrlSort = UrlSort.ID, offset: int = 0) -> list[UrlRow]: ...
    @abstractmethod
    def _rows_of(self, ids: list[int]) -> list[UrlRow]:
        """In any order."""

    @abstractmethod
    def _linking(self, ids: list[int]) -> list[tuple[Any, ...]]:
        """(id, packed links or None) of pages."""

    @abstractmethod
    def _ids_of_links(self, links: list[LinkRange]) -> list[tuple[int, int]]: ...

    def urls(
        self, crawl_id: int, after: int, limit: int, where: UrlFilter, *, descending: bool = False
    ) -> list[UrlRow]:
        return self._rows(self._listing(crawl_id, after, where, descending), limit)

    def urls_page(
        self, crawl_id: int, after: int, limit: int, where: UrlFilter, *, descending: bool = False
    ) -> UrlPage:
        listing = self._listing(crawl_id, after, where, descending)
        rows_max = SCATTERED_ROWS_MAX if listing.scattered else SCAN_ROWS_MAX
        horizon = self._end_at(listing, rows_max) if listing.filters else None
        rows = self._rows(listing, limit + 1)
        return UrlPage(rows[:limit], rows[limit - 1].id if len(rows) > limit else horizon)

    def sorted_urls(
        self, crawl_id: int, where: UrlFilter, sort: UrlSort, *, descending: bool, limit: int, offset: int
    ) -> list[UrlRow]:
        refuse_unsortable(crawl_id, self.tallies(crawl_id).get("urls", 0), where, sort, offset + limit)
        listing = self._listing(crawl_id, 0, where, descending)
        return self._rows(listing, limit, sort, offset)

    def count_urls(self, crawl_id: int, where: UrlFilter) -> int:
        counted = counted_by_state(where, self.tallies(crawl_id))
        if counted is not None:
            return counted
        listing = self._listing(crawl_id, 0, where, False)
        if not listing.sources:
            return 0
        self._end_at(listing, SORTED_URLS_MAX)
        return int(self._reader.read(listing.count(), listing.values | {"limit": SORTED_URLS_MAX})[0][0])

    def links(self, crawl_id: int, after: int, limit: int) -> list[tuple[int, list[int]]]:
        listing = self._listing(crawl_id, after, UrlFilter(), False)
        if not listing.sources:
            return []
        listing.filters.append("p.links IS NOT NULL")
        horizon = self._end_at(listing, SCAN_ROWS_MAX)
        ids = [id for (id,) in self._reader.read(listing.page(), listing.values | {"limit": limit})]
        found = linked_pages(linking_pages(self._linking(ids)), self._ids_of_links)
        if horizon is not None and len(found) == len(ids) < limit and horizon not in ids[-1:]:
            found.append((horizon, []))
        return found

    def links_of(self, url_id: int, after: int, limit: int) -> UrlPage:
        found = linked_pages(linking_pages(self._linking([url_id])), self._ids_of_links)
        ids = sorted({target for _, targets in found for target in targets if target > after})
        rows = in_order(self._rows_of(ids[:limit]), UrlSort.ID, False)
        return UrlPage(rows, ids[limit - 1] if len(ids) > limit else None)

    def _end_at(self, listing: Listing, rows: int) -> int | None:
        """The listing ends at its so manieth row before any filter; None: it is shorter."""
        found = self._reader.one(listing.horizon(), listing.values | {"limit": rows}) if listing.sources else None
        if found is None:
            return None
        listing.end_at(found[0])
        return int(found[0])


def in_order(rows: list[UrlRow], sort: UrlSort, descending: bool) -> list[UrlRow]:
    """As the statement chose them, which joins may have shuffled."""
    places: dict[UrlSort, Callable[[UrlRow], Any]] = {
        UrlSort.ID: lambda row: row.id,
        UrlSort.FETCHED_AT: lambda row: (row.fetched_at or 0, row.id),
        UrlSort.URL: lambda row: (row.url, row.id),
    }
    return sorted(rows, key=places[sort], reverse=descending)


def bounds(after: int, descending: bool) -> dict[str, int]:
    """Above `after`, or below it; 0 is the end where one comes from there."""
    if descending:
        return {"low": 0, "high": after - 1 if after else ID_MAX}
    return {"low": after, "high": ID_MAX}


def _select(source: str, filters: list[str]) -> str:
    return source.replace(CONDITIONS, "".join(f"AND {condition} " for condition in filters))
