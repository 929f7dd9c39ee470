"""Answers that are asked for again within a second come from memory: clients that poll cost next to nothing.

Only what shows the progress of crawls, and only to a request that is the same in every header that may matter: so
nobody gets what another was allowed to see. Whatever changes something through this server ends all of them.
"""

import asyncio
import re
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nephila.clock import Clock

KEPT_MS = 1000.0
KEPT_MAX = 256  # answers; when full all are forgotten
KEPT_BYTES_MAX = 1 << 20  # of one
SHOWS_PROGRESS = re.compile(r"/api/v1/crawls(/[^/]+(/(progress|urls|stats|hosts|graph))?)?")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
NEVER_MATTER = frozenset((b"user-agent", b"accept", b"accept-encoding", b"accept-language", b"connection"))

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    async def send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": list(self.headers)})
        await send({"type": "http.response.body", "body": self.body})


@dataclass(slots=True)
class Moment:
    """Others who ask for the same meanwhile wait for the first; None: it cannot be kept, each asks for himself."""

    until: float
    answer: "asyncio.Future[Kept | None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Moments:
    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        self.app = app
        self._clock = clock
        self._moments: dict[Key, Moment] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif scope["method"] not in SAFE_METHODS:
            await self._changing(scope, receive, send)
        elif scope["method"] == "GET" and SHOWS_PROGRESS.fullmatch(scope["path"]):
            await self._shown(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _changing(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Before its answer is sent, so that whoever has it sees the change."""

        async def sent(message: Message) -> None:
            self._moments.clear()
            await send(message)

        await self.app(scope, receive, sent)

    async def _shown(self, scope: Scope, receive: Receive, send: Send) -> None:
        key, now = key_of(scope), self._clock.tick_ms()
        moment = self._moments.get(key)
        if moment is not None and moment.until > now:
            kept = await asyncio.shield(moment.answer)
            if kept is not None:
                await kept.send(send)
                return
            await self.app(scope, receive, send)
            return
        if len(self._moments) >= KEPT_MAX:
            self._moments.clear()
        moment = self._moments[key] = Moment(now + KEPT_MS)
        try:
            await self._first(moment, scope, receive, send)
        finally:
            if not moment.answer.done():
                moment.answer.set_result(None)
            if moment.answer.result() is None and self._moments.get(key) is moment:
                del self._moments[key]

    async def _first(self, moment: Moment, scope: Scope, receive: Receive, send: Send) -> None:
        start: Message = {}

        async def sent(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = {**message, "headers": list(message["headers"])}  # those outside may add to it
            elif message["type"] == "http.response.body" and not moment.answer.done():
                moment.answer.set_result(kept_of(start, message))
            await send(message)

        await self.app(scope, receive, sent)


def key_of(scope: Scope) -> Key:
    client = scope.get("client")
    headers = tuple(sorted(header for header in scope["headers"] if header[0] not in NEVER_MATTER))
    return scope["path"], scope["query_string"], client[0] if client else "", headers


def kept_of(start: Message, body: Message) -> Kept | None:
    """Only a good answer that is there as a whole."""
    whole = not body.get("more_body", False) and len(body.get("body", b"")) <= KEPT_BYTES_MAX
    if start.get("status") != 200 or not whole:
        return None
    return Kept(start["status"], tuple(start["headers"]), body.get("body", b""))
