"""A crawl that a limit has ended goes on: its URLs open again, counts and limits stay exact, a crash loses nothing."""

import threading
from collections import Counter

import pytest

from nephila.frontier.catalog import Catalog
from nephila.frontier.session import ENTRY_URLS_MAX
from nephila.frontier.store import Crawl
from nephila.frontier.upkeep import Upkeep
from nephila.models import CrawlState, Reason, UrlState, reason_tally
from nephila.profiles import CrawlSettings
from tests.contract.backend import Backend
from tests.contract.session import Session, all_urls, ended, seeded, states
from tests.patience import PATIENCE_SECONDS

LIMIT = reason_tally(Reason.LIMIT_PAGES)
SEEDS = [f"http://h{number % 7}.test/{number}" for number in range(40)]


def limited(crawl: Crawl, **limits: int | None) -> CrawlSettings:
    return crawl.settings.model_copy(update={"limits": crawl.settings.limits.model_copy(update=limits)})


def visit(session: Session, crawl: Crawl) -> int:
    """Load, and visit as many pages as are granted."""
    rows = session.load(grants_wanted={crawl.id: 10})
    granted = session.flush(grants_wanted={crawl.id: 10}).grants.get(crawl.id, 0)
    outcomes = [ended(row, crawl) for row in rows[:granted]]
    session.flush(outcomes=outcomes, grants_wanted={crawl.id: 0}, released=session.releases())
    return len(outcomes)


def run(catalog: Catalog, upkeep: Upkeep, crawl: Crawl, session: Session) -> Crawl:
    """Work until the crawl is over."""
    for _ in range(100):
        visit(session, crawl)
        assert set(catalog.check()) == set()
        upkeep.run_once()
        if catalog.crawl(crawl.id).state.over:
            return catalog.crawl(crawl.id)
    raise AssertionError("the crawl does not end")


def ended_at_limit(backend: Backend, catalog: Catalog, upkeep: Upkeep, *seeds: str, pages: int = 5) -> Crawl:
    session = Session(backend)
    over = run(catalog, upkeep, seeded(catalog, *(seeds or SEEDS), limits__max_pages=pages), session)
    session.frontier.leave()
    assert (over.state, over.reason, over.limited_by) == (CrawlState.COMPLETED, "limit_pages", "max_pages")
    return over


def counted(catalog: Catalog, crawl: Crawl) -> None:
    """The tallies are those of the rows."""
    tallies, rows = catalog.tallies(crawl.id), all_urls(catalog, crawl).values()
    by_state = Counter(row.state for row in rows)
    assert {state: tallies.get(state, 0) for state in UrlState} == {state: by_state[state] for state in UrlState}
    assert tallies.get(LIMIT, 0) == sum(row.reason == Reason.LIMIT_PAGES for row in rows)


def go_on(catalog: Catalog, crawl: Crawl, **limits: int | None) -> None:
    assert catalog.reopen(crawl.id, limited(crawl, **limits))
    catalog.open_again(crawl.id)
    catalog.seeded(crawl.id)


@pytest.mark.parametrize("living", [True, False])
def test_what_the_limit_ended_is_open_again_and_the_next_limit_is_met_exactly(
    backend: Backend, catalog: Catalog, upkeep: Upkeep, living: bool
) -> None:
    """With the session that has worked on it before, and with another."""
    session = Session(backend)
    crawl = seeded(catalog, *SEEDS, limits__max_pages=5)
    over = run(catalog, upkeep, crawl, session)
    counted(catalog, over)
    go_on(catalog, over, max_pages=12)
    again = catalog.crawl(crawl.id)
    assert (again.state, again.reason, again.limited_by, again.ended_at) == (CrawlState.RUNNING, "", "", None)
    assert Counter(states(catalog, crawl).values()) == {UrlState.VISITED: 5, UrlState.QUEUED: 35}
    counted(catalog, crawl)
    assert catalog.check() == []
    if not living:
        backend.kill(session.frontier)
        session = Session(backend)
    over = run(catalog, upkeep, crawl, session)
    assert (over.state, over.limited_by, over.settings.limits.max_pages) == (CrawlState.COMPLETED, "max_pages", 12)
    assert Counter(states(catalog, crawl).values()) == {UrlState.VISITED: 12, UrlState.EXCLUDED: 28}
    counted(catalog, crawl)
    go_on(catalog, over, max_pages=None)
    assert session.drain(crawl) == 28
    upkeep.run_once()
    over = catalog.crawl(crawl.id)
    assert (over.state, over.reason, over.limited_by) == (CrawlState.COMPLETED, "", "")
    assert set(states(catalog, crawl).values()) == {UrlState.VISITED}
    counted(catalog, crawl)


