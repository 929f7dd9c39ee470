"""Following a crawl: a reader who asks again from where it was told to misses no URL and no change of state."""

from pathlib import Path

import pytest

from nephila.control.graph import GraphKind, GraphNode, graph_page
from nephila.frontier.catalog import Catalog
from nephila.frontier.postgres import PostgresFrontier
from nephila.frontier.session import ENTRY_URLS_MAX
from nephila.frontier.store import Crawl, Retry
from nephila.models import CrawlState, UrlState
from tests.contract.backend import Backend, PostgresBackend
from tests.contract.session import Session, all_urls, child, ended, seeded, states

A, B = "http://a.test/", "http://b.test/"


class Reader:
    """A client of the graph: what it was told last of each URL, and where it goes on from."""

    def __init__(self, catalog: Catalog, crawl: Crawl, limit: int = 1000) -> None:
        self.catalog, self.crawl, self.limit = catalog, crawl, limit
        self.known: dict[str, UrlState] = {}
        self.edges: set[tuple[int, int]] = set()
        self.links: list[tuple[int, int]] = []
        self.after = {GraphKind.DISCOVERY: 0, GraphKind.LINKS: 0}

    def read(self, kind: GraphKind = GraphKind.DISCOVERY) -> list[GraphNode]:
        """Everything that is new; the nodes in the order in which they came."""
        nodes: list[GraphNode] = []
        while True:
            page = graph_page(self.catalog, self.crawl.id, kind, self.after[kind], self.limit)
            assert len(page.nodes) <= self.limit
            nodes += page.nodes
            if kind is GraphKind.LINKS:
                self.links += page.edges
            else:
                self.edges.update(page.edges)
            self.known |= {node.url: node.state for node in page.nodes}
            if page.next is None:
                return nodes
            assert page.next > self.after[kind]
            self.after[kind] = page.next


@pytest.mark.requirement("A-14", "G-03")
def test_a_flush_that_commits_after_a_later_one_is_seen(tmp_path: Path) -> None:
    """Two workers flush at once; the one whose rows have the lower ids commits last."""
    backend = PostgresBackend(tmp_path)
    try:
        catalog = backend.catalog()
        crawl = seeded(catalog, A, B)
        early, late = Session(backend), Session(backend, lease=False)
        early.load()
        reader = Reader(catalog, crawl)
        reader.read()
        slow = early.batch(outcomes=[ended(early.row(A), crawl, "http://a.test/slow")])
        frontier = early.frontier
        assert isinstance(frontier, PostgresFrontier)
        with frontier.database.write() as cursor:
            frontier._flush(cursor, slow)  # has its ids, and is not committed
            late.flush(children=[child(crawl, "http://b.test/fast", depth=1)])
            reader.read()
            assert "http://a.test/slow" not in reader.known
        reader.read()
        rows = all_urls(catalog, crawl)
        assert rows["http://a.test/slow"].id < rows["http://b.test/fast"].id
        assert reader.known == states(catalog, crawl)
        assert reader.known[A] == UrlState.VISITED
    finally:
        backend.close()


@pytest.mark.requirement("A-14")
def test_seeds_that_commit_after_a_later_flush_are_seen(tmp_path: Path) -> None:
    backend = PostgresBackend(tmp_path)
    try:
        catalog, seeder = backend.catalog(), backend.catalog()
        crawl = seeded(catalog, B, finished=False)
        session = Session(backend)
        reader = Reader(catalog, crawl)
        with seeder.database.write() as cursor:
            seeder._insert(crawl.id, [child(crawl, A)], cursor)
            session.flush(children=[child(crawl, "http://b.test/fast", depth=1)])
            reader.read()
            assert set(reader.known) == {B}, "what came after the seeds waits for them"
        assert [node.url for node in reader.read()] == [A, "http://b.test/fast"]
    finally:
        backend.close()


