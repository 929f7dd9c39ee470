"""Connections to `nephila serve`: how many there may be, and how long each may take for its request.

All of this is before any token is looked at. Once a second `Connections` looks at each connection and what it waits
for; a request in between costs nothing more. A client that sends byte after byte gains nothing: what counts is since
when it has been in the same phase of the same request. Streams (WebSocket, events) and answers that take long have no
deadline. Where all places are taken, connections that wait for a request or its body give way, the oldest first: so
half-open connections keep nobody out, and only where every place is at work a new connection is refused.

Everything here belongs to the event loop.
"""

import asyncio
import ipaddress
import json
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from heapq import nsmallest
from http import HTTPStatus
from typing import NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from nephila import log, metrics
from nephila.api.access import is_loopback
from nephila.api.problems import Problem
from nephila.clock import Clock
from nephila.metrics import Meter
from nephila.settings import ProcessSettings
from nephila.supervision import BackgroundPart, start_task

LOOK_SECONDS = 1.0
CONNECTIONS_MAX = 4096  # where the limit of files would allow more: each takes some 30 KB
FILES_SHARE = 2  # one of so many files is for connections; stores, pipes of workers and archive files need the rest
ADDRESS_SHARE = 4  # one of so many connections is for one address
ROOM_SHARE = 16  # of the places, one of so many is made free at once: looking for them takes long
CLOSE_SECONDS = 5.0  # for a client to take the rest of an answer when we close
UNREAD_SECONDS = 60.0  # for a client to take anything of an answer
FULL_MS = 100.0  # before somebody is asked to give way again, where nobody did
SAY_MS = 10_000.0  # between two log lines about connections
NETWORKS_CACHED = 1024
NETWORK_BITS = 64  # of an IPv6 address: what one client has for itself


class Phase(IntEnum):
    """What a connection does, in the order in which they give way to others."""

    IDLE = 0  # between two requests
    HEAD = 1
    BODY = 2
    ANSWER = 3  # ours to do; a stream of events, too
    SOCKET = 4  # a WebSocket
    CLOSING = 5


GIVE_WAY = (Phase.IDLE, Phase.HEAD, Phase.BODY)


class ConnectionRules(NamedTuple):
    all_max: int
    address_max: int  # of one address, or of one /64 network
    local_max: int  # the same for loopback
    proxies: frozenset[str]  # networks of which only `all_max` holds
    head_seconds: float
    body_seconds: float


