"""The delay that really holds for a crawl at the hosts of its seeds, before it starts: by what is known of them now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from nephila.frontier.catalog import Catalog
from nephila.frontier.operators import Rulings
from nephila.models import CrawlState
from nephila.policy.dispatch import terms_of
from nephila.policy.politeness import Pace, delay_ms, delay_reasons
from nephila.profiles import CrawlSettings
from nephila.urls.identity import host_of

HOSTS_SHOWN = 10
FLOOR, FLOOR_OF_ALL = "floor", "floor_of_all_crawls"


class DelayPart(NamedTuple):
    name: str  # floor, floor_of_all_crawls, crawl_delay, override, adaptive, slowdown
    ms: float


@dataclass(frozen=True, slots=True)
class HostDelay:
    host: str
    delay_ms: float
    parts: tuple[DelayPart, ...]  # the longest first: that one is the delay
    asked: bool  # before: of a host that never was, neither robots.txt nor latency are known


def delays_of(catalog: Catalog, rulings: Rulings, settings: CrawlSettings, seeds: Sequence[str]) -> list[HostDelay]:
    """Of the first HOSTS_SHOWN hosts. `seeds` are URLs."""
    hosts = list(dict.fromkeys(map(host_of, seeds)))[:HOSTS_SHOWN]
    return [_delay(catalog, rulings, settings, host) for host in hosts]


def _delay(catalog: Catalog, rulings: Rulings, settings: CrawlSettings, host: str) -> HostDelay:
    clock, rule = catalog.host(host), rulings.hosts.get(host)
    pace = replace(clock.pace if clock else Pace(), override_ms=rule.delay_ms if rule else None)
    polite = terms_of(CrawlState.RUNNING, "", settings, "", rulings.floor_ms).polite
    floor = FLOOR_OF_ALL if rulings.floor_ms > settings.polite.floor_ms else FLOOR
    parts = tuple(DelayPart(floor if name == FLOOR else name, ms) for name, ms in delay_reasons(pace, polite))
    return HostDelay(host, delay_ms(pace, polite), parts, clock is not None)
