"""How crawls end: completion, pause, cancel, limits, dead hosts."""

from typing import Any

import pytest

from nephila.frontier.catalog import Catalog
from nephila.frontier.store import Crawl, Retry
from nephila.frontier.upkeep import Upkeep
from nephila.models import CrawlState, Kind, Reason, Refusal, UrlState
from nephila.profiles import crawl_settings
from tests.contract.backend import Backend
from tests.contract.session import Session, all_urls, child, ended, seeded, states

A, B = "http://a.test/", "http://b.test/"


def complete(upkeep: Upkeep, catalog: Catalog, crawl: Crawl) -> bool:
    upkeep.run_once()
    return catalog.crawl(crawl.id).state.over


# --- completion


@pytest.mark.requirement("C-02", "C-04", "S-03", "F-12")
def test_complete_only_when_no_row_is_open_held_or_on_its_way(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    crawl = seeded(catalog, A, finished=False)
    session = Session(backend)
    assert not complete(upkeep, catalog, crawl), "queued"
    (row,) = session.load()
    assert not complete(upkeep, catalog, crawl), "held"
    session.flush(outcomes=[ended(row, crawl, "http://a.test/x")])
    assert not complete(upkeep, catalog, crawl), "its child"
    session.flush(released=session.releases())
    (row,) = session.load()
    retry = Retry(row.id, crawl.id, 60_000, 1, 0, "timeout")
    session.flush(retries=[retry], released=session.releases())
    assert not complete(upkeep, catalog, crawl), "a retry in a minute"
    backend.clock.advance(60_000)
    (row,) = session.load()
    session.flush(outcomes=[ended(row, crawl)], released=session.releases())
    assert not complete(upkeep, catalog, crawl), "seeding"
    stranger = Session(backend)
    stranger.flush(children=[child(crawl, "http://a.test/robots.txt", kind=Kind.ROBOTS)])
    catalog.seeded(crawl.id)
    assert not complete(upkeep, catalog, crawl), "an arrival, of whatever kind"
    (row,) = session.load()
    session.flush(outcomes=[ended(row, crawl)], released=session.releases())
    assert complete(upkeep, catalog, crawl)
    over = catalog.crawl(crawl.id)
    assert (over.state, over.ended_at) == (CrawlState.COMPLETED, backend.clock.now_ms())
    assert upkeep.run_once()["ended"] == 0


def test_a_crawl_without_seeds_completes(catalog: Catalog, upkeep: Upkeep) -> None:
    assert complete(upkeep, catalog, seeded(catalog))


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (UrlState.FAILED, UrlState.FAILED, (CrawlState.FAILED, "connect")),
        (UrlState.FAILED, UrlState.VISITED, (CrawlState.COMPLETED, "")),
        (UrlState.FAILED, None, (CrawlState.CANCELLED, "cancelled")),
    ],
)
def test_a_crawl_none_of_whose_seeds_could_be_had_has_failed(
    backend: Backend,
    catalog: Catalog,
    upkeep: Upkeep,
    first: UrlState,
    second: UrlState | None,
    expected: tuple[CrawlState, str],
) -> None:
    crawl = seeded(catalog, A, B)
    session = Session(backend)
    for state, row in zip((first, second), session.load(), strict=True):
        if state is not None:
            reason, had = (Reason.CONNECT, False) if state is UrlState.FAILED else (Reason.NONE, True)
            outcome = ended(row, crawl)
            outcome.state, outcome.reason, outcome.page = state, reason, outcome.page if had else None
            session.flush(outcomes=[outcome])
        else:
            catalog.steer(crawl.id, CrawlState.ENDING, Reason.CANCELLED)
    session.flush(released=session.releases())
    session.load()  # a cancelled row ends here
    session.flush(released=session.releases())
    assert complete(upkeep, catalog, crawl)
    over = catalog.crawl(crawl.id)
    assert (over.state, over.reason) == expected


