"""The resolver against a name server of our own on loopback, on a virtual clock."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from nephila.clock import VirtualClock
from nephila.fetch.resolver import NEGATIVE_TTL_MS, TTL_MS_MAX, TTL_MS_MIN, Resolver
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
