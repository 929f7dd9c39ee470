"""Names to addresses: c-ares, /etc/hosts, a bounded cache by TTL. Callers share the question for a name.

An answer that is used shortly before it expires is renewed beside the request that uses it (as unbound's prefetch), so
that a host that is asked again and again waits for its name once.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import aiodns
import pycares

from nephila import log as logs
from nephila.clock import Clock
from nephila.fetch.channels import NEVER_MS, Channels
from nephila.fetch.guard import is_literal
from nephila.models import Reason

CACHE_MAX = 500_000  # names, of some 500 bytes each
LITERALS_MAX = 10_000  # addresses in place of names that are remembered
TTL_MS_MIN = 5_000
TTL_MS_MAX = 3_600_000
NEGATIVE_TTL_MS = 30_000
RENEW_MS = 10_000.0  # before its end an answer that is used is renewed: hosts with a shorter delay never wait for it
RENEW_PART = 0.25  # of its time at most: a resolver's own cache answers with what is left of the same time
ADDRESSES_MAX = 16  # kept of one answer
CNAMES_MAX = 16
FOREVER_MS = float("inf")

# Nobody can ever own these names, so they do not exist.
NXDOMAIN_ERRORS = frozenset({pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_EBADNAME})


@dataclass(frozen=True, slots=True)
class DnsAnswer:
    addresses: tuple[str, ...] = ()  # IPv4 first
    cnames: tuple[str, ...] = ()  # the chain, in order
    expires_tick_ms: float = FOREVER_MS
    error: Reason = Reason.NONE  # DNS | NXDOMAIN
    detail: str = ""

    def texts(self) -> tuple[str, str]:
        """Addresses and chain as the row of a host has them."""
        return " ".join(self.addresses), " ".join(self.cnames)


@dataclass(slots=True)
class Cached:
    answer: DnsAnswer
    fresh_until_tick_ms: float  # whoever uses it later has it renewed, once
    since_tick_ms: float = NEVER_MS


FORGOTTEN = DnsAnswer(expires_tick_ms=NEVER_MS)


class Resolver:
    """`fixed` maps a name to its address, like curl --resolve; `servers` (host or host:port) replace the system's."""

    def __init__(
        self,
        clock: Clock,
        *,
        fixed: Mapping[str, str] | None = None,
        cache_max: int = CACHE_MAX,
        servers: Sequence[str] | None = None,
    ) -> None:
        self._clock = clock
        self._fixed = {
            name.lower(): Cached(DnsAnswer((address,)), FOREVER_MS) for name, address in (fixed or {}).items()
        }
        self._cache: dict[str, Cached] = {}
        self._literals: dict[str, DnsAnswer] = {}
        self._cache_max = cache_max
        self._asking: dict[str, asyncio.Task[DnsAnswer]] = {}
        self._channels = Channels(clock, servers)

    def known(self, hostname: str, now_tick_ms: float) -> DnsAnswer | None:
        """The answer that is known without asking, or None; no await, for the hot path."""
        cached = self._fixed.get(hostname) or self._cache.get(hostname)
        if cached is not None:
            return (
                cached.answer if cached.fresh_until_tick_ms > now_tick_ms else self._last(hostname, cached, now_tick_ms)
            )
        return self._literals.get(hostname) or self._literal(hostname)

    def unasked(self, hostname: str, now_tick_ms: float) -> bool:
        """True: the answer is not known, and nobody has asked for it."""
        return hostname not in self._asking and self.known(hostname, now_tick_ms) is None

    def _last(self, hostname: str, cached: Cached, now_tick_ms: float) -> DnsAnswer | None:
        """An answer in its last moments serves until it expires. The first who uses it then has it asked for anew;
        should that fail, the answer stays, and whoever comes after its end asks again."""
        expires = cached.answer.expires_tick_ms
        if expires <= now_tick_ms:
            return None
        cached.fresh_until_tick_ms = expires
        if hostname not in self._asking:
            self._start(hostname).add_done_callback(_log_fault)
        return cached.answer

    def _literal(self, hostname: str) -> DnsAnswer | None:
        """An address that stands in place of a name, kept for the next request."""
        if not is_literal(hostname):
            return None
        if len(self._literals) >= LITERALS_MAX:
            self._literals.clear()
        answer = self._literals[hostname] = DnsAnswer((hostname.strip("[]"),))
        return answer

    async def resolve(self, hostname: str) -> DnsAnswer:
        answer = self.known(hostname, self._clock.tick_ms())
        if answer is not None:
            return answer
        task = self._asking.get(hostname) or self._start(hostname)
        return await asyncio.shield(task)  # a caller that gives up does not end the question of the others

    def _start(self, hostname: str) -> asyncio.Task[DnsAnswer]:
        task = self._asking[hostname] = asyncio.create_task(self._ask(hostname))
        task.add_done_callback(lambda _: self._asking.pop(hostname, None))
        return task

    def forget(self, hostname: str) -> None:
        """Drop the cached answer: the next question for the name is asked anew."""
        cached = self._cache.get(hostname)
        if cached is not None:
            cached.answer, cached.fresh_until_tick_ms = FORGOTTEN, NEVER_MS

    async def close(self) -> None:
        for task in list(self._asking.values()):
            task.cancel()
        await self._channels.close()

    async def _ask(self, hostname: str) -> DnsAnswer:
        cached = self._cache.get(hostname)
        try:
            found = await self._channels.getaddrinfo(hostname, cached.since_tick_ms if cached else NEVER_MS)
        except aiodns.error.DNSError as error:
            answer = refusal(error.args[0], str(error.args[-1]), self._clock.tick_ms())
        except UnicodeError as error:
            answer = refusal(pycares.errno.ARES_EBADNAME, str(error), self._clock.tick_ms())
        else:
            answer = answer_of(found, self._clock.tick_ms())
        self._keep(hostname, answer)
        return answer

    def _keep(self, hostname: str, answer: DnsAnswer) -> None:
        cache, now, expires = self._cache, self._clock.tick_ms(), answer.expires_tick_ms
        before = cache.get(hostname)
        if before is not None and answer.error and not before.answer.error and before.answer.expires_tick_ms > now:
            return  # a renewal that failed
        cache.pop(hostname, None)  # a renewed name moves to the young end
        # What failed is not renewed: who asks when its time is over wants to know.
        early = 0.0 if answer.error else min(RENEW_MS, (expires - now) * RENEW_PART)
        cache[hostname] = Cached(answer, expires - early, now)
        oldest = next(iter(cache))
        if len(cache) > self._cache_max or cache[oldest].answer.expires_tick_ms <= now:
            del cache[oldest]  # one in, one out: names that have expired do not fill the memory


