"""What the command line and the API read and steer, on PostgreSQL."""

import json
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import psycopg

from nephila.errors import StoreUnavailable, UsageError
from nephila.frontier.columns import storable
from nephila.frontier.listing import CONDITIONS, Listing, Listings, bounds, in_order
from nephila.frontier.postgres.arrays import Blobs, Ints, Texts, columns
from nephila.frontier.postgres.connection import Cursor, Database
from nephila.frontier.postgres.inserter import Inserter, Refusals
from nephila.frontier.rows import (
    BROKEN,
    Claims,
    LinkRange,
    archived_page,
    broken,
    crawl_of,
    crawl_of_key,
    host_page,
    host_row,
    host_view,
    link_ranges,
    miscounted,
    page_facts,
    queue_row,
    robots_record,
    sizes_of,
    tallies_of,
    url_row,
    worker_rows,
)
from nephila.frontier.statements import statements
from nephila.frontier.store import (
    ERRORS_KEPT,
    HOSTS_OPEN_COUNT_MAX,
    OPEN_COUNT_MAX,
    ORIGINS_MAX,
    SCAN_ROWS_MAX,
    ArchivedPage,
    Crawl,
    ErrorRow,
    HostPage,
    HostRow,
    HostView,
    QueueRow,
    RobotsRecord,
    Sizes,
    UrlFilter,
    UrlRow,
    UrlSort,
    WorkerRow,
)
from nephila.models import STATE_CODES, Child, CrawlState, UrlState
from nephila.profiles import CrawlSettings
from nephila.urls.identity import host_of

SQL = statements("postgres", "catalog")
WORKER_SQL = statements("postgres", "worker")
SEED_CHUNK = 1000
NOBODY = 0  # the worker that seeds are counted by

SORTED_ROWS_MAX = 5_000  # ids that a listing takes from an index of another order and sorts

STATE = "%(state)s"  # of a source of one state: in the text, because several sources are one statement
FILTERS = {
    "status": "p.status = %(status)s",
    "depth": "u.depth = %(depth)s",
    "text": "strpos(u.url, %(text)s) > 0",
    "reason": "coalesce(p.reason, f.reason) = %(reason)s",
}
SORTED_BY = {UrlSort.ID: "u.id", UrlSort.FETCHED_AT: "coalesce(p.fetched_at, 0)", UrlSort.URL: 'u.url COLLATE "C"'}
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


