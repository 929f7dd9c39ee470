"""What only SQLite does its own way: how seeds are inserted, and which index serves a listing."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from nephila.frontier.catalog import Catalog
from nephila.frontier.changes import ChangeEntry
from nephila.frontier.crawls import NOBODY
from nephila.frontier.listings import ID_MAX
from nephila.frontier.records import UrlSort
from nephila.frontier.rows import COMMON, LinkRange
from nephila.frontier.selection import CONDITIONS, Selection
from nephila.frontier.session import Counts
from nephila.frontier.sqlite.connection import SqliteDatabase
from nephila.frontier.sqlite.inserter import SqliteInserter
from nephila.frontier.statements import statements
from nephila.frontier.tables import TableWriter, Values
from nephila.models import OPEN, STATE_CODES, Child, Reason, UrlState

WORKER_SQL = statements("sqlite", "worker")
STATE = ":state"  # in the text of a source of one state, because several sources are one statement
QUEUED = STATE_CODES[UrlState.QUEUED]
CLAIMED = f"(u.state = {QUEUED} AND u.id IN (SELECT value FROM json_each(:claimed)))"


# In flight since later than it changed in the store.
UPDATED_AT = """max(coalesce(nullif(u.changed_at, 0), p.fetched_at, 0),
  coalesce(json_extract(:claims, '$."' || u.id || '"'), 0))"""
REDIRECT_END = f"""CASE WHEN u.state <> {STATE_CODES[UrlState.REDIRECTED]} THEN 'none'
  WHEN p.status = 301 THEN 'moved' WHEN coalesce(u.reason, '') = '' THEN 'followed'
  WHEN u.reason = '{Reason.REDIRECT_OUT_OF_SCOPE}' THEN 'left' ELSE 'stopped' END"""


class SqliteCatalog(Catalog):
    checks = statements("sqlite", "checks")
    parameter = ":{}"
    filters: ClassVar = {
        "kind": "u.kind = :kind",
        "status": "p.status = :status",
        "depth": "u.depth = :depth",
        "text": "instr(u.url, :text)",
        "reason": "u.reason = :reason",
        "redirects": f"{REDIRECT_END} IN (SELECT value FROM json_each(:redirects))",
    }
    sorted_by: ClassVar = {
        UrlSort.ID: "u.id",
        UrlSort.FETCHED_AT: "coalesce(p.fetched_at, 0)",
        UrlSort.URL: "u.url",
        UrlSort.UPDATED_AT: UPDATED_AT,
        UrlSort.STATUS: "coalesce(p.status, -1)",
        UrlSort.DEPTH: "u.depth",
        UrlSort.BYTES: "CASE WHEN p.status IS NULL THEN -1 ELSE p.body_bytes END",
        UrlSort.LATENCY_MS: "CASE WHEN p.status IS NULL THEN -1 ELSE coalesce(p.total_ms, -1) END",
        UrlSort.STATE: "u.state",
        UrlSort.REASON: "coalesce(u.reason, '')",
        UrlSort.TITLE: "coalesce(p.title, '')",
        UrlSort.CONTENT_TYPE: "coalesce(p.content_type, '')",
        UrlSort.RETRIES: f"CASE WHEN u.state = {QUEUED} OR u.tries = 0 THEN u.tries ELSE u.tries - 1 END",
    }
    open_place = "(SELECT count(*) FROM urls WHERE queue = q.id AND state = 0)"
    sorted_rows_max = 20_000  # takes 5 ms

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database)
        self.database = database
        self._inserter = SqliteInserter()

    def _add_chunk(self, crawl_id: int, chunk: list[Child]) -> int:
        return self.tables.transact(partial(self._insert, crawl_id, chunk), undo=self._inserter.forget)

    def _insert(self, crawl_id: int, chunk: list[Child], _: TableWriter) -> int:
        db, counts = self.database.db, Counts()
        added = self._inserter.insert(db, crawl_id, chunk, (), self.tables.now(), counts)
        added.add_to(crawl_id, counts.tallies)
        counted = [(crawl, NOBODY, name, n) for (crawl, name), n in counts.tallies.items()]
        db.executemany(WORKER_SQL["add_tally"], counted)
        db.executemany(WORKER_SQL["add_refusal"], [(*where, n) for where, n in counts.refusals.items()])
        return added.urls

    def _choose_sources(self, selection: Selection, states: Sequence[UrlState]) -> None:
        sql, wanted = self.tables.sql, frozenset(states)
        if wanted and not wanted & COMMON:  # which the index urls_ended leaves out
            selection.sources = [sql["urls_ended"].replace(STATE, str(STATE_CODES[state])) for state in sorted(wanted)]
        elif wanted == {UrlState.IN_PROGRESS}:
            selection.sources = [sql["urls_in_flight"].replace(CONDITIONS, f"AND u.state = {QUEUED} {CONDITIONS}")]
        else:
            few = wanted and wanted <= OPEN and self._count_open(selection.values["crawl"]) <= self.sorted_rows_max
            selection.sources = [sql["urls_open"] if few else sql["urls_of_crawl"]]
            selection.filters += self._state_filter(states)

    def _count_open(self, crawl_id: int) -> int:
        tallies = self.tallies(crawl_id)
        return sum(tallies[state] for state in OPEN)

    def _is_scattered(self, selection: Selection, states: Sequence[UrlState]) -> bool:
        return self.tables.sql["urls_of_crawl"] not in selection.sources

    def _state_filter(self, states: Sequence[UrlState]) -> list[str]:
        """Queued and in progress are one code: what is in flight tells them apart. In SQL, so that no page is short."""
        if not states:
            return []
        codes = sorted({STATE_CODES[state] for state in states if state is not UrlState.IN_PROGRESS})
        ended_or_queued = f"u.state IN ({','.join(map(str, codes))})"
        if UrlState.IN_PROGRESS in states:
            return [f"({CLAIMED} OR {ended_or_queued})"]
        return [ended_or_queued, f"NOT {CLAIMED}"] if UrlState.QUEUED in states else [ended_or_queued]

    def _last_change(self) -> int:
        return ID_MAX  # writers take turns: what is not committed yet gets higher numbers than all that is

    def _change_entry(self, row: Values) -> ChangeEntry:
        number, ended, first, last, urls = row
        return ChangeEntry(number, bool(ended), range(first, last + 1) if urls is None else json.loads(urls))

    def _link_values(self, links: list[LinkRange]) -> dict[str, Any]:
        return {"links": json.dumps([(queue, least.hex(), greatest.hex()) for queue, least, greatest in links])}
