"""Who may write: sessions, fencing, lost answers, partitions, arrivals."""

import pytest

from nephila.errors import Fenced
from nephila.frontier.catalog import Catalog
from nephila.frontier.store import WORKERS_KEPT, Batch, Outcome, Refill, Release, WorkerInfo
from nephila.frontier.upkeep import Upkeep
from nephila.models import PARTITIONS, CrawlState, Refusal, UrlState
from tests.contract.backend import Backend
from tests.contract.session import Session, ended, hosts_in, seeded, states

A, B = "http://a.test/", "http://b.test/"


def urls_of(outcomes: list[Outcome]) -> list[int]:
    return [outcome.url_id for outcome in outcomes]


# --- fencing


@pytest.mark.requirement("RC-01", "F-03")
def test_a_fenced_session_changes_nothing(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    stale = Session(backend)
    (row,) = stale.load()
    backend.kill(stale.frontier)
    heir = Session(backend)
    before = states(catalog, crawl)
    with pytest.raises(Fenced):
        stale.flush(outcomes=[ended(row, crawl, "http://a.test/stale")], tallies={(crawl.id, "bytes"): 1})
    with pytest.raises(Fenced):
        stale.lease()
    assert states(catalog, crawl) == before
    assert "bytes" not in catalog.tallies(crawl.id)
    assert [row.url for row in heir.load()] == [A], "what the dead held is free at once"
    assert catalog.check() == []


def test_a_new_session_of_a_fenced_worker_loads_nothing_before_its_first_lease(
    backend: Backend, catalog: Catalog
) -> None:
    """Its first lease may fail. What the session before it owned is another's: two workers would ask one host."""
    crawl = seeded(catalog, A)
    worker = Session(backend)
    worker.load()
    backend.kill(worker.frontier)
    heir = Session(backend)
    worker.id, worker.seq, worker.held = worker.frontier.join(WorkerInfo("again", 1, "test")), 0, {}
    assert worker.load() == []
    (row,) = heir.load()
    heir.flush(outcomes=[ended(row, crawl)], released=heir.releases())
    assert catalog.check() == []


def test_a_batch_out_of_turn_is_refused(backend: Backend, catalog: Catalog) -> None:
    seeded(catalog, A)
    session = Session(backend)
    session.flush()
    with pytest.raises(Fenced):
        session.frontier.flush(Batch(5))


@pytest.mark.requirement("RC-01", "RC-02", "K25")
def test_upkeep_fences_the_dead_too(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    seeded(catalog, A)
    dead, living = Session(backend), Session(backend)
    assert upkeep.run_once()["fenced"] == 0
    backend.kill(dead.frontier)
    assert upkeep.run_once()["fenced"] == 1
    assert upkeep.run_once()["fenced"] == 0, "once is enough"
    assert {row.id: row.alive for row in catalog.workers()} == {dead.id: False, living.id: True}


@pytest.mark.requirement("RC-04")
@pytest.mark.requirement("M-05")
def test_fencing_tells_what_the_dead_had_in_flight(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    seeded(catalog, "http://a.test/1", "http://a.test/2", "http://a.test/3")
    dead = Session(backend)
    first, second, _ = dead.load()
    dead.flush(in_flight=[(first.id, 1), (second.id, 1)])
    backend.kill(dead.frontier)
    other = Session(backend, lease=False)
    lease = other.lease()
    assert (lease.fenced, lease.fenced_urls) == (1, 2)
    other.flush(in_flight=[(first.id, 1)])
    backend.kill(other.frontier)
    for fenced in (1, 0):
        done = upkeep.run_once()
        assert (done["fenced"], done["fenced_urls"]) == (fenced, fenced)


@pytest.mark.requirement("M-03", "M-11")
def test_how_long_the_most_overdue_queue_waits(backend: Backend, catalog: Catalog) -> None:
    assert catalog.overdue_ms() == 0
    crawl = seeded(catalog, "http://a.test/", "http://b.test/")
    backend.clock.advance(7000)
    assert catalog.overdue_ms() == 7000
    session = Session(backend)
    session.load()
    assert catalog.overdue_ms() == 0, "what is held does not wait for a worker"
    queue = session.queue_of("a.test")
    session.flush(released=[Release(queue, 3000, 0)])
    assert (catalog.overdue_ms(), catalog.crawl(crawl.id).state) == (0, CrawlState.RUNNING)
    backend.clock.advance(5000)
    assert catalog.overdue_ms() == 2000


def test_leaving_frees_everything_in_peace(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, limits__max_pages=5)
    leaver = Session(backend)
    assert leaver.load(grants_wanted={crawl.id: 5}) != []
    leaver.frontier.leave()
    heir = Session(backend, lease=False)
    assert set(heir.lease().partitions.values()) == {None}
    assert len(heir.load(grants_wanted={crawl.id: 5})) == 1
    assert heir.flush(grants_wanted={crawl.id: 5}).grants == {crawl.id: 5}, "unused grants came back"


def test_sessions_that_ended_long_ago_are_forgotten(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, A)
    zombie = Session(backend)
    zombie.flush(refusals={(crawl.id, "b.test", Refusal.SCOPE): 3}, archive_files=[("open.warc.gz", 10)])
    first = Session(backend, lease=False)
    first.flush(refusals={(crawl.id, "b.test", Refusal.SCOPE): 4})
    backend.kill(zombie.frontier)
    first.frontier.leave()
    for _ in range(WORKERS_KEPT):
        Session(backend, lease=False).frontier.leave()
    living = Session(backend)
    upkeep.run_once()
    ids = {worker.id for worker in catalog.workers()}
    assert len(ids) == WORKERS_KEPT + 2 and {zombie.id, living.id} <= ids
    assert first.id not in ids, "the oldest of those whose files are closed"
    assert sum(n for _, _, n in catalog.refusals(crawl.id, "b.test")) == 7, "what they counted stays"
    with pytest.raises(Fenced):
        first.flush()
    with pytest.raises(Fenced):
        first.lease()
    assert catalog.check() == []


# --- lost answers


@pytest.mark.requirement("F-04", "F-07", "F-17")
def test_a_batch_sent_again_after_a_lost_answer_changes_nothing(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, B, "http://c.test/", limits__max_pages=10)
    session = Session(backend)
    session.load(queues=1, grants_wanted={crawl.id: 4})
    (window,) = session.held.values()
    outcomes = [ended(window.rows[0], crawl, "http://d.test/")]
    batch = session.batch(outcomes=outcomes, grants_wanted={crawl.id: 4}, tallies={(crawl.id, "bytes"): 5})
    batch.new_queues, batch.window = 1000, 10
    assert len(session.frontier.flush(batch).windows) == 3  # this answer is lost
    before, tallies = states(catalog, crawl), catalog.tallies(crawl.id)
    again = session.send(batch)
    assert (again.repeated, again.windows, again.grants) == (True, [], {crawl.id: 4})
    assert (states(catalog, crawl), catalog.tallies(crawl.id)) == (before, tallies)
    rows = session.load(holding=list(session.held))
    assert len(rows) == 3, "what the lost answer had loaded is loaded again"
    assert window.queue in session.held
    assert catalog.check() == []


def test_a_hand_back_whose_answer_was_lost_stays_handed_back(backend: Backend, catalog: Catalog) -> None:
    one = Session(backend)
    two = Session(backend)
    give = one.lease().give
    batch = one.batch(hand_back=give)
    one.frontier.flush(batch)
    assert one.send(batch).repeated
    two.lease()
    (host,) = hosts_in(two.parts)
    seeded(catalog, f"http://{host}/")
    assert one.load() == []
    assert len(two.load()) == 1


def test_a_row_arrived_in_a_lost_answer_is_not_lost(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    owner = Session(backend)
    (row,) = owner.load()
    stranger = Session(backend)
    stranger.flush(children=[ended(0, crawl, "http://a.test/x").children[0]])
    batch = owner.batch(outcomes=[ended(row, crawl)])
    owner.frontier.flush(batch)  # it took the arrival
    assert owner.send(batch).repeated
    owner.flush(released=owner.releases(), holding=list(owner.held))
    assert [row.url for row in owner.load()] == ["http://a.test/x"]


# --- partitions


def owned(*sessions: Session) -> list[int]:
    return sorted(part for session in sessions for part in session.parts)


@pytest.mark.requirement("F-26", "F-28")
def test_a_joining_worker_gets_its_share_by_hand_back_only(backend: Backend) -> None:
    first = Session(backend)
    assert owned(first) == list(range(PARTITIONS))
    second = Session(backend)
    assert second.parts == set(), "nothing is stolen from the living"
    give = first.lease().give
    assert len(give) == PARTITIONS // 2
    assert second.lease().partitions == {}, "not before it was handed back"
    first.flush(hand_back=give)
    second.lease()
    first.lease()
    assert owned(first, second) == list(range(PARTITIONS))
    assert len(second.parts) == PARTITIONS // 2


@pytest.mark.requirement("F-26", "RC-01")
def test_partitions_of_the_dead_are_free_at_once_and_marked(backend: Backend, catalog: Catalog) -> None:
    dead = Session(backend)
    backend.clock.advance(1000)
    backend.kill(dead.frontier)
    heir = Session(backend, lease=False)
    assert set(heir.lease().partitions.values()) == {0}
    backend.clock.advance(1500)
    assert set(heir.lease().partitions.values()) == {1500}, "so long ago somebody may have asked these hosts"


def test_the_mark_of_a_forced_partition_outlives_a_peaceful_hand_over(backend: Backend) -> None:
    """Else a host could be asked again too early: the dead worker's last request is on no clock."""
    dead = Session(backend)
    backend.kill(dead.frontier)
    between = Session(backend)
    backend.clock.advance(10)
    between.frontier.leave()
    assert set(Session(backend, lease=False).lease().partitions.values()) == {10}


@pytest.mark.requirement("F-26", "K28")
def test_three_workers_come_and_die_and_every_partition_has_one_owner(backend: Backend) -> None:
    sessions = [Session(backend) for _ in range(3)]
    for _ in range(4):
        for session in sessions:
            session.flush(hand_back=session.lease().give)
        for session in sessions:
            session.lease()
        assert len(owned(*sessions)) == len(set(owned(*sessions)))
    assert owned(*sessions) == list(range(PARTITIONS))
    assert [abs(len(session.parts) - PARTITIONS / 3) < 20 for session in sessions] == [True] * 3
    backend.kill(sessions.pop().frontier)
    for _ in range(2):
        for session in sessions:
            session.lease()
    assert owned(*sessions) == list(range(PARTITIONS))


def test_a_partition_handed_back_is_not_loaded_by_the_same_flush(backend: Backend, catalog: Catalog) -> None:
    first = Session(backend)
    second = Session(backend)
    give = first.lease().give
    (host,) = hosts_in(give)
    seeded(catalog, f"http://{host}/")
    assert first.load(hand_back=give) == []
    second.lease()
    assert [row.url for row in second.load()] == [f"http://{host}/"]
    assert catalog.check() == []


def test_queues_held_in_a_handed_back_partition_are_free_for_the_next_owner(backend: Backend, catalog: Catalog) -> None:
    first = Session(backend)
    Session(backend)
    (host,) = hosts_in(first.lease().give)
    seeded(catalog, f"http://{host}/")
    assert len(first.load()) == 1
    first.flush(hand_back=first.lease().give)  # without releasing: a lost answer may have left it so
    backend.kill(first.frontier)
    heir = Session(backend)
    heir.lease()
    for _ in range(2):
        heir.lease()
    assert [row.url for row in heir.load()] == [f"http://{host}/"] or host not in hosts_in(heir.parts)


# --- arrivals


@pytest.mark.requirement("F-19", "F-07", "F-29")
def test_rows_found_by_another_session_reach_the_owner(backend: Backend, catalog: Catalog) -> None:
    first, second = Session(backend), Session(backend)
    first.flush(hand_back=first.lease().give)
    second.lease()
    mine, theirs = hosts_in(first.parts)[0], hosts_in(second.parts)[0]
    crawl = seeded(catalog, f"http://{mine}/", f"http://{theirs}/")
    (row,), (other,) = first.load(), second.load()
    second.flush(outcomes=[ended(other, crawl)], released=second.releases())
    first.flush(outcomes=[ended(row, crawl, f"http://{theirs}/1", f"http://{mine}/1")])
    assert [row.url for row in second.load()] == [f"http://{theirs}/1"], "a queue that was asleep"
    first.flush(children=[ended(0, crawl, f"http://{theirs}/2").children[0]])
    queue = second.queue_of(theirs)
    assert second.flush().arrived == [queue], "a queue that is held"
    (window,) = second.flush(refills=[Refill(queue, 10)]).refills
    assert [row.url for row in window.rows] == [f"http://{theirs}/1", f"http://{theirs}/2"]
    assert catalog.check() == []


def test_arrivals_in_a_partition_without_owner_wait_for_one(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    session.flush(outcomes=[ended(row, crawl)], released=session.releases())
    session.frontier.leave()
    catalog.add_seeds(crawl.id, ended(0, crawl, "http://a.test/later").children)
    assert upkeep.run_once()["ended"] == 0
    assert [row.url for row in Session(backend).load()] == ["http://a.test/later"]


@pytest.mark.requirement("F-08")
def test_three_workers_end_with_the_rows_of_one(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    links = {f"http://h{n}.test/": [f"http://h{m % 40}.test/" for m in (2 * n, 2 * n + 1, n * n)] for n in range(40)}

    def crawled(workers: int) -> dict[str, UrlState]:
        crawl = seeded(catalog, "http://h1.test/", "http://h0.test/", mark=str(workers))
        sessions = [Session(backend) for _ in range(workers)]
        for _ in range(60):
            for session in sessions:
                rows = session.load(hand_back=[p for p in session.lease().give if not session.held])
                outcomes = [ended(row, crawl, *links[row.url]) for row in rows]
                session.flush(outcomes=outcomes, released=session.releases())
            if upkeep.run_once()["ended"]:
                break
        for session in sessions:
            session.frontier.leave()
        return states(catalog, crawl)

    assert crawled(1) == crawled(3)
    assert catalog.check() == []


@pytest.mark.requirement("F-05")
def test_what_is_in_flight_is_shown(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, B)
    session = Session(backend)
    rows = session.load()
    session.flush(in_flight=[(rows[0].id, 123)])
    shown = catalog.url_by_id(rows[0].id)
    assert shown is not None
    assert (shown.state, shown.claimed_by, shown.claimed_at) == (UrlState.IN_PROGRESS, session.id, 123)
    assert (catalog.tallies(crawl.id)["in_progress"], catalog.tallies(crawl.id)["queued"]) == (1, 1)
    (worker,) = catalog.workers()
    assert (worker.in_flight, worker.partitions, worker.alive) == (1, PARTITIONS, True)
    backend.kill(session.frontier)
    Session(backend)
    shown = catalog.url_by_id(rows[0].id)
    assert shown is not None
    assert (shown.state, shown.claimed_by) == (UrlState.QUEUED, None)


def test_a_release_by_who_no_longer_holds_changes_nothing(backend: Backend, catalog: Catalog) -> None:
    seeded(catalog, A)
    session = Session(backend)
    session.load()
    (queue,) = session.held
    session.flush(released=session.releases())
    session.load()
    session.flush(released=[Release(queue, 0, 0)])
    assert len(session.load()) == 1
