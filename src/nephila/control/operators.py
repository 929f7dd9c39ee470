"""What operators decide while crawls run: block rules, host rules, the floor. Their input is checked here."""

from codecs import getincrementaldecoder
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nephila.errors import UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.host_lists import UNSORTABLE
from nephila.frontier.operators import BlockKind, BlockRule, HostRule
from nephila.frontier.records import HostSort
from nephila.frontier.rulebook import Rulebook
from nephila.frontier.store import HostClock, RobotsRecord
from nephila.robots.access import RobotsAccess
from nephila.urls.identity import host_of, hostname_of
from nephila.urls.normalize import parse

PATTERN_CHARS_MAX = 2048
HOST_CHARS_MAX = 255
ROBOTS_SHOWN_BYTES = 100_000  # of one robots.txt
STRANGE_IN_HOST = frozenset("/\\?#@ ")


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What is known of a host, over all crawls."""

    host: str
    clock: HostClock | None  # None: nothing was asked of it yet
    rule: HostRule | None
    robots: tuple[RobotsRecord, ...]


@dataclass(frozen=True, slots=True)
class RuledHost:
    clock: HostClock
    rule: HostRule | None
    robots_version: int | None
    robots_access: str | None


@dataclass(frozen=True, slots=True)
class RuledHosts:
    hosts: list[RuledHost]
    next: str | None
    total: int | None  # that pass the filter; None: too many to be counted
    unsortable: str  # why they are listed by name only; empty: they can be sorted


class RobotsText(NamedTuple):
    text: str | None
    truncated: bool  # the robots.txt is longer than the text


def host_url(text: str) -> str:
    """The root URL of a host that somebody wrote: a name or an address, with or without a port."""
    text = text.strip()
    plausible = text and len(text) <= HOST_CHARS_MAX and text.isprintable() and STRANGE_IN_HOST.isdisjoint(text)
    url = parse(f"http://{text}/", None) if plausible else None
    if url is None or not url.startswith("http://"):
        raise UsageError(f"{text[:HOST_CHARS_MAX]!r} is no host: give a name like example.com, without a path")
    return url


def host_key(text: str) -> str:
    return host_of(host_url(text))


def block(rulebook: Rulebook, kind: BlockKind, values: Sequence[str], reason: str, by: str) -> list[BlockRule]:
    checked = [_domain(value) if kind is BlockKind.DOMAIN else _pattern(value) for value in values]
    return rulebook.add_blocks(kind, list(dict.fromkeys(checked)), reason, by)


def _domain(text: str) -> str:
    return hostname_of(host_url(text.strip().removeprefix("*.").removeprefix(".")))


def _pattern(text: str) -> str:
    text = text.strip()
    if not text.strip("*?") or len(text) > PATTERN_CHARS_MAX or not text.isprintable():
        raise UsageError(
            f"a pattern is one line of up to {PATTERN_CHARS_MAX} characters, not only * and ?: like *://example.com/tag/*"
        )
    return text


def host_facts(catalog: Catalog, rulebook: Rulebook, host: str) -> HostFacts | None:
    """None: the host was never asked for anything, and no rule names it."""
    clock, rule = catalog.host(host), rulebook.rulings().hosts.get(host)
    known = tuple(catalog.robots_of_host(host))
    return HostFacts(host, clock, rule, known) if clock or rule or known else None


def ruled_hosts(
    catalog: Catalog,
    rulebook: Rulebook,
    after: str,
    limit: int,
    text: str,
    sort: HostSort = HostSort.HOST,
    *,
    descending: bool = False,
) -> RuledHosts:
    """A page of the hosts that were asked for something. `text` is looked for in lower case, as hosts are stored."""
    text = text.lower()
    page, rules = catalog.all_hosts(after, limit, text, sort, descending=descending), rulebook.rulings().hosts
    hosts = [
        RuledHost(host.clock, rules.get(host.clock.host), host.robots_version, host.robots_access)
        for host in page.hosts
    ]
    total = catalog.count_hosts(text)
    return RuledHosts(hosts, page.next, total, UNSORTABLE if total is None else "")


def robots_text(record: RobotsRecord) -> RobotsText:
    """The text of a robots.txt; None where nothing was answered or the answer allows everything."""
    cut = len(record.body) > ROBOTS_SHOWN_BYTES
    decoder = getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(record.body[:ROBOTS_SHOWN_BYTES], final=not cut)
    return RobotsText(text if record.access == RobotsAccess.RULES else None, cut)
