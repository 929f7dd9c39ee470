"""Middleware for every request: headers that make browsers careful, a limit on the size of bodies, HEAD."""

import asyncio
from contextlib import suppress

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nephila.api.problems import Problem, answer

BODY_BYTES_MAX = 1 << 20
SEEDS_BYTES_MAX = 10 << 20
DISCARDED_BYTES_MAX = 64 << 20  # read of a body that is refused, so that its sender hears the answer
SEED_PATHS = frozenset(("/api/v1/crawls", "/api/crawl/jobs"))

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class SafeHeaders:
    """Adds HEADERS to every answer that does not set them itself."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, sent if scope["type"] == "http" else send)


class HeadersOnly:
    """Answers HEAD wherever there is GET: with its status and headers. Its body is not made: a stream has no end."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})
                answering.cancel()

        answering = asyncio.ensure_future(self.app({**scope, "method": "GET"}, receive, sent))
        try:
            await asyncio.wait((answering,))
        finally:
            answering.cancel()
        if not answering.cancelled():
            answering.result()  # raises what went wrong before the answer began


class TooLarge(Exception):
    """Raised in the code that reads the body."""


class BodyLimit:
    """Refuses bodies that are too large: at once where the length is announced, else when the limit is reached."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = SEEDS_BYTES_MAX if scope["path"] in SEED_PATHS else BODY_BYTES_MAX
        if announced(scope) > limit:
            await discard(receive)
            await refuse(limit, scope, receive, send)
            return
        await self._counted(limit, scope, receive, send)

    async def _counted(self, limit: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts the body while it comes. Above the limit the answer is a 413, whatever the reader of it sends."""
        read, exceeded, more = 0, False, True

        async def counted() -> Message:
            nonlocal read, exceeded, more
            message = await receive()
            more = message.get("more_body", False)
            read += len(message.get("body", b""))
            if read > limit:
                exceeded = True
                raise TooLarge
            return message

        async def sent(message: Message) -> None:
            if not exceeded:
                await send(message)

        with suppress(TooLarge):
            await self.app(scope, counted, sent)
        if exceeded:
            if more:
                await discard(receive)
            await refuse(limit, scope, receive, send)


def announced(scope: Scope) -> int:
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(length) if length.isdigit() else 0


async def discard(receive: Receive) -> None:
    read, more = 0, True
    while more and read < DISCARDED_BYTES_MAX:
        message = await receive()
        read += len(message.get("body", b""))
        more = message["type"] == "http.request" and message.get("more_body", False)


async def refuse(limit: int, scope: Scope, receive: Receive, send: Send) -> None:
    await answer(Problem(413, f"a body has at most {limit:,} bytes here"))(scope, receive, send)
