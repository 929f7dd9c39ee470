"""Helper processes that parse pages: those that may take long, and any page while the event loop is the bottleneck.

Helpers are spawned, never forked. One that dies or misses a deadline costs the page it was reading and nothing else:
what was queued behind it goes to its successor. A job's deadline counts from when the helper turns to it.
"""

import asyncio
import socket
import subprocess
import sys
from collections import deque
from dataclasses import dataclass
from typing import Literal, cast

from nephila.extract.frames import RULES_CACHED, PageRules, Told, job_frames, take_frames
from nephila.extract.page import PageJob, PageReading

DEADLINE_MS = 10_000
MEMORY_BYTES_MAX = 2 << 30
START_SECONDS_MAX = 30  # from spawning to the first sign of life
PIPELINED_MAX = 32  # jobs at one helper: the next lies ready when an answer leaves
SOCKET_BUFFER_BYTES = 1 << 18  # most pages leave in one system call

__all__ = ["PageRules", "ParseFailure", "ParsePool"]


@dataclass(frozen=True, slots=True)
class ParseFailure:
    kind: Literal["died", "deadline", "error"]
    detail: str = ""


Answer = PageReading | ParseFailure

_DIED = ParseFailure("died", "the helper process ended")
_CLOSED = ParseFailure("died", "the pool is closed")


@dataclass(slots=True)
class _Task:
    rules: PageRules
    job: PageJob
    answer: "asyncio.Future[Answer]"


class ParsePool:
    """All of it runs on one event loop. Helpers start when they are first needed."""

    def __init__(self, size: int, deadline_ms: int = DEADLINE_MS, memory_bytes_max: int = MEMORY_BYTES_MAX) -> None:
        assert size > 0, "a pool without helpers parses nothing"
        self._helpers = [_Helper(deadline_ms / 1000, memory_bytes_max) for _ in range(size)]
        self._room = asyncio.Semaphore(size * PIPELINED_MAX)
        self._closed = False

    @property
    def waiting(self) -> int:
        """Pages at the helper with the fewest; 0: it has nothing to do, or did not have to start yet."""
        return min(len(helper.tasks) for helper in self._helpers)

    async def start(self) -> None:
        """Start all helpers now, so that the first pages do not wait for them (a third of a second)."""
        await asyncio.gather(*(helper.start() for helper in self._helpers))

    async def read(self, rules: PageRules, job: PageJob) -> Answer:
        async with self._room:
            if self._closed:
                return _CLOSED
            task = _Task(rules, job, asyncio.get_running_loop().create_future())
            await min(self._helpers, key=_load).take(task)
            return await task.answer

    async def close(self) -> None:
        """Whatever is still being read fails."""
        self._closed = True
        await asyncio.gather(*(helper.stop() for helper in self._helpers))


class _Helper(asyncio.Protocol):
    """One place in the pool: a process, or the next one after it died."""

    def __init__(self, deadline_seconds: float, memory_bytes_max: int) -> None:
        self.tasks: deque[_Task] = deque()  # the first is being read, the others lie ready at the process
        self._deadline_seconds = deadline_seconds
        self._memory_bytes_max = memory_bytes_max
        self._process: subprocess.Popen[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._starting: asyncio.Task[None] | None = None
        self._ready = False
        self._known: set[int | str] = set()  # ids of rules the process has
        self._told = Told()
        self._buffer = bytearray()
        self._turn_at = 0.0  # when the process began with the first task, or to start
        self._alarm: asyncio.TimerHandle | None = None
        self._failure = _DIED
        self._endings: set[asyncio.Task[int]] = set()

    async def take(self, task: _Task) -> None:
        self.tasks.append(task)
        if self._transport is None:
            await self.start()  # which sends all that has gathered
        else:
            self._send(task)

    async def start(self) -> None:
        if self._transport is None:
            self._starting = self._starting or asyncio.create_task(self._spawn())
            await asyncio.shield(self._starting)

    async def stop(self) -> None:
        if self._starting is not None:
            await self._starting
        self._settle_all(_CLOSED)
        if self._transport is not None:
            self._transport.abort()
        self._reap()
        await asyncio.gather(*self._endings)

    async def _spawn(self) -> None:
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                for end in (ours, theirs):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
                self._process = _spawned(theirs.fileno(), self._memory_bytes_max)
            await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=ours)
        except OSError as error:
            self._starting = None
            self._settle_all(ParseFailure("died", f"no helper could be started: {error}"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A socket can be written to; uvloop's transports are no subclass of asyncio.Transport.
        self._transport, self._starting = cast(asyncio.Transport, transport), None
        self._turn_at = asyncio.get_running_loop().time()
        self._watch(START_SECONDS_MAX)
        for task in self.tasks:
            self._send(task)

    def _send(self, task: _Task) -> None:
        assert self._transport is not None, "tasks are sent to a running helper"
        if self._ready and len(self.tasks) == 1:
            self._turn_at = asyncio.get_running_loop().time()
        rules, job = task.rules, task.job
        new = self._learned(rules)
        fields = (job.url, job.content_type, job.depth_of_children, job.expand, job.x_robots_tags)
        self._transport.writelines(job_frames((rules.id, new, fields), job.body))

    def _learned(self, rules: PageRules) -> PageRules | None:
        """The rules where the process does not have them yet; it forgets as we do."""
        if rules.id in self._known:
            return None
        if len(self._known) >= RULES_CACHED:
            self._known.clear()
        self._known.add(rules.id)
        return rules

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        for kind, content in take_frames(self._buffer):
            self._turn_at = asyncio.get_running_loop().time()
            if kind == "ready":
                self._ready = True
                self._watch(self._deadline_seconds)
            elif self.tasks:  # none: stopped meanwhile
                answer = self._told.unpacked(content) if kind == "reading" else ParseFailure("error", content)
                _settle(self.tasks.popleft(), answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """The process is gone: its page fails, the rest of its queue goes to a new one."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._reap()
        if self.tasks:
            _settle(self.tasks.popleft(), self._failure)
        self._transport, self._ready, self._failure = None, False, _DIED
        self._known.clear()
        self._told = Told()
        self._buffer.clear()
        if self.tasks:
            self._starting = asyncio.create_task(self._spawn())

    def _settle_all(self, answer: Answer) -> None:
        while self.tasks:
            _settle(self.tasks.popleft(), answer)

    def _reap(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            # In a thread: taking down the gigabytes of a mad page may last longer than the loop may wait.
            ending = asyncio.create_task(asyncio.to_thread(process.wait))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    def _watch(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """One timer per helper, not per page: it looks when a page could be late, and sets itself again."""
        limit = self._deadline_seconds if self._ready else START_SECONDS_MAX
        left = self._turn_at + limit - asyncio.get_running_loop().time()
        busy = bool(self.tasks) or not self._ready
        if not busy or left > 0:
            self._watch(left if busy else limit)
        elif self._process is not None:
            self._failure = ParseFailure("deadline", f"not read within {limit:g} s")
            self._process.kill()


def _load(helper: _Helper) -> int:
    return len(helper.tasks)


def _settle(task: _Task, answer: Answer) -> None:
    if not task.answer.done():
        task.answer.set_result(answer)


def _spawned(fd: int, memory_bytes_max: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "nephila.extract.parse_worker", str(fd), str(memory_bytes_max)]
    return subprocess.Popen(command, pass_fds=(fd,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
