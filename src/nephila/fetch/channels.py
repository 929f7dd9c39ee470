"""`Channels` ask name servers through c-ares.

c-ares keeps answers itself, for the time that they say (up to an hour, NXDOMAIN too), and pycares cannot switch that
off: a renewal would be answered with what is left of the same answer, and a second look at a name that does not exist
with the first. So a name that was asked for before is asked for on a channel that was opened since. One channel serves
all such names, so there is a new one every few seconds at most; it takes 0.2 ms, a thread and four open files.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import aiodns
import pycares

from nephila.clock import Clock

QUERY_SECONDS = 2.0  # of one try; c-ares lengthens the next ones
QUERY_TRIES = 3
AI_NOSORT = 1 << 7  # ARES_AI_NOSORT: else c-ares opens a socket per address to learn its route
NEVER_MS = float("-inf")


@dataclass(slots=True, eq=False)
class Channel:
    dns: aiodns.DNSResolver
    opened_tick_ms: float
    questions: int = 0


class Channels:
    """`servers` (host or host:port) replace the system's."""

    def __init__(self, clock: Clock, servers: Sequence[str] | None = None) -> None:
        self._clock = clock
        self._servers = servers
        self._newest: Channel | None = None
        self._open: set[Channel] = set()  # older ones until their last question is over

    async def getaddrinfo(self, hostname: str, asked_tick_ms: float = NEVER_MS) -> pycares.AddrInfoResult:
        """Ask for the addresses of a name that was asked for before, at that tick or earlier."""
        before, channel = self._newest, self._since(asked_tick_ms)
        channel.questions += 1
        try:
            if before is not None:
                await self._close_idle(before)
            return await channel.dns.getaddrinfo(hostname, flags=AI_NOSORT)
        finally:
            channel.questions -= 1
            await self._close_idle(channel)

    async def close(self) -> None:
        self._newest = None
        while self._open:
            await self._open.pop().dns.close()

    def _since(self, asked_tick_ms: float) -> Channel:
        if self._newest is not None and self._newest.opened_tick_ms > asked_tick_ms:
            return self._newest
        # NOSEARCH: a search domain of this machine must not make names out of the web's
        dns = aiodns.DNSResolver(
            nameservers=self._servers, timeout=QUERY_SECONDS, tries=QUERY_TRIES, flags=pycares.ARES_FLAG_NOSEARCH
        )
        channel = self._newest = Channel(dns, self._clock.tick_ms())
        self._open.add(channel)
        return channel

    async def _close_idle(self, channel: Channel) -> None:
        if channel is not self._newest and not channel.questions and channel in self._open:
            self._open.discard(channel)
            await channel.dns.close()
