"""Listings of URLs, for both stores: pieces of SQL by name, put together. Only constant text goes into a statement."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nephila.frontier.store import UrlRow, UrlSort

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
