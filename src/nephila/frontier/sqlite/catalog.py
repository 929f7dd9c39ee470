"""What the command line and the API read and steer, on SQLite."""

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from nephila.errors import UsageError
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
from nephila.frontier.sqlite.connection import Database
from nephila.frontier.sqlite.frontier import SQL as WORKER_SQL
from nephila.frontier.sqlite.inserter import Inserter
from nephila.frontier.statements import statements
from nephila.frontier.store import OPEN_COUNT_MAX, Crawl, HostRow, QueueRow, RobotsRecord, UrlFilter, UrlRow, WorkerRow
from nephila.models import STATE_CODES, Child, CrawlState, UrlState
from nephila.profiles import CrawlSettings
from nephila.urls.identity import host_of

SQL = statements("sqlite", "catalog")
SEED_CHUNK = 1000
CHECKS = (
    (BROKEN["stranded"], SQL["stranded"]),
    (BROKEN["homeless"], SQL["homeless"]),
    (BROKEN["held_by_strangers"], SQL["held_by_strangers"]),
    (BROKEN["miscounted_limits"], SQL["miscounted_limits"]),
    (BROKEN["ended_without_page"], SQL["ended_without_page"]),
    (BROKEN["pages_without_url"], SQL["pages_without_url"]),
    ("SQLite integrity: {}", SQL["damaged"]),
)


class SqliteCatalog:
    def __init__(self, database: Database) -> None:
        self.database = database
        self._inserter = Inserter()

    # --- crawls

    def create_crawl(self, seeds: Sequence[str], settings: CrawlSettings, fingerprint: str) -> Crawl:
        now = self.database.clock.now_ms()
        values = (str(uuid.uuid4()), json.dumps(list(seeds)), settings.model_dump_json(), fingerprint, now, now)
        with self.database.write() as db:
            db.execute(WORKER_SQL["bump_control"])
            crawl_id = db.execute(SQL["create_crawl"], values).get
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

    def unfinished(self, fingerprint: str) -> Crawl | None:
        row = self.database.one(SQL["unfinished"], (fingerprint,))
        return self.crawl(row[0]) if row else None

    def crawl(self, crawl_id: int) -> Crawl:
        row = self.database.one(SQL["crawl"], (crawl_id,))
        if row is None:
            raise UsageError(f"there is no crawl {crawl_id}: `nephila status` lists them")
        return crawl_of(row, self.database.clock.now_ms())

    def crawls(self) -> list[Crawl]:
        return [crawl_of(row, self.database.clock.now_ms()) for row in self.database.read(SQL["crawls"])]

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

    def change_pace(self, crawl_id: int, settings: CrawlSettings) -> int:
        with self.database.write() as db:
            db.execute(WORKER_SQL["bump_control"])
            db.execute(SQL["set_settings"], (settings.model_dump_json(), crawl_id))
            return int(db.execute(WORKER_SQL["control_version"]).get)

    def delete(self, crawl_id: int) -> list[str]:
        self.crawl(crawl_id)
        with self.database.write() as db:
            db.execute(WORKER_SQL["bump_control"])
            db.execute(SQL["mark_deleted"], (crawl_id,))
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

    def refusals(self, crawl_id: int) -> list[tuple[str, str, int]]:
        return [(host, reason, n) for host, reason, n in self.database.read(SQL["refusals"], (crawl_id,))]

    # --- URLs

    def urls(self, crawl_id: int, after: int, limit: int, where: UrlFilter) -> list[UrlRow]:
        conditions = ["u.crawl = :crawl", "u.id > :after"]
        values: dict[str, Any] = {"crawl": crawl_id, "after": after, "limit": limit}
        if where.states:
            conditions.append(self._state_condition(where.states))
        for name, column in (("host", "q.host"), ("status", "p.status"), ("depth", "u.depth"), ("reason", "u.reason")):
            if getattr(where, name) is not None:
                conditions.append(f"{column} = :{name}")
                values[name] = getattr(where, name)
        if where.text:
            conditions.append("instr(u.url, :text)")
            values["text"] = where.text
        sql = f"{SQL['url_columns']} {' AND '.join(conditions)} ORDER BY u.id LIMIT :limit"
        return self._url_rows(self.database.read(sql, values))

    def _state_condition(self, states: Sequence[UrlState]) -> str:
        """Queued and in progress are one code: what is in flight tells them apart. In SQL, so that no page is short."""
        codes = {STATE_CODES[state] for state in states if state is not UrlState.IN_PROGRESS}
        claimed = ",".join(map(str, self._claims()))
        in_progress = f"u.state = 0 AND u.id IN ({claimed})"
        ended_or_queued = f"u.state IN ({','.join(map(str, sorted(codes)))})"
        if UrlState.IN_PROGRESS in states:
            return f"({in_progress} OR {ended_or_queued})"
        return f"{ended_or_queued} AND NOT ({in_progress})" if UrlState.QUEUED in states else ended_or_queued

    def url(self, crawl_id: int, host: str, key: bytes) -> UrlRow | None:
        rows = self.database.read(
            f"{SQL['url_columns']} q.crawl = ? AND q.host = ? AND u.key = ?", (crawl_id, host, key)
        )
        return self._url_rows(rows)[0] if rows else None

    def url_by_id(self, url_id: int) -> UrlRow | None:
        rows = self.database.read(f"{SQL['url_columns']} u.id = ?", (url_id,))
        return self._url_rows(rows)[0] if rows else None

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

    # --- hosts, robots, workers

    def robots(self, origin: str) -> RobotsRecord | None:
        row = self.database.one(SQL["robots"], (host_of(origin + "/"), origin))
        return robots_record(row, self.database.clock.now_ms()) if row else None

    def host(self, host: str) -> HostRow | None:
        row = self.database.one(SQL["host"], (host,))
        return host_row(row, self.database.clock.now_ms()) if row else None

    def queue(self, crawl_id: int, host: str) -> QueueRow | None:
        rows = self._queues("q.host = :host", {"crawl": crawl_id, "host": host})
        return rows[0] if rows else None

    def queues(self, crawl_id: int, limit: int) -> list[QueueRow]:
        """Active queues, those with the most open rows among them first."""
        rows = self._queues("q.due IS NOT NULL ORDER BY q.held DESC LIMIT :limit", {"crawl": crawl_id, "limit": limit})
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

    def check(self) -> list[str]:
        problems = broken(CHECKS, self.database.read)
        for crawl in self.crawls():
            counted = self.database.read(SQL["counted"], (crawl.id,))
            problems += miscounted(crawl.id, counted, self.tallies(crawl.id))
        return problems
