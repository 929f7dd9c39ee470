"""The worker's side of the PostgreSQL store: one session, one transaction per flush, a dozen statements in it.

Several sessions flush at once, under READ COMMITTED. What makes that safe:
- The fence is the first statement: it locks the session's own row, so nobody can fence it before the commit.
- A host has one owner, and only the owner deletes its frontier rows, changes its queues and writes its clock.
- Others insert rows and append an arrival in the same transaction. If the owner puts a queue to sleep without seeing
  those rows, they were not committed yet; with them comes the arrival, which the owner takes in a later flush.
- Ownership itself changes only by the owner's own flush (hand back) or after its fence.
"""

import secrets
from bisect import bisect
from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic_core import to_json

from nephila.errors import Fenced, UsageError
from nephila.frontier.columns import error_values, host_values, page_values, robots_values
from nephila.frontier.grants import share_of
from nephila.frontier.operators import Rulings
from nephila.frontier.postgres.arrays import Blobs, Column, Floats, Ints, Texts, columns
from nephila.frontier.postgres.connection import Cursor, Database
from nephila.frontier.postgres.inserter import Inserter, Refusals, hosts_of
from nephila.frontier.postgres.rulebook import PostgresRulebook
from nephila.frontier.postgres.sessions import fence, fence_dead
from nephila.frontier.rows import crawl_of
from nephila.frontier.statements import statements
from nephila.frontier.store import (
    ERRORS_PER_FLUSH,
    Batch,
    Crawl,
    ErrorNote,
    Flushed,
    HostRecord,
    Outcome,
    Refill,
    RobotsRecord,
    Row,
    Vitals,
    Window,
    WorkerInfo,
)
from nephila.models import STATE_CODES, Child, CrawlState, Kind, PageRecord, Reason, UrlState
from nephila.policy.balance import Lease, balance
from nephila.policy.politeness import Pace

SQL = statements("postgres", "worker")
SESSION_SQL = statements("postgres", "session")
CATALOG_SQL = statements("postgres", "catalog")

END_CHUNK = 2000  # open rows that one flush ends without a request: keeps a transaction far below 0.5 s
ARRIVALS_MAX = 5000  # taken by one flush
LEASE_USED = 0.9  # of the lease requests may start in: the rest is for clocks that run at different speeds
ENDED_BY: dict[str, UrlState] = {
    Reason.HOST_DEAD: UrlState.FAILED,
    Reason.CANCELLED: UrlState.CANCELLED,
}  # else: excluded
KINDS = {kind.value: kind for kind in Kind}

# fmt: off
HOST_KINDS: tuple[Column, ...] = (
    Texts, Ints, Ints, Floats, Floats, Ints, Ints, Ints, Ints, Ints, Texts, Ints, Texts, Texts,
)
ROBOTS_KINDS: tuple[Column, ...] = (Texts, Texts, Texts, Ints, Blobs, Ints, Ints, Texts, Ints)
PAGE_KINDS: tuple[Column, ...] = (
    Ints, Ints, Ints, Ints, Texts,  # url, crawl, state, tries, reason; then columns.PAGE_COLUMNS
    Ints, Texts, Ints, Ints, Ints, Floats, Floats, Floats, Floats, Floats,
    Texts, Texts, Texts, Texts, Texts, Blobs, Texts, Ints, Ints, Texts, Texts, Texts, Blobs, Blobs,
)
# fmt: on
RETRY_KINDS: tuple[Column, ...] = (Ints, Ints, Ints, Ints, Texts)
ERROR_KINDS: tuple[Column, ...] = (Ints, Ints, Ints, Ints, Texts, Texts, Ints)

Tallies = Counter[tuple[int, str]]
Ending = dict[int, tuple[int, str]]  # queue -> crawl, reason: its open rows end without a request


