"""Helper processes that parse pages: those that may take long, and any page while the event loop is the bottleneck.

Helpers are spawned, never forked. One that dies or misses a deadline costs the page it was reading and nothing else:
what was queued behind it goes to its successor. A job's deadline counts from when the helper turns to it, and is CPU
time of the helper: a busy machine lets a page wait for a core, and the page is not to blame.

Who waits for a helper waits in a `FairQueue`. A helper is handed a few pages ahead, but only cheap ones: the next lies
ready when an answer leaves, and no page of another host lies behind one that takes seconds.
"""

import asyncio
import socket
import subprocess
import time
from collections import deque
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import cast

from nephila.extract.fair_queue import FairQueue
from nephila.extract.frames import RULES_CACHED, LinkDecoder, job_frames, take_frames
from nephila.extract.memory import HELPER_BYTES_MAX
from nephila.extract.page import PageJob
from nephila.extract.reader import PageReading, PageRules, ParseFailure
from nephila.extract.spawned import start_process
from nephila.supervision import BackgroundPart

HELPER_MODULE = "nephila.extract.parse_worker"
DEADLINE_MS = 10_000  # of CPU
STARVED_MS = 120_000  # by the clock: of a helper that gets no core, or is frozen
START_SECONDS_MAX = 30  # from spawning to the first sign of life, and for tries to spawn
REST_MS = 100.0  # after the first try that failed
PIPELINED_MAX = 32  # jobs at one helper
PIPELINED_SECONDS = 0.05  # that they are expected to take, where there are several
WAITING_BYTES_MAX = 64 << 20  # of bodies that no helper has yet: beyond, the host with the most takes its newest back
JOB_BYTES = 65_536  # what a job counts beside its body, so that their number is bounded, too
CPU_CLOCK_OF_PROCESS = 2  # beside the inverted process id: how Linux numbers the clocks of processes
SOCKET_BUFFER_BYTES = 1 << 18  # most pages leave in one system call

Answer = PageReading | ParseFailure

_DIED = ParseFailure("died", "the helper process ended")
_CROWDED = ParseFailure("crowded", "too many bytes wait for a helper")
_ABORTED = ParseFailure("aborted", "the pool ends what it reads")


@dataclass(slots=True, eq=False)
class _Task:
    host: str
    rules: PageRules
    job: PageJob
    answer: "asyncio.Future[Answer]"
    seconds: float = 0.0  # that it is expected to take


class ParsePool:
    """All of it runs on one event loop. Helpers start when they are first needed."""

    def __init__(
        self,
        size: int,
        deadline_ms: int = DEADLINE_MS,
        memory_bytes_max: int = HELPER_BYTES_MAX,
        waiting_bytes_max: int = WAITING_BYTES_MAX,
        starved_ms: int = STARVED_MS,
    ) -> None:
        assert size > 0, "a pool without helpers parses nothing"
        limits = deadline_ms / 1000, starved_ms / 1000
        self._helpers = [_Helper(self, limits, memory_bytes_max) for _ in range(size)]
        self._queue: FairQueue[_Task] = FairQueue(waiting_bytes_max)
        self._closed = False

    @property
    def waiting_bytes(self) -> int:
        """Bytes that no helper has yet."""
        return self._queue.bytes

    def pages_ahead(self, host: str) -> int | None:
        """How many pages a page of this host would lie behind at a helper; None: it would have to wait for one."""
        helper = None if self._queue else self._free_helper(self._queue.expected_seconds(host))
        return None if helper is None else len(helper.tasks)

    def expected_seconds(self, host: str) -> float:
        """What a page of this host takes a helper, as far as is known."""
        return self._queue.expected_seconds(host)

    async def read(self, host: str, rules: PageRules, job: PageJob) -> Answer:
        """Read a body. Crowded: so many bytes wait, most of them this host's, that it was not read."""
        if self._closed:
            return _ABORTED
        task = _Task(host, rules, job, asyncio.get_running_loop().create_future())
        for left in self._queue.put(host, task, len(job.body) + JOB_BYTES):
            _settle(left, _CROWDED)
        self.feed()
        try:
            return await task.answer
        finally:
            if task.answer.cancelled():
                self._queue.remove(host, task)  # what a helper has already it reads in vain

    def abort(self) -> None:
        """Whatever waits or is read is not read. The next read works."""
        while self._queue:
            _settle(self._queue.take().job, _ABORTED)
        for helper in self._helpers:
            helper.abort()

    async def close(self) -> None:
        self._closed = True
        self.abort()
        await asyncio.gather(*(helper.stop() for helper in self._helpers))

    def feed(self) -> None:
        """Hand out what helpers have room for. If the next page has to wait so do all others: they have had more."""
        while (turn := self._queue.next()) is not None and (helper := self._free_helper(turn.seconds)) is not None:
            self._queue.take()
            turn.job.seconds = turn.seconds
            helper.take(turn.job)

    def ended(self, task: _Task, answer: Answer, seconds: float) -> None:
        """A helper has answered, or its page has ended it."""
        self._queue.spent(task.host, task.seconds, seconds)
        _settle(task, answer)
        self.feed()

    def _free_helper(self, seconds: float) -> "_Helper | None":
        now = asyncio.get_running_loop().time()
        return min((helper for helper in self._helpers if helper.has_room(seconds, now)), key=_load, default=None)


