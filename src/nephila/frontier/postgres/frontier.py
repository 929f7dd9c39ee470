"""The worker's side of the PostgreSQL store: one session, one transaction per flush, a dozen statements in it.

Several sessions flush at once, under READ COMMITTED. What makes that safe:
- The fence is the first statement: it locks the session's own row, so nobody can fence it before the commit.
- A host has one owner, and only the owner deletes its frontier rows, changes its queues and writes its clock.
- Others insert rows and append an arrival in the same transaction. If the owner puts a queue to sleep without seeing
  those rows, they were not committed yet; with them comes the arrival, which the owner takes in a later flush.
- Ownership itself changes only by the owner's own flush (hand back) or after its fence.
"""

import secrets
from collections import Counter
from functools import partial
from typing import Any

from pydantic_core import to_json

from nephila.errors import Fenced
from nephila.frontier.columns import (
    ERRORS,
    HOSTS,
    PAGES,
    ROBOTS,
    host_values,
    open_row,
    page_values,
    robots_values,
)
from nephila.frontier.grants import share_of
from nephila.frontier.operators import Rulings
from nephila.frontier.postgres.arrays import Blobs, Floats, Ints, Texts, array_types, arrays
from nephila.frontier.postgres.connection import Cursor, PostgresDatabase
from nephila.frontier.postgres.inserter import PostgresInserter, hosts_of
from nephila.frontier.postgres.sessions import fence, fence_dead
from nephila.frontier.rows import crawl_of, host_records
from nephila.frontier.rulebook import Rulebook
from nephila.frontier.session import (
    ARRIVALS_MAX,
    END_CHUNK,
    ENTRY_URLS_MAX,
    Counts,
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
from nephila.frontier.statements import statements
from nephila.frontier.store import (
    EXAMPLES_EACH,
    SLOT_MS,
    Batch,
    Crawl,
    ErrorNote,
    Flushed,
    HostRecord,
    Outcome,
    Refill,
    RefusedLink,
    SitemapEntry,
    Vitals,
    Window,
    WorkerInfo,
)
from nephila.models import STATE_CODES, Child, CrawlState, PageRecord, Reason
from nephila.policy.balance import Lease

SQL = statements("postgres", "worker")
SESSION_SQL = statements("postgres", "session")
CATALOG_SQL = statements("postgres", "catalog")

LEASE_USED = 0.9  # of the lease requests may start in: the rest is for clocks that run at different speeds

HOST_ARRAYS, ROBOTS_ARRAYS, ERROR_ARRAYS = array_types(HOSTS), array_types(ROBOTS), array_types(ERRORS)
# Before the columns of the page: url, crawl, state, tries, reason, file.
PAGE_ARRAYS = (Ints, Ints, Ints, Ints, Texts, Texts, *array_types(PAGES))

Ending = dict[int, tuple[int, str]]  # queue -> crawl, reason: its open rows end without a request


class PostgresFrontier(SessionMemory):
    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__()
        self.database = database
        self._inserter = PostgresInserter()
        database.prefer_indexes()

    # --- session

    def join(self, info: WorkerInfo) -> int:
        session = secrets.token_hex(16)
        values = {"session": session, "lease_ms": self.database.lease_ms}
        values |= {"name": info.name, "pid": info.pid, "version": info.version}

        def work(cursor: Cursor) -> int:
            row = cursor.execute(SESSION_SQL["join"], {**values, "now": self.database.now()}).fetchall()[0]
            return int(row[0])

        self._own(())  # what an earlier session had is another's by now: this one loads nothing before its first lease
        self._inserter.forget()  # a restored database numbers its queues anew
        self._control = -1
        self.worker, self._session = self.database.run(work), session
        return self.worker

    def lease(self, loads: dict[int, float], vitals: Vitals = Vitals()) -> Lease:
        self.database.note_time()
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
        lease = lease_of(self.worker, live, table, now, fenced)
        lease.valid_ms = self.database.lease_ms * LEASE_USED
        return lease

    def _renew(self, cursor: Cursor, vitals: Vitals) -> int:
        """Renew the lease; answers the time now by the clock of the database."""
        values: dict[str, Any] = {"worker": self.worker, "session": self._session, "lease_ms": self.database.lease_ms}
        values |= {"now": self.database.injected_now(), "pages": vitals.pages, "pages_per_s": vitals.pages_per_s}
        values |= {"cpu": vitals.cpu, "rss_bytes": vitals.rss_bytes}
        values |= {"received_per_s": vitals.received_per_s, "sent_per_s": vitals.sent_per_s}
        row = cursor.execute(SESSION_SQL["renew"], values).fetchone()
        if row is None:
            raise Fenced("another process has taken over this session")
        return int(row[0])

    def _move(self, cursor: Cursor, live: list[int], table: list[tuple[Any, ...]]) -> bool:
        """Take and offer the partitions that balance names; answers whether anything changed."""
        moves = moves_of(self.worker, live, table)
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
            return  # a database that was restored from a backup does not know this session
        owned = Ints(part for (part,) in cursor.execute(SESSION_SQL["owned"], (self.worker,)).fetchall())
        cursor.execute(SESSION_SQL["free_queues"], (owned,))
        fence(cursor, [self.worker], self.database.now(), forced_at=None)

    def controls(self) -> list[Crawl]:
        now = self.database.now()
        return [crawl_of(row, now) for row in self.database.read(CATALOG_SQL["open_crawls"])]

    def rulings(self) -> Rulings:
        return Rulebook(self.database).rulings()

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
        counts = Counts(Counter(batch.tallies), Counter(batch.refusals))
        answer = Flushed(valid_ms=self.database.lease_ms * LEASE_USED, crowded_out=counts.crowded_out)
        tallies = counts.tallies
        ended = self._end(cursor, batch.outcomes, tallies, answer)
        self._insert_children(cursor, ended, batch.children, now, counts)
        self._note_entries(cursor, batch.entries)
        with cursor.connection.pipeline():
            self._insert_pages(cursor, ended, batch.archive_files, now)
            self._write_hosts(cursor, batch, now)
            self._release(cursor, batch, now)
            self._hand_back(cursor, batch.hand_back)
        bumped = self._grant_pages(cursor, ended, batch, answer) | self._join_hosts(cursor, batch)
        self._take_arrivals(cursor, now, answer)
        if bumped:
            self._see_control(cursor, cursor.execute(SQL["control_version"]).fetchall()[0][0])
        answer.control = self._control
        self._load(cursor, batch, now, tallies, answer)
        version = self._count(cursor, tallies, counts.refusals, batch, now)
        if version != seen:
            self._count_ungranted(cursor, ended, limited)
        if version != batch.control_seen:
            self._wake_released(cursor, batch, now)
        self._note_errors(cursor, batch.errors, now)
        self._note_refused(cursor, batch.refused_rules, batch.refused_links + counts.refused_links)
        return answer

    def _fence(self, cursor: Cursor, batch: Batch) -> int | None:
        """Fence the transaction; answers the time now by the clock of the database, None for a repeated batch."""
        values: dict[str, Any] = {"seq": batch.seq, "worker": self.worker, "control_seen": batch.control_seen}
        values |= {"now": self.database.injected_now(), "lease_ms": self.database.lease_ms, "session": self._session}
        values |= {"in_flight": to_json(batch.in_flight).decode()}
        version, now = cursor.execute(SQL["fence"], values).fetchall()[0]
        if now is not None:
            self._see_control(cursor, version)
            return int(now)
        # No row: a database that was restored from a backup does not know this session.
        found = cursor.execute(SQL["session"], (self.worker, self._session)).fetchone()
        if found is None or found[1] is not None or found[0] != batch.seq:
            raise Fenced(f"session of worker {self.worker} was taken over (flush {batch.seq}, stored {found})")
        return None

    def _repeated(self, cursor: Cursor) -> Flushed:
        grants = dict(cursor.execute(SQL["grants_of"], (self.worker,)).fetchall())
        control = cursor.execute(SQL["control_version"]).fetchall()[0][0]
        return Flushed(repeated=True, grants=grants, control=control)

    def _see_control(self, cursor: Cursor, version: int) -> None:
        if version != self._control:
            self._remember_crawls(version, cursor.execute(SQL["open_crawls"]).fetchall())

    def _count(self, cursor: Cursor, tallies: Tallies, refusals: Refusals, batch: Batch, now: int) -> int:
        """Answers the control version as it is now."""
        counted, refused = self._countable(tallies), self._countable(refusals)
        done = done_by(batch, tallies)
        if not counted and not refused and not batch.released and not any(done):
            return self._control
        tallied = arrays((Ints, Texts, Ints), counted)
        values = self.worker, *tallied, self.worker, *arrays((Ints, Texts, Texts, Ints), refused)
        timed = now // SLOT_MS, self.worker, *done
        return int(cursor.execute(SQL["count"], values + timed).fetchall()[0][0])

    def _note_refused(self, cursor: Cursor, rules: dict[tuple[int, str, str], int], links: list[RefusedLink]) -> None:
        """Count refused links by rule, and keep some of them."""
        if counted := sorted(self._countable(rules)):
            cursor.execute(SQL["add_refused_rules"], (self.worker, *arrays((Ints, Texts, Texts, Ints), counted)))
        if kept := self._refused_links(links):
            columns = arrays((Ints, Texts, Texts, Texts, Texts, Ints), kept)
            cursor.execute(SQL["add_refused_links"], (*columns, EXAMPLES_EACH))

    def _count_ungranted(self, cursor: Cursor, ended: list[Outcome], limited: set[int]) -> None:
        """Count the pages of crawls whose max_pages was set while the fence waited.

        The fence answered the control version of before (each statement has its own snapshot), and the pages of this
        flush were not there yet when those of the crawl were counted.
        """
        if ungranted := pages_of(outcome for outcome in ended if outcome.crawl not in limited):
            cursor.execute(SQL["count_ungranted"], arrays((Ints, Ints), sorted(ungranted.items())))

    def _wake_released(self, cursor: Cursor, batch: Batch, now: int) -> None:
        """Wake the released queues after an operator's decision that the batch did not know: their rest may be over.

        Who changes a host's rule waits for the flushes under way, so the last statement of the transaction sees it.
        """
        if batch.released:
            cursor.execute(SQL["wake_released"], {"queues": Ints(r.queue for r in batch.released), "now": now})

    def _note_errors(self, cursor: Cursor, errors: list[ErrorNote], now: int) -> None:
        if noted := self._error_rows(errors, now):
            cursor.execute(SQL["add_errors"], arrays(ERROR_ARRAYS, noted))

    # --- outcomes, pages, children

    def _end(self, cursor: Cursor, outcomes: list[Outcome], tallies: Tallies, answer: Flushed) -> list[Outcome]:
        """The outcomes that had a permit: each row that this deletes is one."""
        if not outcomes:
            return []
        asked = [(outcome.url_id, outcome.crawl, n // ENTRY_URLS_MAX) for n, outcome in enumerate(outcomes)]
        permits = {url for (url,) in cursor.execute(SQL["end_urls"], arrays((Ints, Ints, Ints), asked)).fetchall()}
        ended = []
        for outcome in outcomes:
            if outcome.url_id in permits:
                permits.remove(outcome.url_id)
                ended.append(outcome)
        self._count_ended(ended, tallies, partial(_tally_names, cursor))
        answer.refused_outcomes = len(outcomes) - len(ended)
        return ended

    def _insert_children(
        self, cursor: Cursor, ended: list[Outcome], others: list[Child], now: int, counts: Counts
    ) -> None:
        """Insert the children of crawls that were not deleted meanwhile. One look-up finds the queues of all links."""
        living = [outcome for outcome in ended if outcome.crawl in self._crawls]
        children = [child for outcome in living for child in outcome.children]
        children += [child for child in others if child.crawl in self._crawls]
        hosts = hosts_of(children)
        for outcome in living:
            if outcome.page is not None:
                hosts.setdefault(outcome.crawl, set()).update(outcome.page.links)
        self._inserter.find_queues(cursor, hosts)
        inserted = self._inserter.insert(cursor, children, self._sorted_parts, now, counts)
        for crawl, added in inserted.items():
            added.add_to(crawl, counts.tallies)

    def _note_entries(self, cursor: Cursor, entries: list[SitemapEntry]) -> None:
        rows = [
            (e.crawl, e.sitemap, e.lastmod, e.priority, e.notes, self._inserter.ids(e.crawl).get(e.host, 0), e.key)
            for e in entries
            if e.crawl in self._crawls
        ]
        if rows:
            columns = arrays((Ints, Ints, Ints, Floats, Texts, Ints, Blobs), rows)
            cursor.execute(SQL["add_sitemap_entries"], columns)

    def _insert_pages(self, cursor: Cursor, ended: list[Outcome], files: list[tuple[str, int]], now: int) -> None:
        ids, blank, names = self._inserter.ids, PageRecord(), {name: name for name, _ in files}
        rows = []
        for o in ended:
            page = o.page or blank
            file = names[page.archive.file] if page.archive else None
            outcome_values = o.url_id, o.crawl, STATE_CODES[o.state], o.tries, o.reason or None, file
            rows.append(outcome_values + page_values(page, ids(o.crawl)))
        if rows or files:
            sizes = arrays((Texts, Ints), list(dict(files).items()))
            cursor.execute(SQL["insert_pages"], (self.worker, *sizes, now, *arrays(PAGE_ARRAYS, rows)))

    # --- hosts, limits, releases

    def _write_hosts(self, cursor: Cursor, batch: Batch, now: int) -> None:
        if batch.retries:
            retries = [
                (r.url_id, r.crawl, n // ENTRY_URLS_MAX, now + r.in_ms, r.tries, r.crashes, r.limited, r.reason)
                for n, r in enumerate(batch.retries)
            ]
            cursor.execute(SQL["retry_urls"], (now, *arrays((*[Ints] * 7, Texts), retries)))
        for statement, clocks in ((SQL["upsert_hosts"], batch.clocks), (SQL["resolve_hosts"], batch.resolved)):
            if clocks:
                values = {clock.host: host_values(clock, now) for clock in clocks}  # the last word of each
                cursor.execute(statement, arrays(HOST_ARRAYS, list(values.values())))
        if batch.robots:
            answers = {(record.host, record.origin): robots_values(record, now) for record in batch.robots}
            cursor.execute(SQL["upsert_robots"], arrays(ROBOTS_ARRAYS, list(answers.values())))

    def _release(self, cursor: Cursor, batch: Batch, now: int) -> None:
        if batch.deaths:
            cursor.execute(SQL["mark_dead"], arrays((Ints, Texts), batch.deaths))
        if batch.released:
            queue, fetched = Ints(r.queue for r in batch.released), Ints(r.fetched for r in batch.released)
            values = {"queue": queue, "fetched": fetched, "not_before": Ints(now + r.in_ms for r in batch.released)}
            cursor.execute(SQL["release_queues"], {**values, "now": now, "worker": self.worker})
        if batch.fetched:
            cursor.execute(SQL["note_fetched"], (*arrays((Ints, Ints), batch.fetched), self.worker))
        if batch.holding is not None:
            cursor.execute(SQL["free_lost"], (Ints(self._sorted_parts), self.worker, Ints(batch.holding)))

    def _hand_back(self, cursor: Cursor, parts: list[int]) -> None:
        """Give partitions up before loading: this very flush loads nothing of theirs any more."""
        if parts:
            cursor.execute(SQL["hand_back"], (Ints(parts), self.worker))
            self._own(self._parts.difference(parts))

    def _grant_pages(self, cursor: Cursor, ended: list[Outcome], batch: Batch, answer: Flushed) -> bool:
        """Hand out pages of limited crawls, whose rows are locked as late as possible; whether the control version
        moved."""
        used = pages_of(outcome for outcome in ended if outcome.crawl in self._pages_limited)
        asked, me = batch.grants_wanted, self.worker
        if not used and not asked:
            return False
        found = cursor.execute(SQL["lock_grants"], (me, Ints(used.keys() | asked.keys()))).fetchall()
        before = {crawl: in_hand or 0 for crawl, _, in_hand in found}
        shares = {c: share_of(left, before[c], used[c], asked.get(c)) for c, left, _ in found}
        changes = [(c, s.in_hand, s.granted) for c, s in shares.items() if s.granted or s.in_hand != before[c]]
        if changes:
            cursor.execute(SQL["grant_pages"], (*arrays((Ints, Ints, Ints), changes), me))
        answer.grants = {crawl: shares[crawl].in_hand if crawl in shares else 0 for crawl in asked}
        return sum(self._end_if_used(cursor, crawl) for crawl, share in shares.items() if share.spent) > 0

    def _end_if_used(self, cursor: Cursor, crawl: int) -> bool:
        if cursor.execute(SQL["granted_unused"], (crawl,)).fetchall()[0][0]:
            return False
        if cursor.execute(SQL["outlives_pages"], (crawl,)).fetchall()[0][0]:
            return bool(cursor.execute(SQL["end_pages_at_limit"], (crawl,)).fetchall())
        return end_at_limit(cursor, crawl, Reason.LIMIT_PAGES, "max_pages")

    def _join_hosts(self, cursor: Cursor, batch: Batch) -> bool:
        if not batch.joined_hosts:
            return False
        for crawl, hosts in hosts_by_crawl(batch.joined_hosts):
            for (known,) in cursor.execute(SQL["joined_hosts"], (crawl,)).fetchall():
                cursor.execute(SQL["join_hosts"], (with_hosts(known, hosts), crawl))
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
            windows[queue].rows.append(open_row(row))
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
                    window.rows.append(open_row(row))
        if len({queue for queue, *_ in found}) == batch.new_queues:
            self._last_part = found[-1][5]
        answer.windows = [window for window in windows.values() if window.rows]
        empty = [window.queue for window in windows.values() if not window.rows]
        self._end_rows(cursor, ending, empty, now, tallies)
        answer.hosts = self._hosts(cursor, {window.host for window in answer.windows}, now)

    def _found(self, cursor: Cursor, batch: Batch, now: int) -> list[tuple[Any, ...]]:
        running = Ints(crawl for crawl, (state, _) in self._crawls.items() if state == CrawlState.RUNNING)
        ending = Ints(crawl for crawl, (state, _) in self._crawls.items() if state == CrawlState.ENDING)
        parts, each = Ints(self._rotated_parts()), self._queues_each(batch.new_queues)
        values = {"parts": parts, "each": each, "limit": batch.new_queues, "window": batch.window}
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
        """End a chunk of open rows without a request. Queues that have more stay due, the others sleep."""
        if ending:
            states = {queue: state_without_request(reason) for queue, (_, reason) in ending.items()}
            values = {"queue": Ints(ending), "crawl": Ints(crawl for crawl, _ in ending.values())}
            values |= {"reason": Texts(reason for _, reason in ending.values())}  # type: ignore[dict-item]
            values |= {"state": Ints(STATE_CODES[state] for state in states.values())}
            gone = cursor.execute(SQL["end_rows"], {**values, "chunk": END_CHUNK, "now": now}).fetchall()
            for queue, kind, count in gone:
                crawl, reason = ending[queue]
                count_unasked(tallies, crawl, states[queue], reason, {kind: count})
        resting = [(queue, now) for queue in ending] + [(queue, 0) for queue in empty]
        if resting:
            cursor.execute(SQL["rest_queues"], arrays((Ints, Ints), resting))

    def _hosts(self, cursor: Cursor, hosts: set[str], now: int) -> dict[str, HostRecord]:
        if not hosts:
            return {}
        # Binary: the text of a robots.txt would be sent as hexadecimal digits.
        found = cursor.execute(SQL["hosts"], (Texts(hosts),), binary=True).fetchall()
        clocks, robots = [row[: len(HOSTS)] for row in found], [row[len(HOSTS) :] for row in found]
        known, answers = (row for row in clocks if row[0] is not None), (row for row in robots if row[0] is not None)
        return host_records(hosts, known, answers, now)


def _tally_names(cursor: Cursor, crawl: int) -> list[str]:
    return [name for name, _ in cursor.execute(CATALOG_SQL["tallies"], {"crawl": crawl}).fetchall()]


def end_at_limit(cursor: Cursor, crawl: int, reason: str, limited_by: str) -> bool:
    """End a crawl; whether this call did it. A later call changes nothing, not even the control version."""
    values = {"crawl": crawl, "reason": reason, "limited_by": limited_by}
    return bool(cursor.execute(SQL["end_crawl_at_limit"], values).fetchall())