class PostgresFrontier:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.worker = 0
        self._session = ""
        self._parts: frozenset[int] = frozenset()
        self._sorted_parts: list[int] = []
        self._last_part = -1  # where the last full load stopped
        self._inserter = Inserter()
        self._control = -1  # version of _crawls
        self._crawls: dict[int, tuple[str, str]] = {}  # open crawls: state, reason
        self._pages_limited: set[int] = set()  # of them, those with max_pages
        database.prefer_indexes()

    # --- session

    def join(self, info: WorkerInfo) -> int:
        session = secrets.token_hex(16)
        values = {"session": session, "lease_ms": self.database.lease_ms}
        values |= {"name": info.name, "pid": info.pid, "version": info.version}

        def work(cursor: Cursor) -> int:
            row = cursor.execute(SESSION_SQL["join"], {**values, "now": self.database.now()}).fetchall()[0]
            return int(row[0])

        self._inserter.forget()  # a restored database numbers its queues anew
        self._control = -1
        self.worker, self._session = self.database.run(work), session
        return self.worker

    def lease(self, loads: dict[int, float], vitals: Vitals = Vitals()) -> Lease:
        lease = self.database.run(lambda cursor: self._lease(cursor, loads, vitals))
        self._own(lease.partitions)
        return lease

    def _lease(self, cursor: Cursor, loads: dict[int, float], vitals: Vitals) -> Lease:
        now = self._renew(cursor, vitals)
        fenced = fence_dead(cursor, now, self.worker)
        if loads:
            parts = sorted(loads)
            shares = Floats(loads[part] for part in parts)
            cursor.execute(SESSION_SQL["set_loads"], (Ints(parts), shares, self.worker))
        live = [worker for (worker,) in cursor.execute(SESSION_SQL["live"]).fetchall()]
        table = cursor.execute(SESSION_SQL["partitions"]).fetchall()
        if self._move(cursor, live, table):
            table = cursor.execute(SESSION_SQL["partitions"]).fetchall()
        me = self.worker
        mine = {p: None if forced is None else max(0, now - forced) for p, owner, _, _, forced in table if owner == me}
        give = [p for p, owner, offered, *_ in table if owner == me and offered in live and offered != me]
        return Lease(mine, give, len(live), self.database.lease_ms * LEASE_USED, fenced)

    def _renew(self, cursor: Cursor, vitals: Vitals) -> int:
        """The moment, by the clock that counts."""
        values: dict[str, Any] = {"worker": self.worker, "session": self._session, "lease_ms": self.database.lease_ms}
        values |= {"now": self.database.injected_now(), "pages": vitals.pages, "pages_per_s": vitals.pages_per_s}
        values |= {"cpu": vitals.cpu, "rss_bytes": vitals.rss_bytes}
        row = cursor.execute(SESSION_SQL["renew"], values).fetchone()
        if row is None:
            raise Fenced("another process has taken over this session")
        return int(row[0])

    def _move(self, cursor: Cursor, live: list[int], table: list[tuple[Any, ...]]) -> bool:
        """Take and offer what balance says; whether anything changed."""
        owners = {part: owner for part, owner, *_ in table}
        loads = {part: load for part, _, _, load, _ in table}
        offers = {part: offered for part, _, offered, *_ in table if offered is not None}
        moves = balance(self.worker, live, owners, loads, offers)
        if moves.take:
            wanted = Ints(moves.take)
            taken = Ints(part for (part,) in cursor.execute(SESSION_SQL["take"], (self.worker, wanted)).fetchall())
            cursor.execute(SESSION_SQL["free_queues"], (taken,))
        if moves.give:
            given = Ints(part for part, _ in moves.give), Ints(to for _, to in moves.give)
            cursor.execute(SESSION_SQL["offer"], (*given, self.worker))
        return bool(moves.take or moves.give)

    def leave(self) -> None:
        self.database.run(self._leave)
        self._own(())

    def _leave(self, cursor: Cursor) -> None:
        if not cursor.execute(SESSION_SQL["lock_session"], (self.worker, self._session)).fetchall():
            return  # a restored database does not know us
        owned = Ints(part for (part,) in cursor.execute(SESSION_SQL["owned"], (self.worker,)).fetchall())
        cursor.execute(SESSION_SQL["free_queues"], (owned,))
        fence(cursor, [self.worker], self.database.now(), forced_at=None)

    def crawl(self, crawl_id: int) -> Crawl:
        row = self.database.one(CATALOG_SQL["crawl"], (crawl_id,))
        if row is None:
            raise UsageError(f"there is no crawl {crawl_id}")
        return crawl_of(row, self.database.now())

    def controls(self) -> list[Crawl]:
        now = self.database.now()
        return [crawl_of(row, now) for row in self.database.read(CATALOG_SQL["open_crawls"])]

    def rulings(self) -> Rulings:
        return PostgresRulebook(self.database).rulings()

    def _own(self, parts: Iterable[int]) -> None:
        self._parts = frozenset(parts)
        self._sorted_parts = sorted(self._parts)

    # --- the flush

    def flush(self, batch: Batch) -> Flushed:
        owned = self._parts

        def undo() -> None:
            self._inserter.forget()  # ids of rows that were rolled back
            self._control = -1
            self._own(owned)

        return self.database.run(lambda cursor: self._flush(cursor, batch), undo)

    def _flush(self, cursor: Cursor, batch: Batch) -> Flushed:
        """The order matters: permits before children, children before releases, releases before loading."""
        now = self._fence(cursor, batch)
        if now is None:
            self._own(self._parts.difference(batch.hand_back))
            return self._repeated(cursor)
        seen, limited = self._control, self._pages_limited
        answer = Flushed(valid_ms=self.database.lease_ms * LEASE_USED)
        tallies, refusals = Counter(batch.tallies), Counter(batch.refusals)
        ended = self._end(cursor, batch.outcomes, tallies, answer)
        self._insert_children(cursor, ended, batch.children, now, tallies, refusals)
        with cursor.connection.pipeline():
            self._insert_pages(cursor, ended, batch.archive_files)
            self._write_hosts(cursor, batch, now)
            self._release(cursor, batch, now)
            self._hand_back(cursor, batch.hand_back)
        bumped = self._grant_pages(cursor, ended, batch, answer) | self._join_hosts(cursor, batch)
        self._take_arrivals(cursor, now, answer)
        if bumped:
            self._see_control(cursor, cursor.execute(SQL["control_version"]).fetchall()[0][0])
        answer.control = self._control
        self._load(cursor, batch, now, tallies, answer)
        version = self._count(cursor, tallies, refusals, batch)
        if version != seen:
            self._count_ungranted(cursor, ended, limited)
        if version != batch.control_seen:
            self._wake_released(cursor, batch, now)
        self._note_errors(cursor, batch.errors, now)
        return answer

    def _fence(self, cursor: Cursor, batch: Batch) -> int | None:
        """The moment, by the clock that counts; None: this batch was committed before."""
        values: dict[str, Any] = {"seq": batch.seq, "worker": self.worker, "control_seen": batch.control_seen}
        values |= {"now": self.database.injected_now(), "lease_ms": self.database.lease_ms, "session": self._session}
        values |= {"in_flight": to_json(batch.in_flight).decode()}
        version, now = cursor.execute(SQL["fence"], values).fetchall()[0]
        if now is not None:
            self._see_control(cursor, version)
            return int(now)
        found = cursor.execute(
            SQL["session"], (self.worker, self._session)
        ).fetchone()  # a restored one may not know us
        if found is None or found[1] is not None or found[0] != batch.seq:
            raise Fenced(f"session of worker {self.worker} was taken over (flush {batch.seq}, stored {found})")
        return None

    def _repeated(self, cursor: Cursor) -> Flushed:
        grants = dict(cursor.execute(SQL["grants_of"], (self.worker,)).fetchall())
        control = cursor.execute(SQL["control_version"]).fetchall()[0][0]
        return Flushed(repeated=True, grants=grants, control=control)

    def _see_control(self, cursor: Cursor, version: int) -> None:
        if version == self._control:
            return
        found = cursor.execute(SQL["open_crawls"]).fetchall()
        self._control = version
        self._crawls = {crawl: (state, reason) for crawl, state, reason, _ in found}
        self._pages_limited = {crawl for crawl, _, _, limited in found if limited}

    def _count(self, cursor: Cursor, tallies: Tallies, refusals: Refusals, batch: Batch) -> int:
        """Not for crawls that were deleted meanwhile: nobody would ever remove these rows. The control version now."""
        counted = [(crawl, name, n) for (crawl, name), n in tallies.items() if n and crawl in self._crawls]
        refused = [(*where, n) for where, n in refusals.items() if where[0] in self._crawls]
        if not counted and not refused and not batch.released:
            return self._control
        tallied = columns((Ints, Texts, Ints), counted)
        values = self.worker, *tallied, self.worker, *columns((Ints, Texts, Texts, Ints), refused)
        return int(cursor.execute(SQL["count"], values).fetchall()[0][0])

    def _count_ungranted(self, cursor: Cursor, ended: list[Outcome], limited: set[int]) -> None:
        """max_pages may have been set while the fence waited: it answered the version of before (one snapshot a
        statement), and what this flush brings was not there yet when the pages were counted."""
        if ungranted := pages_of(outcome for outcome in ended if outcome.crawl not in limited):
            cursor.execute(SQL["count_ungranted"], columns((Ints, Ints), sorted(ungranted.items())))

    def _wake_released(self, cursor: Cursor, batch: Batch, now: int) -> None:
        """An operator has decided something since the batch was made: the rest of its queues may be over. Who changes
        a host's rule waits for the flushes under way, so this look, the last of the transaction, misses none."""
        if batch.released:
            cursor.execute(SQL["wake_released"], {"queues": Ints(r.queue for r in batch.released), "now": now})

    def _note_errors(self, cursor: Cursor, errors: list[ErrorNote], now: int) -> None:
        open_crawls, me = self._crawls, self.worker
        noted = [error_values(note, me, now) for note in errors[:ERRORS_PER_FLUSH] if note.crawl in open_crawls]
        if noted:
            cursor.execute(SQL["add_errors"], columns(ERROR_KINDS, noted))

    # --- outcomes, pages, children

    def _end(self, cursor: Cursor, outcomes: list[Outcome], tallies: Tallies, answer: Flushed) -> list[Outcome]:
        """Outcomes that had the permit: each deleted row is one."""
        if not outcomes:
            return []
        asked = Ints(outcome.url_id for outcome in outcomes)
        permits = {url for (url,) in cursor.execute(SQL["end_urls"], (asked,)).fetchall()}
        ended = []
        for outcome in outcomes:
            if outcome.url_id in permits:
                permits.remove(outcome.url_id)
                ended.append(outcome)
                tallies[outcome.crawl, outcome.state.value] += 1
        answer.refused_outcomes = len(outcomes) - len(ended)
        return ended

    def _insert_children(
        self,
        cursor: Cursor,
        ended: list[Outcome],
        others: list[Child],
        now: int,
        tallies: Tallies,
        refusals: Refusals,
    ) -> None:
        """Not of crawls that were deleted meanwhile. One look-up finds the queues of links and children."""
        living = [outcome for outcome in ended if outcome.crawl in self._crawls]
        children = [child for outcome in living for child in outcome.children]
        children += [child for child in others if child.crawl in self._crawls]
        hosts = hosts_of(children)
        for outcome in living:
            if outcome.page is not None:
                hosts.setdefault(outcome.crawl, set()).update(outcome.page.links)
        self._inserter.find_queues(cursor, hosts)
        inserted = self._inserter.insert_all(cursor, children, self._sorted_parts, now, refusals)
        for crawl, count in inserted.items():
            tallies[crawl, "urls"] += count

    def _insert_pages(self, cursor: Cursor, ended: list[Outcome], files: list[tuple[str, int]]) -> None:
        ids, blank, names = self._inserter.ids, PageRecord(), {name: name for name, _ in files}
        rows = [
            (
                *(o.url_id, o.crawl, STATE_CODES[o.state], o.tries, o.reason or None),
                *page_values(o.page or blank, ids(o.crawl), names),
            )
            for o in ended
        ]
        if rows or files:
            sizes = columns((Texts, Ints), list(dict(files).items()))
            cursor.execute(SQL["insert_pages"], (self.worker, *sizes, *columns(PAGE_KINDS, rows)))

    # --- hosts, limits, releases

    def _write_hosts(self, cursor: Cursor, batch: Batch, now: int) -> None:
        if batch.retries:
            retries = [(r.url_id, now + r.in_ms, r.tries, r.crashes, r.reason) for r in batch.retries]
            cursor.execute(SQL["retry_urls"], columns(RETRY_KINDS, retries))
        for statement, clocks in ((SQL["upsert_hosts"], batch.clocks), (SQL["resolve_hosts"], batch.resolved)):
            if clocks:
                values = {clock.host: host_values(clock, now) for clock in clocks}  # the last word of each
                cursor.execute(statement, columns(HOST_KINDS, list(values.values())))
        if batch.robots:
            answers = {(record.host, record.origin): robots_values(record, now) for record in batch.robots}
            cursor.execute(SQL["upsert_robots"], columns(ROBOTS_KINDS, list(answers.values())))

    def _release(self, cursor: Cursor, batch: Batch, now: int) -> None:
        if batch.deaths:
            cursor.execute(SQL["mark_dead"], columns((Ints, Texts), batch.deaths))
        if batch.released:
            queue, fetched = Ints(r.queue for r in batch.released), Ints(r.fetched for r in batch.released)
            values = {"queue": queue, "fetched": fetched, "not_before": Ints(now + r.in_ms for r in batch.released)}
            cursor.execute(SQL["release_queues"], {**values, "now": now, "worker": self.worker})
        if batch.holding is not None:
            cursor.execute(SQL["free_lost"], (Ints(self._sorted_parts), self.worker, Ints(batch.holding)))

    def _hand_back(self, cursor: Cursor, parts: list[int]) -> None:
        """Nothing of them may be loaded any more, also not by this very flush."""
        if parts:
            cursor.execute(SQL["hand_back"], (Ints(parts), self.worker))
            self._own(self._parts.difference(parts))

    def _grant_pages(self, cursor: Cursor, ended: list[Outcome], batch: Batch, answer: Flushed) -> bool:
        """Whether the control version moved. The rows of limited crawls are locked as late as possible."""
        used = pages_of(outcome for outcome in ended if outcome.crawl in self._pages_limited)
        asked, me = batch.grants_wanted, self.worker
        if not used and not asked:
            return False
        found = cursor.execute(SQL["lock_grants"], (me, Ints(used.keys() | asked.keys()))).fetchall()
        before = {crawl: in_hand or 0 for crawl, _, in_hand in found}
        shares = {c: share_of(left, before[c], used[c], asked.get(c)) for c, left, _ in found}
        changes = [(c, s.in_hand, s.granted) for c, s in shares.items() if s.granted or s.in_hand != before[c]]
        if changes:
            cursor.execute(SQL["grant_pages"], (*columns((Ints, Ints, Ints), changes), me))
        answer.grants = {crawl: shares[crawl].in_hand if crawl in shares else 0 for crawl in asked}
        return sum(self._end_if_used(cursor, crawl) for crawl, share in shares.items() if share.spent) > 0

    def _end_if_used(self, cursor: Cursor, crawl: int) -> bool:
        if cursor.execute(SQL["granted_unused"], (crawl,)).fetchall()[0][0]:
            return False
        return end_at_limit(cursor, crawl, Reason.LIMIT_PAGES, "max_pages")

    def _join_hosts(self, cursor: Cursor, batch: Batch) -> bool:
        if not batch.joined_hosts:
            return False
        for crawl, host in sorted(batch.joined_hosts):
            cursor.execute(SQL["join_host"], {"crawl": crawl, "host": host})
        cursor.execute(SQL["bump_control"])  # after crawls, as everywhere: else two could wait for each other
        return True

    # --- loading

    def _take_arrivals(self, cursor: Cursor, now: int, answer: Flushed) -> None:
        if self._parts:
            values = {"parts": Ints(self._sorted_parts), "limit": ARRIVALS_MAX, "now": now}
            answer.arrived = [queue for (queue,) in cursor.execute(SQL["take_arrivals"], values).fetchall()]

    def _load(self, cursor: Cursor, batch: Batch, now: int, tallies: Tallies, answer: Flushed) -> None:
        if batch.refills:
            answer.refills = self._refilled(cursor, batch.refills, now)
        if batch.new_queues > 0 and self._parts:
            self._load_queues(cursor, batch, now, tallies, answer)
        if batch.next_due and self._parts:
            due = cursor.execute(SQL["next_due"], (Ints(self._sorted_parts),)).fetchall()[0][0]
            answer.next_due_in_ms = None if due is None else max(0, due - now)

    def _refilled(self, cursor: Cursor, refills: list[Refill], now: int) -> list[Window]:
        windows = {refill.queue: Window(refill.queue, 0, "", []) for refill in refills}
        values = {"queue": Ints(r.queue for r in refills), "limit": Ints(r.limit for r in refills), "now": now}
        for queue, *row in cursor.execute(SQL["refill_queues"], values).fetchall():
            windows[queue].rows.append(_row(row))
        return list(windows.values())

    def _load_queues(self, cursor: Cursor, batch: Batch, now: int, tallies: Tallies, answer: Flushed) -> None:
        ending = self._ending_queues(cursor)
        windows: dict[int, Window] = {}
        found = self._found(cursor, batch, now)
        for queue, crawl, host, fetched, dead, _, *row in found:
            state, reason = self._crawls.get(crawl, (CrawlState.PAUSED, ""))
            if dead or state == CrawlState.ENDING:
                ending[queue] = (crawl, dead or reason)
            elif state == CrawlState.RUNNING:
                window = windows.get(queue) or windows.setdefault(queue, Window(queue, crawl, host, [], fetched))
                if row[0] is not None:
                    window.rows.append(_row(row))
        if len({queue for queue, *_ in found}) == batch.new_queues:
            self._last_part = found[-1][5]
        answer.windows = [window for window in windows.values() if window.rows]
        empty = [window.queue for window in windows.values() if not window.rows]
        self._end_rows(cursor, ending, empty, now, tallies)
        answer.hosts = self._hosts(cursor, {window.host for window in answer.windows}, now)

    def _found(self, cursor: Cursor, batch: Batch, now: int) -> list[tuple[Any, ...]]:
        running = Ints(crawl for crawl, (state, _) in self._crawls.items() if state == CrawlState.RUNNING)
        ending = Ints(crawl for crawl, (state, _) in self._crawls.items() if state == CrawlState.ENDING)
        each = max(1, 4 * batch.new_queues // len(self._parts))
        values = {"parts": self._rotated_parts(), "each": each, "limit": batch.new_queues, "window": batch.window}
        values |= {"running": running, "ending": ending, "now": now, "worker": self.worker}
        return cursor.execute(SQL["load_queues"], values).fetchall()

    def _ending_queues(self, cursor: Cursor) -> Ending:
        crawls = {crawl: reason for crawl, (state, reason) in self._crawls.items() if state == CrawlState.ENDING}
        if not crawls:
            return {}
        values = (Ints(crawls), Ints(self._sorted_parts), END_CHUNK)
        found = cursor.execute(SQL["ending_queues"], values).fetchall()
        return {queue: (crawl, dead or crawls[crawl]) for queue, crawl, dead in found}

    def _end_rows(self, cursor: Cursor, ending: Ending, empty: list[int], now: int, tallies: Tallies) -> None:
        """A chunk of open rows ends without a request. Queues with some left stay due, the others sleep."""
        if ending:
            states = {queue: ENDED_BY.get(reason, UrlState.EXCLUDED) for queue, (_, reason) in ending.items()}
            values = {"queue": Ints(ending), "crawl": Ints(crawl for crawl, _ in ending.values())}
            values |= {"reason": Texts(reason for _, reason in ending.values())}  # type: ignore[dict-item]
            values |= {"state": Ints(STATE_CODES[state] for state in states.values())}
            for queue, count in cursor.execute(SQL["end_rows"], {**values, "chunk": END_CHUNK}).fetchall():
                crawl, reason = ending[queue]
                tallies[crawl, states[queue].value] += count
                tallies[crawl, f"reason:{reason}"] += count
        resting = [(queue, now) for queue in ending] + [(queue, 0) for queue in empty]
        if resting:
            cursor.execute(SQL["rest_queues"], columns((Ints, Ints), resting))

    def _rotated_parts(self) -> Ints:
        """From behind the one where the last full load stopped, so that no partition is always last."""
        parts = self._sorted_parts
        start = bisect(parts, self._last_part)
        return Ints(parts[start:] + parts[:start])

    def _hosts(self, cursor: Cursor, hosts: set[str], now: int) -> dict[str, HostRecord]:
        if not hosts:
            return {}
        found = {host: HostRecord(0, Pace(), "", 0, []) for host in hosts}
        # Binary: the text of a robots.txt would be sent as hexadecimal digits.
        for row in cursor.execute(SQL["hosts"], (Texts(hosts),), binary=True).fetchall():
            known, next_at, latency, slowdown, errors, strikes, nxdomain, crawl_delay, override, rest = row[:10]
            requests, resolved, host, origin, access, status, body, expires_at, *seen = row[10:]
            record = found[host]
            if known is not None:
                record.pace = Pace(latency, slowdown, errors, strikes, crawl_delay, override, nxdomain)
                record.next_in_ms, record.rest_reason = max(0, next_at - now), rest
                record.requests, record.resolved = requests, resolved
            if origin is not None:
                record.robots.append(RobotsRecord(origin, host, access, status, body, expires_at - now, *seen))
        return found


def end_at_limit(cursor: Cursor, crawl: int, reason: str, limited_by: str) -> bool:
    """Once: every later call changes nothing, so the control version stands still."""
    values = {"crawl": crawl, "reason": reason, "limited_by": limited_by}
    return bool(cursor.execute(SQL["end_crawl_at_limit"], values).fetchall())


def pages_of(outcomes: Iterable[Outcome]) -> Counter[int]:
    """Of each crawl, as max_pages counts them."""
    return Counter(o.crawl for o in outcomes if o.state is UrlState.VISITED and o.counts)


def _row(values: list[Any]) -> Row:
    url_id, url, depth, kind, hops, tries, crashes, raw = values
    return Row(url_id, url, depth, KINDS[kind], hops, tries, crashes, raw)