def _log_fault(renewal: asyncio.Task[DnsAnswer]) -> None:
    if not renewal.cancelled() and (fault := renewal.exception()) is not None:
        logs.component_log("worker").error("look_up_broke", exc_info=fault)


def answer_of(found: pycares.AddrInfoResult, now_tick_ms: float) -> DnsAnswer:
    pairs = [(":" in text, text) for text in (_text(node.addr[0]) for node in found.nodes[:ADDRESSES_MAX])]
    addresses = tuple(dict.fromkeys(text for _, text in sorted(pairs, key=lambda pair: pair[0])))
    if not addresses:
        return refusal(pycares.errno.ARES_ENODATA, "no addresses", now_tick_ms)
    ttls = [node.ttl for node in found.nodes] + [cname.ttl for cname in found.cnames]
    ttl_ms = min(max(min(ttls) * 1000, TTL_MS_MIN), TTL_MS_MAX)
    chain = dict.fromkeys(cname.name for cname in found.cnames if cname.name)  # one comes with each kind of address
    cnames = tuple(islice(chain, CNAMES_MAX))
    return DnsAnswer(addresses, cnames, now_tick_ms + ttl_ms)


def refusal(errno: int, detail: str, now_tick_ms: float) -> DnsAnswer:
    reason = Reason.NXDOMAIN if errno in NXDOMAIN_ERRORS else Reason.DNS
    return DnsAnswer(expires_tick_ms=now_tick_ms + NEGATIVE_TTL_MS, error=reason, detail=detail)


def _text(value: str | bytes) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else value
