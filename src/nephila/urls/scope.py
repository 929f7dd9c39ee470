"""Which hosts and URLs belong to a crawl."""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from publicsuffixlist import PublicSuffixList

from nephila.models import Decision, Refusal
from nephila.profiles import ScopeMode, ScopeSettings
from nephila.urls.identity import politeness_key

HOSTS_CACHED = 50_000  # decisions kept; cleared when full

_IN_SCOPE = Decision(True)


class Scope:
    """The hosts of the seeds, of what joined later (a seed's redirect target) and of the settings, by the mode."""

    __slots__ = ("_decisions", "_domains", "_hosts", "_mode", "_parents")

    def __init__(self, scope: ScopeSettings, seed_hosts: Iterable[str], joined_hosts: Iterable[str] = ()) -> None:
        members = {*seed_hosts, *joined_hosts}
        self._mode = scope.mode
        self._decisions: dict[str, Decision] = {}
        self._hosts: frozenset[str] = frozenset()
        self._parents: tuple[str, ...] = ()
        self._domains: frozenset[str] = frozenset()
        if scope.mode is ScopeMode.SAME_HOST:
            self._hosts = frozenset(members | {twin for host in members if (twin := www_twin(host))})
        elif scope.mode is ScopeMode.SAME_DOMAIN:
            self._domains = frozenset(registrable_domain(host) for host in members)
        elif scope.mode is ScopeMode.LIST:
            listed = [host.lower() for host in scope.hosts]
            self._hosts = frozenset({host.removeprefix(".") for host in listed} | set(joined_hosts))
            self._parents = tuple(host for host in listed if host.startswith("."))

    def judge(self, hostname: str) -> Decision:
        decision = self._decisions.get(hostname)
        if decision is None:
            if len(self._decisions) >= HOSTS_CACHED:
                self._decisions.clear()
            decision = self._decisions[hostname] = self._decide(hostname)
        return decision

    def _decide(self, hostname: str) -> Decision:
        if self._holds(hostname):
            return _IN_SCOPE
        return Decision(False, Refusal.SCOPE, f"host {hostname} is outside scope {self._mode}")

    def _holds(self, hostname: str) -> bool:
        if self._mode is ScopeMode.ANY or hostname in self._hosts:
            return True
        if self._mode is ScopeMode.SAME_DOMAIN:
            return registrable_domain(hostname) in self._domains
        return bool(self._parents) and hostname.endswith(self._parents)


class Patterns:
    """Patterns over the whole URL: `*` is any run of characters, `?` any one, everything else itself."""

    __slots__ = ("_compiled",)

    def __init__(self, patterns: Sequence[str]) -> None:
        self._compiled = tuple((pattern, re.compile(_expression(pattern), re.DOTALL).fullmatch) for pattern in patterns)

    def __bool__(self) -> bool:
        return bool(self._compiled)

    def first_match(self, url: str) -> str | None:
        return next((pattern for pattern, matches in self._compiled if matches(url)), None)


def www_twin(hostname: str) -> str | None:
    """example.com for www.example.com and the other way round; None for addresses and single labels."""
    bare = politeness_key(hostname)
    if bare != hostname:
        return bare
    return f"www.{hostname}" if "." in hostname and not _is_address(hostname) else None


def registrable_domain(hostname: str) -> str:
    """The domain that was registered, by the public suffix list; the hostname itself where there is none."""
    if _is_address(hostname):
        return hostname
    return _suffixes().privatesuffix(hostname) or hostname


@cache
def _suffixes() -> PublicSuffixList:
    # Reading the list takes a tenth of a second: only crawls of scope same_domain pay for it.
    return PublicSuffixList()


def _is_address(hostname: str) -> bool:
    # The standard reads every host whose last label is a number as IPv4 and writes it in four decimals.
    return hostname.startswith("[") or hostname.rpartition(".")[2].isdigit()


def _expression(pattern: str) -> str:
    """Each part between two stars keeps the first place it fits (an atomic group): no pattern backtracks for long."""
    first, *rest = ("".join("." if char == "?" else re.escape(char) for char in part) for part in pattern.split("*"))
    if not rest:
        return first
    return first + "".join(f"(?>.*?{part})" for part in rest[:-1]) + f".*{rest[-1]}"
