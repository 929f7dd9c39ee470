"""Look-ups beside politeness: bounded, ahead of the turn or to be recorded; the latter hold their queue."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from nephila.clock import VirtualClock
from nephila.fetch.resolver import DnsAnswer, Resolver
from nephila.frontier.store import Batch, Flushed, HostRecord, Window
from nephila.models import Reason
from nephila.policy.politeness import Pace
from nephila.settings import process_settings
from nephila.worker.crawls import LiveCrawl
from nephila.worker.holdings import Holdings, NewName
from nephila.worker.lookups import AHEAD_MAX, LOOKUPS_MAX, Lookups
from nephila.worker.pending import Cut
from nephila.worker.scheduler import Leaving, Queue
from tests.unit.worker.test_scheduler import held_host, live_crawl, rows

FOUND = DnsAnswer(("192.0.2.1",), ("b.test",))
MISSING = DnsAnswer(error=Reason.NXDOMAIN)


class Names(Resolver):
    """Answers when the test does."""

    def __init__(self) -> None:
        super().__init__(VirtualClock())
        self.asked: list[str] = []
        self.forgotten: list[str] = []
        self._questions: dict[str, asyncio.Future[DnsAnswer]] = {}

    async def resolve(self, hostname: str) -> DnsAnswer:
        self.asked.append(hostname)
        self._questions[hostname] = asyncio.get_running_loop().create_future()
        return await self._questions[hostname]

    def forget(self, hostname: str) -> None:
        self.forgotten.append(hostname)

    async def answer(self, hostname: str, answer: DnsAnswer | Exception) -> None:
        question = self._questions[hostname]
        if isinstance(answer, Exception):
            question.set_exception(answer)
        else:
            question.set_result(answer)
        await settled()


async def settled() -> None:
    """Whatever could go on has done so: an answer, its callback, the next question."""
    for _ in range(5):
        await asyncio.sleep(0)


class Session:
    def __init__(self) -> None:
        self.names = Names()
        self.held = Holdings(process_settings())
        self.lookups = Lookups(self.names, VirtualClock(), self.held)

    def found(self) -> dict[str, tuple[str, str]]:
        return {host.key: texts for host, texts in self.held.pending.resolved.items()}

    def queue(self, host: str, crawl: LiveCrawl) -> Queue:
        return held_host(self.held.scheduler, host, crawl)

    async def add(self, *queues: Queue, recorded: bool = True) -> None:
        self.lookups.add(NewName(queue, queue.host.key, recorded) for queue in queues)
        await settled()


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    session = Session()
    yield session
    session.lookups.cancel()
    await settled()


def releasable(held: Holdings) -> set[str]:
    return {queue.host.key for queue in held.touched if not queue.in_flight}


async def test_a_queue_is_held_until_its_name_is_known(session: Session) -> None:
    queue = session.queue("a.test", live_crawl())
    await session.add(queue)
    assert session.lookups and queue.in_flight == 1
    await session.names.answer("a.test", FOUND)
    assert session.found() == {"a.test": FOUND.texts()}
    assert releasable(session.held) == {"a.test"}
    assert not session.lookups and queue.host.requests == 0 and session.held.scheduler.take_dirty() == []


@pytest.mark.requirement("A-21")
async def test_only_so_many_are_asked_at_a_time(session: Session) -> None:
    crawl = live_crawl()
    queues = [session.queue(f"h{number}.test", crawl) for number in range(LOOKUPS_MAX + 2)]
    await session.add(*queues)
    assert session.names.asked == [f"h{number}.test" for number in range(LOOKUPS_MAX)]
    await session.names.answer("h0.test", FOUND)
    await session.names.answer("h5.test", MISSING)
    assert session.names.asked[LOOKUPS_MAX:] == [f"h{LOOKUPS_MAX}.test", f"h{LOOKUPS_MAX + 1}.test"]


async def test_a_name_without_addresses_is_not_asked_again_but_by_the_fetch(session: Session) -> None:
    queue = session.queue("a.test", live_crawl())
    await session.add(queue)
    await session.names.answer("a.test", MISSING)
    assert session.found() == {} and releasable(session.held) == {"a.test"}
    assert session.names.forgotten == ["a.test"], "the fetch does not get our answer from the cache"
    await session.add(queue)
    assert session.names.asked == ["a.test"] and queue.in_flight == 0


async def test_a_fault_of_ours_neither_keeps_the_queue_nor_stops_the_others(session: Session) -> None:
    crawl = live_crawl()
    queues = [session.queue(f"h{number}.test", crawl) for number in range(LOOKUPS_MAX + 1)]
    await session.add(*queues)
    await session.names.answer("h0.test", RuntimeError("broken"))
    assert releasable(session.held) == {"h0.test"}
    await session.names.answer(f"h{LOOKUPS_MAX}.test", FOUND)
    assert list(session.found()) == [f"h{LOOKUPS_MAX}.test"]


def pause(session: Session, queue: Queue) -> None:
    queue.crawl.running = False


def give(session: Session, queue: Queue) -> None:
    session.held.giving = {queue.host.part}


@pytest.mark.parametrize("happens", [pause, give])
async def test_who_waits_in_vain_is_let_go(session: Session, happens: Callable[[Session, Queue], None]) -> None:
    for number in range(LOOKUPS_MAX):
        await session.add(session.queue(f"h{number}.test", live_crawl(1)))
    waiting = session.queue("last.test", live_crawl(2))
    await session.add(waiting)
    happens(session, waiting)
    await session.names.answer("h0.test", FOUND)
    assert "last.test" not in session.names.asked and waiting.in_flight == 0
    assert "last.test" in releasable(session.held)


async def test_nothing_is_found_after_the_end_of_a_session(session: Session) -> None:
    crawl = live_crawl()
    await session.add(*(session.queue(f"h{number}.test", crawl) for number in range(LOOKUPS_MAX + 5)))
    session.lookups.cancel()
    await settled()
    assert not session.lookups
    assert session.found() == {} and len(session.names.asked) == LOOKUPS_MAX


@pytest.mark.parametrize(
    ("overrides", "resolved", "wanted"),
    [
        ({"dns__resolve_discovered": True}, False, True),
        ({"dns__resolve_discovered": True}, True, False),
        ({"dns__resolve_discovered": True, "fetch__proxy": "http://proxy.test:3128"}, False, False),
        ({}, False, False),
    ],
)
def test_which_hosts_are_recorded(overrides: dict[str, object], resolved: bool, wanted: bool) -> None:
    crawl = live_crawl(1, **overrides)
    held = Holdings(process_settings())
    held.crawls[1] = crawl
    record = HostRecord(0, Pace(), "", 0, [], resolved)
    answer = Flushed(windows=[Window(7, 1, "h", rows(3))], hosts={"h": record})
    loaded = held.take(Cut(Batch(1), [], [], []), answer, 0.0)
    assert [(new.queue.id, new.name, new.recorded) for new in loaded] == [(7, "h", wanted)]


# --- ahead of the turn


async def test_a_host_that_is_to_be_asked_is_looked_up_and_its_queue_is_not_held(session: Session) -> None:
    queue = session.queue("a.test", live_crawl())
    await session.add(queue, recorded=False)
    assert session.names.asked == ["a.test"] and queue.in_flight == 0
    await session.names.answer("a.test", FOUND)
    assert not session.lookups and session.found() == {} and session.names.forgotten == []
    assert session.held.touched == set() and queue.host.requests == 0 and session.held.scheduler.take_dirty() == []


@pytest.mark.parametrize(("error", "forgotten"), [(Reason.NXDOMAIN, []), (Reason.DNS, ["a.test"])])
async def test_only_that_a_name_does_not_exist_is_kept_for_the_fetch(
    session: Session, error: Reason, forgotten: list[str]
) -> None:
    queue = session.queue("a.test", live_crawl())
    await session.add(queue, recorded=False)
    await session.names.answer("a.test", DnsAnswer(error=error))
    assert session.names.forgotten == forgotten
    await session.add(queue, recorded=False)
    assert session.names.asked == ["a.test", "a.test"], "the host may have another name server by then"


def leave(session: Session, queue: Queue) -> None:
    session.held.send_back(queue, Leaving.REST)


def send(session: Session, queue: Queue) -> None:
    session.held.scheduler.drop_rows(queue)


def know(session: Session, queue: Queue) -> None:
    session.names._keep(queue.host.key, FOUND)


def ask(session: Session, queue: Queue) -> None:
    session.names._asking[queue.host.key] = asyncio.get_running_loop().create_future()  # type: ignore[assignment]


IN_VAIN = [pause, give, leave, send, know, ask]


@pytest.mark.parametrize("happens", IN_VAIN)
@pytest.mark.parametrize("early", [True, False], ids=["before", "while it waits"])
async def test_who_is_not_to_be_asked_is_not_looked_up_ahead(
    session: Session, happens: Callable[[Session, Queue], None], early: bool
) -> None:
    await session.add(*(session.queue(f"h{number}.test", live_crawl(1)) for number in range(LOOKUPS_MAX)))
    waiting = session.queue("last.test", live_crawl(2))
    if early:
        happens(session, waiting)
    await session.add(waiting, recorded=False)
    if not early:
        happens(session, waiting)
    await session.names.answer("h0.test", FOUND)
    assert "last.test" not in session.names.asked and waiting.in_flight == 0


async def test_a_host_whose_rows_are_only_recorded_is_not_looked_up_ahead(session: Session) -> None:
    queue = session.queue("a.test", live_crawl(1, scope__max_depth=1, scope__at_max_depth="record_only"))
    queue.rows[0] = queue.rows[0]._replace(depth=1)
    await session.add(queue, recorded=False)
    assert session.names.asked == []


@pytest.mark.parametrize(("private", "asked"), [(True, []), (False, ["a.test"])])
async def test_a_proxy_that_needs_no_guard_looks_names_up_itself(
    session: Session, private: bool, asked: list[str]
) -> None:
    crawl = live_crawl(1, fetch__proxy="http://proxy.test:3128", fetch__allow_private=private)
    await session.add(session.queue("a.test", crawl), recorded=False)
    assert session.names.asked == asked


async def test_a_fault_of_ours_leaves_a_name_to_its_fetch(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def known(hostname: str, now_tick_ms: float) -> None:
        if hostname == "bad.test":
            raise RuntimeError("broken")

    monkeypatch.setattr(session.names, "known", known)
    crawl = live_crawl()
    await session.add(*(session.queue(name, crawl) for name in ("bad.test", "a.test")), recorded=False)
    assert session.names.asked == ["a.test"]


async def test_an_address_in_place_of_a_name_is_not_looked_up(session: Session) -> None:
    await session.add(session.queue("192.0.2.1", live_crawl()), recorded=False)
    assert session.names.asked == [] and not session.lookups


async def test_names_ahead_wait_in_a_bounded_queue(session: Session) -> None:
    crawl = live_crawl()
    count = LOOKUPS_MAX + AHEAD_MAX + 5
    await session.add(*(session.queue(f"h{number}.test", crawl) for number in range(LOOKUPS_MAX)))
    queues = [session.queue(f"h{number}.test", crawl) for number in range(LOOKUPS_MAX, count)]
    await session.add(*queues, recorded=False)
    assert len(session.lookups._waiting) == AHEAD_MAX
    await session.add(session.queue("recorded.test", crawl))
    assert len(session.lookups._waiting) == AHEAD_MAX + 1, "those hold their queue, so none is left out"
