"""Answers that are kept for a second: who shares one, and what ends it."""

import asyncio
from typing import Any

import pytest

from nephila.api.polling import KEPT_MAX, KEPT_MS, PollingCache
from nephila.clock import VirtualClock

PATH = "/api/v1/crawls/1/urls"


class Counting:
    """An application that numbers its answers."""

    def __init__(self, status: int = 200, chunks: int = 1) -> None:
        self.status, self.chunks = status, chunks
        self.asked = 0
        self.hold: asyncio.Event | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        body = str(self.asked).encode()
        if self.hold:
            await self.hold.wait()
        await send({"type": "http.response.start", "status": self.status, "headers": [(b"x-number", body)]})
        for left in reversed(range(self.chunks)):
            await send({"type": "http.response.body", "body": body, "more_body": left > 0})


class Asking:
    def __init__(self, app: Counting) -> None:
        self.clock = VirtualClock()
        self.cache = PollingCache(app, self.clock)

    async def get(self, path: str = PATH, query: str = "", method: str = "GET", **headers: str) -> bytes:
        sent: list[dict[str, Any]] = []
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "client": ("127.0.0.1", 5),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }

        async def send(message: dict[str, Any]) -> None:
            if "headers" in message:
                message["headers"].append((b"added-outside", b"1"))
            sent.append(message)

        await self.cache(scope, None, send)  # type: ignore[arg-type]
        assert [name for name, _ in sent[0]["headers"]] == [b"x-number", b"added-outside"]
        return b"".join(message.get("body", b"") for message in sent)


async def test_the_same_question_within_a_second_has_the_same_answer() -> None:
    asking = Asking(Counting())
    assert [await asking.get(), await asking.get(user_agent="another"), await asking.get()] == [b"1", b"1", b"1"]
    asking.clock.advance(KEPT_MS + 1)
    assert await asking.get() == b"2"


@pytest.mark.parametrize(
    "other",
    [
        {"query": "after=1"},
        {"path": "/api/v1/crawls/2/urls"},
        {"authorization": "Bearer x"},
        {"host": "elsewhere"},
        {"origin": "http://evil.test"},
        {"x_forwarded_for": "10.0.0.1"},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_another_question_or_another_caller_has_its_own(other: dict[str, str]) -> None:
    asking = Asking(Counting())
    assert [await asking.get(), await asking.get(**other)] == [b"1", b"2"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "path", [f"{PATH}/5", "/api/v1/crawls/1/export", "/api/v1/tokens", "/metrics", "/crawl-runs/1"]
)
async def test_nothing_else_is_kept(path: str) -> None:
    asking = Asking(Counting())
    assert [await asking.get(path), await asking.get(path)] == [b"1", b"2"]


@pytest.mark.parametrize("app", [Counting(status=404), Counting(chunks=2)], ids=["errors", "streams"])
async def test_only_whole_good_answers_are_kept(app: Counting) -> None:
    asking = Asking(app)
    assert (await asking.get())[:1] + (await asking.get())[:1] == b"12"


async def test_a_change_is_seen_at_once() -> None:
    asking = Asking(Counting())
    assert await asking.get() == b"1"
    await asking.get("/api/v1/crawls/1/pause", method="POST")
    assert await asking.get() == b"3"


async def test_those_who_ask_meanwhile_wait_for_the_first() -> None:
    app = Counting()
    app.hold = asyncio.Event()
    asking = Asking(app)
    waiting = [asyncio.create_task(asking.get()) for _ in range(20)]
    await asyncio.sleep(0)
    app.hold.set()
    assert await asyncio.gather(*waiting) == [b"1"] * 20


async def test_memory_is_bounded() -> None:
    asking = Asking(Counting())
    for number in range(3 * KEPT_MAX):
        await asking.get(query=str(number))
    assert len(asking.cache.recent) <= KEPT_MAX
