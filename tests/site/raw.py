"""A server whose every byte a test decides: for answers that no proper server would give."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi"
Answer = bytes | Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class RawSite:
    """Answers each path with fixed bytes (and closes where they begin with CLOSE) or with a coroutine."""

    answers: dict[bytes, Answer] = field(default_factory=dict)
    heads: list[bytes] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    connections: int = 0
    port: int = 0

    async def received(self, count: int) -> None:
        while len(self.heads) < count:
            self.arrived.clear()
            await self.arrived.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                self.arrived.set()
                answer = self.answers.get(head.split(b" ")[1], OK)
                if callable(answer):
                    await answer(reader, writer)
                    break
                writer.write(answer.removeprefix(b"CLOSE"))
                await writer.drain()
                if answer.startswith(b"CLOSE"):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@asynccontextmanager
async def raw_site() -> AsyncIterator[RawSite]:
    site = RawSite()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    yield site
    server.close()


def answer(*lines: bytes, body: bytes = b"", close: bool = False) -> bytes:
    return (b"CLOSE" if close else b"") + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
