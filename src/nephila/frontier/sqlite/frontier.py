"""The worker's side of the SQLite store: one session, one transaction per flush."""

import json
import os
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import astuple
from functools import partial
from typing import Any

import apsw
from pydantic_core import to_json

from nephila.errors import Fenced
from nephila.frontier.columns import host_values, open_row, page_values, robots_values
from nephila.frontier.grants import share_of
from nephila.frontier.operators import Rulings
from nephila.frontier.rows import crawl_of, host_records
from nephila.frontier.rulebook import Rulebook
from nephila.frontier.session import (
    ARRIVALS_MAX,
    END_CHUNK,
    Counts,
    FencedSessions,
    Refusals,
    SessionMemory,
    Tallies,
    count_unasked,
    done_by,
    hosts_by_crawl,
    lease_of,
    moves_of,
    pages_of,
    state_without_request,
    with_hosts,
)
from nephila.frontier.sqlite.connection import SqliteDatabase
from nephila.frontier.sqlite.inserter import SqliteInserter, note_changes, write_many
from nephila.frontier.statements import statements
from nephila.frontier.store import (
    EXAMPLES_EACH,
    SLOT_MS,
    Batch,
    Crawl,
    Flushed,
    HostClock,
    HostRecord,
    Outcome,
    RefusedLink,
    Row,
    SitemapEntry,
    Vitals,
    Window,
    WorkerInfo,
)
from nephila.models import STATE_CODES, Child, CrawlState, PageRecord, Reason
from nephila.policy.balance import Lease

SQL = statements("sqlite", "worker")
SESSION_SQL = statements("sqlite", "session")
CATALOG_SQL = statements("sqlite", "catalog")

PARKED = -1

Ended = list[tuple[int, Outcome]]  # the id of the page, the outcome
Ending = dict[tuple[int, str], list[int]]  # (crawl, reason) -> queues whose open rows end without a request


