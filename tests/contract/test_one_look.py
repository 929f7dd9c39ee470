"""Completion on PostgreSQL: one look is exact at every moment between the statements of two workers' flushes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nephila.frontier.catalog import Catalog
from nephila.frontier.postgres import PostgresFrontier
from nephila.frontier.store import Crawl, Release
from nephila.models import CrawlState
from tests.contract.backend import PostgresBackend
from tests.contract.session import Session, ended, hosts_in, seeded

STATEMENTS_MAX = 100  # of a flush: it has a dozen


class Step(NamedTuple):
    session: Session
    flush: Callable[[], None]


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[PostgresBackend]:
    backend = PostgresBackend(tmp_path)
    yield backend
    backend.close()


@contextmanager
def between_statements(session: Session, look: Callable[[], None]) -> Iterator[None]:
    """Looks before each statement of this session, and before the commit of each of its flushes."""
    frontier = session.frontier
    assert isinstance(frontier, PostgresFrontier)
    connection = frontier.database._connection
    assert connection is not None
    normal, flush = connection.cursor_factory, frontier._flush

    class LookingCursor(normal):  # type: ignore[misc, valid-type]
        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            look()
            return super().execute(query, params, **options)

    def looking_flush(cursor: Any, batch: Any) -> Any:
        answer = flush(cursor, batch)
        look()
        return answer

    connection.cursor_factory = LookingCursor
    frontier._flush = looking_flush  # type: ignore[method-assign]
    try:
        yield
    finally:
        connection.cursor_factory = normal
        frontier._flush = flush  # type: ignore[method-assign]


def two_workers(backend: PostgresBackend) -> tuple[Session, Session]:
    """Each owns half of the partitions."""
    first, second = Session(backend, "first"), Session(backend, "second")
    first.flush(hand_back=list(first.lease().give))
    second.lease()
    first.lease()
    assert first.parts and second.parts and not first.parts & second.parts
    return first, second


class Scene:
    """`finder` visits the last row of its host and finds a URL of `owner`'s host, whose queue is about to sleep."""

    def __init__(self, catalog: Catalog, finder: Session, owner: Session, number: int) -> None:
        self.finder, self.owner = finder, owner
        near, far = hosts_in(finder.parts)[0], hosts_in(owner.parts)[0]
        self.found = f"http://{far}/found"
        self.crawl: Crawl = seeded(catalog, f"http://{near}/", f"http://{far}/", mark=str(number))
        finder.load()
        owner.load()
        self.near, self.far = finder.queue_of(near), owner.queue_of(far)
        self.page = finder.row(f"http://{near}/")
        owner.flush(outcomes=[ended(owner.row(f"http://{far}/"), self.crawl)])

    def find(self) -> None:
        self.finder.flush(
            outcomes=[ended(self.page, self.crawl, self.found)], released=[Release(self.near, 0, 1)], next_due=True
        )

    def sleep(self) -> None:
        self.owner.flush(released=[Release(self.far, 0, 1)])

    def visit_the_rest(self) -> None:
        self.owner.load()
        row = self.owner.row(self.found)
        self.owner.flush(outcomes=[ended(row, self.crawl)], released=[Release(self.far, 0, 2)])


class Looks:
    """Upkeep of another process, which must not complete the crawl."""

    def __init__(self, backend: PostgresBackend) -> None:
        self.catalog, self.upkeep = backend.catalog(), backend.upkeep()
        self.crawl = 0
        self.count = 0

    def look(self) -> None:
        self.count += 1
        self.upkeep.run_once()
        assert self.state() is CrawlState.RUNNING

    def state(self) -> CrawlState:
        return self.catalog.crawl(self.crawl).state


def interleaved(looks: Looks, outer: Step, inner: Step, place: int) -> bool:
    """Run `outer` with `inner` before its statement at this place, or else behind it; whether there is such a place."""
    left = place

    def step() -> None:
        nonlocal left
        looks.look()
        if left == 0:
            with between_statements(inner.session, looks.look):
                inner.flush()
        left -= 1

    with between_statements(outer.session, step):
        outer.flush()
    if left >= 0:
        inner.flush()
    looks.look()
    return left < 0


@pytest.mark.requirement("C-01", "C-02", "K26")
@pytest.mark.parametrize("finder_is_outside", [True, False])
def test_no_look_between_the_statements_of_two_workers_completes_too_early(
    postgres: PostgresBackend, finder_is_outside: bool
) -> None:
    """K26. The flush of one worker runs whole before the nth statement of the other's, for every n, with a look before
    each statement of both. The first look after the last commit completes."""
    looks, (finder, owner) = Looks(postgres), two_workers(postgres)
    for place in range(STATEMENTS_MAX):
        scene = Scene(looks.catalog, finder, owner, place)
        looks.crawl = scene.crawl.id
        steps = Step(finder, scene.find), Step(owner, scene.sleep)
        exists = interleaved(looks, *(steps if finder_is_outside else steps[::-1]), place)
        with between_statements(owner, looks.look):
            scene.visit_the_rest()
        looks.upkeep.run_once()
        assert looks.state() is CrawlState.COMPLETED
        if not exists:
            break
    assert 5 < place < STATEMENTS_MAX - 1
    assert looks.count > 20 * place
