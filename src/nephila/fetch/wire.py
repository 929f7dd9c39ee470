"""One curl handle with its buffers. Options that a plan shares are set once; a request sets only what changed."""

import asyncio
import errno
import os
import socket
from collections import deque
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pycurl

from nephila.fetch.guard import judge_address
from nephila.fetch.plan import Plan, Target, curl_lines, header_pairs
from nephila.fetch.tls_sessions import Listener, TlsSessions
from nephila.machine import LACKING
from nephila.models import Handshake, Timing

SUPPRESS_CONNECT_HEADERS = 265  # CURLOPT of that name, which pycurl does not list: a proxy's answer is not the page's
CONNECTION_IDLE_SECONDS = 118
READ_BYTES = 131_072  # at once, into a buffer that all transfers share: 15 us less than 16 KB reads on a 36 KB page
CHUNKS_MAX = 32  # of a body, before they are gathered: up to 4 MB
LINES_MAX = 10_000  # of all heads of an answer, the last ones: a server may send 1xx for ever
IDLE_MAX = 5000  # handles kept for the next request of a crawl
NEVER_MS = float("inf")


class Wire:
    """A handle of libcurl, used by one request after the other; only the loop's thread touches it."""

    def __init__(self, plan: Plan, ca_file: str, sessions: TlsSessions) -> None:
        self.plan = plan
        self._sessions = sessions
        self._share: Any = None
        self.curl: Any = pycurl.Curl()
        self.lines: deque[bytes] = deque(maxlen=LINES_MAX)
        self.chunks: list[bytes] = []  # of the body, those that are not gathered
        self._gathered: BytesIO | None = None
        self.room = self.room_first = 0  # bytes of the body that are still taken, and that were at first
        self.cut = self.https = self._listens = False
        self._listener = Listener()
        self._presumed = Handshake.NONE
        self.refused = self.lacking = self.origin = self.target = self.address = ""
        self.extra: tuple[tuple[str, str], ...] = ()
        self.total_ms = 0
        self.started_tick = self.connected_tick = 0.0
        self.dialled: socket.socket | None = None  # our copy of the socket, until it is seen connected
        self.check_at = NEVER_MS
        self.done: asyncio.Future[tuple[int, str]] | None = None
        self._set_up(ca_file)

    def _set_up(self, ca_file: str) -> None:
        plan, settings, setopt = self.plan, self.plan.settings, self.curl.setopt
        setopt(pycurl.NOSIGNAL, 1)
        setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        setopt(pycurl.HTTP_TRANSFER_DECODING, 0)
        setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        setopt(pycurl.PIPEWAIT, 0)
        setopt(pycurl.BUFFERSIZE, READ_BYTES)
        setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS if settings.http2 else pycurl.CURL_HTTP_VERSION_1_1)
        setopt(pycurl.CAINFO, ca_file)
        # One deadline for both: the pool's watch tells them apart.
        setopt(pycurl.CONNECTTIMEOUT_MS, settings.connect_timeout_ms + settings.tls_timeout_ms)
        setopt(pycurl.MAXAGE_CONN, CONNECTION_IDLE_SECONDS)
        setopt(pycurl.HTTPHEADER, plan.header_lines)
        # deque.append is C: a Python function here would cost 0.3 us for each of some 15 header lines
        setopt(pycurl.HEADERFUNCTION, self.lines.append)
        setopt(pycurl.WRITEFUNCTION, self.write)
        setopt(pycurl.DEBUGFUNCTION, self._listener.hear)
        setopt(SUPPRESS_CONNECT_HEADERS, 1)
        setopt(pycurl.PROXY, plan.proxy)  # also when empty: else libcurl obeys http_proxy of the environment
        setopt(pycurl.NOPROXY, "")
        if not plan.proxy:
            setopt(pycurl.DNS_CACHE_TIMEOUT, 0)  # it only ever sees addresses
        if plan.guarded or not plan.proxy:
            setopt(pycurl.OPENSOCKETFUNCTION, self.open_socket)

    def aim(
        self, target: Target, address: str, total_ms: int, body_bytes_max: int, extra: tuple[tuple[str, str], ...]
    ) -> None:
        """Point the handle at its next request."""
        setopt = self.curl.setopt
        if target.origin != self.origin:
            self.origin, self.https = target.origin, target.https
            setopt(pycurl.URL, target.origin)
            if target.https:
                self._resume_with(self._sessions.of(target.origin))
        path = target.path
        if self.plan.proxy and not target.https and not self.plan.proxy.startswith("socks"):
            path = target.absolute
        if path != self.target:
            self.target = path
            setopt(pycurl.REQUEST_TARGET, path)
        if address != self.address:
            # "any host, any port -> this address": part of a connection's identity in libcurl, so a name that moved
            # gets a new connection, and nothing stays in the multi's DNS cache
            self.address = address
            setopt(pycurl.CONNECT_TO, [f"::[{address}]:" if ":" in address else f"::{address}:"])
        if total_ms != self.total_ms:
            self.total_ms = total_ms
            setopt(pycurl.TIMEOUT_MS, total_ms)
        if extra != self.extra:
            self.extra = extra
            plan = self.plan
            setopt(pycurl.HTTPHEADER, curl_lines(header_pairs(plan.user_agent, (*plan.settings.headers, *extra))))
        self.room = self.room_first = body_bytes_max

    def _resume_with(self, share: Any) -> None:
        if share is not self._share:
            if self._share is not None:
                self.curl.unsetopt(pycurl.SHARE)
            self.curl.setopt(pycurl.SHARE, share)
            self._share = share

    def write(self, data: bytes) -> int | None:
        """libcurl's body callback: a short count ends the transfer."""
        room = self.room - len(data)
        if room < 0:
            self.chunks.append(data[: self.room])
            self.cut = True
            return 0
        self.room = room
        self.chunks.append(data)
        if len(self.chunks) > CHUNKS_MAX:
            self._gather()
        return None

    def _gather(self) -> None:
        """Move the chunks of a large body into one buffer, which grows: joined in the end, it would be there twice."""
        if self._gathered is None:
            self._gathered = BytesIO()
        self._gathered.writelines(self.chunks)
        self.chunks.clear()

    def body(self) -> bytes:
        """What has come of the body. The buffer of a large one is handed over as it is, not copied."""
        if self._gathered is None:
            return b"".join(self.chunks)
        self._gather()
        return self._gathered.getvalue()

    def open_socket(self, purpose: int, address: Any) -> Any:
        """libcurl's socket callback: the guard judges again, by the address that is really connected to."""
        if self.plan.guarded:
            decision = judge_address(address.addr[0])
            if not decision.ok:
                self.refused = decision.detail
                return pycurl.SOCKET_BAD
        try:
            opened = socket.socket(address.family, address.socktype, address.protocol)
            os.close(os.dup(opened.fileno()))  # is there room for the duplicate that pycurl makes?
        except OSError as error:
            self.lacking = LACKING.get(error.errno or 0, "")
            return pycurl.SOCKET_BAD
        if self.https and not self.plan.proxy:
            self.dialled = opened  # pycurl gives libcurl a duplicate of it
        return opened

    def lack(self) -> str:
        """What this machine lacked, where that is why no connection was made."""
        number = self.curl.getinfo(pycurl.OS_ERRNO)
        if number == errno.EADDRNOTAVAIL and ":" in self.address:
            return ""  # a machine without IPv6 says the same
        return self.lacking or LACKING.get(number, "")

    def clear(self) -> None:
        self.lines.clear()
        self.chunks.clear()
        self._gathered = None
        self.cut, self.refused, self.lacking, self.done, self.check_at = False, "", "", None, NEVER_MS
        self.dialled, self.connected_tick = None, 0.0

    def begin(self, now_tick: float) -> None:
        """Start the clock. Plain connections are looked at when a deadline may have passed, those with TLS always."""
        self.started_tick = now_tick
        self.check_at = now_tick if self.https else now_tick + self.plan.first_look_ms
        self._presumed = self._sessions.presume(self.origin, now_tick) if self.https else Handshake.UNKNOWN
        listens = not self._presumed
        if listens is not self._listens:
            self._listens = listens
            self.curl.setopt(pycurl.VERBOSE, listens)

    def late(self, now_tick: float) -> str:
        """The phase whose deadline has passed, or "" and the time of the next look in check_at."""
        getinfo, settings = self.curl.getinfo, self.plan.settings
        if self.lines or getinfo(pycurl.STARTTRANSFER_TIME_T):
            self.check_at = NEVER_MS
            return ""
        if sent_us := getinfo(pycurl.PRETRANSFER_TIME_T):
            self.check_at = self.started_tick + sent_us / 1000 + settings.first_byte_timeout_ms
            return "first byte" if self.check_at <= now_tick else ""
        if self.connected_tick or self._connected(now_tick):
            return "tls" if self.connected_tick + settings.tls_timeout_ms <= now_tick else ""
        allowed_ms = settings.connect_timeout_ms + (settings.tls_timeout_ms if settings.proxy else 0)
        return "connect" if self.started_tick + allowed_ms <= now_tick else ""

    def _connected(self, now_tick: float) -> bool:
        """Whether TLS goes on. libcurl tells its connect time only after the handshake, so the socket is asked."""
        if self.dialled is None:
            return False
        try:
            self.dialled.getpeername()
        except OSError:
            return False
        self.connected_tick, self.dialled = now_tick, None
        return True

    def take_times(self, timing: Timing) -> Handshake:
        """Fill in how long each phase took; answers the handshake of a new connection."""
        getinfo = self.curl.getinfo
        connected, sent = getinfo(pycurl.CONNECT_TIME_T), getinfo(pycurl.PRETRANSFER_TIME_T)
        first = getinfo(pycurl.STARTTRANSFER_TIME_T)
        secured = getinfo(pycurl.APPCONNECT_TIME_T) if self.https else 0
        timing.connect_ms = connected / 1000
        timing.tls_ms = (secured - connected) / 1000 if secured else 0.0
        timing.first_byte_ms = (first - sent) / 1000 if first > sent else 0.0
        timing.total_ms = timing.dns_ms + getinfo(pycurl.TOTAL_TIME_T) / 1000
        return self._presumed or self._listener.heard or Handshake.UNKNOWN if secured else Handshake.NONE


@dataclass(slots=True)
class Lane:
    """A plan with its idle wires."""

    plan: Plan
    ca_file: str
    sessions: TlsSessions
    idle: list[Wire] = field(default_factory=list)

    def take(self) -> Wire:
        return self.idle.pop() if self.idle else Wire(self.plan, self.ca_file, self.sessions)

    def give_back(self, wire: Wire) -> None:
        wire.clear()
        if len(self.idle) < IDLE_MAX:
            self.idle.append(wire)
        else:
            wire.curl.close()

    def close(self) -> None:
        while self.idle:
            self.idle.pop().curl.close()
