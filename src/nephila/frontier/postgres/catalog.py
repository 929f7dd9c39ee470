"""What the command line and the API read and steer, on PostgreSQL."""

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import psycopg

from nephila.errors import UsageError
from nephila.frontier.columns import storable
from nephila.frontier.postgres.arrays import Ints, Texts, columns
from nephila.frontier.postgres.connection import Cursor, Database
from nephila.frontier.postgres.inserter import Inserter, Refusals
from nephila.frontier.rows import (
    BROKEN,
    Claims,
    broken,
    crawl_of,
    host_row,
    link_ranges,
    miscounted,
    page_facts,
    queue_row,
    robots_record,
    tallies_of,
    url_row,
    worker_rows,
)
from nephila.frontier.statements import statements
from nephila.frontier.store import OPEN_COUNT_MAX, Crawl, HostRow, QueueRow, RobotsRecord, UrlFilter, UrlRow, WorkerRow
from nephila.models import STATE_CODES, Child, CrawlState, UrlState
from nephila.profiles import CrawlSettings
from nephila.urls.identity import host_of

SQL = statements("postgres", "catalog")
WORKER_SQL = statements("postgres", "worker")
SEED_CHUNK = 1000
NOBODY = 0  # the worker that seeds are counted by

CONDITIONS = "/* conditions */"  # where the statements of a listing take them
FILTERS = {
    "status": "p.status = %(status)s",
    "depth": "u.depth = %(depth)s",
    "text": "strpos(u.url, %(text)s) > 0",
    "reason": "coalesce(p.reason, f.reason) = %(reason)s",
}
IN_FLIGHT, NOT_IN_FLIGHT = "f.url = ANY(%(claimed)s::bigint[])", "f.url <> ALL(%(claimed)s::bigint[])"

