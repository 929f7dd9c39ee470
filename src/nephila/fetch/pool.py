"""One CurlMulti, that is one pool of connections, driven by the event loop's readiness events."""

import asyncio
from typing import Any

import pycurl

from nephila.clock import Clock
from nephila.fetch.transfer import ABORTED, LATE
from nephila.fetch.wire import Wire

# How late a connect, TLS or first-byte deadline may strike; a look at 2,000 transfers takes 0.1 ms.
WATCH_SECONDS = 0.05
READS_MAX = 1000  # ended transfers taken from libcurl at once


class ConnectionPool:
    """Only the loop's thread touches it. libcurl's callbacks run inside add_handle, remove_handle and socket_action."""

    def __init__(self, clock: Clock, connections_max: int) -> None:
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._inflight: dict[Any, Wire] = {}
        self._watched: dict[int, int] = {}  # fd -> what libcurl waits for there
        self._due: float | None = None  # loop time at which libcurl wants to be called
        self._alarm: asyncio.TimerHandle | None = None
        self._soon = False
        self._watch: asyncio.TimerHandle | None = None
        self._multi: Any = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections_max)
        self._multi.setopt(pycurl.M_MAX_TOTAL_CONNECTIONS, 0)  # none: a transfer never waits inside libcurl
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)

    def start(self, wire: Wire) -> asyncio.Future[tuple[int, str]]:
        done = wire.done = self._loop.create_future()
        wire.begin(self._clock.tick_ms())
        self._inflight[wire.curl] = wire
        self._multi.add_handle(wire.curl)
        if self._watch is None:
            self._watch = self._loop.call_later(WATCH_SECONDS, self._look)
        return done

    def stop(self, wire: Wire, code: int, text: str) -> None:
        """End a transfer; what it has received stays in the wire."""
        if self._inflight.pop(wire.curl, None) is None:
            return
        self._multi.remove_handle(wire.curl)
        if wire.done is not None and not wire.done.done():
            wire.done.set_result((code, text))

    def body_bytes(self) -> int:
        return sum(wire.room_first - wire.room for wire in self._inflight.values())

    def abort(self) -> None:
        for wire in list(self._inflight.values()):
            self.stop(wire, ABORTED, "aborted")

    def close(self) -> None:
        self.abort()
        for handle in (self._alarm, self._watch):
            if handle is not None:
                handle.cancel()
        self._multi.close()
        for fd in list(self._watched):
            self._on_socket(pycurl.POLL_REMOVE, fd, None, None)

    def _on_socket(self, what: int, fd: int, multi: object, data: object) -> None:
        loop, before = self._loop, self._watched.get(fd, 0)
        wanted = 0 if what == pycurl.POLL_REMOVE else what
        if wanted & pycurl.POLL_IN and not before & pycurl.POLL_IN:
            loop.add_reader(fd, self._act, fd, pycurl.CSELECT_IN)
        elif before & pycurl.POLL_IN and not wanted & pycurl.POLL_IN:
            loop.remove_reader(fd)
        if wanted & pycurl.POLL_OUT and not before & pycurl.POLL_OUT:
            loop.add_writer(fd, self._act, fd, pycurl.CSELECT_OUT)
        elif before & pycurl.POLL_OUT and not wanted & pycurl.POLL_OUT:
            loop.remove_writer(fd)
        if wanted:
            self._watched[fd] = wanted
        else:
            self._watched.pop(fd, None)

    def _on_timer(self, ms: int) -> None:
        """libcurl's timer callback. It moves the timer with nearly every transfer: an alarm that is too early stays."""
        if ms == 0:
            if not self._soon:
                self._soon = True
                self._loop.call_soon(self._kick)
            return
        self._due = None if ms < 0 else self._loop.time() + ms / 1000
        if self._due is not None and (self._alarm is None or self._alarm.when() > self._due):
            self._set_alarm(self._due)

    def _set_alarm(self, due: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        if self._due is None:
            return
        if self._due > self._loop.time():
            self._set_alarm(self._due)
        else:
            self._due = None
            self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _kick(self) -> None:
        self._soon = False
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, fd: int, mask: int) -> None:
        _, running = self._multi.socket_action(fd, mask)
        if running < len(self._inflight):
            self._collect()

    def _collect(self) -> None:
        left = 1
        while left:
            left, good, bad = self._multi.info_read(READS_MAX)
            for curl in good:
                self.stop(self._inflight[curl], 0, "")
            for curl, code, text in bad:
                self.stop(self._inflight[curl], code, text)

    def _look(self) -> None:
        now = self._clock.tick_ms()
        for wire in [wire for wire in self._inflight.values() if wire.check_at <= now]:
            phase = wire.late(now)
            if phase:
                self.stop(wire, LATE, f"{phase} deadline passed")
        self._watch = self._loop.call_later(WATCH_SECONDS, self._look) if self._inflight else None
