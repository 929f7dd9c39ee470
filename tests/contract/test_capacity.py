"""The cap on open URLs of a crawl: links that come when it is full are refused, or the least important rows leave."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from nephila.frontier.catalog import Catalog
from nephila.frontier.store import Crawl, Retry
from nephila.frontier.upkeep import EVICT_CHUNK, Upkeep
from nephila.models import OPEN, CrawlState, Kind, Reason, Refusal, UrlState, reason_tally
from nephila.profiles import CrawlSettings
from tests.contract.backend import Backend, PostgresBackend
from tests.contract.session import Session, all_urls, child, ended, seeded, states
from tests.contract.test_grants import await_lock

A, B = "http://a.test/", "http://b.test/"
CAP = 10


def links(host: str, count: int, start: int = 0) -> list[str]:
    return [f"http://{host}.test/{number}" for number in range(start, start + count)]


def count_open(catalog: Catalog, crawl: Crawl) -> int:
    tallies = catalog.tallies(crawl.id)
    return sum(tallies[state] for state in OPEN)


def refused(catalog: Catalog, crawl: Crawl) -> dict[str, int]:
    return {reason: n for _, reason, n in catalog.refusals(crawl.id)}


def over(catalog: Catalog, upkeep: Upkeep, crawl: Crawl) -> bool:
    upkeep.run_once()
    return catalog.crawl(crawl.id).state.over


# --- refusing


@pytest.mark.requirement("F-16", "K22")
def test_links_beyond_the_cap_are_refused_counted_and_named(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, limits__max_frontier=CAP)
    session, other = Session(backend), Session(backend)
    (row,) = session.load()
    found = links("a", 7)
    assert session.flush(outcomes=[ended(row, crawl, *found, A)]).crowded_out == set()
    assert catalog.crawl(crawl.id).limited_by == ""
    more = [child(crawl, url, depth=2, parent=row.id) for url in [*links("b", 6), *found]]
    answer = other.flush(children=more)
    assert count_open(catalog, crawl) == CAP
    assert refused(catalog, crawl) == {Refusal.FRONTIER: 3}
    assert answer.crowded_out == {(crawl.id, one.key) for one in more if one.url not in states(catalog, crawl)}
    assert catalog.crawl(crawl.id).limited_by == "max_frontier"
    assert catalog.check() == []


@pytest.mark.requirement("F-16", "K22")
def test_when_urls_end_there_is_room_again_for_those_that_were_refused(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    """Room is made by the very flush that brings the links; the crawl ends whatever was refused."""
    crawl = seeded(catalog, A, limits__max_frontier=1)
    session = Session(backend)
    for turn in range(4):
        (row,) = session.load()
        session.flush(outcomes=[ended(row, crawl, *links("b", 3))], released=session.releases())
        assert count_open(catalog, crawl) == (1 if turn < 3 else 0)
    assert set(states(catalog, crawl)) == {A, *links("b", 3)}
    assert refused(catalog, crawl) == {Refusal.FRONTIER: 3}, "2 and 1 of the first two pages"
    assert over(catalog, upkeep, crawl)
    assert catalog.crawl(crawl.id).limited_by == "max_frontier"
    assert catalog.check() == []


@pytest.mark.requirement("F-16", "F-20")
def test_of_links_that_come_together_the_most_important_get_in(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, limits__max_frontier=3)
    session = Session(backend)
    (row,) = session.load()
    found = [child(crawl, url, depth=n, priority=9 - n, parent=row.id) for n, url in enumerate(links("b", 6))]
    outcome = ended(row, crawl)
    outcome.children = found
    session.flush(outcomes=[outcome])
    assert set(states(catalog, crawl)) == {A, *links("b", 3, start=3)}


@pytest.mark.requirement("F-16")
def test_seeds_redirect_targets_and_robots_rows_always_get_in(backend: Backend, catalog: Catalog) -> None:
    """Nobody would find a seed or the target of a redirect again, and a whole host waits for a robots.txt."""
    seeds = links("a", CAP + 5)
    crawl = seeded(catalog, *seeds, limits__max_frontier=CAP)
    assert count_open(catalog, crawl) == CAP + 5
    session = Session(backend)
    row, *_ = session.load()
    moved = ended(row, crawl, B, state=UrlState.REDIRECTED)
    moved.children = [moved.children[0]._replace(hops=1), child(crawl, "http://c.test/", depth=1, parent=row.id)]
    robots = child(crawl, "http://b.test/robots.txt", priority=-1, kind=Kind.ROBOTS)
    session.flush(outcomes=[moved], children=[robots])
    assert set(states(catalog, crawl)) == {*seeds, B, "http://b.test/robots.txt"}
    assert refused(catalog, crawl) == {Refusal.FRONTIER: 1}


def test_a_robots_txt_gets_in_at_max_urls(backend: Backend, catalog: Catalog) -> None:
    """The URLs of the host that waits for it were admitted: without it they would wait for ever."""
    crawl = seeded(catalog, A, limits__max_urls=1)
    session = Session(backend)
    (row,) = session.load()
    robots = child(crawl, "http://b.test/robots.txt", priority=-1, kind=Kind.ROBOTS)
    session.flush(outcomes=[ended(row, crawl, B)], children=[robots])
    assert set(states(catalog, crawl)) == {A, "http://b.test/robots.txt"}
    assert refused(catalog, crawl) == {Refusal.LIMIT: 1} and catalog.check() == []


@pytest.mark.requirement("F-16", "F-23")
def test_both_limits_hold_together(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, A, limits__max_frontier=3, limits__max_urls=5)
    session = Session(backend)
    for _ in range(10):
        rows = session.load()
        outcomes = [ended(row, crawl, *links(f"h{row.id}", 4)) for row in rows]
        session.flush(outcomes=outcomes, released=session.releases())
        assert count_open(catalog, crawl) <= 3
        if over(catalog, upkeep, crawl):
            break
    assert len(states(catalog, crawl)) == 5
    assert set(refused(catalog, crawl)) == {Refusal.FRONTIER, Refusal.LIMIT}
    assert catalog.crawl(crawl.id).limited_by == "max_urls"
    assert catalog.check() == []


@pytest.mark.requirement("F-16")
def test_what_another_session_commits_meanwhile_is_counted(backend: Backend, catalog: Catalog) -> None:
    """A flush that waited for the crawl's row counts what was open when it got it."""
    if not isinstance(backend, PostgresBackend):
        pytest.skip("one writer at a time")
    crawl = seeded(catalog, A, limits__max_frontier=CAP)
    session = Session(backend)
    found = [child(crawl, url, parent=1) for url in links("b", 3)]
    with ThreadPoolExecutor(1) as flushing:
        with backend.database().write() as cursor:
            cursor.execute("SELECT id FROM crawls FOR NO KEY UPDATE")
            waiting = flushing.submit(session.flush, children=found)
            await_lock(backend.url)
            cursor.execute("INSERT INTO tallies(crawl, worker, name, n) VALUES (%s, 999, 'urls', %s)", (crawl.id, CAP))
        assert len(waiting.result().crowded_out) == 3


