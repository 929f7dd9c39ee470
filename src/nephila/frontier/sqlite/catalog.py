"""What the command line and the API read and steer, on SQLite."""

import json
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from nephila.errors import UsageError
from nephila.frontier.listing import CONDITIONS, Listing, Listings, bounds, in_order
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
from nephila.frontier.sqlite.connection import Database
from nephila.frontier.sqlite.frontier import SQL as WORKER_SQL
from nephila.frontier.sqlite.inserter import Inserter
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

SQL = statements("sqlite", "catalog")
ALL_HOSTS_FROM, ALL_HOSTS_TO = "", "\U0010ffff"  # no host sorts outside
SEED_CHUNK = 1000
SORTED_ROWS_MAX = 20_000  # ids that a listing takes from an index of another order and sorts: 5 ms

STATE = ":state"  # of a source of one state: in the text, because several sources are one statement
FILTERS = {
    "status": "p.status = :status",
    "depth": "u.depth = :depth",
    "text": "instr(u.url, :text)",
    "reason": "u.reason = :reason",
}
CLAIMED = "u.id IN (SELECT value FROM json_each(:claimed))"
SORTED_BY = {UrlSort.ID: "u.id", UrlSort.FETCHED_AT: "coalesce(p.fetched_at, 0)", UrlSort.URL: "u.url"}
OPEN = frozenset((UrlState.QUEUED, UrlState.IN_PROGRESS))
COMMON = OPEN | {UrlState.VISITED}  # states without an index of their own
CHECKS = (
    (BROKEN["stranded"], SQL["stranded"]),
    (BROKEN["homeless"], SQL["homeless"]),
    (BROKEN["held_by_strangers"], SQL["held_by_strangers"]),
    (BROKEN["miscounted_limits"], SQL["miscounted_limits"]),
    (BROKEN["ended_without_page"], SQL["ended_without_page"]),
    (BROKEN["pages_without_url"], SQL["pages_without_url"]),
    ("SQLite integrity: {}", SQL["damaged"]),
)


