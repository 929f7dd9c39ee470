"""A listing's statement, put together from pieces of SQL by name. Only constant text goes into it."""

from dataclasses import dataclass
from typing import Any

from nephila.frontier.records import UrlSort

CONDITIONS = "/* conditions */"  # where a source takes the filters


@dataclass(slots=True)
class Selection:
    """The ids of a listing between two bounds (values low, high) that pass all filters, from sources in index order.

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
        """The ids from an offset on, by id in the order of the indexes, or else by the expression `place`."""
        part = f"LIMIT {self._limit} OFFSET {self._offset}"
        if sort is UrlSort.ID:
            reach = self._merged(self.filters, f"{self._limit} + {self._offset}")
            return f"SELECT id FROM ({reach}) AS found ORDER BY id {self._order} {part}"
        placed = f"AS id, {place} AS place"
        found = " UNION ALL ".join(_select(source, self.filters).replace("AS id", placed, 1) for source in self.sources)
        return f"SELECT id FROM ({found}) AS found ORDER BY place {self._order}, id {self._order} {part}"

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
        """At most `limit` rows of each source and `limit` in all."""
        first = f"ORDER BY id {self._order} LIMIT {limit or self._limit}"
        parts = [f"SELECT id FROM ({_select(source, filters)} {first}) AS source" for source in self.sources]
        return f"{' UNION ALL '.join(parts)} {first}"


def _select(source: str, filters: list[str]) -> str:
    return source.replace(CONDITIONS, "".join(f"AND {condition} " for condition in filters))
