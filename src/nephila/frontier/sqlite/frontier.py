"""The worker's side of the SQLite store: one session, one transaction per flush."""

import json
import os
import secrets
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import astuple
from typing import Any

import apsw
from pydantic_core import to_json

from nephila.errors import Fenced, UsageError
from nephila.frontier.columns import error_values, host_values, page_values, robots_values
from nephila.frontier.grants import share_of
from nephila.frontier.operators import Rulings
from nephila.frontier.rows import crawl_of
from nephila.frontier.sqlite.connection import Database
from nephila.frontier.sqlite.inserter import Inserter, Refusals, write_many
from nephila.frontier.sqlite.rulebook import SqliteRulebook
from nephila.frontier.statements import statements
from nephila.frontier.store import (
    ERRORS_PER_FLUSH,
    Batch,
    Crawl,
    ErrorNote,
    Flushed,
    HostClock,
    HostRecord,
    Outcome,
    RobotsRecord,
    Row,
    Vitals,
    Window,
    WorkerInfo,
)
from nephila.models import STATE_CODES, Child, CrawlState, Kind, PageRecord, Reason, UrlState
from nephila.policy.balance import Lease, balance
from nephila.policy.politeness import Pace

SQL = statements("sqlite", "worker")
SESSION_SQL = statements("sqlite", "session")
CATALOG_SQL = statements("sqlite", "catalog")

END_CHUNK = 2000  # open rows that one flush ends without a request: keeps a transaction far below 0.5 s
ARRIVALS_MAX = 5000  # taken by one flush
PARKED = -1
ENDED_BY: dict[str, UrlState] = {
    Reason.HOST_DEAD: UrlState.FAILED,
    Reason.CANCELLED: UrlState.CANCELLED,
}  # else: excluded
KINDS = {kind.value: kind for kind in Kind}

Tallies = Counter[tuple[int, str]]
Ended = list[tuple[int, Outcome]]  # the id of the page, the outcome


