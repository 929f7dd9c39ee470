"""Names, looked up before the turn of their host: of hosts that are to be asked, and of all that are discovered where
the crawl wants it (dns.resolve_discovered), once each."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from nephila import wiring
from nephila.clock import SystemClock
from nephila.fetch import channels
from nephila.fetch.fetcher import FetchResult
from nephila.fetch.resolver import DnsAnswer, Resolver
from nephila.frontier.store import Batch, Flushed, Frontier, HostClock, WorkerInfo
from nephila.metrics import DNS_DURATION, Meter
from nephila.metrics import Place as MeterPlace
from nephila.models import UrlState
from nephila.policy.politeness import Pace
from nephila.settings import ProcessSettings
from nephila.urls.identity import hostname_of
from nephila.worker.metering import Metering
from tests.e2e.harness import Place, Places, close, run_here
from tests.patience import PATIENCE_SECONDS
from tests.site.fixtures import html
from tests.site.names import AAAA, A, NameServer
from tests.site.server import TestWeb

ROOT = "root.test"
CHILDREN = {"one.test": ("127.0.0.2", "edge.cdn.test node.cdn.test"), "two.test": ("127.0.0.3", "")}
SECOND_MS = 1000
PAGES_PER_HOST = 40  # more than the first window of a queue
HALF_MINUTE_MS, HOUR_MS = 30_000, 3_600_000
ASKED_BEFORE, DELAY_MS = 3, 60_000
FLUSHES_WAITED = 3
CHAIN = 6  # pages one after the other: each brings new rows to hosts that were at rest before


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    """The resolver waits for it: else names that a test holds back for too long would count as broken."""
    monkeypatch.setattr(channels, "QUERY_SECONDS", PATIENCE_SECONDS)
    with NameServer() as server:
        server.add(ROOT, "127.0.0.1")
        for host, (address, cnames) in CHILDREN.items():
            server.add(host, address, *cnames.split())
        yield server


def place_with(places: Places, names: NameServer, **more: Any) -> Place:
    return places(more={"dns_servers": (names.address,), **more})


def links_to(hosts: Any, web: TestWeb) -> list[str]:
    return [web.url(f"/{number}", host) for host in hosts for number in range(PAGES_PER_HOST)]


def asked_before(place: Place, hosts: Any, rest_ms: int) -> None:
    """Another crawl was here: politeness lets nobody ask these hosts while the test runs."""
    frontier = wiring.open_frontier(place.settings())
    frontier.join(WorkerInfo("before", 0, "test"))
    frontier.lease({})
    clocks = [HostClock(host, rest_ms, DELAY_MS, Pace(), "", ASKED_BEFORE) for host in hosts]
    frontier.flush(Batch(1, clocks=clocks))
    frontier.leave()
    close(frontier)


def host_row(place: Place, host: str) -> HostClock:
    row = place.store().catalog.host(host)
    assert row is not None
    return row


class Watched:
    """A frontier of which every state that others can see is kept: it commits nowhere but in `flush`."""

    def __init__(self, frontier: Frontier, settings: ProcessSettings) -> None:
        self._frontier = frontier
        self._settings = settings
        self.seen: list[dict[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frontier, name)

    def flush(self, batch: Batch) -> Flushed:
        answer = self._frontier.flush(batch)
        looking = Place(self._settings.data, url=self._settings.store)
        self.seen.append(looking.states(1))
        looking.close()
        return answer


@pytest.mark.requirement("A-21", "F-12")
def test_a_root_and_its_children_appear_in_one_transaction(places: Places, names: NameServer) -> None:
    place = place_with(places, names)
    asked_before(place, CHILDREN, HOUR_MS)
    watched: list[Watched] = []

    def watch(frontier: Frontier) -> Any:
        watched.append(Watched(frontier, place.settings()))
        return watched[0]

    with TestWeb() as web:
        children = links_to(CHILDREN, web)
        web.add({ROOT: {"/": html(*children)}})
        root = web.url("/", ROOT)
        crawl = place.start([root], profile="graph")
        assert crawl.id == 1
        run_here(place, crawl.id, wrap=watch, until=lambda: place.states(crawl.id)[root] == UrlState.VISITED)
    (frontier,) = watched
    kinds = {(states[root], frozenset(states)) for states in frontier.seen}
    assert {len(urls) for state, urls in kinds if state != UrlState.VISITED} == {1}
    assert {urls for state, urls in kinds if state == UrlState.VISITED} == {frozenset([root, *children])}


@pytest.mark.requirement("A-21", "W-14")
@pytest.mark.parametrize("rest_ms", [HALF_MINUTE_MS, HOUR_MS], ids=["waits in memory", "is sent back to rest"])
def test_a_host_is_resolved_long_before_its_turn(places: Places, names: NameServer, rest_ms: int) -> None:
    place = place_with(places, names)
    asked_before(place, CHILDREN, rest_ms)
    with TestWeb() as web:
        children = links_to(CHILDREN, web)
        web.add({ROOT: {"/": html(*children)}})
        crawl = place.start([web.url("/", ROOT)], profile="graph")
        run_here(place, crawl.id, until=lambda: all(host_row(place, host).addresses for host in CHILDREN))
        assert {hit.host for hit in web.hits()} == {ROOT}
    for host, found in CHILDREN.items():
        row = host_row(place, host)
        assert (row.addresses, row.cnames) == found
        assert (row.requests, row.delay_ms) == (ASKED_BEFORE, DELAY_MS), "a look-up is no request"
        assert row.next_in_ms <= rest_ms
    states = place.states(crawl.id)
    assert {states[url] for url in children} == {UrlState.QUEUED}
    assert Counter(names.asked) == Counter((host, kind) for host in (ROOT, *CHILDREN) for kind in (A, AAAA))
    assert place.store().catalog.check() == []


@pytest.mark.requirement("A-21", "W-14", "K30")
@pytest.mark.parametrize("resolve", [True, False])
def test_a_host_that_is_never_asked_is_resolved_where_the_crawl_wants_it(
    places: Places, names: NameServer, resolve: bool
) -> None:
    """All children are at the depth limit: recorded, and the crawl is over, but not before their names are known."""
    names.late = set(CHILDREN)
    place = place_with(places, names)
    with TestWeb() as web:
        web.add({ROOT: {"/": html(*links_to(CHILDREN, web))}})
        overrides = {"scope.max_depth": 1, "dns.resolve_discovered": resolve}
        crawl = place.start([web.url("/", ROOT)], overrides, profile="graph")
        catalog = place.store().catalog

        recorded: list[int] = []  # numbers of flushes after which nothing was left but the names

        def answer_at_last() -> bool:
            if catalog.tallies(crawl.id).get(UrlState.EXCLUDED) == len(CHILDREN) * PAGES_PER_HOST:
                recorded.append(catalog.workers()[0].flushes)
                if recorded[-1] >= recorded[0] + FLUSHES_WAITED:
                    names.gate.set()
            return False

        run_here(place, crawl.id, until=answer_at_last)
        assert {hit.host for hit in web.hits()} == {ROOT}
    addresses = catalog.addresses([ROOT, *CHILDREN])
    if resolve:
        assert addresses == {ROOT: "127.0.0.1"} | {host: address for host, (address, _) in CHILDREN.items()}
        assert [host_row(place, host).requests for host in CHILDREN] == [0, 0]
    else:
        assert addresses == {ROOT: "127.0.0.1"}
        assert [catalog.host(host) for host in CHILDREN] == [None, None]
        assert {name for name, _ in names.asked} == {ROOT}


@pytest.mark.requirement("A-21", "W-14", "K30")
def test_a_name_that_does_not_resolve_hurts_neither_parent_nor_child(places: Places, names: NameServer) -> None:
    nowhere = ("nowhere.test", "broken.test")
    names.failing.add("broken.test")
    place = place_with(places, names)
    asked_before(place, nowhere, HOUR_MS)
    with TestWeb() as web:
        later = {f"/{n}": html(f"/{n + 1}", *(web.url(f"/later{n}", host) for host in nowhere)) for n in range(CHAIN)}
        web.add({ROOT: {"/": html(*links_to(nowhere, web), "/0"), **later, f"/{CHAIN}": html()}})
        parents = [web.url(path, ROOT) for path in ("/", *later)]
        crawl = place.start(parents[:1], {"scope.max_depth": 50}, profile="graph")
        catalog = place.store().catalog

        def looked_up_and_back_at_rest() -> bool:
            queues = [catalog.queue(crawl.id, host) for host in nowhere]
            known = {name for name, _ in names.asked}.issuperset(nowhere)
            return known and all(
                queue and queue.open == PAGES_PER_HOST + CHAIN and (queue.due_in_ms or 0) > HALF_MINUTE_MS
                for queue in queues
            )

        run_here(place, crawl.id, until=looked_up_and_back_at_rest)
    rows = place.rows(crawl.id)
    assert {row.state for row in rows if row.host in nowhere} == {UrlState.QUEUED}
    assert {row.state for row in rows if row.url in parents} == {UrlState.VISITED}
    assert catalog.errors(10) == []
    for host in nowhere:
        row = host_row(place, host)
        assert (row.addresses, row.requests, row.rest_reason, row.pace) == ("", ASKED_BEFORE, "", Pace())
    assert Counter(names.asked)["nowhere.test", A] == 1, "the second rows of a host do not ask again"


class Timed(Metering):
    """Keeps what each request waited for its name."""

    def __init__(self) -> None:
        super().__init__(Meter(MeterPlace.WORKER), SystemClock())
        self.dns_ms: dict[str, list[float]] = {}

    def fetched(self, result: FetchResult) -> None:
        super().fetched(result)
        self.dns_ms.setdefault(hostname_of(result.url), []).append(result.timing.dns_ms)


@pytest.mark.requirement("W-14", "W-15")
def test_the_name_of_a_host_that_waits_for_its_turn_is_known_when_it_comes(
    places: Places, names: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only slot is taken by a slow host; the name server is slow, too. Both are over before the next host's turn:
    its requests do not wait for its name."""
    (waiting, *_) = CHILDREN
    names.late = {waiting}
    known: set[str] = set()
    keep = Resolver._keep

    def note(resolver: Resolver, hostname: str, answer: DnsAnswer) -> None:
        keep(resolver, hostname, answer)
        known.add(hostname)

    monkeypatch.setattr(Resolver, "_keep", note)
    place = place_with(places, names, concurrency=1)
    asked_before(place, [waiting], SECOND_MS)  # so the other one is the first
    metering = Timed()
    with TestWeb() as web:
        web.add({host: {"/": html("/more"), "/more": html()} for host in (ROOT, waiting)})
        web.hold()

        def answer_by_and_by() -> bool:
            hits = {hit.host for hit in web.hits()}
            if not web.holding:
                return False
            if waiting in {name for name, _ in names.asked} and waiting not in known:
                assert waiting not in hits
                names.gate.set()
            if waiting in known and ROOT in hits:
                assert hits == {ROOT}
                web.go_on()
            return False

        crawl = place.start([web.url("/", host) for host in (ROOT, waiting)])
        run_here(place, crawl.id, until=answer_by_and_by, metering=metering)
        assert {hit.path for hit in web.hits() if hit.host == waiting} == {"/robots.txt", "/", "/more"}
    assert metering.dns_ms[waiting] == [0.0, 0.0, 0.0]
    assert sum(metering.meter.distribution(DNS_DURATION).counts) <= 1, "only the first one asked while it was looked up"
    assert set(place.states(crawl.id).values()) == {UrlState.VISITED}