class SqliteCatalog(Listings):
    def __init__(self, database: Database) -> None:
        self.database = database
        self._inserter = Inserter()

    # --- crawls

    def create_crawl(
        self, seeds: Sequence[str], settings: CrawlSettings, fingerprint: str, key: str = "", created_by: str = ""
    ) -> Crawl:
        now = self.database.clock.now_ms()
        wish = (json.dumps(list(seeds)), settings.model_dump_json(), fingerprint)
        values = (str(uuid.uuid4()), *wish, created_by, now, now)
        with self.database.write() as db:
            if key and (known := db.execute(SQL["request_key"], (key,)).fetchall()):
                crawl_id = crawl_of_key(known[0], fingerprint)
            else:
                db.execute(WORKER_SQL["bump_control"])
                crawl_id = db.execute(SQL["create_crawl"], values).get
                if key:
                    db.execute(SQL["add_request_key"], (key, fingerprint, crawl_id, now))
        return self.crawl(crawl_id)

    def add_seeds(self, crawl_id: int, children: Iterable[Child]) -> int:
        """In chunks: no other writer waits for a long list."""
        added, rest = 0, iter(children)
        while chunk := list(islice(rest, SEED_CHUNK)):
            now = self.database.clock.now_ms()
            refusals: Counter[tuple[int, str, str]] = Counter()
            try:
                with self.database.write() as db:
                    inserted = self._inserter.insert(db, crawl_id, chunk, (), now, refusals)
                    db.execute(WORKER_SQL["add_tally"], (crawl_id, 0, "urls", inserted))
                    db.executemany(WORKER_SQL["add_refusal"], [(*where, n) for where, n in refusals.items()])
            except BaseException:
                self._inserter.forget()
                raise
            added += inserted
        return added

    def seeded(self, crawl_id: int) -> None:
        with self.database.write() as db:
            db.execute(SQL["seeded"], (crawl_id,))

    def unfinished_of(self, created_by: str) -> int:
        return int(self.database.read(SQL["unfinished_of"], (created_by,))[0][0])

    def unfinished(self, fingerprint: str) -> Crawl | None:
        row = self.database.one(SQL["unfinished"], (fingerprint,))
        return self.crawl(row[0]) if row else None

    def crawl(self, crawl_id: int) -> Crawl:
        row = self.database.one(SQL["crawl"], (crawl_id,))
        if row is None:
            raise UsageError(f"there is no crawl {crawl_id}: `nephila status` lists them")
        return crawl_of(row, self.database.clock.now_ms())

    def crawl_by_uuid(self, uuid: str) -> Crawl | None:
        row = self.database.one(SQL["crawl_by_uuid"], (uuid,))
        return crawl_of(row, self.database.clock.now_ms()) if row else None

    def crawls(self) -> list[Crawl]:
        return [crawl_of(row, self.database.clock.now_ms()) for row in self.database.read(SQL["crawls"])]

    def crawl_uuids(self) -> dict[int, str]:
        return dict(self.database.read(SQL["crawl_uuids"]))

    def steer(self, crawl_id: int, state: CrawlState, reason: str = "") -> int:
        """Time in which nobody worked on it, because all were killed, does not count as active."""
        now = self.database.clock.now_ms()
        alive = any(worker.alive for worker in self.workers())
        until = now if alive else self.database.read(SQL["last_seen"])[0][0]
        values = {"state": state, "reason": reason, "now": now, "alive": alive, "until": until, "crawl": crawl_id}
        with self.database.write() as db:
            db.execute(WORKER_SQL["bump_control"])
            db.execute(SQL["steer"], values)
            if state is CrawlState.RUNNING:
                db.execute(SQL["unpark"], (crawl_id,))
            return int(db.execute(WORKER_SQL["control_version"]).get)

    def acknowledged(self, version: int) -> bool:
        return not any(
            self.database.session_alive(session) for _, session in self.database.read(SQL["lagging"], (version,))
        )

    def change_settings(self, crawl_id: int, settings: CrawlSettings) -> int:
        with self.database.write() as db:
            db.execute(WORKER_SQL["bump_control"])
            db.execute(SQL["set_settings"], {"settings": settings.model_dump_json(), "crawl": crawl_id})
            return int(db.execute(WORKER_SQL["control_version"]).get)

    def delete(self, crawl_id: int) -> list[str]:
        self.crawl(crawl_id)
        with self.database.write() as db:
            db.execute(WORKER_SQL["bump_control"])
            db.execute(SQL["mark_deleted"], (crawl_id,))
            db.execute(SQL["drop_request_keys"], (crawl_id,))
        mine = {name for (name,) in self.database.read(SQL["files_of_crawl"], (crawl_id,))}
        others = {name for (name,) in self.database.read(SQL["files_of_others"], (crawl_id,))}
        return sorted(mine - others)

    def forget_file(self, name: str) -> None:
        with self.database.write() as db:
            db.execute(SQL["forget_file"], (name,))

    # --- numbers

    def tallies(self, crawl_id: int) -> dict[str, int]:
        in_flight = self.database.read(SQL["in_flight"], (crawl_id,))[0][0]
        return tallies_of(self.database.read(SQL["tallies"], (crawl_id,)), in_flight)

    def refusals(self, crawl_id: int, host: str | None = None) -> list[tuple[str, str, int]]:
        found = self.database.read(SQL["refusals"], (crawl_id, host or ALL_HOSTS_FROM, host or ALL_HOSTS_TO))
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
        values = listing.values | {"limit": limit, "offset": offset}
        rows = self.database.read(f"{SQL['url_columns']} u.id IN (SELECT id FROM ({ids}))", values)
        return in_order(self._url_rows(rows), sort, listing.descending)

    def _listing(self, crawl_id: int, after: int, where: UrlFilter, descending: bool) -> Listing:
        """By the index that fits: the fewer rows a filter has to look at, the fuller is a bounded page."""
        asked = {name: getattr(where, name) for name in FILTERS if getattr(where, name) is not None}
        values: dict[str, Any] = {"crawl": crawl_id, **bounds(after, descending), **asked}
        listing = Listing([], [FILTERS[name] for name in asked], values, descending, ":{}")
        states = frozenset(where.states)
        if states & OPEN:
            values["claimed"] = json.dumps(list(self._claims()))
        if where.host is not None and self._narrow_to_host(listing, where.host):
            listing.filters += _state_filter(states)
        elif where.host is not None and not listing.values["queue"]:
            return listing
        elif states and not states & COMMON:
            listing.sources = [SQL["urls_ended"].replace(STATE, str(STATE_CODES[state])) for state in sorted(states)]
        elif states == {UrlState.IN_PROGRESS}:
            listing.sources = [SQL["urls_in_flight"].replace(CONDITIONS, f"AND u.state = 0 {CONDITIONS}")]
        else:
            few = states and states <= OPEN and self._open(crawl_id) <= SORTED_ROWS_MAX
            listing.sources = [SQL["urls_open"] if few else SQL["urls_of_crawl"]]
            listing.filters += _state_filter(states)
        listing.scattered = SQL["urls_of_crawl"] not in listing.sources
        return listing

    def _narrow_to_host(self, listing: Listing, host: str) -> bool:
        """Whether its URLs are so few that they can be sorted; else they are a filter of all."""
        asked = {"crawl": listing.values["crawl"], "host": host, "rows_max": SORTED_ROWS_MAX}
        queue, rows = self.database.one(SQL["queue_rows"], asked) or (0, 0)
        listing.values["queue"] = queue
        if not queue or rows >= SORTED_ROWS_MAX:
            listing.filters.append("u.queue = :queue")
            return False
        listing.sources = [SQL["urls_of_queue"]]
        return True

    def _open(self, crawl_id: int) -> int:
        tallies = self.tallies(crawl_id)
        return tallies["queued"] + tallies["in_progress"]

    def _linking(self, ids: list[int]) -> list[tuple[Any, ...]]:
        return self.database.read(SQL["linking"], (json.dumps(ids),))

    def _ids_of_links(self, links: list[LinkRange]) -> list[tuple[int, int]]:
        named = json.dumps([(queue, least.hex(), greatest.hex()) for queue, least, greatest in links])
        return [(place, url_id) for place, url_id in self.database.read(SQL["linked_ids"], (named,))]

    def url(self, crawl_id: int, host: str, key: bytes) -> UrlRow | None:
        rows = self.database.read(
            f"{SQL['url_columns']} q.crawl = ? AND q.host = ? AND u.key = ?", (crawl_id, host, key)
        )
        return self._url_rows(rows)[0] if rows else None

    def url_by_id(self, url_id: int) -> UrlRow | None:
        rows = self.database.read(f"{SQL['url_columns']} u.id = ?", (url_id,))
        return self._url_rows(rows)[0] if rows else None

    def ancestors(self, url_id: int, limit: int) -> list[UrlRow]:
        ids = [found for (found,) in self.database.read(SQL["ancestors"], (url_id, limit))]
        return sorted(self._rows_of(ids), key=lambda row: ids.index(row.id))

    def _rows_of(self, ids: list[int]) -> list[UrlRow]:
        wanted = "u.id IN (SELECT value FROM json_each(?))"
        return self._url_rows(self.database.read(f"{SQL['url_columns']} {wanted}", (json.dumps(ids),)))

    def page_facts(self, url_id: int) -> dict[str, object]:
        row = self.database.one(SQL["page_facts"], (url_id,))
        return page_facts(row, self._linked) if row else {}

    def _linked(self, packed: bytes) -> list[str]:
        return [url for bounds in link_ranges(packed) for (url,) in self.database.read(SQL["linked"], bounds)]

    def _url_rows(self, rows: list[tuple[Any, ...]]) -> list[UrlRow]:
        now, claims = self.database.clock.now_ms(), self._claims() if rows else {}
        return [url_row(row, claims, now) for row in rows]

    def _claims(self) -> Claims:
        return {url_id: (worker, since) for worker, url_id, since in self.database.read(SQL["claims"])}

    # --- hosts, robots, workers, errors

    def hosts(self, crawl_id: int, after: str, limit: int) -> list[HostView]:
        now = self.database.clock.now_ms()
        values = {"crawl": crawl_id, "after": after, "limit": limit, "open_max": HOSTS_OPEN_COUNT_MAX}
        return [host_view(row, now) for row in self.database.read(SQL["hosts_of_crawl"], values)]

    def all_hosts(self, after: str, limit: int, text: str = "") -> HostPage:
        values = {"after": after, "limit": limit + 1, "text": text, "rows_max": SCAN_ROWS_MAX}
        horizon = self.database.one(SQL["last_host"], values) if text else None
        last = horizon[0] if horizon else ALL_HOSTS_TO
        rows = self.database.read(SQL["all_hosts"], values | {"last": last})
        return host_page(rows, limit, horizon, self.database.clock.now_ms())

    def errors(self, limit: int, crawl_id: int | None = None) -> list[ErrorRow]:
        values = {"limit": min(limit, ERRORS_KEPT), "crawl": crawl_id}
        return [ErrorRow(*row) for row in self.database.read(SQL["errors"], values)]

    def robots(self, origin: str) -> RobotsRecord | None:
        row = self.database.one(SQL["robots"], (host_of(origin + "/"), origin))
        return robots_record(row, self.database.clock.now_ms()) if row else None

    def robots_of_host(self, host: str) -> list[RobotsRecord]:
        now = self.database.clock.now_ms()
        return [robots_record(row, now) for row in self.database.read(SQL["robots_of_host"], (host, ORIGINS_MAX))]

    def host(self, host: str) -> HostRow | None:
        row = self.database.one(SQL["host"], (host,))
        return host_row(row, self.database.clock.now_ms()) if row else None

    def addresses(self, hosts: Collection[str]) -> dict[str, str]:
        return dict(self.database.read(SQL["addresses"], (json.dumps(list(hosts)),)))

    def queue(self, crawl_id: int, host: str) -> QueueRow | None:
        rows = self._queues("q.host = :host", {"crawl": crawl_id, "host": host})
        return rows[0] if rows else None

    def queues(self, crawl_id: int, limit: int) -> list[QueueRow]:
        """Active queues, those with the most open rows among them first."""
        rows = self._queues(f"q.id IN ({SQL['active_queues']})", {"crawl": crawl_id, "limit": limit})
        return sorted(rows, key=lambda row: -row.open)

    def _queues(self, condition: str, values: dict[str, Any]) -> list[QueueRow]:
        now = self.database.clock.now_ms()
        rows = self.database.read(f"{SQL['queue_columns']} {condition}", values | {"open_max": OPEN_COUNT_MAX})
        return [queue_row(row, now) for row in rows]

    def workers(self) -> list[WorkerRow]:
        found = [
            (tuple(row), fenced_at is None and self.database.session_alive(session))
            for *row, fenced_at, session in self.database.read(SQL["workers"])
        ]
        return worker_rows(found, lambda ids: self.database.read(SQL["urls_by_id"], (json.dumps(ids),)))

    def attend(self, crawl_id: int) -> None:
        self.database.lock_session(f"crawl-{crawl_id}", wait=False)

    def attended(self, crawl_id: int) -> bool:
        return self.database.session_alive(f"crawl-{crawl_id}")

    def suspect(self, url_id: int) -> None:
        with self.database.write() as db:
            db.execute(SQL["suspect"], (url_id,))

    # --- verify

    def archived(self, after: int, limit: int) -> Iterator[tuple[int, int, str, int, int, bytes | None]]:
        yield from self.database.read(SQL["archived"], (after, limit))

    def archive_files(self) -> list[tuple[str, int, bool, int]]:
        return [
            (name, worker, bool(is_open), cut)
            for name, worker, is_open, cut in self.database.read(SQL["archive_files"])
        ]

    def archive_sizes(self) -> list[tuple[str, int]]:
        return [(name, size) for name, size in self.database.read(SQL["archive_sizes"])]

    def pages_in_file(self, name: str, start: int, end: int, limit: int) -> list[ArchivedPage]:
        found = self.database.read(SQL["pages_in_file"], (name, start, end, limit))
        return [archived_page(row) for row in found]

    def check(self) -> list[str]:
        problems = broken(CHECKS, self.database.read)
        for crawl in self.crawls():
            counted = self.database.read(SQL["counted"], (crawl.id,))
            problems += miscounted(crawl.id, counted, self.tallies(crawl.id))
        return problems


def _state_filter(states: frozenset[UrlState]) -> list[str]:
    """Queued and in progress are one code: what is in flight tells them apart. In SQL, so that no page is short."""
    if not states:
        return []
    codes = sorted(STATE_CODES[state] for state in states if state is not UrlState.IN_PROGRESS)
    ended_or_queued = f"u.state IN ({','.join(map(str, codes))})"
    if UrlState.IN_PROGRESS in states:
        return [f"(u.state = 0 AND {CLAIMED} OR {ended_or_queued})"]
    return [ended_or_queued, f"NOT (u.state = 0 AND {CLAIMED})"] if UrlState.QUEUED in states else [ended_or_queued]
