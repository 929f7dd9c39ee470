"""What the command line and the API read and steer, on SQLite."""

import json
import struct
import uuid
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from nephila.errors import UsageError
from nephila.frontier.sqlite.connection import Database
from nephila.frontier.sqlite.frontier import SQL as WORKER_SQL
from nephila.frontier.sqlite.inserter import Inserter
from nephila.frontier.sqlite.rows import crawl_of
from nephila.frontier.statements import statements
from nephila.frontier.store import OPEN_COUNT_MAX, Crawl, HostRow, QueueRow, RobotsRecord, UrlFilter, UrlRow, WorkerRow
from nephila.models import STATE_CODES, STATES_BY_CODE, Child, CrawlState, Kind, UrlState
from nephila.policy.politeness import Pace
from nephila.profiles import CrawlSettings
from nephila.urls.identity import host_of

SQL = statements("sqlite", "catalog")
SEED_CHUNK = 1000


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
        """urls, bytes, requests, retries, one per state and `reason:<reason>`; queued and in_progress are derived."""
        counts = {name: int(n) for name, n in self.database.read(SQL["tallies"], (crawl_id,))}
        ended = sum(counts.get(state, 0) for state in UrlState if state.terminal)
        counts["in_progress"] = int(self.database.read(SQL["in_flight"], (crawl_id,))[0][0])
        counts["queued"] = max(0, counts.get("urls", 0) - ended - counts["in_progress"])
        return counts

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
        if row is None:
            return {}
        facts, ip, protocol, charset, wire_bytes, dns, connect, tls, first_byte, total, truncated, links, refused = row
        timing = {"dns_ms": dns, "connect_ms": connect, "tls_ms": tls, "first_byte_ms": first_byte, "total_ms": total}
        found: dict[str, object] = {
            "ip": ip,
            "protocol": protocol,
            "charset": charset,
            "wire_bytes": wire_bytes,
            "timing": timing,
            "truncated": truncated,
        }
        found |= json.loads(facts) if facts else {}
        found["links_out"] = self._linked(links) if links else []
        found["links_refused"] = zlib.decompress(refused).decode().splitlines() if refused else []
        return found

    def _linked(self, packed: bytes) -> list[str]:
        """The URLs of a page's admitted links."""
        urls, at = [], 0
        while at < len(packed):
            queue, count = struct.unpack_from(">QI", packed, at)
            at += 12
            for start in range(at, at + 8 * count, 8):
                prefix = packed[start : start + 8]
                sql = "SELECT url FROM urls WHERE queue = ? AND key BETWEEN ? AND ?"
                urls += [url for (url,) in self.database.read(sql, (queue, prefix + b"\x00" * 8, prefix + b"\xff" * 8))]
            at += 8 * count
        return urls

    def _url_rows(self, rows: list[tuple[Any, ...]]) -> list[UrlRow]:
        now, claims = self.database.clock.now_ms(), self._claims() if rows else {}
        return [_url_row(row, claims, now) for row in rows]

    def _claims(self) -> dict[int, tuple[int, int]]:
        """URL id -> the worker that has it in flight, since when."""
        return {url_id: (worker, since) for worker, url_id, since in self.database.read(SQL["claims"])}

    # --- hosts, robots, workers

    def robots(self, origin: str) -> RobotsRecord | None:
        row = self.database.one(SQL["robots"], (host_of(origin + "/"), origin))
        if row is None:
            return None
        name, host, access, status, body, expires_at, failures, detail, fetched_at = row
        expires_in = expires_at - self.database.clock.now_ms()
        return RobotsRecord(name, host, access, status, body, expires_in, failures, detail, fetched_at)

    def host(self, host: str) -> HostRow | None:
        row = self.database.one(SQL["host"], (host,))
        if row is None:
            return None
        (
            name,
            next_at,
            delay,
            requests,
            latency,
            slowdown,
            errors,
            strikes,
            nxdomain,
            crawl_delay,
            override,
            rest,
            addresses,
            cnames,
        ) = row
        pace = Pace(latency, slowdown, errors, strikes, crawl_delay, override, nxdomain)
        return HostRow(
            name, max(0, next_at - self.database.clock.now_ms()), delay, requests, pace, rest, addresses, cnames
        )

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
        return [
            QueueRow(
                host,
                open_rows,
                None if due is None else max(0, due - now),
                held if held > 0 else None,
                fetched,
                delay,
                dead,
            )
            for host, open_rows, due, held, fetched, delay, dead in rows
        ]

    def workers(self) -> list[WorkerRow]:
        return [
            WorkerRow(
                id,
                name,
                pid,
                version,
                started,
                seen,
                fenced is None and self.database.session_alive(session),
                parts,
                in_flight,
                flushes,
            )
            for id, name, pid, version, started, seen, fenced, parts, in_flight, flushes, session in self.database.read(
                SQL["workers"]
            )
        ]

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
        problems = [
            f"URL {id} ({url}) is open but no queue will ever load it"
            for id, url in self.database.read(SQL["stranded"])
        ]
        problems += [f"URL {id} ({url}) is in no queue of its crawl" for id, url in self.database.read(SQL["homeless"])]
        problems += [
            f"queue {id} ({host}) is held by worker {worker}, which does not own it"
            for id, host, worker in self.database.read(SQL["held_by_strangers"])
        ]
        problems += [
            f"crawl {id}: {granted} URLs were granted but there are {n}"
            for id, granted, n in self.database.read(SQL["miscounted_limits"])
        ]
        problems += [
            f"URL {id} ({url}) has ended without its page record"
            for id, url in self.database.read(SQL["ended_without_page"])
        ]
        problems += [
            f"page record {id} is not that of its URL {url}" for id, url in self.database.read(SQL["pages_without_url"])
        ]
        problems += [
            f"SQLite integrity: {line}" for (line,) in self.database.read("PRAGMA quick_check(10)") if line != "ok"
        ]
        for crawl in self.crawls():
            problems += self._miscounted(crawl.id)
        return problems

    def _miscounted(self, crawl_id: int) -> list[str]:
        counted = {STATES_BY_CODE[code]: n for code, n in self.database.read(SQL["counted"], (crawl_id,))}
        tallies = self.tallies(crawl_id)
        lines = [
            f"crawl {crawl_id}: {counted.get(state, 0)} URLs are {state} but {tallies.get(state, 0)} were counted"
            for state in UrlState
            if state.terminal and tallies.get(state, 0) != counted.get(state, 0)
        ]
        if sum(counted.values()) != tallies.get("urls", 0):
            lines.append(
                f"crawl {crawl_id}: there are {sum(counted.values())} URLs but {tallies.get('urls', 0)} were counted"
            )
        return lines