def rules_of(settings: ProcessSettings, files: int) -> ConnectionRules:
    """`files`: so many may this process have open."""
    all_max = max(min(settings.connections_max or CONNECTIONS_MAX, files // FILES_SHARE), 1)
    own = settings.connections_per_address
    # Unless it is said: behind a proxy on this machine everybody comes from loopback.
    address_max, local_max = (own, own) if own else (max(all_max // ADDRESS_SHARE, 1), all_max)
    proxies = frozenset(network_of(address) for address in settings.trusted_proxies)
    return ConnectionRules(
        all_max, address_max, local_max, proxies, settings.request_head_seconds, settings.request_body_seconds
    )


@lru_cache(NETWORKS_CACHED)
def is_local(network: str) -> bool:
    return is_loopback(network.partition("/")[0])


@lru_cache(NETWORKS_CACHED)
def network_of(address: str) -> str:
    """The address, or the network of an IPv6 address, whose owner has all of it."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # no address of the Internet
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    if found.is_loopback:
        return address
    return str(ipaddress.ip_network((int(found) >> NETWORK_BITS << NETWORK_BITS, NETWORK_BITS)))


@dataclass(slots=True, eq=False)
class OpenConnection:
    protocol: "BoundedHttp"
    network: str
    phase: Phase
    mark: object  # of the request and of what is not sent yet: another one begins the phase anew
    since_tick: float
    socket: bool = False  # it became a WebSocket

    def look(self, now: float) -> None:
        phase, mark = self._present()
        if phase is not self.phase or mark != self.mark:
            self.phase, self.mark, self.since_tick = phase, mark, now

    def _present(self) -> tuple[Phase, object]:
        protocol = self.protocol
        transport, cycle = protocol.transport, protocol.cycle
        if transport.is_closing():
            return Phase.CLOSING, None
        if self.socket:
            return Phase.SOCKET, transport.get_write_buffer_size()
        answering = cycle is not None and not cycle.response_complete
        if protocol.conn.their_state is h11.SEND_BODY and not (answering and protocol.flow.read_paused):
            return Phase.BODY, cycle  # also after the answer: a body that nobody reads may come for ever
        if answering:
            return Phase.ANSWER, (cycle, transport.get_write_buffer_size())
        # uvicorn's timer runs from the end of an answer to the next byte.
        return (Phase.IDLE if protocol.timeout_keep_alive_task is not None else Phase.HEAD), cycle

    @property
    def unread(self) -> bool:
        return self.phase in (Phase.ANSWER, Phase.SOCKET) and self.protocol.transport.get_write_buffer_size() > 0


class Connections:
    """The open connections of a server."""

    def __init__(self, rules: ConnectionRules, meter: Meter, clock: Clock) -> None:
        self.rules = rules
        self._meter = meter
        self._clock = clock
        self._open: dict[asyncio.BaseTransport, OpenConnection] = {}
        self._counts: dict[str, int] = {}  # by network
        self._watch: asyncio.Task[None] | None = None
        self._full_until: dict[str, float] = {}  # network, or empty for all -> tick; nobody gives way before
        self._said_tick = float("-inf")
        self._unsaid: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, protocol: "BoundedHttp", address: str) -> str:
        """Takes a connection in, or answers why not."""
        network = network_of(address)
        if refusal := self._refusal(network):
            self._count(metrics.CONNECTIONS_REFUSED, refusal)
            return refusal
        now = self._clock.tick_ms()
        self._open[protocol.transport] = OpenConnection(protocol, network, Phase.HEAD, None, now)
        self._counts[network] = self._counts.get(network, 0) + 1
        self._meter.set(metrics.CONNECTIONS, len(self._open))
        if self._watch is None or self._watch.done():
            self._watch = start_task("deadlines of connections", self._look_on)
        return ""

    def leave(self, transport: asyncio.BaseTransport) -> None:
        gone = self._open.pop(transport, None)
        if gone is None:
            return
        self._counts[gone.network] -= 1
        if not self._counts[gone.network]:
            del self._counts[gone.network]
        self._meter.set(metrics.CONNECTIONS, len(self._open))

    def became_socket(self, transport: asyncio.BaseTransport) -> None:
        if found := self._open.get(transport):
            found.socket = True

    # --- how many

    def _refusal(self, network: str) -> str:
        if len(self._open) >= self.rules.all_max and not self._make_room():
            return "all"
        if self._counts.get(network, 0) >= self._most(network) and not self._make_room(network):
            return "address"
        return ""

    def _most(self, network: str) -> int:
        if network in self.rules.proxies:
            return self.rules.all_max
        return self.rules.local_max if is_local(network) else self.rules.address_max

    def _make_room(self, network: str = "") -> bool:
        """Ends some connections that only wait, of one network or of all."""
        now = self._clock.tick_ms()
        if now < self._full_until.get(network, now):
            return False
        waiting = []
        for found in self._open.values():
            if not network or found.network == network:
                found.look(now)
                if found.phase in GIVE_WAY:
                    waiting.append(found)
        places = self._counts[network] if network else len(self._open)
        chosen = nsmallest(max(places // ROOM_SHARE, 1), waiting, key=lambda one: (one.phase, one.since_tick))
        for found in chosen:
            self._cut(found, "room")
        if not chosen:
            self._full_until[network] = now + FULL_MS
        return bool(chosen)

    # --- how long

    async def _look_on(self, _part: BackgroundPart) -> None:
        limits = self.rules.head_seconds, self.rules.body_seconds
        while self._open:
            await asyncio.sleep(min(LOOK_SECONDS, *limits))
            self.look()

    def look(self) -> None:
        """Ends the connections whose time is over."""
        now = self._clock.tick_ms()
        self._full_until.clear()
        for found in list(self._open.values()):
            found.look(now)
            seconds = (now - found.since_tick) / 1000
            if found.phase is Phase.HEAD and seconds > self.rules.head_seconds:
                self._late(found, "head")
            elif found.phase is Phase.BODY and seconds > self.rules.body_seconds:
                self._late(found, "body")
            elif found.phase is Phase.CLOSING and seconds > CLOSE_SECONDS:
                found.protocol.transport.abort()
            elif found.unread and seconds > UNREAD_SECONDS:
                self._cut(found, "unread")
        self._say(now)

    def _late(self, found: OpenConnection, what: str) -> None:
        cycle = found.protocol.cycle
        if cycle is None or not cycle.response_started or cycle.response_complete:
            found.protocol.transport.write(LATE)
        found.protocol.transport.close()
        self._count(metrics.CONNECTIONS_CUT, what)

    def _cut(self, found: OpenConnection, why: str) -> None:
        found.protocol.transport.abort()
        self.leave(found.protocol.transport)  # its place is free at once
        self._count(metrics.CONNECTIONS_CUT, why)

    def _count(self, metric: metrics.Metric, why: str) -> None:
        """Counts each; one log line for all of some seconds."""
        self._meter.add(metric, 1, why)
        word = f"{'refused' if metric is metrics.CONNECTIONS_REFUSED else 'cut'}_{why}"
        self._unsaid[word] = self._unsaid.get(word, 0) + 1
        self._say(self._clock.tick_ms())

    def _say(self, now: float) -> None:
        if self._unsaid and now >= self._said_tick + SAY_MS:
            self._said_tick = now
            log.component_log("control-plane").warning("connections_limited", open=len(self), **self._unsaid)
            self._unsaid.clear()


def closing_answer(problem: Problem) -> bytes:
    """An answer of its own, with the end of the connection: none of the application's is to come."""
    content = json.dumps(problem.body()).encode()
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
        "Cache-Control": "no-store",
        "Connection": "close",
    }
    lines = [f"{name}: {value}" for name, value in (headers | problem.headers).items()]
    head = f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}"
    return "\r\n".join([head, *lines, "", ""]).encode() + content


LATE = closing_answer(Problem(408, "the request did not come in time"))
FULL = closing_answer(Problem(503, "there are too many connections"))


class BoundedHttp(H11Protocol):
    """One connection, inside the limits of all."""

    open_connections: Connections  # of the server, set by `bounded`

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.open_connections.enter(self, self.client[0] if self.client else ""):
            transport.write(FULL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.open_connections.leave(self.transport)
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self.open_connections.became_socket(self.transport)
        super().handle_websocket_upgrade(event)


class BoundedSocket(WebSocketsSansIOProtocol):
    open_connections: Connections

    def connection_lost(self, exc: Exception | None) -> None:
        self.open_connections.leave(self.transport)
        super().connection_lost(exc)


def bounded(connections: Connections) -> tuple[type[BoundedHttp], type[BoundedSocket]]:
    """The protocols of a server with these connections."""
    shared = {"open_connections": connections}
    return type("ServerHttp", (BoundedHttp,), shared), type("ServerSocket", (BoundedSocket,), shared)
