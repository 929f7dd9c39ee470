"""What operators decide while crawls run: block rules, host rules, the floor. Words are checked here, kept below."""

from collections.abc import Sequence
from dataclasses import dataclass

from nephila.errors import UsageError
from nephila.frontier.operators import BlockKind, BlockRule, HostRule, Rulebook
from nephila.frontier.store import Catalog, HostRow, RobotsRecord
from nephila.urls.identity import host_of, hostname_of
from nephila.urls.normalize import parse

PATTERN_CHARS_MAX = 2048
HOST_CHARS_MAX = 255
STRANGE_IN_HOST = frozenset("/\\?#@ ")


@dataclass(frozen=True, slots=True)
class HostFacts:
    """A politeness key over all crawls."""

    host: str
    clock: HostRow | None  # None: nothing was asked of it yet
    rule: HostRule | None
    robots: tuple[RobotsRecord, ...]


def host_url(text: str) -> str:
    """The root of a host that somebody wrote: a name or an address, with or without a port."""
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
    """None: neither asked nor ruled."""
    clock, rule = catalog.host(host), rulebook.rulings().hosts.get(host)
    robots = (catalog.robots(f"{scheme}://{name}") for name in _names(host) for scheme in ("https", "http"))
    known = tuple(record for record in robots if record is not None)
    return HostFacts(host, clock, rule, known) if clock or rule or known else None


def _names(host: str) -> tuple[str, str]:
    return host, f"www.{host}"
