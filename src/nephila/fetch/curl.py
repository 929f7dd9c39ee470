"""The fetcher that is libcurl on the event loop: resolve, judge each address, exchange."""

import asyncio
import errno
import ssl
from pathlib import Path

from nephila.clock import Clock
from nephila.errors import UsageError
from nephila.fetch.fetcher import FetchRequest, FetchResult
from nephila.fetch.guard import OK, judge_address, judge_host
from nephila.fetch.plan import Plan, Target, plan_of, shown_tail, target_of
from nephila.fetch.pool import ConnectionPool
from nephila.fetch.resolver import DnsAnswer, Resolver
from nephila.fetch.tls_sessions import TlsSessions
from nephila.fetch.transfer import ABORTED, final_head, judge, one_line
from nephila.fetch.wire import LINES_MAX, Lane, Wire
from nephila.machine import LACKING, out_of_files
from nephila.models import Reason

CONNECTIONS_MAX = 20_000  # kept open, idle ones included, where open files and memory permit
CONNECTION_BYTES = 150_000  # of one with TLS
MEMORY_SHARE = 20  # all connections may take one such part of the memory
LANES_MAX = 256  # crawls at once; the oldest is made anew when it comes back
ADDRESSES_TRIED_MAX = 3  # of one name, while they refuse the connection
PROXY_DECIDES: tuple[str, ...] = ("",)  # in place of addresses: the proxy looks the name up
NAMED_TO_A_PROXY = "names are looked up here before a proxy gets them, unless fetch.allow_private is set"

# pycurl's wheel is built on a Red Hat image and looks in its place only, where Debian has nothing
CA_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def find_ca_file() -> str:
    """The system's CA bundle (SSL_CERT_FILE wins); "" where there is none, and then every TLS fetch fails."""
    found = ssl.get_default_verify_paths().cafile
    return next((path for path in (found, *CA_FILES) if path and Path(path).is_file()), "")


