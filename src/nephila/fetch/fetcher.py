"""The HTTP client: libcurl on the event loop. Whatever the network does is a FetchResult, never an exception."""

import asyncio
import ssl
from pathlib import Path

from nephila.clock import Clock
from nephila.errors import UsageError
from nephila.fetch.exchange import ABORTED, FetchRequest, FetchResult, final_head, judge, one_line
from nephila.fetch.guard import judge_address, judge_host
from nephila.fetch.plan import Plan, Target, head_tail, header_pairs, plan_of, target_of
from nephila.fetch.pool import Pool
from nephila.fetch.resolver import DnsAnswer, Resolver
from nephila.fetch.wire import Lane, Wire
from nephila.models import Reason

__all__ = ["FetchRequest", "FetchResult", "Fetcher", "find_ca_file"]

CONNECTIONS_MAX = 1000  # kept open, idle ones included
LANES_MAX = 256  # crawls at once; the oldest is made anew when it comes back
ADDRESSES_TRIED_MAX = 3  # of one name, while they refuse the connection

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


class Fetcher:
    """Made inside the running loop. How many fetches run at once is the caller's decision."""

    def __init__(
        self, clock: Clock, resolver: Resolver, *, connections_max: int = CONNECTIONS_MAX, ca_file: str | None = None
    ) -> None:
        self._clock = clock
        self._resolver = resolver
        self._connections_max = connections_max
        self._ca_file = find_ca_file() if ca_file is None else ca_file
        if ca_file and not Path(ca_file).is_file():
            raise UsageError(f"CA file {ca_file} does not exist")
        self._lanes: dict[tuple[int, str], Lane] = {}
        # by allow_private: a connection made without the guard must never be reused by a crawl with it
        self._pools: dict[bool, Pool] = {}
        self._aborted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def fetch(self, request: FetchRequest) -> FetchResult:
        clock = self._clock
        result, started = FetchResult(request.url, clock.now_ms()), clock.tick_ms()
        lane = self._lane(request)
        plan = lane.plan
        target = target_of(request.url)
        if target is None:
            return _failed(result, Reason.PROTOCOL, "no http or https URL")
        total_ms = request.total_timeout_ms or plan.total_ms
        left_ms = total_ms
        addresses: tuple[str, ...] = ("",)
        if plan.proxy:
            decision = judge_host(target.hostname)
            if not (decision.ok or plan.allow_private):
                return _failed(result, Reason.PRIVATE_ADDRESS, decision.detail)
        else:
            answer = self._resolver.known(target.hostname, started)
            if answer is None:
                answer, result.timing.dns_ms = await self._look_up(target.hostname, total_ms)
                left_ms = self._left_ms(started, total_ms)
            addresses = permitted(answer, plan.allow_private)
            if not addresses:
                return _failed(result, *_why_none(answer))
        for address in addresses[:ADDRESSES_TRIED_MAX]:
            await self._exchange(result, request, lane, target, address, left_ms)
            if result.error is not Reason.CONNECT:
                break
            left_ms = self._left_ms(started, total_ms)
        return result

    def abort(self) -> None:
        """End everything in flight: those results are RESET, "aborted"."""
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
            lane = self._lanes[key] = Lane(plan_of(request.settings, request.user_agent), self._ca_file)
        return lane

    def _pool(self, plan: Plan) -> Pool:
        pool = self._pools.get(plan.allow_private)
        if pool is None:
            pool = self._pools[plan.allow_private] = Pool(self._clock, self._connections_max)
        return pool

    def _left_ms(self, started_tick: float, total_ms: int) -> int:
        return max(int(total_ms - (self._clock.tick_ms() - started_tick)), 1)

    async def _look_up(self, hostname: str, total_ms: int) -> tuple[DnsAnswer, float]:
        """Ask, until the deadline or abort(); the question itself goes on for whoever else waits for it."""
        started, aborted = self._clock.tick_ms(), self._aborted
        asking = asyncio.ensure_future(self._resolver.resolve(hostname))
        await asyncio.wait((asking, aborted), timeout=total_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
        spent_ms = self._clock.tick_ms() - started
        if asking.done():
            return asking.result(), spent_ms
        asking.cancel()
        if aborted.done():
            return DnsAnswer(error=Reason.RESET, detail="aborted"), spent_ms
        return DnsAnswer(error=Reason.TIMEOUT, detail="dns deadline passed"), spent_ms

    async def _exchange(
        self, result: FetchResult, request: FetchRequest, lane: Lane, target: Target, address: str, left_ms: int
    ) -> None:
        plan, wire = lane.plan, lane.take()
        pool = self._pool(plan)
        wire.aim(target, address, left_ms, request.body_bytes_max or plan.body_bytes_max, request.headers)
        try:
            code, text = await pool.start(wire)
            _fill(result, wire, code, text)
            result.ip = address or None
            result.request_bytes = request_head(plan, target, wire.target, request.headers, result.protocol)
        finally:
            pool.stop(wire, ABORTED, "cancelled")  # only has an effect where this task was cancelled
            lane.give_back(wire)


def permitted(answer: DnsAnswer, allow_private: bool) -> tuple[str, ...]:
    """The addresses of a name that may be dialled: a private one among public ones is never tried."""
    if allow_private:
        return answer.addresses
    return tuple(address for address in answer.addresses if judge_address(address).ok)


def request_head(plan: Plan, target: Target, path: str, extra: tuple[tuple[str, str], ...], protocol: str) -> bytes:
    """The head as libcurl sends it. A proxy's password is left out; HTTP/2 is written as HTTP/1.1 would be."""
    tail = plan.head_tail
    if extra:
        tail = head_tail(header_pairs(plan.user_agent, (*plan.settings.headers, *extra)))
    version = "HTTP/2" if protocol == "h2" else "HTTP/1.1"
    return f"GET {path} {version}\r\nHost: {target.host}\r\n".encode("latin-1", "replace") + tail


def _fill(result: FetchResult, wire: Wire, code: int, text: str) -> None:
    lines, plan, head = wire.lines, wire.plan, final_head(wire.lines)
    size = len(head.raw) if head is not None else sum(map(len, lines))
    too_long, proxied = size > plan.header_bytes_max, bool(plan.proxy)
    verdict = judge(code, text, head=head, cut=wire.cut, refused=wire.refused, too_long=too_long, proxied=proxied)
    result.error, result.truncated = verdict.error, verdict.truncated
    result.detail = one_line(verdict.detail) if verdict.detail else ""
    wire.take_times(result.timing)
    if head is not None and verdict.error is Reason.NONE:
        result.status, result.protocol, result.header_bytes = head.status, head.protocol, head.raw
        result.body = b"".join(wire.chunks)


def _failed(result: FetchResult, reason: Reason, detail: str) -> FetchResult:
    result.error, result.detail = reason, one_line(detail)
    return result


def _why_none(answer: DnsAnswer) -> tuple[Reason, str]:
    if answer.error is not Reason.NONE:
        return answer.error, answer.detail
    return Reason.PRIVATE_ADDRESS, judge_address(answer.addresses[0]).detail