class SqliteFrontier(SessionMemory):
    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__()
        self.database = database
        self._lock_fd = -1
        self._parts_json = "[]"
        self._inserter = SqliteInserter()

    # --- session

    def join(self, info: WorkerInfo) -> int:
        self._own(())  # what an earlier session had is another's by now: this one loads nothing before its first lease
        self._session = secrets.token_hex(16)
        self._lock_fd = self.database.lock_session(self._session)
        now = self.database.now()
        with self.database.write() as db:
            values = self._session, info.name, info.pid, info.version, now, now
            self.worker = db.execute(SESSION_SQL["join"], values).get
        return self.worker

    def lease(self, loads: dict[int, float], vitals: Vitals = Vitals()) -> Lease:
        now = self.database.note_time()
        with self.database.write() as db:
            self._prove_unfenced(db)
            db.execute(SESSION_SQL["set_vitals"], (*astuple(vitals), self.worker))
            fenced = fence_dead(self.database, db, now, self.worker)
            db.executemany(SESSION_SQL["set_load"], [(load, part, self.worker) for part, load in sorted(loads.items())])
            live = [worker for worker, _, _ in db.execute(SESSION_SQL["live"])]
            table = db.execute(SESSION_SQL["partitions"]).fetchall()
            moves = moves_of(self.worker, live, table)
            db.executemany(SESSION_SQL["take"], [(self.worker, part) for part in moves.take])
            db.executemany(SESSION_SQL["offer"], [(to, part, self.worker) for part, to in moves.give])
            if moves.take:
                db.execute(SESSION_SQL["free_queues"], (json.dumps(moves.take),))
            table = db.execute(SESSION_SQL["partitions"]).fetchall()
        lease = lease_of(self.worker, live, table, now, fenced)
        self._own(lease.partitions)
        return lease

    def leave(self) -> None:
        with self.database.write() as db:
            owned = [part for (part,) in db.execute(SESSION_SQL["owned"], (self.worker,))]
            db.execute(SESSION_SQL["free_queues"], (json.dumps(owned),))
            fence(db, self.worker, self.database.now(), forced_at=None)
        self._own(())
        os.close(self._lock_fd)
        self.database.session_file(self._session).unlink(missing_ok=True)

    def controls(self) -> list[Crawl]:
        now = self.database.now()
        return [crawl_of(row, now) for row in self.database.read(CATALOG_SQL["open_crawls"])]

    def rulings(self) -> Rulings:
        return Rulebook(self.database).rulings()

    def _own(self, parts: Iterable[int]) -> None:
        super()._own(parts)
        self._parts_json = json.dumps(self._sorted_parts)

    def _prove_unfenced(self, db: apsw.Connection) -> None:
        found = db.execute(SQL["session"], (self.worker,)).fetchall()
        if not found or found[0][1] is not None:
            raise Fenced("another process has taken over this session")

    # --- the flush

    def flush(self, batch: Batch) -> Flushed:
        owned = self._parts
        try:
            with self.database.write() as db:
                return self._flush(db, batch, self.database.now())
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
        counts = Counts(Counter(batch.tallies), Counter(batch.refusals))
        answer, tallies = Flushed(crowded_out=counts.crowded_out), counts.tallies
        ended = self._end(db, batch.outcomes, now, tallies, answer)
        self._insert_children(db, ended, batch.children, now, counts)
        self._note_entries(db, batch.entries)
        self._insert_pages(db, ended, batch)
        retries = [
            (now, now + r.in_ms, r.tries, r.crashes, r.limited, r.reason, r.url_id, r.crawl) for r in batch.retries
        ]
        db.executemany(SQL["retry_url"], retries)
        again = ((retry.crawl, retry.url_id) for retry in batch.retries if retry.crawl in self._crawls)
        note_changes(db, again, ended=False)
        write_many(db, SQL["upsert_hosts"], _host_rows(batch.clocks, now))
        write_many(db, SQL["resolve_hosts"], _host_rows(batch.resolved, now))
        db.executemany(SQL["upsert_robots"], [robots_values(record, now) for record in batch.robots])
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
        self._count(db, tallies, counts.refusals)
        self._note_refused(db, batch.refused_rules, batch.refused_links + counts.refused_links)
        if any(done := done_by(batch, tallies)):
            db.execute(SQL["add_throughput"], (now // SLOT_MS, self.worker, *done))
        write_many(db, SQL["add_errors"], self._error_rows(batch.errors, now))
        return answer

    def _count(self, db: apsw.Connection, tallies: Tallies, refusals: Refusals) -> None:
        counted = [(crawl, self.worker, name, n) for crawl, name, n in sorted(self._countable(tallies))]
        db.executemany(SQL["add_tally"], counted)
        db.executemany(SQL["add_refusal"], sorted(self._countable(refusals)))

    def _note_refused(
        self, db: apsw.Connection, rules: dict[tuple[int, str, str], int], links: list[RefusedLink]
    ) -> None:
        """Count refused links by rule, and keep some of them."""
        if rules:
            db.executemany(SQL["add_refused_rule"], sorted(self._countable(rules)))
        if links:
            db.executemany(SQL["add_refused_link"], [(*link, EXAMPLES_EACH) for link in self._refused_links(links)])

    def _hand_back(self, db: apsw.Connection, parts: list[int]) -> None:
        """Give partitions up before loading: this very flush loads nothing of theirs any more."""
        if parts:
            db.executemany(SQL["hand_back"], [(part, self.worker) for part in parts])
            self._own(self._parts.difference(parts))

    def _fence(self, db: apsw.Connection, batch: Batch, now: int) -> bool:
        """Fence the transaction; False for a repeated batch."""
        values = {"seq": batch.seq, "now": now, "control_seen": batch.control_seen, "worker": self.worker}
        db.execute(SQL["fence"], {**values, "in_flight": to_json(batch.in_flight).decode()})
        if db.changes() == 1:
            return True
        found = db.execute(SQL["session"], (self.worker,)).fetchall()  # no row: it ended long ago
        if not found or found[0][1] is not None or found[0][0] != batch.seq:
            raise Fenced(f"session of worker {self.worker} was taken over (flush {batch.seq}, stored {found})")
        return False

    def _repeated(self, db: apsw.Connection) -> Flushed:
        grants = dict(db.execute(SQL["grants_of"], (self.worker,)).fetchall())
        return Flushed(repeated=True, grants=grants, control=db.execute(SQL["control_version"]).get)

    def _see_control(self, db: apsw.Connection) -> int:
        version = int(db.execute(SQL["control_version"]).get)
        if version != self._control:
            self._remember_crawls(version, db.execute(SQL["open_crawls"]).fetchall())
        return version

    # --- outcomes, pages, children

    def _end(self, db: apsw.Connection, outcomes: list[Outcome], now: int, tallies: Tallies, answer: Flushed) -> Ended:
        """The outcomes that had a permit, each with the id of its page."""
        if not outcomes:
            return []
        numbered = list(enumerate(outcomes, db.execute(SQL["last_page"]).get + 1))
        values = [(o.url_id, o.crawl, STATE_CODES[o.state], o.reason or None, o.tries, n) for n, o in numbered]
        if write_many(db, SQL["end_urls"], values, (now,)) != len(numbered):
            # Somebody ended a row meanwhile. The page number on a row tells whose outcome it has.
            numbered = [(n, o) for n, o in numbered if db.execute(SQL["has_page"], (o.url_id, n)).fetchall()]
            answer.refused_outcomes = len(outcomes) - len(numbered)
        self._count_ended([outcome for _, outcome in numbered], tallies, partial(_tally_names, db))
        note_changes(db, ((outcome.crawl, outcome.url_id) for _, outcome in numbered), ended=True)
        return numbered

    def _insert_pages(self, db: apsw.Connection, ended: Ended, batch: Batch) -> None:
        self._find_linked(db, ended)
        add, me = SQL["add_archive_file"], self.worker
        files = {name: db.execute(add, (name, me, size)).get for name, size in batch.archive_files}
        blank, ids, rows = PageRecord(), self._inserter.ids, []
        for number, outcome in ended:
            page = outcome.page or blank
            outcome_values = number, outcome.url_id, files[page.archive.file] if page.archive else None
            rows.append(outcome_values + page_values(page, ids(outcome.crawl)))
        write_many(db, SQL["insert_pages"], rows)

    def _find_linked(self, db: apsw.Connection, ended: Ended) -> None:
        """Learn the queues of links. Those that the worker knew to exist come without a child."""
        linked: dict[int, set[str]] = defaultdict(set)
        for _, outcome in ended:
            if outcome.page is not None:
                linked[outcome.crawl].update(outcome.page.links)
        for crawl, hosts in linked.items():
            self._inserter.find_queues(db, crawl, hosts)

    def _insert_children(
        self, db: apsw.Connection, ended: Ended, others: list[Child], now: int, counts: Counts
    ) -> None:
        by_crawl: dict[int, list[Child]] = defaultdict(list)
        for _, outcome in ended:
            by_crawl[outcome.crawl] += outcome.children
        for child in others:
            by_crawl[child.crawl].append(child)
        for crawl, children in sorted(by_crawl.items()):
            if children and crawl in self._crawls:  # else it was deleted meanwhile
                added = self._inserter.insert(db, crawl, children, self._sorted_parts, now, counts)
                added.add_to(crawl, counts.tallies)

    def _note_entries(self, db: apsw.Connection, entries: list[SitemapEntry]) -> None:
        if entries:
            rows = [
                (e.crawl, e.sitemap, e.lastmod, e.priority, e.notes, self._inserter.ids(e.crawl).get(e.host, 0), e.key)
                for e in entries
                if e.crawl in self._crawls
            ]
            db.executemany(SQL["add_sitemap_entry"], rows)

    # --- hosts, limits, releases

    def _grant_pages(self, db: apsw.Connection, ended: Ended, batch: Batch, answer: Flushed) -> None:
        asked = batch.grants_wanted
        used = pages_of(outcome for _, outcome in ended if outcome.crawl in self._pages_limited)
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
                end_at_max_pages(db, crawl)

    def _release(self, db: apsw.Connection, batch: Batch, now: int) -> None:
        """Free queues. They are due at once after an operator's decision that the batch did not know: the rest of
        their hosts may be over."""
        me, informed = self.worker, batch.control_seen == self._control
        rests = [(r.queue, me, r.fetched, now + (r.in_ms if informed else 0), now) for r in batch.released]
        write_many(db, SQL["release_queues"], rests)
        write_many(db, SQL["note_fetched"], [(queue, me, fetched) for queue, fetched in batch.fetched])

    def _join_hosts(self, db: apsw.Connection, batch: Batch) -> None:
        if batch.joined_hosts:
            db.execute(SQL["bump_control"])
        for crawl, hosts in hosts_by_crawl(batch.joined_hosts):
            for (known,) in db.execute(SQL["joined_hosts"], (crawl,)).fetchall():
                db.execute(SQL["join_hosts"], (with_hosts(known, hosts), crawl))

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
        parts, each = json.dumps(self._rotated_parts()), self._queues_each(batch.new_queues)
        values = {"parts": parts, "now": now, "each": each, "limit": batch.new_queues}
        found = db.execute(SQL["due_queues"], values).fetchall()
        if len(found) == batch.new_queues:
            self._last_part = found[-1][-1]
        ending: Ending = defaultdict(list)
        parked, live, empty = [], [], []
        for queue, crawl, host, fetched, dead, _ in found:
            state, reason = self._crawls.get(crawl, (CrawlState.PAUSED, ""))
            if state == CrawlState.ENDING or dead:
                ending[crawl, dead or reason].append(queue)
            elif state == CrawlState.PAUSED:
                parked.append(queue)
            else:
                live.append(Window(queue, crawl, host, [], fetched))
        self._end_rows(db, ending, left, now, tallies)
        rows = self._rows(db, [window.queue for window in live], now, batch.window)
        for window in live:
            window.rows = rows[window.queue]
            if window.rows:
                answer.windows.append(window)
            else:
                empty.append(window.queue)
        if empty:
            db.execute(SQL["rest_queues"], (0, json.dumps(empty)))
        for holder, queues in ((self.worker, [window.queue for window in answer.windows]), (PARKED, parked)):
            if queues:
                db.execute(SQL["hold_queues"], (holder, json.dumps(queues)))
        answer.hosts = self._hosts(db, {window.host for window in answer.windows}, now)

    def _end_crawls(self, db: apsw.Connection, now: int, tallies: Tallies) -> int:
        """End rows of crawls that are ending; answers how many more rows this flush may end."""
        left = END_CHUNK
        for crawl, (state, reason) in self._crawls.items():
            if state == CrawlState.ENDING and left > 0:
                ending: Ending = defaultdict(list)
                for queue, dead in db.execute(SQL["ending_queues"], (crawl, self._parts_json, left)).fetchall():
                    ending[crawl, dead or reason].append(queue)
                left = self._end_rows(db, ending, left, now, tallies)
        return left

    def _end_rows(self, db: apsw.Connection, ending: Ending, left: int, now: int, tallies: Tallies) -> int:
        """End a chunk of open rows without a request; answers how many more may end. Queues that have more stay due.

        Many queues by one statement: a crawl may have a million hosts with a URL each.
        """
        for (crawl, reason), queues in ending.items():
            if left <= 0:
                break
            state = state_without_request(reason)
            values = {"state": STATE_CODES[state], "reason": reason, "queues": json.dumps(queues), "chunk": left}
            gone = db.execute(SQL["end_rows"], {**values, "now": now}).fetchall()
            if gone:
                count_unasked(tallies, crawl, state, reason, Counter(kind for _, kind in gone))
                note_changes(db, ((crawl, id) for id, _ in gone), ended=True)
            db.execute(SQL["rest_queues"], (now, json.dumps(queues)))
            left -= max(len(queues), len(gone))
        return left

    def _rows(self, db: apsw.Connection, queues: list[int], now: int, limit: int) -> dict[int, list[Row]]:
        """The next rows of each queue, in their order."""
        rows: dict[int, list[Row]] = {queue: [] for queue in queues}
        found = db.execute(SQL["windows"], (json.dumps(queues), now, limit)).fetchall() if queues else []
        found.sort(key=_retries_first)
        for queue, _, _, *row in found:
            rows[queue].append(open_row(row))
        return rows

    def _hosts(self, db: apsw.Connection, hosts: set[str], now: int) -> dict[str, HostRecord]:
        if not hosts:
            return {}
        names = json.dumps(sorted(hosts))
        known = db.execute(SQL["hosts"], (names,)).fetchall()
        return host_records(hosts, known, db.execute(SQL["robots_of_hosts"], (names,)).fetchall(), now)


def _tally_names(db: apsw.Connection, crawl: int) -> list[str]:
    return [name for name, _ in db.execute(CATALOG_SQL["tallies"], {"crawl": crawl})]


def _retries_first(found: tuple[Any, ...]) -> tuple[Any, ...]:
    _, not_before, prio, id, *_ = found
    return not_before == 0, not_before, prio, id


def _host_rows(clocks: list[HostClock], now: int) -> list[tuple[Any, ...]]:
    return [host_values(clock, now) for clock in sorted(clocks, key=lambda c: c.host)]


# --- pieces shared with upkeep --------------------------------------------------------------------------------------


def fence_dead(database: SqliteDatabase, db: apsw.Connection, now: int, me: int = 0) -> FencedSessions:
    """Free what sessions hold whose process is gone; answers how many. Their partitions count as taken by force."""
    fenced = urls = 0
    for worker, session, in_flight in db.execute(SESSION_SQL["live"]).fetchall():
        if worker != me and not database.session_alive(session):
            fence(db, worker, now, forced_at=now)
            database.session_file(session).unlink(missing_ok=True)
            fenced += 1
            urls += in_flight
    return FencedSessions(fenced, urls)


def fence(db: apsw.Connection, worker: int, now: int, forced_at: int | None) -> None:
    db.execute(SESSION_SQL["fence_session"], (now, worker))
    db.execute(SESSION_SQL["free_partitions"], (forced_at, worker))
    db.execute(SESSION_SQL["withdraw_offers"], (worker,))
    db.execute(SESSION_SQL["return_grants"], (worker,))
    db.execute(SESSION_SQL["drop_grants"], (worker,))


def end_at_max_pages(db: apsw.Connection, crawl: int) -> None:
    """End a crawl at its limit of pages; one with requisites ends only its pages."""
    if not db.execute(SQL["outlives_pages"], (crawl,)).get:
        end_at_limit(db, crawl, Reason.LIMIT_PAGES, "max_pages")
        return
    db.execute(SQL["end_pages_at_limit"], (crawl,))
    if db.changes():
        db.execute(SQL["bump_control"])


def end_at_limit(db: apsw.Connection, crawl: int, reason: str, limited_by: str) -> bool:
    """End a crawl; whether this call did it. A later call changes nothing, not even the control version."""
    db.execute(SQL["end_crawl_at_limit"], (reason, limited_by, crawl))
    if not db.changes():
        return False
    db.execute(SQL["bump_control"])
    return True
