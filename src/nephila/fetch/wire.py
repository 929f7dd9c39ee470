"""One curl handle with its buffers. Options that a plan shares are set once; a request sets only what changed."""

import asyncio
import socket
from dataclasses import dataclass, field
from typing import Any

import pycurl

from nephila.fetch.guard import judge_address
from nephila.fetch.plan import Plan, Target, curl_lines, header_pairs
from nephila.models import Timing

SUPPRESS_CONNECT_HEADERS = 265  # CURLOPT of that name, which pycurl does not list: a proxy's answer is not the page's
CONNECTION_IDLE_SECONDS = 118
READ_BYTES = 131_072  # at once, into a buffer that all transfers share: 15 us less than 16 KB reads on a 36 KB page
IDLE_MAX = 1000  # handles kept for the next request of a crawl
NEVER_MS = float("inf")


class Wire:
    __slots__ = (
        "address",
        "body_max",
        "check_at",
        "chunks",
        "connected_tick",
        "curl",
        "cut",
        "dialled",
        "done",
        "extra",
        "https",
        "lines",
        "origin",
        "plan",
        "refused",
        "room",
        "started_tick",
        "target",
        "total_ms",
    )

    def __init__(self, plan: Plan, ca_file: str) -> None:
        self.plan = plan
        self.curl: Any = pycurl.Curl()
        self.lines: list[bytes] = []
        self.chunks: list[bytes] = []
        self.room = self.body_max = plan.body_bytes_max
        self.cut = self.https = False
        self.refused = self.origin = self.target = self.address = ""
        self.extra: tuple[tuple[str, str], ...] = ()
        self.total_ms = 0
        self.started_tick = self.connected_tick = 0.0
        self.dialled: socket.socket | None = None  # our copy of the socket, until it is seen connected
        self.check_at = NEVER_MS
        self.done: asyncio.Future[tuple[int, str]] | None = None
        self._set_up(ca_file)

    def _set_up(self, ca_file: str) -> None:
        plan, setopt = self.plan, self.curl.setopt
        setopt(pycurl.NOSIGNAL, 1)
        setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        setopt(pycurl.HTTP_TRANSFER_DECODING, 0)
        setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        setopt(pycurl.PIPEWAIT, 0)
        setopt(pycurl.BUFFERSIZE, READ_BYTES)
        setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS if plan.http2 else pycurl.CURL_HTTP_VERSION_1_1)
        setopt(pycurl.CAINFO, ca_file)
        setopt(pycurl.CONNECTTIMEOUT_MS, plan.connect_ms + plan.tls_ms)  # the pool's watch tells the two apart
        setopt(pycurl.MAXAGE_CONN, CONNECTION_IDLE_SECONDS)
        setopt(pycurl.HTTPHEADER, plan.header_lines)
        # list.append is C: a Python function here would cost 0.3 us for each of some 15 header lines
        setopt(pycurl.HEADERFUNCTION, self.lines.append)
        setopt(pycurl.WRITEFUNCTION, self.write)
        setopt(SUPPRESS_CONNECT_HEADERS, 1)
        setopt(pycurl.PROXY, plan.proxy)  # also when empty: else libcurl obeys http_proxy of the environment
        setopt(pycurl.NOPROXY, "")
        if not plan.proxy:  # the operator named the proxy: its address is not judged
            setopt(pycurl.DNS_CACHE_TIMEOUT, 0)  # it only ever sees addresses
            setopt(pycurl.OPENSOCKETFUNCTION, self.open_socket)

    def aim(
        self, target: Target, address: str, total_ms: int, body_max: int, extra: tuple[tuple[str, str], ...]
    ) -> None:
        """Point the handle at its next request."""
        setopt = self.curl.setopt
        if target.origin != self.origin:
            self.origin, self.https = target.origin, target.https
            setopt(pycurl.URL, target.origin)
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
        self.room = self.body_max = body_max

    def write(self, data: bytes) -> int | None:
        """libcurl's body callback: a short count ends the transfer."""
        room = self.room - len(data)
        if room < 0:
            self.chunks.append(data[: self.room])
            self.cut = True
            return 0
        self.room = room
        self.chunks.append(data)
        return None

    def open_socket(self, purpose: int, address: Any) -> Any:
        """libcurl's socket callback: the last word of the guard, on the address that is really connected to."""
        if not self.plan.allow_private:
            decision = judge_address(address.addr[0])
            if not decision.ok:
                self.refused = decision.detail
                return pycurl.SOCKET_BAD
        opened = socket.socket(address.family, address.socktype, address.protocol)
        if self.https:
            self.dialled = opened  # pycurl gives libcurl a duplicate of it
        return opened

    def clear(self) -> None:
        self.lines.clear()
        self.chunks.clear()
        self.cut, self.refused, self.done, self.check_at = False, "", None, NEVER_MS
        self.dialled, self.connected_tick = None, 0.0

    def begin(self, now_tick: float) -> None:
        """A plain connection is looked at when its first deadline may have passed, one with TLS at every look."""
        self.started_tick = now_tick
        self.check_at = now_tick if self.https else now_tick + self.plan.first_look_ms

    def late(self, now_tick: float) -> str:
        """The phase whose deadline has passed, or "" and the time of the next look in check_at."""
        getinfo, plan = self.curl.getinfo, self.plan
        if self.lines or getinfo(pycurl.STARTTRANSFER_TIME_T):
            self.check_at = NEVER_MS
            return ""
        if sent_us := getinfo(pycurl.PRETRANSFER_TIME_T):
            self.check_at = self.started_tick + sent_us / 1000 + plan.first_byte_ms
            return "first byte" if self.check_at <= now_tick else ""
        if self.connected_tick or self._connected(now_tick):
            return "tls" if self.connected_tick + plan.tls_ms <= now_tick else ""
        allowed_ms = plan.connect_ms + plan.tls_ms if plan.proxy else plan.connect_ms
        return "connect" if self.started_tick + allowed_ms <= now_tick else ""

    def _connected(self, now_tick: float) -> bool:
        """Does TLS go on already? libcurl tells its connect time only after the handshake, so the socket is asked."""
        if self.dialled is None:
            return False
        try:
            self.dialled.getpeername()
        except OSError:
            return False
        self.connected_tick, self.dialled = now_tick, None
        return True

    def take_times(self, timing: Timing) -> None:
        getinfo = self.curl.getinfo
        connected, sent = getinfo(pycurl.CONNECT_TIME_T), getinfo(pycurl.PRETRANSFER_TIME_T)
        first = getinfo(pycurl.STARTTRANSFER_TIME_T)
        secured = getinfo(pycurl.APPCONNECT_TIME_T) if self.https else 0
        timing.connect_ms = connected / 1000
        timing.tls_ms = (secured - connected) / 1000 if secured else 0.0
        timing.first_byte_ms = (first - sent) / 1000 if first > sent else 0.0
        timing.total_ms = timing.dns_ms + getinfo(pycurl.TOTAL_TIME_T) / 1000


@dataclass(slots=True)
class Lane:
    """A plan with its idle wires."""

    plan: Plan
    ca_file: str
    idle: list[Wire] = field(default_factory=list)

    def take(self) -> Wire:
        return self.idle.pop() if self.idle else Wire(self.plan, self.ca_file)

    def give_back(self, wire: Wire) -> None:
        wire.clear()
        if len(self.idle) < IDLE_MAX:
            self.idle.append(wire)
        else:
            wire.curl.close()

    def close(self) -> None:
        while self.idle:
            self.idle.pop().curl.close()