CHECKS = (
    (BROKEN["stranded"], SQL["stranded"]),
    (BROKEN["homeless"], SQL["homeless"]),
    (BROKEN["held_by_strangers"], SQL["held_by_strangers"]),
    (BROKEN["miscounted_limits"], SQL["miscounted_limits"]),
    (BROKEN["ended_without_page"], SQL["ended_without_page"]),
    (BROKEN["pages_without_url"], SQL["pages_without_url"]),
    ("URL {} ({}) has ended and is open", SQL["open_and_ended"]),
    ("URL {} is open but there is no such URL", SQL["open_without_url"]),
)

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresCatalog:
    def __init__(self, database: Database) -> None:
        self.database = database
        self._inserter = Inserter()

    # --- crawls

    def create_crawl(self, seeds: Sequence[str], settings: CrawlSettings, fingerprint: str) -> Crawl:
        values = {
            "uuid": str(uuid.uuid4()),
            "seeds": json.dumps(list(seeds)),
            "settings": settings.model_dump_json(),
            "fingerprint": fingerprint,
            "now": self.database.now(),
        }
        with self.database.write() as cursor:
            ((crawl_id,),) = cursor.execute(SQL["create_crawl"], values).fetchall()
            _bump_control(cursor)
        return self.crawl(crawl_id)

    def add_seeds(self, crawl_id: int, children: Iterable[Child]) -> int:
        """In chunks: no other writer waits for a long list."""
        added, rest = 0, iter(children)
        while chunk := list(islice(rest, SEED_CHUNK)):
            added += self.database.run(partial(self._add_seeds, crawl_id, chunk), undo=self._inserter.forget)
        return added

    def _add_seeds(self, crawl_id: int, chunk: list[Child], cursor: Cursor) -> int:
        refusals: Refusals = Counter()
        inserted = self._inserter.insert(cursor, crawl_id, chunk, (), self.database.now(), refusals)
        cursor.execute(WORKER_SQL["add_tallies"], (NOBODY, Ints([crawl_id]), Texts(["urls"]), Ints([inserted])))
        if refusals:
            rows = [(*where, n) for where, n in refusals.items()]
            cursor.execute(WORKER_SQL["add_refusals"], (NOBODY, *columns((Ints, Texts, Texts, Ints), rows)))
        return inserted

    def seeded(self, crawl_id: int) -> None:
        with self.database.write() as cursor:
            cursor.execute(SQL["seeded"], (crawl_id,))

    def unfinished(self, fingerprint: str) -> Crawl | None:
        row = self.database.one(SQL["unfinished"], (fingerprint,))
        return self.crawl(row[0]) if row else None

    def crawl(self, crawl_id: int) -> Crawl:
        row = self.database.one(SQL["crawl"], (crawl_id,))
        if row is None:
            raise UsageError(f"there is no crawl {crawl_id}: `nephila status` lists them")
        return crawl_of(row, self.database.now())

    def crawls(self) -> list[Crawl]:
        now = self.database.now()
        return [crawl_of(row, now) for row in self.database.read(SQL["crawls"])]

    def steer(self, crawl_id: int, state: CrawlState, reason: str = "") -> int:
        """Time in which nobody worked on it, because all were killed, does not count as active."""
        return self.database.run(partial(self._steer, crawl_id, state, reason))

    def _steer(self, crawl_id: int, state: CrawlState, reason: str, cursor: Cursor) -> int:
        now = self.database.now()
        ((alive, last_seen),) = cursor.execute(SQL["sessions"], (now,)).fetchall()
        if state is CrawlState.RUNNING:
            cursor.execute(SQL["unpark"], (crawl_id,))
        values = {"state": str(state), "reason": str(reason), "now": now, "alive": alive, "crawl": crawl_id}
        cursor.execute(SQL["steer"], values | {"until": now if alive else last_seen})
        return _bump_control(cursor)

    def acknowledged(self, version: int) -> bool:
        return not self.database.read(SQL["lagging"], (self.database.now(), version))[0][0]

    def change_pace(self, crawl_id: int, settings: CrawlSettings) -> int:
        with self.database.write() as cursor:
            cursor.execute(SQL["set_settings"], (settings.model_dump_json(), crawl_id))
            return _bump_control(cursor)

    def delete(self, crawl_id: int) -> list[str]:
        self.crawl(crawl_id)
        with self.database.write() as cursor:
            cursor.execute(SQL["mark_deleted"], (crawl_id,))
            _bump_control(cursor)
        with _patient(self.database) as connection:
            return [name for (name,) in connection.execute(SQL["files_of_crawl"], {"crawl": crawl_id}).fetchall()]

    def forget_file(self, name: str) -> None:
        with self.database.write() as cursor:
            cursor.execute(SQL["forget_file"], (name,))

    # --- numbers

    def tallies(self, crawl_id: int) -> dict[str, int]:
        in_flight = self.database.read(SQL["in_flight"], (crawl_id,))[0][0]
        return tallies_of(self.database.read(SQL["tallies"], (crawl_id,)), in_flight)

    def refusals(self, crawl_id: int) -> list[tuple[str, str, int]]:
        return [(host, reason, n) for host, reason, n in self.database.read(SQL["refusals"], (crawl_id,))]

    # --- URLs

    def urls(self, crawl_id: int, after: int, limit: int, where: UrlFilter) -> list[UrlRow]:
        """The ids first, each source in the order of an index, then what is known of each of these few."""
        values = self._bounds(crawl_id, after, where)
        if values is None:
            return []
        asked = {name: getattr(where, name) for name in FILTERS}
        conditions = [FILTERS[name] for name, value in asked.items() if value is not None]
        claims = self._claims()
        values |= asked | {"text": storable(where.text), "limit": limit, "claimed": list(claims)}
        sources = self._sources(where, conditions, values)
        ids = f"SELECT id FROM ({' UNION ALL '.join(sources)}) AS found ORDER BY id LIMIT %(limit)s"
        rows = self.database.read(f"{SQL['url_columns']} u.id = ANY(ARRAY({ids})) ORDER BY u.id", values)
        return self._url_rows(rows, claims)

    def _bounds(self, crawl_id: int, after: int, where: UrlFilter) -> dict[str, Any] | None:
        """Where the listing starts and in which queue it stays, or that nothing is there.

        As values, not as subqueries: the planner knows how much there is of each.
        """
        values: dict[str, Any] = {"crawl": crawl_id, "after": after}
        first = self.database.read(SQL["first_url"], values)[0][0]
        if first is None:
            return None
        values["after"] = first - 1
        if where.host is not None:
            queue = self.database.one(SQL["queue_id"], (crawl_id, storable(where.host)))
            if queue is None:
                return None
            values["queue"] = queue[0]
        return values

    def _sources(self, where: UrlFilter, conditions: list[str], values: dict[str, Any]) -> list[str]:
        """Selects of ids, made of constant pieces; the states that each gives exclude those of the others."""
        of_urls = [*conditions, *(["u.queue = %(queue)s"] if where.host is not None else [])]
        if not where.states:
            return [_select(SQL["all_urls"], of_urls)]
        sources = []
        values["codes"] = [STATE_CODES[state] for state in set(where.states) if state.terminal]
        if values["codes"]:
            sources.append(_select(SQL["ended_urls"], of_urls))
        of_frontier = [*conditions, *(["f.queue = %(queue)s"] if where.host is not None else [])]
        queued, in_progress = UrlState.QUEUED in where.states, UrlState.IN_PROGRESS in where.states
        if queued and in_progress:
            sources.append(_select(SQL["open_urls"], of_frontier))
        elif queued or in_progress:
            sources.append(_select(SQL["open_urls"], [*of_frontier, IN_FLIGHT if in_progress else NOT_IN_FLIGHT]))
        return sources

    def url(self, crawl_id: int, host: str, key: bytes) -> UrlRow | None:
        sql = f"{SQL['url_columns']} q.crawl = %s AND q.host = %s AND u.key = %s"
        rows = self._url_rows(self.database.read(sql, (crawl_id, host, key)), self._claims())
        return rows[0] if rows else None

    def url_by_id(self, url_id: int) -> UrlRow | None:
        sql = f"{SQL['url_columns']} u.id = %s"
        rows = self._url_rows(self.database.read(sql, (url_id,)), self._claims())
        return rows[0] if rows else None

    def page_facts(self, url_id: int) -> dict[str, object]:
        row = self.database.one(SQL["page_facts"], (url_id,))
        return page_facts(row, self._linked) if row else {}

    def _linked(self, packed: bytes) -> list[str]:
        columns = [list(column) for column in zip(*link_ranges(packed), strict=True)]
        return [url for (url,) in self.database.read(SQL["linked"], columns)]

    def _url_rows(self, rows: list[tuple[Any, ...]], claims: Claims) -> list[UrlRow]:
        now = self.database.now()
        return [url_row(row, claims, now) for row in rows]

    def _claims(self) -> Claims:
        return {url_id: (worker, since) for worker, url_id, since in self.database.read(SQL["claims"])}

    # --- hosts, robots, workers

    def robots(self, origin: str) -> RobotsRecord | None:
        row = self.database.one(SQL["robots"], (host_of(origin + "/"), origin))
        return robots_record(row, self.database.now()) if row else None

    def host(self, host: str) -> HostRow | None:
        row = self.database.one(SQL["host"], (host,))
        return host_row(row, self.database.now()) if row else None

    def queue(self, crawl_id: int, host: str) -> QueueRow | None:
        row = self.database.one(SQL["queue"], {"crawl": crawl_id, "host": host, "open_max": OPEN_COUNT_MAX})
        return queue_row(row, self.database.now()) if row else None

    def queues(self, crawl_id: int, limit: int) -> list[QueueRow]:
        """Active queues, those with the most open rows among them first."""
        now = self.database.now()
        found = self.database.read(SQL["queues"], {"crawl": crawl_id, "limit": limit, "open_max": OPEN_COUNT_MAX})
        return sorted((queue_row(row, now) for row in found), key=lambda row: -row.open)

    def workers(self) -> list[WorkerRow]:
        found = self.database.read(SQL["workers"], (self.database.now(),))
        return worker_rows(
            [(tuple(row), alive) for *row, alive in found],
            lambda ids: self.database.read(SQL["urls_by_id"], (ids,)),
        )

    def attend(self, crawl_id: int) -> None:
        """Nothing to do: see `attended`."""

    def attended(self, crawl_id: int) -> bool:
        """Always: workers of a cluster come and go, and a crawl without any waits for them. It is not interrupted."""
        return True

    def suspect(self, url_id: int) -> None:
        with self.database.write() as cursor:
            cursor.execute(SQL["suspect"], (url_id,))

    # --- verify

    def archived(self, after: int, limit: int) -> Iterator[tuple[int, int, str, int, int, bytes | None]]:
        yield from self.database.read(SQL["archived"], (after, limit))

    def archive_files(self) -> list[tuple[str, int, bool, int]]:
        found = self.database.read(SQL["archive_files"])
        return [(name, worker, is_open, cut) for name, worker, is_open, cut in found]

    def check(self) -> list[str]:
        """All of it in one snapshot, so that a crawl may run meanwhile."""
        with _patient(self.database) as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            problems = broken(CHECKS, lambda sql: connection.execute(sql).fetchall())
            for (crawl_id,) in connection.execute(SQL["kept_crawls"]).fetchall():
                counted = connection.execute(SQL["counted"], {"crawl": crawl_id}).fetchall()
                tallies = dict(connection.execute(SQL["tallies"], (crawl_id,)).fetchall())
                problems += miscounted(crawl_id, counted, tallies)
        return problems


@contextmanager
def _patient(database: Database) -> Iterator[Connection]:
    """A connection without deadlines, for the few looks that read every row."""
    try:
        with psycopg.connect(**database.parameters, autocommit=True) as connection:
            connection.execute("SET statement_timeout = 0")
            yield connection
    except psycopg.Error as error:
        raise database.translated(error) from None  # its cause may name the password


def _select(sql: str, conditions: list[str]) -> str:
    return f"({sql.replace(CONDITIONS, ''.join(f'AND {condition} ' for condition in conditions))})"


def _bump_control(cursor: Cursor) -> int:
    cursor.execute(WORKER_SQL["bump_control"])
    return int(cursor.execute(WORKER_SQL["control_version"]).fetchall()[0][0])
