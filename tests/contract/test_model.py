"""The store against a model of it: sessions join, work, lose answers, crash and are taken over in any order.

The model knows for every URL whether it was admitted and how it ended. Whatever happens, the store must agree.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from nephila.errors import DiskFull, Fenced
from nephila.frontier.store import Batch, Crawl, Flushed, Outcome, Release, Retry, Row, Window
from nephila.models import OPEN, CrawlState, Reason, UrlState
from nephila.urls.identity import partition_of
from tests.contract.backend import BACKENDS, Backend
from tests.contract.counts import breakdown, counted_rows
from tests.contract.session import Session, all_urls, child, ended, seeded

URLS = [f"http://h{host}.test/{path}" for host in range(5) for path in range(4)]
SESSIONS_MAX = 3
DRAIN_ROUNDS_MAX = 60
CAP = 6
ENDED_BY_STORE = (UrlState.CANCELLED, UrlState.EXCLUDED, UrlState.FAILED)

Key = tuple[int, str]  # crawl, url

index = st.integers(0, 50)
some_urls = st.lists(st.sampled_from(URLS), max_size=4)
end_states = st.sampled_from([UrlState.VISITED, UrlState.NOT_FOUND, UrlState.FAILED, UrlState.REDIRECTED])
endings = st.lists(st.tuples(end_states, some_urls), max_size=6)
Endings = list[tuple[UrlState, list[str]]]


class StoreMachine(RuleBasedStateMachine):
    make: Callable[[Path], Backend]

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.backend = type(self).make(Path(self.folder.name))
        self.catalog, self.upkeep = self.backend.catalog(), self.backend.upkeep()
        self.sessions: list[Session] = []
        self.zombies: list[Session] = []
        self.crawls: dict[int, Crawl] = {}
        self.expected: dict[Key, UrlState] = {}  # QUEUED: open
        self.done: list[Outcome] = []
        self.max_urls: dict[int, int] = {}
        self.max_pages: dict[int, int] = {}
        self.ending: set[int] = set()
        self.dead: set[tuple[int, str]] = set()  # crawl, host

    @initialize(
        seeds=st.lists(st.sampled_from(URLS), min_size=1, max_size=5, unique=True),
        max_pages=st.none() | st.integers(1, 8),
        max_urls=st.none() | st.integers(5, 20),
        cap=st.sampled_from([{}, {"limits__max_frontier": CAP}, {"limits__max_frontier": CAP, "limits__evict": True}]),
    )
    def begin(self, seeds: list[str], max_pages: int | None, max_urls: int | None, cap: dict[str, Any]) -> None:
        limited = seeded(self.catalog, *seeds, mark="limited", limits__max_pages=max_pages, limits__max_urls=max_urls)
        other = seeded(self.catalog, *seeds, mark="other", **cap)
        self.crawls = {limited.id: limited, other.id: other}
        self.expected = {(crawl, url): UrlState.QUEUED for crawl in self.crawls for url in seeds}
        if max_pages is not None:
            self.max_pages[limited.id] = max_pages
        if max_urls is not None:
            self.max_urls[limited.id] = max_urls
        self.sessions.append(Session(self.backend))

    # --- what the model knows of a commit

    def committed(self, batch: Batch) -> None:
        for outcome in batch.outcomes:
            key = (outcome.crawl, self.url_of(outcome))
            if self.expected[key] is UrlState.QUEUED:
                self.expected[key] = outcome.state
                self.admitted(outcome.crawl, self._within_cap(outcome))

    def _within_cap(self, outcome: Outcome) -> list[str]:
        """The children that got in, where a cap may have refused some: which of them is the store's choice."""
        crawl, urls = self.crawls[outcome.crawl], [found.url for found in outcome.children]
        if crawl.settings.limits.max_frontier is None or crawl.settings.limits.evict:
            return urls
        known = all_urls(self.catalog, crawl)
        new = {url for url in urls if url in known and (crawl.id, url) not in self.expected}
        count, refused = self.count_open(crawl.id), {url for url in urls if url not in known}
        assert not new or count <= CAP
        ends_by_itself = crawl.id in self.ending or any(of == crawl.id for of, _ in self.dead)
        assert not refused or count >= CAP or ends_by_itself, "refused, but there was room"
        return [url for url in urls if url in known]

    def count_open(self, crawl: int) -> int:
        tallies = self.catalog.tallies(crawl)
        return sum(tallies[state] for state in OPEN)

    def url_of(self, outcome: Outcome) -> str:
        row = self.catalog.url_by_id(outcome.url_id)
        assert row is not None, "a row is gone"
        return row.url

    def admitted(self, crawl: int, urls: list[str]) -> None:
        for url in urls:
            self.expected.setdefault((crawl, url), UrlState.QUEUED)
        limit = self.max_urls.get(crawl)
        mine = [key for key in self.expected if key[0] == crawl]
        if limit is not None and len(mine) > limit:  # which of the last ones got in is the store's choice
            known = all_urls(self.catalog, self.crawls[crawl])
            assert len(known) == limit
            for key in mine:
                if key[1] not in known:
                    assert self.expected.pop(key) is UrlState.QUEUED

    # --- picking

    def session(self, number: int) -> Session:
        return self.sessions[number % len(self.sessions)]

    def held_row(self, session: Session, number: int) -> tuple[Window, Row] | None:
        rows = [(window, row) for window in session.held.values() for row in window.rows]
        return rows[number % len(rows)] if rows else None

    def outcome(self, session: Session, number: int, state: UrlState, children: list[str]) -> Outcome | None:
        """Only with a grant may a page of a limited crawl end visited, as in the worker."""
        picked = self.held_row(session, number)
        if picked is None:
            return None
        window, row = picked
        crawl = window.crawl
        if state is UrlState.VISITED and crawl in self.max_pages:
            granted = session.flush(grants_wanted={crawl: 1}).grants[crawl]
            state = state if granted else UrlState.NOT_FOUND
        return ended(row, self.crawls[crawl], *children, state=state)

    # --- rules

    @precondition(lambda self: len(self.sessions) < SESSIONS_MAX)
    @rule()
    def join(self) -> None:
        self.sessions.append(Session(self.backend))

    @precondition(lambda self: self.sessions)
    @rule(number=index, loads=st.dictionaries(st.integers(0, 255), st.floats(0, 100), max_size=5))
    def lease_and_hand_back(self, number: int, loads: dict[int, float]) -> None:
        """And load in the same flush, as the worker does."""
        session = self.session(number)
        give = set(session.lease(loads).give)
        going = [window for window in session.held.values() if partition_of(window.host) in give]
        released = [Release(window.queue, 0, 0) for window in going]
        session.flush(released=released, hand_back=sorted(give), new_queues=1000, window=3)

    @precondition(lambda self: self.sessions)
    @rule(number=index, queues=st.integers(1, 300), window=st.integers(1, 5))
    def load(self, number: int, queues: int, window: int) -> None:
        self.session(number).load(queues, window)

    def _work(self, number: int, ends: Endings, release: bool) -> None:
        """Load, end some rows, and give back what is held."""
        session = self.session(number)
        session.load(1000, 3)
        for which, (state, children) in enumerate(ends):
            if outcome := self.outcome(session, which, state, children):
                last = release and which == len(ends) - 1
                wanted = dict.fromkeys(self.max_pages, 0)
                batch = session.batch(
                    outcomes=[outcome], released=session.releases() if last else [], grants_wanted=wanted
                )
                session.send(batch)
                self.committed(batch)
                self.done.append(outcome)

    # Three times, to be drawn often: else nothing is ever asleep, full or over.
    @precondition(lambda self: self.sessions)
    @rule(number=index, ends=endings, release=st.booleans())
    def work(self, number: int, ends: Endings, release: bool) -> None:
        self._work(number, ends, release)

    @precondition(lambda self: self.sessions)
    @rule(number=index, ends=endings, release=st.booleans())
    def work_more(self, number: int, ends: Endings, release: bool) -> None:
        self._work(number, ends, release)

    @precondition(lambda self: self.sessions)
    @rule(number=index, ends=endings)
    def work_and_release(self, number: int, ends: Endings) -> None:
        self._work(number, ends, True)

    @precondition(lambda self: self.sessions and self.done)
    @rule(number=index, which=index, state=end_states, children=some_urls)
    def finish_again(self, number: int, which: int, state: UrlState, children: list[str]) -> None:
        """Any session, any row that has ended: no permit."""
        old = self.done[which % len(self.done)]
        late = ended(old.url_id, self.crawls[old.crawl], *children, state=state)
        retry = Retry(old.url_id, old.crawl, 0, 5, 0, "timeout")
        assert self.session(number).flush(outcomes=[late], retries=[retry]).refused_outcomes == 1

    @precondition(lambda self: self.sessions)
    @rule(number=index, row=index, in_ms=st.integers(0, 5000), release=st.booleans())
    def retry(self, number: int, row: int, in_ms: int, release: bool) -> None:
        session = self.session(number)
        if picked := self.held_row(session, row):
            retry = Retry(picked[1].id, picked[0].crawl, in_ms, picked[1].tries + 1, 0, "timeout")
            session.flush(retries=[retry], released=session.releases() if release else [])

    @precondition(lambda self: self.sessions)
    @rule(number=index, row=index, state=end_states, children=some_urls)
    def lose_an_answer(self, number: int, row: int, state: UrlState, children: list[str]) -> None:
        session = self.session(number)
        outcome = self.outcome(session, row, state, children)
        batch = session.batch(outcomes=[outcome] if outcome else [], new_queues=1000, window=3)
        session.frontier.flush(batch)
        self.committed(batch)
        assert session.send(batch).repeated
        session.flush(holding=list(session.held))

    @precondition(lambda self: self.sessions)
    @rule(number=index, row=index, state=end_states, children=some_urls, statement=st.integers(0, 40))
    def fill_the_disk(self, number: int, row: int, state: UrlState, children: list[str], statement: int) -> None:
        session = self.session(number)
        outcome = self.outcome(session, row, state, children)
        batch = session.batch(outcomes=[outcome] if outcome else [], new_queues=1000, window=3)
        try:
            with self.backend.full_disk(session.frontier, statement):
                session.send(batch)
        except DiskFull:
            assert not session.send(batch).repeated
        self.committed(batch)

    @precondition(lambda self: self.sessions)
    @rule(number=index)
    def crash(self, number: int) -> None:
        session = self.sessions.pop(number % len(self.sessions))
        self.backend.kill(session.frontier)
        self.zombies.append(session)

    @precondition(lambda self: self.sessions)
    @rule(number=index, row=index, state=end_states, children=some_urls)
    def crash_after_the_commit(self, number: int, row: int, state: UrlState, children: list[str]) -> None:
        session = self.session(number)
        outcome = self.outcome(session, row, state, children)
        batch = session.batch(outcomes=[outcome] if outcome else [], new_queues=1000, window=3)
        session.frontier.flush(batch)
        self.committed(batch)
        self.crash(number)

    @precondition(lambda self: self.zombies)
    @rule(number=index, row=index)
    def the_dead_write(self, number: int, row: int) -> None:
        zombie = self.zombies[number % len(self.zombies)]
        self.upkeep.run_once()
        picked = self.held_row(zombie, row)
        outcomes = [ended(picked[1], self.crawls[picked[0].crawl], *URLS)] if picked else []
        with pytest.raises(Fenced):
            zombie.flush(outcomes=outcomes)
        with pytest.raises(Fenced):
            zombie.lease()

    @precondition(lambda self: len(self.sessions) > 1)
    @rule(number=index)
    def leave(self, number: int) -> None:
        self.sessions.pop(number % len(self.sessions)).frontier.leave()

    @rule(number=index)
    def pause(self, number: int) -> None:
        if number % 4 < 2:
            self.catalog.steer(self.crawl(number).id, CrawlState.PAUSED)

    @rule(number=index)
    def resume(self, number: int) -> None:
        self.catalog.steer(self.crawl(number).id, CrawlState.RUNNING)

    @rule(number=st.integers(0, 9))
    def cancel(self, number: int) -> None:
        if number < 2:  # else nearly every run would end here
            crawl = self.crawl(number)
            self.catalog.steer(crawl.id, CrawlState.ENDING, Reason.CANCELLED)
            self.ending.add(crawl.id)

    @precondition(lambda self: self.sessions)
    @rule(number=index, row=index, reason=st.sampled_from([Reason.HOST_DEAD, Reason.LIMIT_HOST]))
    def give_a_host_up(self, number: int, row: int, reason: Reason) -> None:
        session = self.session(number)
        if row < 10 and (picked := self.held_row(session, row)):
            window = picked[0]
            session.flush(deaths=[(window.queue, reason)], released=[Release(window.queue, 500, 0)])
            self.dead.add((window.crawl, window.host))

    @rule(number=index, urls=some_urls)
    def add_seeds(self, number: int, urls: list[str]) -> None:
        crawl = self.crawl(number)
        if not self.catalog.crawl(crawl.id).state.over:
            self.catalog.add_seeds(crawl.id, [child(crawl, url) for url in urls])
            self.admitted(crawl.id, urls)

    @rule()
    def keep_up(self) -> None:
        self.upkeep.run_once()
        for crawl in self.crawls.values():
            if crawl.settings.limits.evict and self.catalog.crawl(crawl.id).state is CrawlState.RUNNING:
                assert self.count_open(crawl.id) <= CAP

    @rule(ms=st.integers(0, 5000))
    def wait(self, ms: int) -> None:
        self.backend.clock.advance(ms)

    def crawl(self, number: int) -> Crawl:
        return list(self.crawls.values())[number % len(self.crawls)]

    # --- what must be true after every step

    @invariant()
    def rows_are_as_the_model_has_them(self) -> None:
        for crawl in self.crawls.values():
            rows = all_urls(self.catalog, crawl)
            assert rows.keys() == {url for of, url in self.expected if of == crawl.id}
            for url, row in rows.items():
                self._agrees((crawl.id, url), row.state, row.host)
        assert self.catalog.check() == []

    def _agrees(self, key: Key, state: UrlState, host: str) -> None:
        expected = self.expected[key]
        if state is not expected:
            assert expected is UrlState.QUEUED, f"{key} was {expected} and is {state}"
            self.expected[key] = state
            if state is UrlState.EVICTED and self.crawls[key[0]].settings.limits.evict:
                return
            assert state in ENDED_BY_STORE
            assert self.catalog.crawl(key[0]).state in (
                CrawlState.ENDING,
                CrawlState.CANCELLED,
                CrawlState.COMPLETED,
            ) or ((key[0], host) in self.dead), f"{key} ended by itself"

    @invariant()
    def a_url_is_held_once(self) -> None:
        held = [queue for session in self.sessions for queue in session.held]
        assert len(held) == len(set(held))

    @invariant()
    def what_the_store_thinks_is_held_is_held(self) -> None:
        shown = {
            (row.held_by, crawl, row.host)
            for crawl in self.crawls
            for row in self.catalog.queues(crawl, 1000)
            if row.held_by
        }
        for session in self.sessions:
            held = {(session.id, window.crawl, window.host) for window in session.held.values()}
            assert {hold for hold in shown if hold[0] == session.id} == held

    @invariant()
    def limits_hold(self) -> None:
        for crawl, limit in self.max_pages.items():
            assert self.catalog.tallies(crawl).get("visited", 0) <= limit
        for crawl, limit in self.max_urls.items():
            assert self.catalog.tallies(crawl)["urls"] <= limit

    @invariant()
    def tallies_are_a_count_of_the_rows(self) -> None:
        for crawl in self.crawls.values():
            assert breakdown(self.catalog, crawl) == counted_rows(self.catalog, crawl)

    @invariant()
    def over_means_that_nothing_is_open(self) -> None:
        for crawl in self.crawls:
            if self.catalog.crawl(crawl).state.over:
                assert UrlState.QUEUED not in {state for key, state in self.expected.items() if key[0] == crawl}

    def teardown(self) -> None:
        try:
            if self.crawls:
                self._drain()
        finally:
            self.backend.close()
            self.folder.cleanup()

    def _drain(self) -> None:
        """Everybody dies; one fresh worker ends both crawls."""
        for session in self.sessions:
            self.backend.kill(session.frontier)
        for crawl in self.crawls:
            self.catalog.steer(crawl, CrawlState.RUNNING)
        worker = Session(self.backend)
        for _ in range(DRAIN_ROUNDS_MAX):
            self.upkeep.run_once()
            if all(self.catalog.crawl(crawl).state.over for crawl in self.crawls):
                break
            answer = worker.flush(new_queues=1000, window=10)
            worker.send(self._ending(worker, answer))
            self.backend.clock.advance(1000)
        else:
            raise AssertionError("a crawl does not end")
        assert all(
            row.state.terminal for crawl in self.crawls.values() for row in all_urls(self.catalog, crawl).values()
        )
        self.rows_are_as_the_model_has_them()
        self.limits_hold()

    def _ending(self, worker: Session, answer: Flushed) -> Batch:
        outcomes = [
            ended(row, self.crawls[window.crawl], state=UrlState.NOT_FOUND)
            for window in answer.windows
            for row in window.rows
        ]
        batch = worker.batch(outcomes=outcomes, released=worker.releases())
        self.committed(batch)
        return batch


EXAMPLES = {"sqlite": "40", "postgres": "15"}  # there each takes two seconds


@pytest.mark.slow
@pytest.mark.requirement("F-02", "F-03", "F-04", "F-07", "RC-01", "RC-09", "C-03")
@pytest.mark.parametrize("backend_name", BACKENDS)
def test_the_store_agrees_with_its_model(backend_name: str) -> None:
    machine: Any = type("Machine", (StoreMachine,), {"make": staticmethod(BACKENDS[backend_name])})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=int(os.environ.get("NEPHILA_MODEL_EXAMPLES", EXAMPLES[backend_name])),
            stateful_step_count=40,
            deadline=None,
            derandomize=os.environ.get("CI") == "true",
            suppress_health_check=list(HealthCheck),
        ),
    )