class SqliteFrontier:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.worker = 0
        self._session = ""
        self._lock_fd = -1
        self._parts: frozenset[int] = frozenset()
        self._sorted_parts: list[int] = []
        self._parts_json = "[]"
        self._last_part = -1  # where the last full load stopped
        self._inserter = Inserter()
        self._control = -1  # version of _crawls
        self._crawls: dict[int, tuple[str, str]] = {}  # open crawls: state, reason
        self._pages_limited: set[int] = set()  # of them, those with max_pages

    # --- session

    def join(self, info: WorkerInfo) -> int:
        self._session = secrets.token_hex(16)
        self._lock_fd = self.database.lock_session(self._session)
        now = self.database.clock.now_ms()
        with self.database.write() as db:
            self.worker = db.execute(
                SESSION_SQL["join"], (self._session, info.name, info.pid, info.version, now, now)
            ).get
        return self.worker

    def lease(self, loads: dict[int, float], vitals: Vitals = Vitals()) -> Lease:
        now = self.database.clock.now_ms()
        with self.database.write() as db:
            self._prove_unfenced(db)
            db.execute(SESSION_SQL["set_vitals"], (*astuple(vitals), self.worker))
            fenced = fence_dead(self.database, db, now, self.worker)
            db.executemany(SESSION_SQL["set_load"], [(load, part, self.worker) for part, load in sorted(loads.items())])
            live = [worker for worker, _ in db.execute(SESSION_SQL["live"])]
            table = db.execute(SESSION_SQL["partitions"]).fetchall()
            moves = balance(
                self.worker,
                live,
                {part: owner for part, owner, *_ in table},
                {part: load for part, _, _, load, _ in table},
                {part: offered for part, _, offered, *_ in table if offered is not None},
            )
            db.executemany(SESSION_SQL["take"], [(self.worker, part) for part in moves.take])
            db.executemany(SESSION_SQL["offer"], [(to, part, self.worker) for part, to in moves.give])
            if moves.take:
                db.execute(SESSION_SQL["free_queues"], (json.dumps(moves.take),))
            table = db.execute(SESSION_SQL["partitions"]).fetchall()
        mine = {
            part: None if forced is None else max(0, now - forced)
            for part, owner, _, _, forced in table
            if owner == self.worker
        }
        self._own(mine)
        give = [
            part
            for part, owner, offered, *_ in table
            if owner == self.worker and offered in live and offered != self.worker
        ]
        return Lease(mine, give, len(live), fenced=fenced)

    def leave(self) -> None:
        with self.database.write() as db:
            owned = [part for (part,) in db.execute(SESSION_SQL["owned"], (self.worker,))]
            db.execute(SESSION_SQL["free_queues"], (json.dumps(owned),))
            fence(db, self.worker, self.database.clock.now_ms(), forced_at=None)
        self._own(())
        os.close(self._lock_fd)
        self.database.session_file(self._session).unlink(missing_ok=True)

    def crawl(self, crawl_id: int) -> Crawl:
        row = self.database.one(CATALOG_SQL["crawl"], (crawl_id,))
        if row is None:
            raise UsageError(f"there is no crawl {crawl_id}")
        return crawl_of(row, self.database.clock.now_ms())

    def controls(self) -> list[Crawl]:
        return [crawl_of(row, self.database.clock.now_ms()) for row in self.database.read(CATALOG_SQL["open_crawls"])]

    def rulings(self) -> Rulings:
        return SqliteRulebook(self.database).rulings()

    def _own(self, parts: Iterable[int]) -> None:
        self._parts = frozenset(parts)
        self._sorted_parts = sorted(self._parts)
        self._parts_json = json.dumps(self._sorted_parts)

    def _prove_unfenced(self, db: apsw.Connection) -> None:
        if db.execute(SQL["session"], (self.worker,)).fetchall()[0][1] is not None:
            raise Fenced("another process has taken over this session")

    # --- the flush

    def flush(self, batch: Batch) -> Flushed:
        owned = self._parts
        try:
            with self.database.write() as db:
                return self._flush(db, batch, self.database.clock.now_ms())
        except BaseException:
            self._inserter.forget()  # ids of rows that were rolled back
            self._control = -1
            self._own(owned)
            raise

    def _flush(self, db: apsw.Connection, batch: Batch, now: int) -> Flushed:
        """The order matters: permits before children, children before releases, releases before loading."""
        if not self._fence(db, batch, now):
            self._own(self._parts.difference(batch.hand_back))
            return self._repeated(db)
        self._see_control(db)
        answer, tallies, refusals = Flushed(), Counter(batch.tallies), Counter(batch.refusals)
        ended = self._end(db, batch.outcomes, tallies, answer)
        self._insert_children(db, ended, batch.children, now, tallies, refusals)
        self._insert_pages(db, ended, batch)
        retries = [(now + r.in_ms, r.tries, r.crashes, r.reason, r.url_id, r.crawl) for r in batch.retries]
        db.executemany(SQL["retry_url"], retries)
        write_many(db, SQL["upsert_hosts"], _host_rows(batch.clocks, now))
        write_many(db, SQL["resolve_hosts"], _host_rows(batch.resolved, now))
        self._store_robots(db, batch, now)
        db.executemany(SQL["mark_dead"], [(reason, queue) for queue, reason in batch.deaths])
        self._release(db, batch, now)
        self._grant_pages(db, ended, batch, answer)
        self._join_hosts(db, batch)
        if batch.holding is not None:
            db.execute(SQL["free_lost"], (self._parts_json, self.worker, json.dumps(batch.holding)))
        self._hand_back(db, batch.hand_back)
        self._take_arrivals(db, now, answer)
        answer.control = self._see_control(db)
        self._load(db, batch, now, tallies, answer)
        self._count(db, tallies, refusals)
        self._note_errors(db, batch.errors, now)
        return answer

    def _count(self, db: apsw.Connection, tallies: Tallies, refusals: Refusals) -> None:
        """Not for crawls that were deleted meanwhile: nobody would ever remove these rows."""
        open_crawls, me = self._crawls, self.worker
        counted = [(crawl, me, name, n) for (crawl, name), n in sorted(tallies.items()) if crawl in open_crawls]
        db.executemany(SQL["add_tally"], counted)
        refused = [(*where, n) for where, n in sorted(refusals.items()) if where[0] in open_crawls]
        db.executemany(SQL["add_refusal"], refused)

    def _note_errors(self, db: apsw.Connection, errors: list[ErrorNote], now: int) -> None:
        open_crawls, me = self._crawls, self.worker
        noted = [error_values(note, me, now) for note in errors[:ERRORS_PER_FLUSH] if note.crawl in open_crawls]
        write_many(db, SQL["add_errors"], noted)

    def _hand_back(self, db: apsw.Connection, parts: list[int]) -> None:
        """Nothing of them may be loaded any more, also not by this very flush."""
        if parts:
            db.executemany(SQL["hand_back"], [(part, self.worker) for part in parts])
            self._own(self._parts.difference(parts))

    def _fence(self, db: apsw.Connection, batch: Batch, now: int) -> bool:
        shown = to_json(batch.in_flight).decode()
        db.execute(
            SQL["fence"],
            {
                "seq": batch.seq,
                "now": now,
                "control_seen": batch.control_seen,
                "in_flight": shown,
                "worker": self.worker,
            },
        )
        if db.changes() == 1:
            return True
        seq, fenced_at = db.execute(SQL["session"], (self.worker,)).fetchall()[0]
        if fenced_at is not None or seq != batch.seq:
            raise Fenced(f"session of worker {self.worker} was taken over (flush {batch.seq}, stored {seq})")
        return False

    def _repeated(self, db: apsw.Connection) -> Flushed:
        grants = dict(db.execute("SELECT crawl, pages FROM grants WHERE worker = ?", (self.worker,)).fetchall())
        return Flushed(repeated=True, grants=grants, control=db.execute(SQL["control_version"]).get)

    def _see_control(self, db: apsw.Connection) -> int:
        version = int(db.execute(SQL["control_version"]).get)
        if version != self._control:
            self._control = version
            found = db.execute(SQL["open_crawls"]).fetchall()
            self._crawls = {crawl: (state, reason) for crawl, state, reason, _ in found}
            self._pages_limited = {crawl for crawl, _, _, limited in found if limited}
        return version

    # --- outcomes, pages, children

    def _end(self, db: apsw.Connection, outcomes: list[Outcome], tallies: Tallies, answer: Flushed) -> Ended:
        """Outcomes that had the permit, each with the id of its page."""
        if not outcomes:
            return []
        numbered = list(enumerate(outcomes, db.execute(SQL["last_page"]).get + 1))
        values = [(o.url_id, o.crawl, STATE_CODES[o.state], o.reason or None, o.tries, n) for n, o in numbered]
        if write_many(db, SQL["end_urls"], values) != len(numbered):
            # Somebody ended a row meanwhile. The page number on a row tells whose outcome it has.
            numbered = [(n, o) for n, o in numbered if db.execute(SQL["has_page"], (o.url_id, n)).fetchall()]
            answer.refused_outcomes = len(outcomes) - len(numbered)
        for _, outcome in numbered:
            tallies[outcome.crawl, outcome.state.value] += 1
        return numbered

    def _insert_pages(self, db: apsw.Connection, ended: Ended, batch: Batch) -> None:
        self._find_linked(db, ended)
        files = {
            name: db.execute(SQL["add_archive_file"], (name, self.worker, size)).get
            for name, size in batch.archive_files
        }
        blank, ids = PageRecord(), self._inserter.ids
        rows = [(n, o.url_id, *page_values(o.page or blank, ids(o.crawl), files)) for n, o in ended]
        write_many(db, SQL["insert_pages"], rows)

    def _find_linked(self, db: apsw.Connection, ended: Ended) -> None:
        """Links that the worker knew to exist come without a child: their queues may be unknown here."""
        linked: dict[int, set[str]] = defaultdict(set)
        for _, outcome in ended:
            if outcome.page is not None:
                linked[outcome.crawl].update(outcome.page.links)
        for crawl, hosts in linked.items():
            self._inserter.find_queues(db, crawl, hosts)

    def _insert_children(
        self, db: apsw.Connection, ended: Ended, others: list[Child], now: int, tallies: Tallies, refusals: Refusals
    ) -> None:
        by_crawl: dict[int, list[Child]] = defaultdict(list)
        for _, outcome in ended:
            by_crawl[outcome.crawl] += outcome.children
        for child in others:
            by_crawl[child.crawl].append(child)
        for crawl, children in sorted(by_crawl.items()):
            if children and crawl in self._crawls:  # else it was deleted meanwhile
                tallies[crawl, "urls"] += self._inserter.insert(db, crawl, children, self._sorted_parts, now, refusals)

    # --- hosts, limits, releases

    def _store_robots(self, db: apsw.Connection, batch: Batch, now: int) -> None:
        db.executemany(SQL["upsert_robots"], [robots_values(r, now) for r in batch.robots])

    def _grant_pages(self, db: apsw.Connection, ended: Ended, batch: Batch, answer: Flushed) -> None:
        limited, asked = self._pages_limited, batch.grants_wanted
        used = Counter(o.crawl for _, o in ended if o.crawl in limited and o.state is UrlState.VISITED and o.counts)
        for crawl in sorted(used.keys() | asked.keys()):
            in_hand = db.execute(SQL["grant_of"], (crawl, self.worker)).get or 0
            left = db.execute(SQL["pages_left"], (crawl,)).get or 0
            share = share_of(left, in_hand, used[crawl], asked.get(crawl))
            if used_up := min(used[crawl], in_hand):
                db.execute(SQL["use_grant"], (used_up, crawl, self.worker))
            if more := share.in_hand - in_hand + used_up:
                db.execute(SQL["add_grant"], (crawl, self.worker, more))
            if share.granted:
                db.execute(SQL["grant_pages"], (share.granted, crawl))
            if crawl in asked:
                answer.grants[crawl] = share.in_hand
            if share.spent and not db.execute(SQL["granted_unused"], (crawl,)).get:
                end_at_limit(db, crawl, Reason.LIMIT_PAGES, "max_pages")

    def _release(self, db: apsw.Connection, batch: Batch, now: int) -> None:
        """Due at once where an operator has decided something since the batch was made: the rest may be over."""
        me, informed = self.worker, batch.control_seen == self._control
        rests = [(r.queue, me, r.fetched, now + (r.in_ms if informed else 0), now) for r in batch.released]
        write_many(db, SQL["release_queues"], rests)

    def _join_hosts(self, db: apsw.Connection, batch: Batch) -> None:
        if batch.joined_hosts:
            db.execute(SQL["bump_control"])
            db.executemany(SQL["join_host"], [(host, crawl) for crawl, host in batch.joined_hosts])

    # --- loading

    def _take_arrivals(self, db: apsw.Connection, now: int, answer: Flushed) -> None:
        arrived = {queue for (queue,) in db.execute(SQL["take_arrivals"], (self._parts_json, ARRIVALS_MAX)).fetchall()}
        answer.arrived = sorted(arrived)
        if arrived:
            values = {"now": now, "queues": json.dumps(answer.arrived), "parts": self._parts_json}
            db.execute(SQL["wake_queues"], values)

    def _load(self, db: apsw.Connection, batch: Batch, now: int, tallies: Tallies, answer: Flushed) -> None:
        wanted: dict[int, list[int]] = defaultdict(list)
        for refill in batch.refills:
            wanted[refill.limit].append(refill.queue)
        for limit, queues in wanted.items():
            rows = self._rows(db, queues, now, limit)
            answer.refills += [Window(queue, 0, "", rows[queue]) for queue in queues]
        if batch.new_queues > 0 and self._parts:
            self._load_queues(db, batch, now, tallies, answer)
        if batch.next_due:
            due = db.execute(SQL["next_due"], (self._parts_json,)).get
            answer.next_due_in_ms = None if due is None else max(0, due - now)

    def _load_queues(self, db: apsw.Connection, batch: Batch, now: int, tallies: Tallies, answer: Flushed) -> None:
        left = self._end_crawls(db, now, tallies)
        each = max(1, 4 * batch.new_queues // len(self._parts))
        values = {"parts": self._rotated_parts(), "now": now, "each": each, "limit": batch.new_queues}
        found = db.execute(SQL["due_queues"], values).fetchall()
        if len(found) == batch.new_queues:
            self._last_part = found[-1][-1]
        held, parked, live = [], [], []
        for queue, crawl, host, fetched, dead, _ in found:
            state, reason = self._crawls.get(crawl, ("paused", ""))
            if state == "ending" or dead:
                left -= self._end_rows(db, queue, crawl, dead or reason, left, now, tallies)
            elif state == "paused":
                parked.append(queue)
            else:
                live.append(Window(queue, crawl, host, [], fetched))
        rows = self._rows(db, [window.queue for window in live], now, batch.window)
        for window in live:
            window.rows = rows[window.queue]
            if window.rows:
                held.append(window.queue)
                answer.windows.append(window)
            else:
                db.execute(SQL["rest_queue"], (0, window.queue))
        for holder, queues in ((self.worker, held), (PARKED, parked)):
            if queues:
                db.execute(SQL["hold_queues"], (holder, json.dumps(queues)))
        answer.hosts = self._hosts(db, {window.host for window in answer.windows}, now)

    def _end_crawls(self, db: apsw.Connection, now: int, tallies: Tallies) -> int:
        """End rows of crawls that are ending; how many more rows this flush may end."""
        left = END_CHUNK
        for crawl, (state, reason) in self._crawls.items():
            if state == CrawlState.ENDING and left > 0:
                for queue, dead in db.execute(SQL["ending_queues"], (crawl, self._parts_json, left)).fetchall():
                    left -= self._end_rows(db, queue, crawl, dead or reason, left, now, tallies)
        return left

    def _end_rows(
        self, db: apsw.Connection, queue: int, crawl: int, reason: str, chunk: int, now: int, tallies: Tallies
    ) -> int:
        """A chunk of open rows ends without a request; if some are left the queue stays due. An empty one counts 1."""
        if chunk <= 0:
            return 0
        state = ENDED_BY.get(reason, UrlState.EXCLUDED)
        db.execute(SQL["end_rows"], {"state": STATE_CODES[state], "reason": reason, "queue": queue, "chunk": chunk})
        ended = int(db.changes())
        if ended:
            tallies[crawl, state.value] += ended
            tallies[crawl, f"reason:{reason}"] += ended
        db.execute(SQL["rest_queue"], (now, queue))
        return max(1, ended)

    def _rotated_parts(self) -> str:
        """From behind the one where the last full load stopped, so that no partition is always last."""
        parts = self._sorted_parts
        start = bisect(parts, self._last_part)
        return json.dumps(parts[start:] + parts[:start])

    def _rows(self, db: apsw.Connection, queues: list[int], now: int, limit: int) -> dict[int, list[Row]]:
        """Of each queue the next rows, in their order."""
        rows: dict[int, list[Row]] = {queue: [] for queue in queues}
        found = db.execute(SQL["windows"], (json.dumps(queues), now, limit)).fetchall() if queues else []
        found.sort(key=_retries_first)
        for queue, _, _, id, url, depth, kind, hops, tries, crashes, raw in found:
            rows[queue].append(Row(id, url, depth, KINDS[kind], hops, tries, crashes, raw))
        return rows

    def _hosts(self, db: apsw.Connection, hosts: set[str], now: int) -> dict[str, HostRecord]:
        if not hosts:
            return {}
        names = json.dumps(sorted(hosts))
        found = {host: HostRecord(0, Pace(), "", 0, []) for host in hosts}
        for host, next_at, *pace, rest, requests, resolved in db.execute(SQL["hosts"], (names,)).fetchall():
            latency, slowdown, errors, strikes, nxdomain, crawl_delay, override = pace
            known = Pace(latency, slowdown, errors, strikes, crawl_delay, override, nxdomain)
            found[host] = HostRecord(max(0, next_at - now), known, rest, requests, [], bool(resolved))
        for origin, host, access, status, body, expires_at, *seen in db.execute(
            SQL["robots_of_hosts"], (names,)
        ).fetchall():
            found[host].robots.append(RobotsRecord(origin, host, access, status, body, expires_at - now, *seen))
        return found


def _retries_first(found: tuple[Any, ...]) -> tuple[Any, ...]:
    _, not_before, prio, id, *_ = found
    return not_before == 0, not_before, prio, id


def _host_rows(clocks: list[HostClock], now: int) -> list[tuple[Any, ...]]:
    return [host_values(clock, now) for clock in sorted(clocks, key=lambda c: c.host)]


# --- pieces shared with upkeep --------------------------------------------------------------------------------------


def fence_dead(database: Database, db: apsw.Connection, now: int, me: int = 0) -> int:
    """Sessions whose process is gone lose everything they held; partitions remember that they were forced."""
    fenced = 0
    for worker, session in db.execute(SESSION_SQL["live"]).fetchall():
        if worker != me and not database.session_alive(session):
            fence(db, worker, now, forced_at=now)
            database.session_file(session).unlink(missing_ok=True)
            fenced += 1
    return fenced


def fence(db: apsw.Connection, worker: int, now: int, forced_at: int | None) -> None:
    db.execute(SESSION_SQL["fence_session"], (now, worker))
    db.execute(SESSION_SQL["free_partitions"], (forced_at, worker))
    db.execute(SESSION_SQL["withdraw_offers"], (worker,))
    db.execute(SESSION_SQL["return_grants"], (worker,))
    db.execute(SESSION_SQL["drop_grants"], (worker,))


def end_at_limit(db: apsw.Connection, crawl: int, reason: str, limited_by: str) -> bool:
    """Once: every later call changes nothing, so the control version stands still."""
    db.execute(SQL["end_crawl_at_limit"], (reason, limited_by, crawl))
    if not db.changes():
        return False
    db.execute(SQL["bump_control"])
    return True