class PostgresCatalog(Listings):
    def __init__(self, database: Database) -> None:
        self.database = database
        self._inserter = Inserter()

    # --- crawls

    def create_crawl(
        self, seeds: Sequence[str], settings: CrawlSettings, fingerprint: str, key: str = "", created_by: str = ""
    ) -> Crawl:
        values = {
            "created_by": storable(created_by),
            "uuid": str(uuid.uuid4()),
            "seeds": json.dumps(list(seeds)),
            "settings": settings.model_dump_json(),
            "fingerprint": fingerprint,
            "now": self.database.now(),
        }
        return self.crawl(self.database.run(partial(_create_crawl, values, storable(key))))

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

    def unfinished_of(self, created_by: str) -> int:
        return int(self.database.read(SQL["unfinished_of"], (created_by,))[0][0])

    def unfinished(self, fingerprint: str) -> Crawl | None:
        row = self.database.one(SQL["unfinished"], (fingerprint,))
        return self.crawl(row[0]) if row else None

    def crawl(self, crawl_id: int) -> Crawl:
        row = self.database.one(SQL["crawl"], (crawl_id,))
        if row is None:
            raise UsageError(f"there is no crawl {crawl_id}: `nephila status` lists them")
        return crawl_of(row, self.database.now())

    def crawl_by_uuid(self, uuid: str) -> Crawl | None:
        row = self.database.one(SQL["crawl_by_uuid"], (storable(uuid),))
        return crawl_of(row, self.database.now()) if row else None

    def crawls(self) -> list[Crawl]:
        now = self.database.now()
        return [crawl_of(row, now) for row in self.database.read(SQL["crawls"])]

    def crawl_uuids(self) -> dict[int, str]:
        return dict(self.database.read(SQL["crawl_uuids"]))

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

    def change_settings(self, crawl_id: int, settings: CrawlSettings) -> int:
        return self.database.run(partial(_change_settings, crawl_id, settings))

    def delete(self, crawl_id: int) -> list[str]:
        self.crawl(crawl_id)
        with self.database.write() as cursor:
            cursor.execute(SQL["drop_request_keys"], (crawl_id,))
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

    def refusals(self, crawl_id: int, host: str | None = None) -> list[tuple[str, str, int]]:
        found = self.database.read(SQL["refusals"], {"crawl": crawl_id, "host": host})
        return [(name, reason, n) for name, reason, n in found]

    def sizes(self) -> Sizes:
        read = self.database.read
        return sizes_of(read(SQL["sizes"]), read(SQL["store_bytes"])[0][0], read(SQL["archive_bytes"])[0][0])

    # --- URLs

    @property
    def _reader(self) -> Database:
        return self.database

    def _rows(self, listing: Listing, limit: int, sort: UrlSort = UrlSort.ID, offset: int = 0) -> list[UrlRow]:
        if not listing.sources:
            return []
        ids = listing.sorted(sort, SORTED_BY[sort])
        claims, values = self._claims(), listing.values | {"limit": limit, "offset": offset}
        rows = self.database.read(f"{SQL['url_columns']} u.id = ANY(ARRAY({ids}))", values)
        return in_order(self._url_rows(rows, claims), sort, listing.descending)

    def _listing(self, crawl_id: int, after: int, where: UrlFilter, descending: bool) -> Listing:
        """Bounds as values, not as subqueries: the planner knows how much there is between them."""
        asked = {name: getattr(where, name) for name in FILTERS if getattr(where, name) is not None}
        values: dict[str, Any] = {"crawl": crawl_id, **bounds(after, descending), **asked}
        listing = Listing([], [FILTERS[name] for name in asked], values, descending, "%({})s")
        first, last = self.database.read(SQL["range_of_crawl"], values)[0]
        if first is None:
            return listing
        values |= {"low": first - 1, "high": last, "text": storable(where.text), "reason": storable(where.reason)}
        values["claimed"] = Ints(self._claims()) if where.states else None
        queue, rows = self._queue_rows(crawl_id, where.host) if where.host is not None else (None, 0)
        values["queue"] = queue
        if where.host is not None and queue is None:
            return listing
        if queue is not None and rows < SORTED_ROWS_MAX:
            listing.sources = [SQL["urls_of_queue"]]
            listing.filters += _state_filter(where.states)
        else:
            listing.sources = _sources(where.states)
            listing.filters += ["u.queue = %(queue)s"] if queue is not None else []
        listing.scattered = SQL["all_urls"] not in listing.sources and UrlState.VISITED not in where.states
        return listing

    def _queue_rows(self, crawl_id: int, host: str) -> tuple[int | None, int]:
        values = {"crawl": crawl_id, "host": storable(host), "rows_max": SORTED_ROWS_MAX}
        row = self.database.one(SQL["queue_rows"], values)
        return (row[0], row[1]) if row else (None, 0)

    def _linking(self, ids: list[int]) -> list[tuple[Any, ...]]:
        return self.database.read(SQL["linking"], (Ints(ids),))

    def _ids_of_links(self, links: list[LinkRange]) -> list[tuple[int, int]]:
        found = self.database.read(SQL["linked_ids"], columns((Ints, Blobs, Blobs), links))
        return [(place, url_id) for place, url_id in found]

    def url(self, crawl_id: int, host: str, key: bytes) -> UrlRow | None:
        sql = f"{SQL['url_columns']} q.crawl = %s AND q.host = %s AND u.key = %s"
        rows = self._url_rows(self.database.read(sql, (crawl_id, host, key)), self._claims())
        return rows[0] if rows else None

    def url_by_id(self, url_id: int) -> UrlRow | None:
        sql = f"{SQL['url_columns']} u.id = %s"
        rows = self._url_rows(self.database.read(sql, (url_id,)), self._claims())
        return rows[0] if rows else None

    def ancestors(self, url_id: int, limit: int) -> list[UrlRow]:
        ids = [found for (found,) in self.database.read(SQL["ancestors"], {"url": url_id, "limit": limit})]
        return sorted(self._rows_of(ids), key=lambda row: ids.index(row.id))

    def _rows_of(self, ids: list[int]) -> list[UrlRow]:
        claims = self._claims()
        return self._url_rows(self.database.read(f"{SQL['url_columns']} u.id = ANY(%s)", (Ints(ids),)), claims)

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

    # --- hosts, robots, workers, errors

    def hosts(self, crawl_id: int, after: str, limit: int) -> list[HostView]:
        now = self.database.now()
        values = {"crawl": crawl_id, "after": storable(after), "limit": limit, "open_max": HOSTS_OPEN_COUNT_MAX}
        return [host_view(row, now) for row in self.database.read(SQL["hosts_of_crawl"], values)]

    def all_hosts(self, after: str, limit: int, text: str = "") -> HostPage:
        values = {"after": storable(after), "limit": limit + 1, "text": storable(text), "rows_max": SCAN_ROWS_MAX}
        horizon = self.database.one(SQL["last_host"], values) if text else None
        rows = self.database.read(SQL["all_hosts"], values | {"last": horizon[0] if horizon else None})
        return host_page(rows, limit, horizon, self.database.now())

    def errors(self, limit: int, crawl_id: int | None = None) -> list[ErrorRow]:
        values = {"limit": min(limit, ERRORS_KEPT), "crawl": crawl_id}
        return [ErrorRow(*row) for row in self.database.read(SQL["errors"], values)]

    def robots(self, origin: str) -> RobotsRecord | None:
        row = self.database.one(SQL["robots"], (host_of(origin + "/"), origin))
        return robots_record(row, self.database.now()) if row else None

    def robots_of_host(self, host: str) -> list[RobotsRecord]:
        now = self.database.now()
        return [robots_record(row, now) for row in self.database.read(SQL["robots_of_host"], (host, ORIGINS_MAX))]

    def host(self, host: str) -> HostRow | None:
        row = self.database.one(SQL["host"], (host,))
        return host_row(row, self.database.now()) if row else None

    def addresses(self, hosts: Collection[str]) -> dict[str, str]:
        return dict(self.database.read(SQL["addresses"], (Texts(hosts),)))

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

    def archive_sizes(self) -> list[tuple[str, int]]:
        return [(name, size) for name, size in self.database.read(SQL["archive_sizes"])]

    def pages_in_file(self, name: str, start: int, end: int, limit: int) -> list[ArchivedPage]:
        found = self.database.read(SQL["pages_in_file"], (name, start, end, limit))
        return [archived_page(row) for row in found]

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