def test_the_cap_may_be_raised_and_lowered(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, limits__max_frontier=2)
    session = Session(backend)
    session.flush(children=[child(crawl, url, parent=1) for url in links("b", 3)])
    assert count_open(catalog, crawl) == 2
    catalog.change_settings(crawl.id, capped(crawl, 4))
    session.flush(children=[child(crawl, url, parent=1) for url in links("b", 5)])
    assert count_open(catalog, crawl) == 4
    catalog.change_settings(crawl.id, capped(crawl, 1))
    session.flush(children=[child(crawl, url, parent=1) for url in links("c", 1)])
    assert count_open(catalog, crawl) == 4
    assert catalog.check() == []


def capped(crawl: Crawl, cap: int) -> CrawlSettings:
    limits = crawl.settings.limits.model_copy(update={"max_frontier": cap})
    return crawl.settings.model_copy(update={"limits": limits})


# --- evicting


@pytest.mark.requirement("F-23", "K22")
def test_with_evict_all_get_in_and_the_least_important_leave(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    crawl = seeded(catalog, A, limits__max_frontier=40, limits__evict=True)
    session = Session(backend)
    (row,) = session.load()
    outcome = ended(row, crawl)
    outcome.children = [
        child(crawl, url, depth=depth, priority=depth, parent=row.id)
        for depth, host in ((3, "a"), (1, "b"), (2, "c"))  # the deepest are the oldest on both stores
        for url in links(host, 20)
    ]
    session.flush(outcomes=[outcome], released=session.releases())
    assert (count_open(catalog, crawl), refused(catalog, crawl)) == (60, {})
    assert upkeep.run_once()["evicted"] == 22, "down to 95 % of the cap"
    assert upkeep.run_once()["evicted"] == 0
    found = all_urls(catalog, crawl)
    gone = {url for url, each in found.items() if each.state is UrlState.EVICTED}
    assert gone == {*links("a", 20), *links("c", 2, start=18)}, "the deepest, then the newest"
    assert {found[url].reason for url in gone} == {Reason.LIMIT_FRONTIER}
    followed = catalog.changes(crawl.id, 0, 1000, ended_only=True).places
    assert {found[url].id for url in gone} <= followed.keys(), "who follows the crawl hears of it"
    tallies = catalog.tallies(crawl.id)
    assert tallies[UrlState.EVICTED] == tallies[reason_tally(Reason.LIMIT_FRONTIER)] == 22
    assert catalog.crawl(crawl.id).limited_by == "max_frontier"
    assert catalog.check() == []
    assert session.drain(crawl) == 38
    assert over(catalog, upkeep, crawl)
    assert catalog.crawl(crawl.id).state is CrawlState.COMPLETED
    assert catalog.check() == []


@pytest.mark.requirement("F-23")
def test_retries_are_evicted_too_but_neither_robots_rows_nor_what_is_in_flight(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    """The queue of a row that waits an hour for its retry does not wait for it any more."""
    crawl = seeded(catalog, A, limits__max_frontier=1, limits__evict=True)
    session = Session(backend)
    (seed,) = session.load()
    outcome = ended(seed, crawl)
    urls = [f"http://h{depth}.test/" for depth in range(5)]
    found = [child(crawl, url, depth=depth, priority=depth, parent=seed.id) for depth, url in enumerate(urls)]
    outcome.children = [*found, child(crawl, "http://r.test/robots.txt", priority=-1, kind=Kind.ROBOTS)]
    session.flush(outcomes=[outcome], released=session.releases())
    session.load()
    retried, flying = session.row(urls[3]), session.row(urls[4])
    session.flush(
        retries=[Retry(retried.id, crawl.id, 3_600_000, 1, 0, "timeout")],
        released=[release for release in session.releases() if release.queue == session.queue_of("h3.test")],
        in_flight=[(flying.id, 0)],
    )
    assert upkeep.run_once()["evicted"] == 4
    open_now = {url for url, state in states(catalog, crawl).items() if state in OPEN}
    assert open_now == {urls[4], "http://r.test/robots.txt"}
    assert catalog.check() == []
    session.flush(outcomes=[ended(flying, crawl)], released=session.releases())
    session.drain(crawl)
    assert over(catalog, upkeep, crawl)
    assert catalog.check() == []


@pytest.mark.requirement("F-23")
def test_what_a_worker_has_in_memory_leaves_last(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    """It would be asked for, and the answer thrown away."""
    crawl = seeded(catalog, A, limits__max_frontier=4, limits__evict=True)
    session = Session(backend)
    (seed,) = session.load()
    outcome = ended(seed, crawl)
    outcome.children = [child(crawl, url, depth=2, priority=2, parent=seed.id) for url in links("b", 3)]
    session.flush(outcomes=[outcome], released=session.releases())
    session.load()
    more = [child(crawl, url, depth=1, priority=1, parent=seed.id) for url in links("c", 3)]
    session.flush(children=more)
    assert upkeep.run_once()["evicted"] == 2
    assert {url for url, state in states(catalog, crawl).items() if state is UrlState.EVICTED} == set(links("c", 2, 1))


@pytest.mark.requirement("F-23")
def test_an_outcome_that_comes_after_the_eviction_has_no_permit(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    crawl = seeded(catalog, A, B, limits__max_frontier=1, limits__evict=True)
    session = Session(backend)
    session.load()
    late = session.row(B)
    assert upkeep.run_once()["evicted"] == 1
    retry = Retry(late.id, crawl.id, 0, 1, 0, "timeout")
    assert session.flush(outcomes=[ended(late, crawl, "http://c.test/")], retries=[retry]).refused_outcomes == 1
    assert states(catalog, crawl) == {A: UrlState.QUEUED, B: UrlState.EVICTED}
    session.flush(outcomes=[ended(session.row(A), crawl, B)], released=session.releases())
    assert states(catalog, crawl) == {A: UrlState.VISITED, B: UrlState.EVICTED}, "found again: known"
    assert over(catalog, upkeep, crawl)
    assert catalog.check() == []


@pytest.mark.requirement("F-23")
def test_eviction_is_done_in_short_transactions_by_whoever_comes(backend: Backend, catalog: Catalog) -> None:
    count = 3 * EVICT_CHUNK
    crawl = seeded(catalog, A, limits__max_frontier=100, limits__evict=True)
    session = Session(backend)
    (row,) = session.load()
    session.flush(outcomes=[ended(row, crawl, *links("b", count))], released=session.releases())
    first, second = backend.upkeep(), backend.upkeep()
    assert first.run_once()["evicted"] + second.run_once()["evicted"] == count - 95
    assert count_open(catalog, crawl) == 95
    assert catalog.check() == []


def test_a_paused_crawl_keeps_its_rows_and_one_that_ends_is_left_to_its_end(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    crawl = seeded(catalog, *links("a", 5), limits__max_frontier=1, limits__evict=True)
    catalog.steer(crawl.id, CrawlState.PAUSED)
    assert upkeep.run_once()["evicted"] == 0
    catalog.steer(crawl.id, CrawlState.ENDING, Reason.CANCELLED)
    assert upkeep.run_once()["evicted"] == 0
    Session(backend).load()
    assert set(states(catalog, crawl).values()) == {UrlState.CANCELLED}
