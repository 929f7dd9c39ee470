"""Names to addresses: c-ares, /etc/hosts, a bounded cache by TTL. One question per name at a time, whoever asks."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import aiodns
import pycares

from nephila.clock import Clock
from nephila.fetch.guard import is_literal
from nephila.models import Reason

CACHE_MAX = 50_000  # as many hosts as a worker holds
TTL_MS_MIN = 5_000
TTL_MS_MAX = 3_600_000
NEGATIVE_TTL_MS = 30_000
QUERY_SECONDS = 2.0  # of one try; c-ares lengthens the next ones
QUERY_TRIES = 3
ADDRESSES_MAX = 16  # kept of one answer
CNAMES_MAX = 16
AI_NOSORT = 1 << 7  # ARES_AI_NOSORT: else c-ares opens a socket per address to learn its route
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
        self._fixed = {name.lower(): DnsAnswer((address,)) for name, address in (fixed or {}).items()}
        self._cache: dict[str, DnsAnswer] = {}
        self._cache_max = cache_max
        self._servers = servers
        self._asking: dict[str, asyncio.Task[DnsAnswer]] = {}
        self._channel: aiodns.DNSResolver | None = None

    def known(self, hostname: str, now_tick_ms: float) -> DnsAnswer | None:
        """The answer, where no question is needed: no await, for the hot path."""
        answer = self._fixed.get(hostname) or self._cache.get(hostname)
        if answer is not None:
            return answer if answer.expires_tick_ms > now_tick_ms else None
        return DnsAnswer((hostname.strip("[]"),)) if is_literal(hostname) else None

    async def resolve(self, hostname: str) -> DnsAnswer:
        answer = self.known(hostname, self._clock.tick_ms())
        if answer is not None:
            return answer
        task = self._asking.get(hostname)
        if task is None:
            task = self._asking[hostname] = asyncio.create_task(self._ask(hostname))
            task.add_done_callback(lambda _: self._asking.pop(hostname, None))
        return await asyncio.shield(task)  # one caller that gives up does not end the question of the others

    def forget(self, hostname: str) -> None:
        """The next question for it is asked anew."""
        self._cache.pop(hostname, None)

    async def close(self) -> None:
        for task in list(self._asking.values()):
            task.cancel()
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    async def _ask(self, hostname: str) -> DnsAnswer:
        try:
            found = await self._open_channel().getaddrinfo(hostname, flags=AI_NOSORT)
        except aiodns.error.DNSError as error:
            answer = refusal(error.args[0], str(error.args[-1]), self._clock.tick_ms())
        except UnicodeError as error:
            answer = refusal(pycares.errno.ARES_EBADNAME, str(error), self._clock.tick_ms())
        else:
            answer = answer_of(found, self._clock.tick_ms())
        self._keep(hostname, answer)
        return answer

    def _keep(self, hostname: str, answer: DnsAnswer) -> None:
        self._cache.pop(hostname, None)  # a renewed name moves to the young end
        self._cache[hostname] = answer
        if len(self._cache) > self._cache_max:
            del self._cache[next(iter(self._cache))]

    def _open_channel(self) -> aiodns.DNSResolver:
        if self._channel is None:
            # NOSEARCH: a search domain of this machine must not make names out of the web's
            self._channel = aiodns.DNSResolver(
                nameservers=self._servers, timeout=QUERY_SECONDS, tries=QUERY_TRIES, flags=pycares.ARES_FLAG_NOSEARCH
            )
        return self._channel


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
