"""Requests that ask for the same within a second share one answer: clients that poll cost next to nothing.

Only answers that show the progress of crawls are shared, and only between requests that are equal in every header that
may matter: nobody gets what another was allowed to see. Any change through this server ends all of them.
"""

import asyncio
import re
from concurrent.futures import Future
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nephila.api.recent import RecentAnswers
from nephila.clock import Clock

KEPT_MS = 1000.0
KEPT_MAX = 256  # answers
KEPT_BYTES_MAX = 1 << 20  # of one answer
SHOWS_PROGRESS = re.compile(r"/api/v1/crawls(/[^/]+(/(progress|urls|stats|hosts|graph))?)?")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
NEVER_MATTER = frozenset((b"user-agent", b"accept", b"accept-encoding", b"accept-language", b"connection"))

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class SharedAnswer:
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    async def send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": list(self.headers)})
        await send({"type": "http.response.body", "body": self.body})


class PollingCache:
    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        self.app = app
        # None: the answer cannot be shared, and everybody asks the application.
        self.recent: RecentAnswers[Key, SharedAnswer | None] = RecentAnswers(clock, KEPT_MS, KEPT_MAX)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif scope["method"] not in SAFE_METHODS:
            await self._change(scope, receive, send)
        elif scope["method"] == "GET" and SHOWS_PROGRESS.fullmatch(scope["path"]):
            await self._share(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _change(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forgets all answers before its own is sent, so that whoever has that sees the change."""

        async def sent(message: Message) -> None:
            self.recent.clear()
            await send(message)

        await self.app(scope, receive, sent)

    async def _share(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = key_of(scope)
        answer, first = self.recent.claim(key)
        if not first:
            shared = await asyncio.wrap_future(answer.future)
            await (shared.send(send) if shared is not None else self.app(scope, receive, send))
            return
        try:
            await self._ask(answer.future, scope, receive, send)
        finally:
            if not answer.future.done():
                answer.future.set_result(None)
            if answer.future.result() is None:
                self.recent.forget(key, answer)

    async def _ask(self, shared: "Future[SharedAnswer | None]", scope: Scope, receive: Receive, send: Send) -> None:
        start: Message = {}

        async def sent(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = {**message, "headers": list(message["headers"])}  # outer middleware may add to the original
            elif message["type"] == "http.response.body" and not shared.done():
                shared.set_result(shared_of(start, message))
            await send(message)

        await self.app(scope, receive, sent)


def key_of(scope: Scope) -> Key:
    client = scope.get("client")
    headers = tuple(sorted(header for header in scope["headers"] if header[0] not in NEVER_MATTER))
    return scope["path"], scope["query_string"], client[0] if client else "", headers


def shared_of(start: Message, body: Message) -> SharedAnswer | None:
    """None: an error, or not the whole answer."""
    whole = not body.get("more_body", False) and len(body.get("body", b"")) <= KEPT_BYTES_MAX
    if start.get("status") != 200 or not whole:
        return None
    return SharedAnswer(start["status"], tuple(start["headers"]), body.get("body", b""))
