"""What only PostgreSQL does its own way: how seeds are inserted, and which index serves a listing."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from nephila.frontier.catalog import Catalog
from nephila.frontier.changes import ChangeEntry
from nephila.frontier.crawls import NOBODY
from nephila.frontier.postgres.arrays import Blobs, Ints, Texts, arrays
from nephila.frontier.postgres.connection import Cursor, PostgresDatabase
from nephila.frontier.postgres.inserter import PostgresInserter
from nephila.frontier.records import UrlSort
from nephila.frontier.rows import LinkRange
from nephila.frontier.selection import CONDITIONS, Selection
from nephila.frontier.session import Added, Counts
from nephila.frontier.statements import statements
from nephila.frontier.tables import Values
from nephila.models import OPEN, STATE_CODES, Child, Reason, UrlState

WORKER_SQL = statements("postgres", "worker")
STATE = "%(state)s"  # in the text of a source of one state, because several sources are one statement
IN_FLIGHT, NOT_IN_FLIGHT = "f.url = ANY(%(claimed)s::bigint[])", "f.url <> ALL(%(claimed)s::bigint[])"


# In flight since later than it changed in the store.
UPDATED_AT = """greatest(coalesce(nullif(p.changed_at, 0), p.fetched_at, f.changed_at, u.found_at),
  coalesce((%(claims)s::jsonb ->> u.id::text)::bigint, 0))"""
REDIRECT_END = f"""CASE WHEN p.state IS DISTINCT FROM {STATE_CODES[UrlState.REDIRECTED]} THEN 'none'
  WHEN p.status = 301 THEN 'moved' WHEN coalesce(p.reason, '') = '' THEN 'followed'
  WHEN p.reason = '{Reason.REDIRECT_OUT_OF_SCOPE}' THEN 'left' ELSE 'stopped' END"""


class PostgresCatalog(Catalog):
    checks = statements("postgres", "checks")
    parameter = "%({})s"
    filters: ClassVar = {
        "kind": "u.kind = %(kind)s",
        "status": "p.status = %(status)s",
        "depth": "u.depth = %(depth)s",
        "text": "strpos(u.url, %(text)s) > 0",
        "reason": "coalesce(p.reason, f.reason) = %(reason)s",
        "redirects": f"{REDIRECT_END} = ANY(%(redirects)s)",
    }
    sorted_by: ClassVar = {
        UrlSort.ID: "u.id",
        UrlSort.FETCHED_AT: "coalesce(p.fetched_at, 0)",
        UrlSort.URL: 'u.url COLLATE "C"',
        UrlSort.UPDATED_AT: UPDATED_AT,
        UrlSort.STATUS: "coalesce(p.status, -1)",
        UrlSort.DEPTH: "u.depth",
        UrlSort.BYTES: "CASE WHEN p.status IS NULL THEN -1 ELSE p.body_bytes END",
        UrlSort.LATENCY_MS: "CASE WHEN p.status IS NULL THEN -1 ELSE coalesce(p.total_ms, -1) END",
        UrlSort.STATE: "coalesce(p.state, 0)",
        UrlSort.REASON: "coalesce(p.reason, f.reason, '') COLLATE \"C\"",
        UrlSort.TITLE: "coalesce(p.title, '') COLLATE \"C\"",
        UrlSort.CONTENT_TYPE: "coalesce(p.content_type, '') COLLATE \"C\"",
        UrlSort.RETRIES: "CASE WHEN p.url IS NULL THEN coalesce(f.tries, 0) "
        "ELSE greatest(coalesce(p.tries, 0) - 1, 0) END",
    }
    open_place = "(SELECT count(*) FROM frontier WHERE queue = q.id)"
    sorted_rows_max = 5_000

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self.database = database
        self._inserter = PostgresInserter()

    def _add_chunk(self, crawl_id: int, chunk: list[Child]) -> int:
        return self.database.run(partial(self._insert, crawl_id, chunk), undo=self._inserter.forget)

    def _insert(self, crawl_id: int, chunk: list[Child], cursor: Cursor) -> int:
        counts = Counts()
        cursor.execute(WORKER_SQL["changing"])
        added = self._inserter.insert(cursor, chunk, (), self.database.now(), counts).get(crawl_id, Added())
        added.add_to(crawl_id, counts.tallies)
        counted = arrays((Ints, Texts, Ints), [(*where, n) for where, n in counts.tallies.items()])
        cursor.execute(WORKER_SQL["add_tallies"], (NOBODY, *counted))
        if counts.refusals:
            rows = [(*where, n) for where, n in counts.refusals.items()]
            cursor.execute(WORKER_SQL["add_refusals"], (NOBODY, *arrays((Ints, Texts, Texts, Ints), rows)))
        return added.urls

    def _last_change(self) -> int:
        drawn, uncommitted = self.tables.value("drawn_changes"), self.tables.value("uncommitted_changes")
        return int(drawn if uncommitted is None else min(drawn, uncommitted))

    def _change_entry(self, row: Values) -> ChangeEntry:
        return ChangeEntry(*row)

    def _choose_sources(self, selection: Selection, states: Sequence[UrlState]) -> None:
        """The bounds become values, not subqueries: so the planner knows how much there is between them."""
        asked = {name: selection.values[name] for name in ("crawl", "low", "high")}
        ((first, last),) = self.tables.rows("range_of_crawl", **asked)
        if first is None:
            return
        selection.values |= {"low": first - 1, "high": last}
        sql = self.tables.sql
        selection.sources = [sql["ended_urls"].replace(STATE, str(code)) for code in _codes(states)]
        if OPEN.intersection(states):
            condition = f"{_flight_condition(states)} {CONDITIONS}"
            selection.sources.append(sql["open_urls"].replace(CONDITIONS, condition))
        if not states:
            selection.sources = [sql["all_urls"]]

    def _is_scattered(self, selection: Selection, states: Sequence[UrlState]) -> bool:
        return self.tables.sql["all_urls"] not in selection.sources and UrlState.VISITED not in states

    def _state_filter(self, states: Sequence[UrlState]) -> list[str]:
        if not states:
            return []
        ended = [f"p.state IN ({','.join(map(str, codes))})"] if (codes := _codes(states)) else []
        opened = [f"f.url IS NOT NULL {_flight_condition(states)}"] if OPEN.intersection(states) else []
        return [f"({' OR '.join(ended + opened)})"]

    def _link_values(self, links: list[LinkRange]) -> dict[str, Any]:
        return dict(zip(("queues", "least", "greatest"), arrays((Ints, Blobs, Blobs), links), strict=True))


def _codes(states: Sequence[UrlState]) -> list[int]:
    return sorted({STATE_CODES[state] for state in states if state.terminal})


def _flight_condition(states: Sequence[UrlState]) -> str:
    """Queued and in progress are open rows alike: what is in flight tells them apart."""
    if set(states) >= OPEN:
        return ""
    return f"AND {IN_FLIGHT if UrlState.IN_PROGRESS in states else NOT_IN_FLIGHT}"