def _create_crawl(values: dict[str, Any], key: str | None, cursor: Cursor) -> int:
    if key and not cursor.execute(SQL["take_request_key"], (key, values["fingerprint"], values["now"])).rowcount:
        known = cursor.execute(SQL["request_key"], (key,)).fetchall()
        if not known:
            raise StoreUnavailable("the crawl of this Idempotency-Key is just being deleted: try again")
        return crawl_of_key(known[0], values["fingerprint"])
    ((crawl_id,),) = cursor.execute(SQL["create_crawl"], values).fetchall()
    if key:
        cursor.execute(SQL["fill_request_key"], (crawl_id, key))
    _bump_control(cursor)
    return int(crawl_id)


def _change_settings(crawl_id: int, settings: CrawlSettings, cursor: Cursor) -> int:
    if settings.limits.max_pages is not None:
        cursor.execute(SQL["wait_for_flushes"])  # pages that are being brought must not be missed by the count
    cursor.execute(SQL["set_settings"], {"settings": settings.model_dump_json(), "crawl": crawl_id})
    return _bump_control(cursor)


def _sources(states: Sequence[UrlState]) -> list[str]:
    """The states that each gives exclude those of the others."""
    if not states:
        return [SQL["all_urls"]]
    codes = sorted({STATE_CODES[state] for state in states if state.terminal})
    sources = [SQL["ended_urls"].replace(STATE, str(code)) for code in codes]
    if any(not state.terminal for state in states):
        sources.append(SQL["open_urls"].replace(CONDITIONS, f"{_flight_condition(states)} {CONDITIONS}"))
    return sources


def _state_filter(states: Sequence[UrlState]) -> list[str]:
    if not states:
        return []
    codes = sorted({STATE_CODES[state] for state in states if state.terminal})
    ended = [f"p.state IN ({','.join(map(str, codes))})"] if codes else []
    is_open = any(not state.terminal for state in states)
    opened = [f"f.url IS NOT NULL {_flight_condition(states)}"] if is_open else []
    return [f"({' OR '.join(ended + opened)})"]


def _flight_condition(states: Sequence[UrlState]) -> str:
    """Queued and in progress are open rows alike: what is in flight tells them apart."""
    queued, in_progress = UrlState.QUEUED in states, UrlState.IN_PROGRESS in states
    return "" if queued and in_progress else f"AND {IN_FLIGHT if in_progress else NOT_IN_FLIGHT}"


def _bump_control(cursor: Cursor) -> int:
    cursor.execute(WORKER_SQL["bump_control"])
    return int(cursor.execute(WORKER_SQL["control_version"]).fetchall()[0][0])
