"""The resolver against a name server of our own on loopback, on a virtual clock."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from nephila.clock import VirtualClock
from nephila.fetch.resolver import CACHE_MAX, NEGATIVE_TTL_MS, RENEW_MS, TTL_MS_MAX, TTL_MS_MIN, DnsAnswer, Resolver
from nephila.models import Reason
from tests.site.names import AAAA, CNAME, A, NameServer


@pytest.fixture
def server() -> Iterator[NameServer]:
    with NameServer() as running:
        yield running


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def resolver(server: NameServer, clock: VirtualClock) -> AsyncIterator[Resolver]:
    resolver = Resolver(clock, servers=[server.address], fixed={"Fixed.test": "192.0.2.1"}, cache_max=3)
    yield resolver
    await resolver.close()


@pytest.mark.requirement("W-14")
async def test_addresses_and_the_chain_of_names(server: NameServer, resolver: Resolver) -> None:
    chain = [("www.a.test", CNAME, 300, "b.test"), ("b.test", CNAME, 60, "c.test")]
    server.zone["www.a.test", A] = [*chain, ("c.test", A, 600, "192.0.2.7"), ("c.test", A, 600, "192.0.2.8")]
    server.zone["www.a.test", AAAA] = [*chain, ("c.test", AAAA, 600, "2001:db8::1")]
    answer = await resolver.resolve("www.a.test")
    assert sorted(answer.addresses[:2]) == ["192.0.2.7", "192.0.2.8"]
    assert answer.addresses[2:] == ("2001:db8::1",), "IPv4 first"
    assert answer.cnames == ("b.test", "c.test")
    assert answer.texts()[1] == "b.test c.test"
    assert (answer.error, answer.expires_tick_ms) == (Reason.NONE, 60_000)


async def test_one_question_for_all_who_ask_at_once(server: NameServer, resolver: Resolver) -> None:
    server.zone["a.test", A] = [("a.test", A, 60, "192.0.2.7")]
    answers = await asyncio.gather(*(resolver.resolve("a.test") for _ in range(20)))
    assert len(set(answers)) == 1
    assert sorted(server.asked) == [("a.test", A), ("a.test", AAAA)]


async def test_one_who_gives_up_does_not_end_the_question(server: NameServer, resolver: Resolver) -> None:
    server.zone["a.test", A] = [("a.test", A, 60, "192.0.2.7")]
    impatient, patient = (asyncio.create_task(resolver.resolve("a.test")) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).addresses == ("192.0.2.7",)


@pytest.mark.requirement("W-15")
@pytest.mark.parametrize(("ttl", "kept_ms"), [(0, TTL_MS_MIN), (100, 100_000), (10**6, TTL_MS_MAX)])
async def test_answers_are_kept_by_ttl(
    server: NameServer, resolver: Resolver, clock: VirtualClock, ttl: int, kept_ms: int
) -> None:
    server.zone["a.test", A] = [("a.test", A, ttl, "192.0.2.7")]
    await resolver.resolve("a.test")
    clock.advance(kept_ms - 1)
    assert resolver.known("a.test", clock.tick_ms())
    clock.advance(1)
    assert resolver.known("a.test", clock.tick_ms()) is None
    assert (await resolver.resolve("a.test")).addresses


@pytest.mark.requirement("W-15")
async def test_half_a_million_names_are_kept_for_an_hour(server: NameServer, clock: VirtualClock) -> None:
    """The values of the requirement, and what is asked again: the oldest name once the cache is full."""
    assert (CACHE_MAX, TTL_MS_MAX) == (500_000, 3_600_000)
    for name in "abcd":
        server.zone[f"{name}.test", A] = [(f"{name}.test", A, 10**6, "192.0.2.7")]
    small = Resolver(clock, servers=[server.address], cache_max=3)
    for name in "abcabd":
        await small.resolve(f"{name}.test")
    questions = [name for name, kind in server.asked if kind == A]
    assert questions == ["a.test", "b.test", "c.test", "d.test"]
    now = clock.tick_ms()
    assert [bool(small.known(f"{name}.test", now)) for name in "abcd"] == [False, True, True, True]
    assert Resolver(clock)._cache_max == CACHE_MAX
    await small.close()


@pytest.mark.requirement("W-15")
async def test_expired_names_leave_the_cache_as_new_ones_come(server: NameServer, clock: VirtualClock) -> None:
    large = Resolver(clock, servers=[server.address])
    for number in range(20):
        await large.resolve(f"missing{number}.test")
        clock.advance(NEGATIVE_TTL_MS)
    assert len(large._cache) == 1
    await large.close()


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("missing.test", Reason.NXDOMAIN),
        ("empty.test", Reason.DNS),
        ("broken.test", Reason.DNS),
        ("x" * 64 + ".test", Reason.NXDOMAIN),
        ("a..test", Reason.NXDOMAIN),
    ],
)
async def test_failures_are_values_and_kept_for_a_while(
    server: NameServer, resolver: Resolver, clock: VirtualClock, name: str, error: Reason
) -> None:
    server.zone["empty.test", 16] = []
    server.failing.add("broken.test")
    answer = await resolver.resolve(name)
    assert (answer.addresses, answer.error) == ((), error)
    assert answer.detail
    questions = len(server.asked)
    clock.advance(NEGATIVE_TTL_MS - 1)
    assert await resolver.resolve(name) is answer
    assert len(server.asked) == questions


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("192.0.2.9", "192.0.2.9"),
        ("[2001:db8::9]", "2001:db8::9"),
        ("fixed.test", "192.0.2.1"),
        ("localhost", "127.0.0.1"),
    ],
)
async def test_names_that_need_no_question(server: NameServer, resolver: Resolver, name: str, address: str) -> None:
    assert (await resolver.resolve(name)).addresses[0] == address
    assert not server.asked


async def test_the_cache_is_bounded_and_drops_the_oldest(server: NameServer, resolver: Resolver) -> None:
    for number in range(5):
        server.zone[f"n{number}.test", A] = [(f"n{number}.test", A, 60, "192.0.2.7")]
        await resolver.resolve(f"n{number}.test")
    assert [number for number in range(5) if resolver.known(f"n{number}.test", 0)] == [2, 3, 4]


# --- renewals


TTL_MS = 60_000
LATE_MS = TTL_MS - RENEW_MS  # from here on an answer is renewed when it is used


def questions(server: NameServer) -> int:
    return sum(kind == A for _, kind in server.asked)


async def renewed(resolver: Resolver) -> None:
    """Whatever is asked beside requests has its answer."""
    await asyncio.gather(*resolver._asking.values(), return_exceptions=True)


@pytest.fixture
async def known(server: NameServer, resolver: Resolver) -> DnsAnswer:
    server.zone["a.test", A] = [("a.test", A, TTL_MS // 1000, "192.0.2.7")]
    answer = await resolver.resolve("a.test")
    server.zone["a.test", A] = [("a.test", A, TTL_MS // 1000, "192.0.2.8")]
    return answer


@pytest.mark.requirement("W-15")
async def test_an_answer_that_is_used_in_its_last_moments_is_renewed_beside(
    server: NameServer, resolver: Resolver, clock: VirtualClock, known: DnsAnswer
) -> None:
    clock.advance(LATE_MS - 1)
    assert resolver.known("a.test", clock.tick_ms()) is known and not resolver._asking, "it lasts for long"
    clock.advance(1)
    for _ in range(20):
        assert resolver.known("a.test", clock.tick_ms()) is known, "it serves meanwhile"
    await renewed(resolver)
    assert questions(server) == 2, "one question for all who use it"
    clock.advance(RENEW_MS)
    answer = resolver.known("a.test", clock.tick_ms())
    assert answer is not None and answer.addresses == ("192.0.2.8",)
    assert answer.expires_tick_ms == LATE_MS + TTL_MS


async def test_an_answer_that_nobody_uses_is_not_renewed(
    server: NameServer, resolver: Resolver, clock: VirtualClock, known: DnsAnswer
) -> None:
    clock.advance(TTL_MS)
    assert resolver.known("a.test", clock.tick_ms()) is None and not resolver._asking
    assert questions(server) == 1


async def test_a_short_answer_is_renewed_in_its_last_quarter(
    server: NameServer, resolver: Resolver, clock: VirtualClock
) -> None:
    server.zone["a.test", A] = [("a.test", A, 8, "192.0.2.7")]
    await resolver.resolve("a.test")
    clock.advance(5_999)
    assert resolver.known("a.test", clock.tick_ms()) and not resolver._asking
    clock.advance(1)
    assert resolver.known("a.test", clock.tick_ms()) and resolver._asking
    await renewed(resolver)


async def test_a_renewal_that_fails_leaves_a_good_answer_until_its_end(
    server: NameServer, resolver: Resolver, clock: VirtualClock, known: DnsAnswer
) -> None:
    server.failing.add("a.test")
    clock.advance(LATE_MS)
    resolver.known("a.test", clock.tick_ms())
    await renewed(resolver)
    asked = len(server.asked)
    clock.advance(RENEW_MS - 1)
    assert resolver.known("a.test", clock.tick_ms()) is known
    await renewed(resolver)
    assert len(server.asked) == asked, "it is tried once"
    clock.advance(1)
    assert (await resolver.resolve("a.test")).error is Reason.DNS, "the fetch asks and decides"


async def test_who_comes_after_the_end_waits_for_the_renewal_under_way(
    server: NameServer, resolver: Resolver, clock: VirtualClock, known: DnsAnswer
) -> None:
    clock.advance(TTL_MS - 1)
    resolver.known("a.test", clock.tick_ms())
    clock.advance(1)
    assert not resolver.unasked("a.test", clock.tick_ms())
    assert (await resolver.resolve("a.test")).addresses == ("192.0.2.8",)
    assert questions(server) == 2


async def test_a_failure_is_not_renewed(server: NameServer, resolver: Resolver, clock: VirtualClock) -> None:
    answer = await resolver.resolve("missing.test")
    clock.advance(NEGATIVE_TTL_MS - 1)
    assert resolver.known("missing.test", clock.tick_ms()) is answer and not resolver._asking


async def test_a_fault_of_ours_in_a_renewal_is_logged(
    resolver: Resolver, clock: VirtualClock, known: DnsAnswer, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = []

    class Log:
        def error(self, event: str, **fields: object) -> None:
            events.append((event, repr(fields["exc_info"])))

    async def break_down(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("nephila.fetch.resolver.logs.component_log", lambda _: Log())
    monkeypatch.setattr(resolver._channels, "getaddrinfo", break_down)
    clock.advance(LATE_MS)
    assert resolver.known("a.test", clock.tick_ms()) is known
    await renewed(resolver)
    await asyncio.sleep(0)
    assert events == [("look_up_broke", "RuntimeError('broken')")]
    assert resolver.known("a.test", clock.tick_ms()) is known and not resolver._asking


@pytest.mark.parametrize("kind", ["forgotten", "expired"])
async def test_a_name_that_does_not_exist_is_asked_for_anew(
    server: NameServer, resolver: Resolver, clock: VirtualClock, kind: str
) -> None:
    """c-ares would know it for as long as its zone says."""
    server.negative_ttl = 3600
    assert (await resolver.resolve("missing.test")).error is Reason.NXDOMAIN
    if kind == "forgotten":
        resolver.forget("missing.test")
    else:
        clock.advance(NEGATIVE_TTL_MS)
    server.zone["missing.test", A] = [("missing.test", A, 60, "192.0.2.7")]
    assert (await resolver.resolve("missing.test")).addresses == ("192.0.2.7",)


async def test_what_is_neither_known_nor_asked_for(server: NameServer, resolver: Resolver) -> None:
    server.zone["a.test", A] = [("a.test", A, 60, "192.0.2.7")]
    unasked = [resolver.unasked(name, 0) for name in ("a.test", "fixed.test", "192.0.2.9", "[2001:db8::9]")]
    assert unasked == [True, False, False, False]
    asking = asyncio.create_task(resolver.resolve("a.test"))
    await asyncio.sleep(0)
    assert not resolver.unasked("a.test", 0)
    await asking
    assert not resolver.unasked("a.test", 0)