def test_a_state_that_changed_after_it_was_read_comes_again(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, B)
    session = Session(backend)
    session.load()
    reader = Reader(catalog, crawl)
    assert [node.state for node in reader.read()] == [UrlState.QUEUED] * 2
    assert reader.read() == []
    session.flush(outcomes=[ended(session.row(B), crawl, "http://b.test/2")])
    assert [(node.url, node.state) for node in reader.read()] == [
        (B, UrlState.VISITED),
        ("http://b.test/2", UrlState.QUEUED),
    ]
    session.flush(in_flight=[(session.row(A).id, 1)])
    assert [(node.url, node.state) for node in reader.read()] == [(A, UrlState.IN_PROGRESS)]
    session.flush(retries=[Retry(session.row(A).id, crawl.id, 1000, 1, 0, "timeout")])
    assert [(node.url, node.state) for node in reader.read()] == [(A, UrlState.QUEUED)]
    catalog.steer(crawl.id, CrawlState.ENDING, "cancelled")
    session.flush(released=session.releases())
    session.load()
    reader.read()
    assert set(reader.known.values()) == {UrlState.VISITED, UrlState.CANCELLED}
    assert reader.known == states(catalog, crawl)


@pytest.mark.parametrize("limit", [1, 3, 7, 1000])
def test_readers_who_began_at_any_time_know_the_same_in_the_end(backend: Backend, catalog: Catalog, limit: int) -> None:
    crawl = seeded(catalog, A, B)
    other = seeded(catalog, "http://c.test/", mark="other")
    sessions = [Session(backend), Session(backend)]
    for _ in sessions:
        for session in sessions:
            session.flush(hand_back=list(session.lease().give))
            session.lease()
    readers: list[Reader] = []
    for turn in range(6):
        readers.append(Reader(catalog, crawl, limit))
        for session in sessions:
            session.load()
            rows = [row for window in session.held.values() for row in window.rows if window.crawl == crawl.id]
            found = {row.url: [f"{row.url}{name}/" for name in "xy" if turn < 3] for row in rows}
            outcomes = [ended(row, crawl, *found[row.url]) for row in rows]
            session.flush(outcomes=outcomes, released=session.releases())
            readers[turn // 2].read()
    known = states(catalog, crawl)
    assert UrlState.VISITED in known.values()
    for reader in readers:
        reader.read()
        assert reader.known == known
        assert reader.read() == []
    latest = Reader(catalog, crawl, limit)
    nodes = latest.read()
    assert len(nodes) == len(known), "each URL once"
    place = {node.id: number for number, node in enumerate(nodes)}
    assert all(place[parent] < place[found] for parent, found in latest.edges), "a page before what was found on it"
    assert len(Reader(catalog, other).read()) == 1


def test_a_place_may_lie_in_the_midst_of_a_transaction(
    backend: Backend, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries are parted where they are too long; a page ends anywhere in them."""
    count = 2 * ENTRY_URLS_MAX + 10
    crawl = seeded(catalog, A)
    session = Session(backend)
    session.load()
    reader = Reader(catalog, crawl, limit=ENTRY_URLS_MAX - 1)
    session.flush(outcomes=[ended(session.row(A), crawl, *(f"{A}{number}" for number in range(count)))])
    assert len(reader.read()) == count + 1
    catalog.steer(crawl.id, CrawlState.ENDING, "cancelled")
    session.flush(released=session.releases())
    while session.flush(new_queues=10, window=10) and UrlState.QUEUED in states(catalog, crawl).values():
        pass
    reader.read()
    assert reader.known == states(catalog, crawl)
    monkeypatch.setattr("nephila.frontier.changes.SCAN_ROWS_MAX", 1)
    anew = Reader(catalog, crawl, limit=5000)
    assert (len(anew.read()), anew.known) == (count + 1, reader.known)


def test_a_purged_crawl_leaves_no_entries(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, B)
    session = Session(backend)
    session.load()
    late = session.row(B)
    catalog.delete(crawl.id)
    session.flush(outcomes=[ended(session.row(A), crawl)], retries=[Retry(late.id, crawl.id, 1000, 1, 0, "timeout")])
    upkeep = backend.upkeep()
    while upkeep.purge(crawl.id, 1000):
        pass
    session.flush(retries=[Retry(late.id, crawl.id, 1000, 1, 0, "timeout")])
    assert catalog.changes(crawl.id, 0, 100).next == 0
