"""`explain` says what a worker does: drawn hosts, rows, rules and crawls, told by the one and done by the other."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, event, given, note, settings
from hypothesis import strategies as st

from nephila.archive.folder import FolderArchive
from nephila.control.explain import explain
from nephila.extract.reader import PageReading, ReadRequest
from nephila.fetch.fetcher import FetchRequest, FetchResult
from nephila.fetch.resolver import Resolver
from nephila.frontier.operators import BlockKind
from nephila.frontier.records import UrlRow
from nephila.frontier.store import Crawl, Frontier, HostClock, Release, Retry, RobotsRecord, WorkerInfo
from nephila.metrics import Meter, Place
from nephila.models import CrawlState, Reason
from nephila.policy.dispatch import Dispatch, Step
from nephila.policy.politeness import Pace
from nephila.settings import process_settings, user_agent_of
from nephila.urls.identity import origin_of, url_key
from nephila.worker.metering import Metering
from nephila.worker.parts import WorkerParts
from nephila.worker.right import StoreThread
from nephila.worker.session import Session
from tests.contract.backend import Backend
from tests.contract.session import Session as Earlier
from tests.contract.session import child, seeded

PROCESS = process_settings()
HOURS = 3_600_000
WAITS_MAX = 6  # a row may wait for its host, its next try and an operator, one after the other
NUMBERS = count()
REFUSALS = (Reason.RULE, Reason.DEPTH, Reason.ROBOTS, Reason.CRAWL_DELAY, Reason.ROBOTS_UNREACHABLE)

ROBOTS = {
    "unknown": None,
    "none": ("allow_all", b"", 0, HOURS),
    "expired": ("allow_all", b"", 0, 1),
    "rules": ("rules", b"User-agent: *\nDisallow: /private\n", 0, HOURS),
    "slow": ("rules", b"User-agent: *\nCrawl-delay: 99999\n", 0, HOURS),
    "hold": ("hold", b"", 1, HOURS),
    "unreachable": ("hold", b"", 5, HOURS),
    "pending": ("pending", b"", 0, HOURS),
}


@dataclass(frozen=True)
class Drawn:
    path: str
    depth: int
    robots: str
    obeys: bool
    records_at_depth: bool
    state: CrawlState
    fetched: int
    dead: str
    retry_ms: int
    rest_ms: int
    blocks: tuple[BlockKind, str] | None  # {host} stands for its host
    blocked_ms: int
    floor_ms: int


DRAWN = st.builds(
    Drawn,
    path=st.sampled_from(["/x", "/private/x"]),
    depth=st.integers(1, 3),
    robots=st.sampled_from(list(ROBOTS)),
    obeys=st.booleans(),
    records_at_depth=st.booleans(),
    state=st.sampled_from([CrawlState.RUNNING] * 4 + [CrawlState.PAUSED, CrawlState.ENDING]),
    fetched=st.integers(0, 3),
    dead=st.sampled_from(["", "", "", Reason.HOST_DEAD, Reason.LIMIT_HOST]),
    retry_ms=st.sampled_from([0, 0, 7_000]),
    rest_ms=st.sampled_from([0, 0, 2_000, 90_000]),
    blocks=st.sampled_from([None, None, (BlockKind.DOMAIN, "{host}"), (BlockKind.PATTERN, "*{host}/private*")]),
    blocked_ms=st.sampled_from([0, 0, 0, 5_000]),
    floor_ms=st.sampled_from([0, 0, 3_000]),
)


class Opened:
    """One store with one connection for each of its protocols, whatever the number of examples."""

    def __init__(self, backend: Backend) -> None:
        self.clock = backend.clock
        self.catalog, self.rulebook, self._frontier = backend.catalog(), backend.rulebook(), backend.frontier()

    def frontier(self) -> Frontier:
        """Of the earlier session and of the worker, one after the other."""
        return self._frontier


@pytest.fixture
def opened(backend: Backend) -> Opened:
    return Opened(backend)


class Asked:
    """A fetcher that never answers."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    async def fetch(self, request: FetchRequest) -> FetchResult:
        self.urls.append(request.url)
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    def body_bytes(self) -> int:
        return 0

    def abort(self) -> None: ...

    async def close(self) -> None: ...


class Unread:
    async def read(self, request: ReadRequest) -> PageReading:
        raise AssertionError("nothing is answered, so nothing is read")

    async def close(self) -> None: ...


