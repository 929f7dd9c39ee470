"""Manners: what no profile may do on hosts that are not one's own. Pure.

One's own are private addresses and the hosts of NEPHILA_OWN_HOSTS. On any other host the documents' 40 ms and their
lack of robots.txt would hurt strangers: there a crawl keeps the usual floor and obeys, whatever its profile and the
environment say. Only a person who sets it for that very crawl changes it, and that is logged.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from nephila.errors import SettingRefused
from nephila.fetch.guard import judge_host
from nephila.profiles import PROFILES, CrawlSettings, Requisites, RobotsMode, ScopeMode
from nephila.urls.identity import hostname_of, politeness_key
from nephila.urls.scope import registrable_domain

PUBLIC_FLOOR_MS = 1000
BROAD = "broad"  # its floor is the least of a delay that follows the host's latency
ANY_HOST = "any host that is linked to"
ANY_NEEDED = "any host that pages need something from"
FLOOR, ROBOTS, FORCE = "polite.floor_ms", "robots.mode", "robots.force"


@dataclass(frozen=True, slots=True)
class Manners:
    """The settings of a crawl as its hosts permit them."""

    settings: CrawlSettings
    foreign: str  # a host of the crawl that is not one's own; empty: there is none
    restrained: tuple[str, ...] = ()  # settings that its profile or the environment wanted looser
    chosen: tuple[str, ...] = ()  # settings that a person has loosened for foreign hosts, too


def mannered(
    settings: CrawlSettings, seeds: Sequence[str], own_hosts: Sequence[str], explicit: Collection[str]
) -> Manners:
    """`explicit`: names of the settings that a person has given for this crawl; they stand. UsageError: `robots.force`
    for hosts that are not one's own."""
    foreign = foreign_host(settings, seeds, own_hosts)
    if not foreign:
        return Manners(settings, "")
    if settings.robots.force:
        why = f"it is for sites of your own, and this crawl may ask {foreign}: name your hosts in NEPHILA_OWN_HOSTS"
        raise SettingRefused(FORCE, "true", why)
    loose = loosened(settings)
    restrained = tuple(name for name in loose if name not in explicit)
    changes: dict[str, object] = {}
    if FLOOR in restrained:
        changes["polite"] = settings.polite.model_copy(update={"floor_ms": public_floor_ms(settings.profile)})
    if ROBOTS in restrained:
        changes["robots"] = settings.robots.model_copy(update={"mode": RobotsMode.OBEY})
    chosen = tuple(name for name in loose if name in explicit)
    return Manners(settings.model_copy(update=changes), foreign, restrained, chosen)


def loosened(settings: CrawlSettings) -> tuple[str, ...]:
    """The settings that are looser than foreign hosts may expect."""
    floor = settings.polite.floor_ms < public_floor_ms(settings.profile)
    ignored = settings.robots.mode is RobotsMode.IGNORE
    return (FLOOR,) * floor + (ROBOTS,) * ignored


def public_floor_ms(profile: str) -> int:
    return int(PROFILES[BROAD]["polite"]["floor_ms"]) if profile == BROAD else PUBLIC_FLOOR_MS


def foreign_host(settings: CrawlSettings, seeds: Sequence[str], own_hosts: Sequence[str]) -> str:
    """A host that the crawl may ask and that is not one's own, in words; empty where there is none."""
    scope = settings.scope
    names: Iterable[str] = map(hostname_of, seeds)  # lazily: of a million seeds the first is mostly foreign
    if scope.mode is ScopeMode.SAME_DOMAIN:
        names = map(_whole_domain, names)
    elif scope.mode is ScopeMode.LIST:
        names = chain(names, map(str.lower, scope.hosts))
    found = next((name for name in names if not is_own(name, own_hosts)), "")
    if found or scope.mode is ScopeMode.ANY:
        return found or ANY_HOST
    return ANY_NEEDED if scope.requisites is Requisites.ALL else ""


def _whole_domain(hostname: str) -> str:
    return f".{registrable_domain(hostname)}"


def is_own(name: str, own_hosts: Sequence[str]) -> bool:
    """Whether a host is private or among `own_hosts`; a leading dot, on either side, means: and all below it."""
    host = name.removeprefix(".")
    if not judge_host(host).ok:
        return True
    return any(_covers(own, host, whole=name.startswith(".")) for own in own_hosts)


def _covers(own: str, host: str, *, whole: bool) -> bool:
    if own.startswith("."):
        return host == own[1:] or host.endswith(own)
    return not whole and politeness_key(own) == politeness_key(host)