def _url_row(row: tuple[Any, ...], claims: dict[int, tuple[int, int]], now: int) -> UrlRow:
    (
        id,
        url,
        code,
        reason,
        status,
        content_type,
        depth,
        parent,
        raw,
        title,
        digest,
        size,
        fetched_at,
        latency,
        tries,
        *rest,
    ) = row
    file, offset, length, redirect_to, host, kind, not_before, error = rest
    state = STATES_BY_CODE[code]
    claimed_by, claimed_at = claims.get(id, (None, None)) if state is UrlState.QUEUED else (None, None)
    return UrlRow(
        id=id,
        url=url,
        state=UrlState.IN_PROGRESS if claimed_by else state,
        reason=reason or "",
        status=status,
        content_type=content_type,
        depth=depth,
        discovered_from=parent,
        raw_url=raw,
        title=title,
        content_hash=digest.hex() if digest else None,
        bytes=size if status is not None else None,
        fetched_at=fetched_at or None,
        latency_ms=latency if status is not None else None,
        retries=max(0, tries - 1) if state.terminal else tries,
        archive_file=file,
        archive_offset=offset,
        archive_length=length,
        redirect_to=redirect_to,
        host=host,
        kind=Kind(kind),
        not_before_in_ms=max(0, not_before - now) if not_before else 0,
        claimed_by=claimed_by,
        claimed_at=claimed_at,
        error=error,
    )