def test_a_crash_between_the_steps_leaves_a_crawl_that_can_be_gone_on_with(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    """After each step the connection is another, as after kill -9."""
    over = ended_at_limit(backend, catalog, upkeep)
    assert backend.catalog().reopen(over.id, limited(over, max_pages=None))
    again = catalog.crawl(over.id)
    assert (again.state, again.seeding) == (CrawlState.RUNNING, True)
    upkeep.run_once()
    assert catalog.crawl(over.id).state is CrawlState.RUNNING, "nothing is open, and still it is not over"
    backend.catalog().open_again(over.id)
    session = Session(backend)
    session.drain(again)
    upkeep.run_once()
    assert catalog.crawl(over.id).state is CrawlState.RUNNING, "all is visited, and still it is not over"
    for each in (backend.catalog(), catalog):  # once more changes nothing
        each.open_again(over.id)
        each.seeded(over.id)
    upkeep.run_once()
    assert catalog.crawl(over.id).state is CrawlState.COMPLETED
    assert set(states(catalog, over).values()) == {UrlState.VISITED}
    counted(catalog, over)
    assert catalog.check() == []


def test_only_a_crawl_that_a_limit_has_ended_goes_on(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    running = seeded(catalog, "http://a.test/")
    assert not catalog.reopen(running.id, running.settings)
    catalog.steer(running.id, CrawlState.ENDING, Reason.CANCELLED)
    session = Session(backend)
    session.load()
    upkeep.run_once()
    assert catalog.crawl(running.id).state is CrawlState.CANCELLED
    assert not catalog.reopen(running.id, running.settings)
    done = seeded(catalog, "http://b.test/")
    session.drain(done)
    upkeep.run_once()
    assert catalog.crawl(done.id).state is CrawlState.COMPLETED
    assert not catalog.reopen(done.id, done.settings)
    catalog.open_again(done.id)
    session.frontier.leave()
    limited_one = ended_at_limit(backend, catalog, upkeep)
    assert catalog.reopen(limited_one.id, limited(limited_one, max_pages=9))
    assert not catalog.reopen(limited_one.id, limited(limited_one, max_pages=99)), "it runs already"
    catalog.delete(limited_one.id)
    assert not catalog.reopen(limited_one.id, limited_one.settings)


def test_the_next_limit_stops_the_opening(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    over = ended_at_limit(backend, catalog, upkeep)
    assert catalog.reopen(over.id, limited(over, max_pages=9, max_seconds=1))
    backend.clock.advance(60_000)
    upkeep.run_once()
    assert catalog.crawl(over.id).state is CrawlState.ENDING
    catalog.open_again(over.id)
    assert UrlState.QUEUED not in states(catalog, over).values()
    catalog.seeded(over.id)
    upkeep.run_once()
    over = catalog.crawl(over.id)
    assert (over.state, over.limited_by) == (CrawlState.COMPLETED, "max_seconds")
    counted(catalog, over)
    go_on(catalog, over, max_seconds=None)
    assert Counter(states(catalog, over).values()) == {UrlState.VISITED: 5, UrlState.QUEUED: 35}


def test_the_first_max_pages_counts_what_was_there_before(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, *SEEDS, limits__max_seconds=10)
    session = Session(backend)
    rows = session.load()
    session.flush(outcomes=[ended(row, crawl) for row in rows[:3]])
    backend.clock.advance(60_000)
    session.lease()
    upkeep.run_once()
    session.flush(released=session.releases())
    session.load()
    upkeep.run_once()
    over = catalog.crawl(crawl.id)
    assert (over.state, over.limited_by) == (CrawlState.COMPLETED, "max_seconds")
    go_on(catalog, over, max_pages=7, max_seconds=None)
    over = run(catalog, upkeep, crawl, session)
    assert over.limited_by == "max_pages"
    assert Counter(states(catalog, crawl).values()) == {UrlState.VISITED: 7, UrlState.EXCLUDED: 33}


def test_many_are_opened_by_two_at_once_and_counted_once(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    seeds = [f"http://h{number % 5}.test/{number}" for number in range(3 * ENTRY_URLS_MAX)]
    over = ended_at_limit(backend, catalog, upkeep, *seeds)
    assert catalog.reopen(over.id, limited(over, max_pages=None))
    troubles: list[BaseException] = []

    def work() -> None:
        own = backend.catalog()
        try:
            own.open_again(over.id)
            own.seeded(over.id)
        except BaseException as error:
            troubles.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert troubles == []
    assert Counter(states(catalog, over).values()) == {UrlState.VISITED: 5, UrlState.QUEUED: len(seeds) - 5}
    counted(catalog, over)
    assert catalog.check() == []
    changed = catalog.changes(over.id, 0, 10 * len(seeds))
    assert set(changed.places) == {row.id for row in all_urls(catalog, over).values()}, "who follows it hears of all"