@pytest.mark.requirement("K21")
def test_children_of_a_parent_that_died_unflushed_are_found_again(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    crawl = seeded(catalog, A)
    dead = Session(backend)
    dead.load()
    backend.kill(dead.frontier)
    heir = Session(backend)
    (row,) = heir.load()
    heir.flush(outcomes=[ended(row, crawl, B)], released=heir.releases())
    backend.kill(heir.frontier)
    assert not complete(upkeep, catalog, crawl)
    assert Session(backend).drain(crawl) == 1
    assert complete(upkeep, catalog, crawl)
    assert catalog.check() == []


# --- pause, resume, cancel


@pytest.mark.requirement("S-05")
def test_a_paused_crawl_is_not_loaded_and_hides_nobody(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    paused = seeded(catalog, *(f"http://p{number}.test/" for number in range(50)))
    catalog.steer(paused.id, CrawlState.PAUSED)
    other = seeded(catalog, A)
    session = Session(backend)
    for _ in range(60):
        session.load(queues=1)
    assert session.urls() == [A]
    assert not complete(upkeep, catalog, paused)
    catalog.steer(paused.id, CrawlState.RUNNING)
    session.flush(outcomes=[ended(session.row(A), other)], released=session.releases())
    assert session.drain(paused) == 50
    assert complete(upkeep, catalog, paused)
    assert catalog.check() == []


def test_a_row_that_arrives_while_paused_is_loaded_after_resume(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    catalog.steer(crawl.id, CrawlState.PAUSED)
    session = Session(backend)
    assert session.load() == []
    catalog.add_seeds(crawl.id, [child(crawl, "http://a.test/x"), child(crawl, B)])
    assert session.load() == []
    catalog.steer(crawl.id, CrawlState.RUNNING)
    session.load()
    assert sorted(session.urls()) == [A, "http://a.test/x", B]


@pytest.mark.requirement("S-05")
def test_steering_is_acknowledged_by_every_living_session(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    one, two = Session(backend), Session(backend)
    version = catalog.steer(crawl.id, CrawlState.PAUSED)
    assert not catalog.acknowledged(version)
    assert one.flush().control == version
    one.flush(control_seen=version)
    assert not catalog.acknowledged(version)
    backend.kill(two.frontier)
    assert catalog.acknowledged(version)


def test_time_is_counted_while_it_runs_and_somebody_works(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    backend.clock.advance(1000)
    catalog.steer(crawl.id, CrawlState.PAUSED)
    backend.clock.advance(50_000)
    catalog.steer(crawl.id, CrawlState.RUNNING)
    backend.clock.advance(500)
    assert catalog.crawl(crawl.id).active_ms == 1500
    session.flush()
    backend.kill(session.frontier)
    backend.clock.advance(50_000)
    catalog.steer(crawl.id, CrawlState.PAUSED)
    assert catalog.crawl(crawl.id).active_ms == 1500, "nobody worked after the last flush"


@pytest.mark.requirement("A-27", "S-05")
def test_cancel_ends_every_open_row_in_chunks(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    """Rows that wait for a retry, queues that rest and queues that are parked, among 5,000: all end without waiting."""
    crawl = seeded(catalog, A, *(f"http://big.test/{number}" for number in range(5000)), "http://parked.test/")
    session = Session(backend)
    session.load(window=1)
    row = session.row(A)
    session.flush(
        retries=[Retry(row.id, crawl.id, 3_600_000, 1, 0, "timeout")], released=session.releases(in_ms=900_000)
    )
    catalog.steer(crawl.id, CrawlState.PAUSED)
    session.load()
    catalog.steer(crawl.id, CrawlState.ENDING, Reason.CANCELLED)
    flushes = 0
    while not complete(upkeep, catalog, crawl):
        assert session.load() == []
        flushes += 1
        assert flushes < 20
    assert flushes >= 3, "one transaction is short"
    assert set(states(catalog, crawl).values()) == {UrlState.CANCELLED}
    assert catalog.crawl(crawl.id).state is CrawlState.CANCELLED
    tallies = catalog.tallies(crawl.id)
    assert tallies["cancelled"] == tallies["reason:cancelled"] == 5002
    assert catalog.check() == []


def test_an_outcome_that_comes_after_cancel_has_no_permit(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    catalog.steer(crawl.id, CrawlState.ENDING, Reason.CANCELLED)
    session.flush(released=session.releases())
    session.load()
    assert session.flush(outcomes=[ended(row, crawl, B)]).refused_outcomes == 1
    assert states(catalog, crawl) == {A: UrlState.CANCELLED}


def test_what_is_ending_cannot_be_called_back(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, A)
    catalog.steer(crawl.id, CrawlState.ENDING, Reason.CANCELLED)
    catalog.steer(crawl.id, CrawlState.PAUSED)
    catalog.steer(crawl.id, CrawlState.RUNNING)
    assert catalog.crawl(crawl.id).state is CrawlState.ENDING
    Session(backend).load()
    assert complete(upkeep, catalog, crawl)
    catalog.steer(crawl.id, CrawlState.RUNNING)
    assert catalog.crawl(crawl.id).state is CrawlState.CANCELLED


def test_a_reason_the_store_does_not_know_breaks_no_worker(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, A)
    catalog.steer(crawl.id, CrawlState.ENDING, "the operator said so")
    Session(backend).load()
    assert complete(upkeep, catalog, crawl)
    assert states(catalog, crawl) == {A: UrlState.EXCLUDED}


# --- limits


def visit_within_grants(session: Session, crawl: Crawl, links: int) -> int:
    """As a worker does: never more in flight than granted; says in every flush what it would like to have."""
    wanted = min(5, len(session.load(window=10)))
    granted = session.flush(grants_wanted={crawl.id: wanted}).grants[crawl.id]
    rows = [row for window in session.held.values() for row in window.rows][:granted]
    outcomes = [ended(row, crawl, *(f"http://h{row.id % 9}.test/{row.id}/{n}" for n in range(links))) for row in rows]
    session.flush(outcomes=outcomes, grants_wanted={crawl.id: 0}, released=session.releases())
    return len(rows)


@pytest.mark.requirement("F-16", "K19")
def test_max_pages_is_never_exceeded_and_met_exactly(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, *(f"http://h{number}.test/" for number in range(9)), limits__max_pages=37)
    sessions = [Session(backend) for _ in range(3)]
    for turn in range(200):
        session = sessions[turn % 3]
        session.flush(hand_back=session.lease().give)
        visit_within_grants(session, crawl, links=3)
        assert catalog.tallies(crawl.id).get("visited", 0) <= 37
        if turn == 20:  # dies with grants in hand
            session.flush(grants_wanted={crawl.id: 9})
            backend.kill(session.frontier)
            sessions[turn % 3] = Session(backend)
        if complete(upkeep, catalog, crawl):
            break
    over = catalog.crawl(crawl.id)
    assert (over.state, over.limited_by) == (CrawlState.COMPLETED, "max_pages")
    found = states(catalog, crawl)
    assert list(found.values()).count(UrlState.VISITED) == 37
    assert set(found.values()) == {UrlState.VISITED, UrlState.EXCLUDED}
    assert {row.reason for row in all_urls(catalog, crawl).values() if row.state is UrlState.EXCLUDED} == {
        "limit_pages"
    }
    assert catalog.check() == []


def test_grants_go_back_when_idle_and_to_those_who_want_them(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, limits__max_pages=10)
    one, two, three = Session(backend), Session(backend), Session(backend)
    assert one.flush(grants_wanted={crawl.id: 8}).grants == {crawl.id: 8}
    assert two.flush(grants_wanted={crawl.id: 8}).grants == {crawl.id: 2}
    assert one.flush(grants_wanted={crawl.id: 0}).grants == {crawl.id: 0}
    assert two.flush(grants_wanted={crawl.id: 8}).grants == {crawl.id: 8}
    backend.kill(two.frontier)
    three.lease()
    assert three.flush(grants_wanted={crawl.id: 99}).grants == {crawl.id: 10}


def test_a_robots_answer_is_no_page(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, limits__max_pages=2)
    session = Session(backend)
    session.flush(children=[child(crawl, "http://a.test/robots.txt", kind=Kind.ROBOTS)])
    session.load(grants_wanted={crawl.id: 2})
    robots = ended(session.row("http://a.test/robots.txt"), crawl)
    robots.counts = False
    assert session.flush(outcomes=[robots], grants_wanted={crawl.id: 2}).grants == {crawl.id: 2}
    page = ended(session.row(A), crawl)
    assert session.flush(outcomes=[page], grants_wanted={crawl.id: 2}).grants == {crawl.id: 1}


def test_at_the_limit_the_control_version_moves_once(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, B, limits__max_pages=1)
    session = Session(backend)
    rows = session.load(grants_wanted={crawl.id: 1})
    at_limit = session.flush(outcomes=[ended(rows[0], crawl)], grants_wanted={crawl.id: 1})
    assert catalog.crawl(crawl.id).state is CrawlState.ENDING
    versions = {session.flush(grants_wanted={crawl.id: 1}).control for _ in range(3)}
    assert versions == {at_limit.control}


@pytest.mark.requirement("F-16", "F-23", "K19")
def test_max_urls_is_exact_and_what_it_refuses_is_counted(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, A, limits__max_urls=10)
    session, other = Session(backend), Session(backend)
    (row,) = session.load()
    first = [f"http://a.test/{number}" for number in range(7)]
    session.flush(outcomes=[ended(row, crawl, *first, *first, A)])
    more = [f"http://b.test/{number}" for number in range(6)]
    other.flush(children=[child(crawl, url) for url in [*more, *first]])
    assert catalog.tallies(crawl.id)["urls"] == len(all_urls(catalog, crawl)) == 10
    assert catalog.refusals(crawl.id) == [("b.test", Refusal.LIMIT, 4)]
    assert catalog.crawl(crawl.id).limited_by == "max_urls"
    assert catalog.add_seeds(crawl.id, [child(crawl, "http://c.test/")]) == 0
    session.drain(crawl)
    assert complete(upkeep, catalog, crawl)
    assert catalog.check() == []


def test_max_urls_met_exactly_is_not_a_limit_that_cut(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, B, limits__max_urls=2)
    assert catalog.add_seeds(crawl.id, [child(crawl, A)]) == 0
    assert catalog.crawl(crawl.id).limited_by == ""


@pytest.mark.parametrize(("setting", "reason"), [("max_seconds", Reason.LIMIT_TIME), ("max_bytes", Reason.LIMIT_BYTES)])
def test_upkeep_ends_what_took_too_long_or_too_much(
    backend: Backend, catalog: Catalog, upkeep: Upkeep, setting: str, reason: Reason
) -> None:
    limits: dict[str, Any] = {f"limits__{setting}": 10}
    crawl = seeded(catalog, A, B, **limits)
    session = Session(backend)
    rows = session.load()
    backend.clock.advance(9999)
    session.flush(outcomes=[ended(rows[0], crawl)], tallies={(crawl.id, "bytes"): 9})
    assert upkeep.run_once()["limited"] == 0
    backend.clock.advance(1)
    session.flush(tallies={(crawl.id, "bytes"): 1}, released=session.releases())
    assert upkeep.run_once()["limited"] == 1
    assert session.load() == []
    assert complete(upkeep, catalog, crawl)
    assert catalog.crawl(crawl.id).limited_by == setting
    assert all_urls(catalog, crawl)[rows[1].url].reason == reason


# --- dead hosts


@pytest.mark.requirement("S-06", "K13")
def test_a_dead_host_ends_its_rows_at_once_and_later_arrivals_too(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    crawl = seeded(catalog, *(f"http://a.test/{number}" for number in range(30)), B)
    session = Session(backend)
    session.load(window=3)
    queue = session.queue_of("a.test")
    row, retried, _ = session.held[queue].rows
    session.flush(
        outcomes=[ended(row, crawl)],
        retries=[Retry(retried.id, crawl.id, 60_000, 1, 0, "connect")],
        deaths=[(queue, Reason.HOST_DEAD)],
        released=session.releases(in_ms=30_000),
    )
    session.load()
    found = all_urls(catalog, crawl)
    dead = [each for each in found.values() if each.host == "a.test" and each.id != row.id]
    assert found[row.url].state is UrlState.VISITED
    assert {(each.state, each.reason) for each in dead} == {(UrlState.FAILED, "host_dead")}
    backend.clock.advance(30_000)
    session.load()
    session.flush(outcomes=[ended(session.row(B), crawl, "http://a.test/late")], released=session.releases())
    assert session.load() == []
    assert all_urls(catalog, crawl)["http://a.test/late"].reason == "host_dead"
    assert catalog.tallies(crawl.id)["reason:host_dead"] == 30
    shown = catalog.queue(crawl.id, "a.test")
    assert shown is not None
    assert shown.dead == "host_dead"
    assert complete(upkeep, catalog, crawl)
    assert catalog.check() == []


def test_death_is_per_crawl(backend: Backend, catalog: Catalog) -> None:
    dying, living = seeded(catalog, A, mark="1"), seeded(catalog, A, mark="2")
    session = Session(backend)
    session.load()
    queue = next(window.queue for window in session.held.values() if window.crawl == dying.id)
    session.flush(deaths=[(queue, Reason.LIMIT_HOST)], released=session.releases())
    session.load()
    assert states(catalog, dying) == {A: UrlState.EXCLUDED}
    assert states(catalog, living) == {A: UrlState.QUEUED}


def test_settings_may_change_while_it_runs_and_sessions_hear_of_it(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    before = session.flush().control
    version = catalog.change_settings(crawl.id, crawl_settings("default", {"polite.floor_ms": 5}))
    assert session.flush().control == version > before
    (known,) = session.frontier.controls()
    assert (known.id, known.settings.polite.floor_ms) == (crawl.id, 5)
