"""A TCP proxy before the database whose faults a test switches on and off."""

import asyncio
import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.patience import PATIENCE_SECONDS

CHUNK_BYTES = 65_536
SLOW_CHUNK_BYTES = 100  # of a throttled connection: ten writes a second at 1 KB/s
LOOK_SECONDS = 0.02
RESET_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: close sends RST instead of FIN

Writers = tuple[asyncio.StreamWriter, asyncio.StreamWriter]


class Proxy:
    """`with Proxy(server.socket) as proxy`: 127.0.0.1:port is the server. Faults hold for all connections."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.latency_ms = 0.0  # of each round trip, that of a new connection too
        self.bytes_per_second = 0  # in each direction; 0: as fast as they come
        self.half_open = False  # accepts and keeps, also what is closed, and forwards nothing until it ends
        self.accepted = 0
        self.port = 0
        self._pairs: set[Writers] = set()  # only the loop's thread
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self._ready = threading.Event()

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def reset(self) -> None:
        """Drop every connection now, without telling either side."""
        self._loop.call_soon_threadsafe(self._reset)

    def heal(self) -> None:
        self.latency_ms, self.bytes_per_second, self.half_open = 0.0, 0, False

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE_SECONDS), "the proxy did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self.heal()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._reset()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            await self._pause()
            there, to = await asyncio.open_unix_connection(str(self.target))
        except OSError:  # the server is down
            writer.transport.abort()
            return
        pair = (writer, to)
        self._pairs.add(pair)
        try:
            await asyncio.gather(self._pump(reader, to, first=True), self._pump(there, writer, first=False))
        finally:
            self._pairs.discard(pair)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, first: bool) -> None:
        """Forward one direction; the latency of a round trip is added on the way to the server."""
        with suppress(OSError):
            while piece := await reader.read(SLOW_CHUNK_BYTES if self.bytes_per_second else CHUNK_BYTES):
                await self._pause(len(piece), latency=first)
                writer.write(piece)
                await writer.drain()
        await self._held()
        writer.close()

    async def _pause(self, size: int = 0, *, latency: bool = True) -> None:
        if latency and self.latency_ms:
            await asyncio.sleep(self.latency_ms / 1000)
        if self.bytes_per_second:
            await asyncio.sleep(size / self.bytes_per_second)
        await self._held()

    async def _held(self) -> None:
        while self.half_open:  # noqa: ASYNC110 -- the test's thread sets it
            await asyncio.sleep(LOOK_SECONDS)

    def _reset(self) -> None:
        for pair in self._pairs:
            for writer in pair:
                found = writer.get_extra_info("socket")
                if found is not None and found.family != socket.AF_UNIX:
                    found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_ONCE)
                writer.transport.abort()
        self._pairs.clear()