def written(opened: Opened, drawn: Drawn) -> tuple[Crawl, UrlRow]:
    """The store as an earlier session left it, with one queued row."""
    host = f"h{next(NUMBERS)}.test"
    seed, url = f"http://{host}/", f"http://{host}{drawn.path}"
    catalog = opened.catalog
    crawl = seeded(
        catalog,
        seed,
        robots__mode="obey" if drawn.obeys else "ignore",
        scope__max_depth=3,
        scope__at_max_depth="record_only" if drawn.records_at_depth else "fetch_no_expand",
        limits__max_urls_per_host=3,
    )
    earlier = Earlier(opened)
    (first,) = [row for row in earlier.load() if row.url == seed]
    queue = earlier.queue_of(host)
    found = child(crawl, url, depth=drawn.depth, parent=first.id)
    earlier.flush(children=[found], refills=[])
    row = catalog.url(crawl.id, host, url_key(url))
    seed_row = catalog.url(crawl.id, host, url_key(seed))
    assert row is not None and seed_row is not None
    # The seed waits for longer than any test: only the other row is due.
    retries = [Retry(seed_row.id, crawl.id, 1000 * HOURS, 1, 0, Reason.TIMEOUT)]
    if drawn.retry_ms:
        retries.append(Retry(row.id, crawl.id, drawn.retry_ms, 1, 0, Reason.TIMEOUT))
    origin, known = f"http://{host}", ROBOTS[drawn.robots]
    robots = []
    if known is not None:
        access, body, failures, expires = known
        robots = [RobotsRecord(origin, host, access, 200, body, expires, failures, "told")]
    earlier.flush(
        retries=retries,
        robots=robots,
        clocks=[HostClock(host, drawn.rest_ms, 1000, Pace(), "backoff" if drawn.rest_ms else "", 2)],
        deaths=[(queue, drawn.dead)] if drawn.dead else [],
        released=[Release(queue, drawn.rest_ms, drawn.fetched)],
    )
    earlier.frontier.leave()
    if drawn.state is not CrawlState.RUNNING:
        catalog.steer(crawl.id, drawn.state, "limit_time" if drawn.state is CrawlState.ENDING else "asked")
    opened.clock.advance(10)  # what expires at once has expired
    _rule(opened, drawn, host)
    return catalog.crawl(crawl.id), row


def _rule(opened: Opened, drawn: Drawn, host: str) -> None:
    rulebook = opened.rulebook
    rulebook.set_floor(drawn.floor_ms)
    if drawn.blocks is not None:
        kind, value = drawn.blocks
        rulebook.add_blocks(kind, [value.format(host=host)], "spam", "me")
    if drawn.blocked_ms:
        rulebook.set_host(host, None, drawn.blocked_ms, "it fell over", "me")


def told(opened: Opened, crawl: Crawl, url: str) -> Dispatch | None:
    catalog, rulings = opened.catalog, opened.rulebook.rulings()
    return explain(catalog, rulings, catalog.crawl(crawl.id), url, user_agent_of(crawl.settings, PROCESS)).dispatch


async def with_session(opened: Opened, folder: Path, work: Callable[[Session, Asked], Awaitable[None]]) -> None:
    store, asked = StoreThread(lambda event: None), Asked()
    archive = FolderArchive(folder / "warc", opened.clock)
    metering, info = Metering(Meter(Place.WORKER), opened.clock), WorkerInfo("here", 1, "0")
    frontier, resolver = opened.frontier(), Resolver(opened.clock)
    adapters = (frontier, archive, resolver, asked, Unread())
    parts = WorkerParts(*adapters, PROCESS, opened.clock, info, metering)
    session = Session(await store.call(frontier.join, info), parts, store)
    try:
        await work(session, asked)
    finally:
        tasks = [task for task, _ in session.dispatcher.tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await session._leave()
        await resolver.close()
        store.shutdown()


async def one_round(session: Session) -> None:
    """What a session does between two looks at the clock."""
    for _ in range(3):  # control is read, the queue is loaded, its rows are sent or ended
        await session._renew_lease()
        cut = session._cut()
        answer = await session._commit(cut)
        assert answer is not None
        await session._apply(cut, answer)
        session.dispatcher._dispatch()
        await asyncio.sleep(0)


async def done(session: Session, asked: Asked, opened: Opened, row: UrlRow) -> tuple[Step, str]:
    """What the worker did with the row."""
    await one_round(session)
    now = opened.catalog.url_by_id(row.id)
    assert now is not None
    if asked.urls:
        assert asked.urls in ([row.url], [origin_of(row.url) + "/robots.txt"])
        return (Step.SEND if asked.urls[0] == row.url else Step.ASK_ROBOTS), ""
    if now.state.terminal:
        return (Step.REFUSE if now.reason in REFUSALS else Step.GIVE_UP), now.reason
    return Step.WAIT, ""


@settings(
    max_examples=40,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(drawn=DRAWN)
def test_a_worker_does_what_is_explained(opened: Opened, tmp_path: Path, drawn: Drawn) -> None:
    note(str(drawn))
    crawl, row = written(opened, drawn)

    async def compare(session: Session, asked: Asked) -> None:
        for _ in range(WAITS_MAX):
            decision = told(opened, crawl, row.url)
            assert decision is not None
            step, reason = await done(session, asked, opened, row)
            if decision.step is not Step.WAIT:
                event(f"{decision.step} {decision.reason}")
                if step is Step.WAIT and (drawn.rest_ms or drawn.retry_ms or drawn.blocked_ms):
                    opened.clock.advance(HOURS)  # an ending comes with the row's next turn
                    step, reason = await done(session, asked, opened, row)
                expected = decision.reason if decision.step in (Step.REFUSE, Step.GIVE_UP) else ""
                assert (step, reason) == (decision.step, expected)
                return
            assert step is Step.WAIT, f"told to wait ({decision}), but {step}"
            if not decision.wait_ms:
                event(f"{decision.step} {decision.reason}")
                return  # for somebody else
            opened.clock.advance(decision.wait_ms + 1)
        raise AssertionError("it waits for ever")

    asyncio.run(with_session(opened, tmp_path, compare))
    opened.catalog.delete(crawl.id)
