"""Channels of c-ares: a name that was asked for before is really asked for again."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from nephila.clock import VirtualClock
from nephila.fetch.channels import Channels
from tests.site.names import A, NameServer


@pytest.fixture
def server() -> Iterator[NameServer]:
    with NameServer() as running:
        for name in ("a.test", "b.test", "slow.test"):
            running.add(name, "192.0.2.7")
        yield running


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def channels(server: NameServer, clock: VirtualClock) -> AsyncIterator[Channels]:
    channels = Channels(clock, [server.address])
    yield channels
    await channels.close()


def questions(server: NameServer) -> list[str]:
    return [name for name, kind in server.asked if kind == A]


async def test_new_names_share_a_channel(server: NameServer, clock: VirtualClock, channels: Channels) -> None:
    for name in ("a.test", "b.test"):
        clock.advance(60_000)
        await channels.getaddrinfo(name)
    assert len(channels._open) == 1 and questions(server) == ["a.test", "b.test"]


async def test_names_that_were_asked_for_share_one_that_was_opened_since(
    server: NameServer, clock: VirtualClock, channels: Channels
) -> None:
    await channels.getaddrinfo("a.test")
    await channels.getaddrinfo("b.test")
    first, asked = channels._newest, clock.tick_ms()
    clock.advance(1000)
    await channels.getaddrinfo("a.test", asked)
    second = channels._newest
    clock.advance(1000)
    await channels.getaddrinfo("b.test", asked)
    assert first is not second is channels._newest
    assert questions(server) == ["a.test", "b.test"] * 2, "none is answered by c-ares itself"
    assert channels._open == {second}, "the first has nothing left to do"


async def test_an_old_channel_stays_until_its_questions_are_answered(
    server: NameServer, clock: VirtualClock, channels: Channels
) -> None:
    server.late = {"slow.test"}
    await channels.getaddrinfo("a.test")
    slow = asyncio.create_task(channels.getaddrinfo("slow.test"))
    await asyncio.sleep(0)
    again = asyncio.create_task(channels.getaddrinfo("a.test", clock.tick_ms()))
    await asyncio.sleep(0)
    assert len(channels._open) == 2
    server.gate.set()
    assert (await slow).nodes and (await again).nodes
    assert channels._open == {channels._newest}


async def test_closing_ends_all(server: NameServer, clock: VirtualClock, channels: Channels) -> None:
    server.late = {"slow.test"}
    slow = [asyncio.create_task(channels.getaddrinfo("slow.test", clock.tick_ms())) for _ in range(3)]
    await asyncio.sleep(0)
    assert len(channels._open) == 3
    await channels.close()
    assert channels._open == set()
    answers = await asyncio.gather(*slow, return_exceptions=True)
    assert all(isinstance(answer, Exception) for answer in answers)