def connections_kept(files: int, memory_bytes: int, workers: int) -> int:
    """How many connections each of so many workers keeps. A host whose turn comes finds its own still open, which
    saves a handshake: more than a page costs otherwise."""
    by_memory = memory_bytes // MEMORY_SHARE // CONNECTION_BYTES // max(workers, 1)
    return max(1, min(files // 2, by_memory, CONNECTIONS_MAX))


class CurlFetcher:
    """A `Fetcher`, made inside the running loop."""

    def __init__(
        self,
        clock: Clock,
        resolver: Resolver,
        *,
        connections_max: int = CONNECTIONS_MAX,
        ca_file: str | None = None,
        private_proxies: bool = True,
    ) -> None:
        self._clock = clock
        self._resolver = resolver
        self._connections_max = connections_max
        self._private_proxies = private_proxies  # a crawl's proxy may lie at a private address
        self._ca_file = find_ca_file() if ca_file is None else ca_file
        if ca_file and not Path(ca_file).is_file():
            raise UsageError(f"CA file {ca_file} does not exist")
        self._sessions = TlsSessions()
        self._lanes: dict[tuple[int, str], Lane] = {}
        # by allow_private: a connection made without the guard must never be reused by a crawl with it
        self._pools: dict[bool, ConnectionPool] = {}
        self._aborted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def fetch(self, request: FetchRequest) -> FetchResult:
        clock = self._clock
        result, started = FetchResult(request.url, clock.now_ms()), clock.tick_ms()
        lane = self._lane(request)
        plan = lane.plan
        target = target_of(request.url)
        if target is None:
            return _failed(result, Reason.PROTOCOL, "no http or https URL")
        total_ms = request.total_timeout_ms or plan.settings.total_timeout_ms
        left_ms = total_ms
        addresses = PROXY_DECIDES
        if not (plan.proxy and plan.settings.allow_private):
            decision = judge_host(target.hostname) if plan.proxy else OK
            if not decision.ok:  # .localhost, which the proxy would take for itself
                return _failed(result, Reason.PRIVATE_ADDRESS, decision.detail)
            answer = self._resolver.known(target.hostname, started)
            if answer is None:
                answer = await self._look_up(result, target.hostname, total_ms)
                left_ms = self._left_ms(started, total_ms)
            addresses = permitted(answer, plan)
            if not addresses:
                if answer.error is Reason.DNS and out_of_files():
                    self._resolver.forget(target.hostname)
                    result.lacking, result.aborted = LACKING[errno.EMFILE], True
                return _failed(result, *_why_none(answer, plan))
        for address in addresses[:ADDRESSES_TRIED_MAX]:
            await self._exchange(result, request, lane, target, address, left_ms)
            if result.error is not Reason.CONNECT or result.lacking:
                break
            left_ms = self._left_ms(started, total_ms)
        return result

    def body_bytes(self) -> int:
        return sum(pool.body_bytes() for pool in self._pools.values())

    def abort(self) -> None:
        self._aborted.set_result(None)
        self._aborted = asyncio.get_running_loop().create_future()
        for pool in self._pools.values():
            pool.abort()

    async def close(self) -> None:
        self.abort()
        await asyncio.sleep(0)  # the aborted fetches take what they received
        for pool in self._pools.values():
            pool.close()
        for lane in self._lanes.values():
            lane.close()
        self._pools.clear()
        self._lanes.clear()

    def _lane(self, request: FetchRequest) -> Lane:
        key = (id(request.settings), request.user_agent)  # the lane's plan holds the settings, so the id stays theirs
        lane = self._lanes.get(key)
        if lane is None:
            if len(self._lanes) >= LANES_MAX:
                self._lanes.pop(next(iter(self._lanes))).close()
            plan = plan_of(request.settings, request.user_agent, private_proxies=self._private_proxies)
            lane = self._lanes[key] = Lane(plan, self._ca_file, self._sessions)
        return lane

    def _pool(self, plan: Plan) -> ConnectionPool:
        pool = self._pools.get(plan.settings.allow_private)
        if pool is None:
            pool = self._pools[plan.settings.allow_private] = ConnectionPool(self._clock, self._connections_max)
        return pool

    def _left_ms(self, started_tick: float, total_ms: int) -> int:
        return max(int(total_ms - (self._clock.tick_ms() - started_tick)), 1)

    async def _look_up(self, result: FetchResult, hostname: str, total_ms: int) -> DnsAnswer:
        """Resolve a name until the deadline or abort(). The question itself goes on: others may wait for its answer."""
        started, aborted = self._clock.tick_ms(), self._aborted
        asking = asyncio.ensure_future(self._resolver.resolve(hostname))
        await asyncio.wait((asking, aborted), timeout=total_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
        result.timing.dns_ms = self._clock.tick_ms() - started
        if asking.done():
            return asking.result()
        asking.cancel()
        if aborted.done():
            result.aborted = True
            return DnsAnswer(error=Reason.RESET, detail="aborted")
        return DnsAnswer(error=Reason.TIMEOUT, detail="dns deadline passed")

    async def _exchange(
        self, result: FetchResult, request: FetchRequest, lane: Lane, target: Target, address: str, left_ms: int
    ) -> None:
        plan, wire = lane.plan, lane.take()
        pool = self._pool(plan)
        wire.aim(target, address, left_ms, request.body_bytes_max or plan.settings.body_bytes_max, request.headers)
        try:
            code, text = await pool.start(wire)
            _fill(result, wire, code, text)
            result.ip = address or None
            result.request_bytes = request_head(plan, target, wire.target, request.headers, result.protocol)
        finally:
            pool.stop(wire, ABORTED, "cancelled")  # only has an effect where this task was cancelled
            lane.give_back(wire)


def permitted(answer: DnsAnswer, plan: Plan) -> tuple[str, ...]:
    """The addresses of a name that may be dialled: a private one among public ones is never tried.

    A proxy gets the name and may take any of its addresses, so behind one all must be public.
    """
    if plan.settings.allow_private:
        return answer.addresses
    public = tuple(address for address in answer.addresses if judge_address(address).ok)
    if plan.proxy:
        return PROXY_DECIDES if public and len(public) == len(answer.addresses) else ()
    return public


def request_head(plan: Plan, target: Target, path: str, extra: tuple[tuple[str, str], ...], protocol: str) -> bytes:
    """The head as libcurl sends it, without credentials; HTTP/2 is written as HTTP/1.1 would be."""
    tail = plan.head_tail
    if extra:
        tail = shown_tail(plan.settings, plan.user_agent, extra)
    version = "HTTP/2" if protocol == "h2" else "HTTP/1.1"
    return f"GET {path} {version}\r\nHost: {target.host}\r\n".encode("latin-1", "replace") + tail


def _fill(result: FetchResult, wire: Wire, code: int, text: str) -> None:
    lines, plan = list(wire.lines), wire.plan
    too_long = len(lines) == LINES_MAX or sum(map(len, lines)) > plan.settings.header_bytes_max
    head, proxied = None if too_long else final_head(lines), bool(plan.proxy)
    end = judge(code, text, head=head, cut=wire.cut, refused=wire.refused, too_long=too_long, proxied=proxied)
    result.error, result.truncated, result.aborted = end.error, end.truncated, code == ABORTED
    result.detail = one_line(end.detail) if end.detail else ""
    if end.error is Reason.CONNECT and (lacking := wire.lack()):
        result.lacking, result.aborted = lacking, True
    result.handshake = wire.take_times(result.timing)
    if head is not None and end.error is Reason.NONE:
        result.status, result.protocol, result.header_bytes = head.status, head.protocol, head.raw
        result.body = wire.body()


def _failed(result: FetchResult, reason: Reason, detail: str) -> FetchResult:
    result.error, result.detail = reason, one_line(detail)
    return result


def _why_none(answer: DnsAnswer, plan: Plan) -> tuple[Reason, str]:
    if answer.error is not Reason.NONE:
        looked_up = plan.proxy and answer.error in (Reason.DNS, Reason.NXDOMAIN)
        return answer.error, f"{answer.detail}; {NAMED_TO_A_PROXY}" if looked_up else answer.detail
    refused = next(decision for decision in map(judge_address, answer.addresses) if not decision.ok)
    return Reason.PRIVATE_ADDRESS, refused.detail
