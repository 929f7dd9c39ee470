"""Where the robots.txt of an origin is had from, for whoever wants to try it: the store, or its server if that may be
asked now."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from nephila.control.crawls import seed_url
from nephila.errors import NephilaError, UsageError
from nephila.fetch.guard import judge_url
from nephila.fetch.robots import RobotsAnswer
from nephila.frontier.catalog import Catalog
from nephila.frontier.operators import Rulings, blocks_of
from nephila.robots.access import RobotsAccess
from nephila.urls.identity import host_of, origin_of

KNOWN = (RobotsAccess.RULES, RobotsAccess.ALLOW_ALL)


class RobotsPlace(StrEnum):
    FILE = "file"
    STORE = "store"  # as a crawl has got it
    WEB = "web"  # asked for now


@dataclass(frozen=True, slots=True)
class RobotsSource:
    place: RobotsPlace
    origin: str  # empty: of a file, which is tried for any
    body: bytes
    status: int | None = None
    fetched_at: int | None = None
    expires_in_ms: int | None = None  # of the store; 0 or less: a crawl would ask anew


def by_origin(texts: Iterable[str]) -> dict[str, list[str]]:
    """The URLs that somebody wrote, by origin. UsageError: one is no web address."""
    found: dict[str, list[str]] = {}
    for url in map(seed_url, texts):
        found.setdefault(origin_of(url), []).append(url)
    return found


def stored_robots(catalog: Catalog, origin: str) -> RobotsSource | None:
    """What a crawl has got of an origin. None: nothing, or it could not be had."""
    record = catalog.robots(origin)
    if record is None or record.access not in KNOWN:
        return None
    body = record.body if record.access == RobotsAccess.RULES else b""
    return RobotsSource(RobotsPlace.STORE, origin, body, record.status, record.fetched_at, record.expires_in_ms)


def check_public(origin: str) -> None:
    """UsageError: the origin lies at a private address, as far as its name tells."""
    guard = judge_url(f"{origin}/")
    if not guard.ok:
        raise UsageError(f"{origin} is not asked ({guard.detail}): say --allow-private if it is yours")


def check_may_ask(catalog: Catalog, rulings: Rulings, origin: str) -> None:
    """UsageError: an operator has blocked the host, or it rests by its clock, which crawls keep."""
    url = f"{origin}/robots.txt"
    host, blocked = host_of(url), blocks_of(rulings).judge(url)
    if not blocked.ok:
        raise UsageError(f"{origin} is not asked: {blocked.detail}")
    rule, clock = rulings.hosts.get(host), catalog.host(host)
    if rule is not None and rule.blocked_in_ms:
        raise UsageError(f"{host} is not asked: an operator has blocked it ({rule.reason or 'no reason given'})")
    if clock is not None and clock.next_in_ms > 0:
        why = f" ({clock.rest_reason})" if clock.rest_reason else ""
        raise UsageError(f"{host} rests for {clock.next_in_ms / 1000:.1f} s more{why}: ask later, or say --file FILE")


def asked_robots(origin: str, answer: RobotsAnswer) -> RobotsSource:
    """NephilaError: it cannot be had."""
    if answer.access not in KNOWN:
        raise NephilaError(f"robots.txt of {origin} cannot be had ({answer.detail}): until it can, a crawl waits")
    return RobotsSource(RobotsPlace.WEB, origin, answer.body, answer.status, answer.fetched_at)