class _Helper(asyncio.Protocol):
    """One place in the pool: a process, or the next one after it died."""

    def __init__(self, pool: ParsePool, limits_seconds: tuple[float, float], memory_bytes_max: int) -> None:
        self.tasks: deque[_Task] = deque()  # the first is being read, the others lie ready at the process
        self.seconds = 0.0  # that they are expected to take
        self._pool = pool
        self._deadline_seconds, self._starved_seconds = limits_seconds
        self._memory_bytes_max = memory_bytes_max
        self._process: subprocess.Popen[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._starting: asyncio.Task[None] | None = None
        self._ready = False
        self._aborted = False  # what the process still says is about nothing
        self._known: dict[int | str, int] = {}  # rules the process has: id, and how many joined hosts of them
        self._decoder = LinkDecoder()
        self._buffer = bytearray()
        self._turn_at = 0.0  # when the process began with the first task, or to start
        self._turn_cpu = 0.0  # seconds of CPU that it had taken by then
        self._alarm: asyncio.TimerHandle | None = None
        self._failure = _DIED
        self._endings: set[asyncio.Task[int]] = set()
        self._stopped = asyncio.Event()
        self._part = BackgroundPart("parse helper", rest_ms=REST_MS)

    def has_room(self, seconds: float, now: float) -> bool:
        """Whether a task that is expected to take so long may come here now."""
        if not self.tasks:
            return not self._aborted
        short = self.seconds + seconds <= PIPELINED_SECONDS and now - self._turn_at <= PIPELINED_SECONDS
        return short and len(self.tasks) < PIPELINED_MAX

    def take(self, task: _Task) -> None:
        self.tasks.append(task)
        self.seconds += task.seconds
        if self._transport is not None:
            self._send(task)
        elif self._starting is None:
            self._starting = asyncio.create_task(self._spawn())  # and all that has gathered is sent

    def abort(self) -> None:
        """Nothing that it has is read; a process that reads ends."""
        tasks = self._take_all()
        if tasks and self._transport is not None:
            self._aborted = True
            self._transport.abort()
        for task in tasks:
            _settle(task, _ABORTED)

    async def stop(self) -> None:
        self._stopped.set()
        if self._starting is not None:
            await self._starting
        if self._transport is not None:
            self._transport.abort()
        self._reap()
        await asyncio.gather(*self._endings, return_exceptions=True)

    async def _spawn(self) -> None:
        """Start a process, with rests between tries: a machine that had no file left may have one now.

        After START_SECONDS_MAX, or where the pool closes, the pages that wait fail.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + START_SECONDS_MAX
        while loop.time() < end and not self._stopped.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._part.rest_seconds):
                    await self._stopped.wait()
            with self._part.guarded():
                await self._start_process()
                return
        self._starting = None
        failure = ParseFailure("died", f"no helper could be started: {self._part.trouble}")
        for task in self._take_all():
            self._pool.ended(task, failure, 0.0)

    async def _start_process(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs, ExitStack() as undo:
            undo.callback(ours.close)
            for end in (ours, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
            self._process = start_process(HELPER_MODULE, theirs.fileno(), self._memory_bytes_max)
            undo.callback(self._reap)
            await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=ours)
            undo.pop_all()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A socket can be written to; uvloop's transports are no subclass of asyncio.Transport.
        self._transport, self._starting = cast(asyncio.Transport, transport), None
        self._begin_turn()
        self._watch(START_SECONDS_MAX)
        for task in self.tasks:
            self._send(task)

    def _send(self, task: _Task) -> None:
        assert self._transport is not None, "tasks are sent to a running helper"
        if self._ready and len(self.tasks) == 1:
            self._begin_turn()
        rules, job = task.rules, task.job
        new = self._learned(rules)
        fields = (job.url, job.content_type, job.depth_of_children, job.x_robots_tags, job.codings, job.body_bytes_max)
        wanted = (job.needed_by, job.read_as, job.speaks_for) if job.needed_by or job.read_as != "page" else ()
        self._transport.writelines(job_frames((rules.id, new, fields + wanted), job.body))

    def _learned(self, rules: PageRules) -> PageRules | tuple[str, ...]:
        """What the process does not have of the rules: all of them, or hosts that joined since, mostly none. Both sides
        forget all rules at the same moment."""
        known = self._known.get(rules.id)
        if known is not None:
            self._known[rules.id] = max(known, len(rules.joined_hosts))
            return rules.joined_hosts[known:]
        if len(self._known) >= RULES_CACHED:
            self._known.clear()
        self._known[rules.id] = len(rules.joined_hosts)
        return rules

    def data_received(self, data: bytes) -> None:
        if self._aborted:
            return
        self._buffer += data
        answers = take_frames(self._buffer)
        if answers:
            self._begin_turn()
        for kind, content, seconds in answers:
            if kind == "ready":
                self._ready = True
                self._part.well()
                self._watch(self._deadline_seconds)
            elif self.tasks:  # none: stopped meanwhile
                answer = self._decoder.unpacked(content) if kind == "reading" else ParseFailure("error", content)
                self._pool.ended(self._take_first(), answer, seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """The process is gone: its page fails, the rest of its queue goes to a new one."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._reap()
        if not (self._ready or self._aborted or self._stopped.is_set()):
            self._part.broke(RuntimeError("a helper ended before it was ready"))
        failed = self._take_first() if self.tasks else None
        failure, read_seconds = self._failure, asyncio.get_running_loop().time() - self._turn_at
        self._transport, self._ready, self._aborted, self._failure = None, False, False, _DIED
        self._known.clear()
        self._decoder = LinkDecoder()
        self._buffer.clear()
        if self.tasks:
            self._starting = asyncio.create_task(self._spawn())
        if failed is not None:
            self._pool.ended(failed, failure, read_seconds)
        else:
            self._pool.feed()

    def _take_first(self) -> _Task:
        task = self.tasks.popleft()
        self.seconds = self.seconds - task.seconds if self.tasks else 0.0
        return task

    def _take_all(self) -> list[_Task]:
        tasks = list(self.tasks)
        self.tasks.clear()
        self.seconds = 0.0
        return tasks

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
        busy = bool(self.tasks) or not self._ready
        left = self._left_seconds() if busy else self._deadline_seconds
        if left > 0:
            self._watch(left)
        elif self._process is not None:
            self._failure = ParseFailure("deadline", f"not read within {self._deadline_seconds:g} s")
            self._process.kill()

    def _left_seconds(self) -> float:
        """How long it may take at least until the page, or the start, is late; not above 0: it is."""
        waited = asyncio.get_running_loop().time() - self._turn_at
        if not self._ready:
            return START_SECONDS_MAX - waited
        if waited < self._deadline_seconds:
            return self._deadline_seconds - waited
        if waited >= self._starved_seconds:
            return 0.0
        return self._deadline_seconds - (self._cpu_seconds() - self._turn_cpu)

    def _begin_turn(self) -> None:
        self._turn_at, self._turn_cpu = asyncio.get_running_loop().time(), self._cpu_seconds()

    def _cpu_seconds(self) -> float:
        """CPU time that the process has taken; 0 where it is gone. Takes 1 us."""
        if self._process is None:
            return 0.0
        with suppress(OSError):
            return time.clock_gettime((~self._process.pid << 3) | CPU_CLOCK_OF_PROCESS)
        return 0.0


def _load(helper: _Helper) -> tuple[float, int]:
    return helper.seconds, len(helper.tasks)


def _settle(task: _Task, answer: Answer) -> None:
    if not task.answer.done():
        task.answer.set_result(answer)
