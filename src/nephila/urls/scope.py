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

    __slots__ = ("_decisions", "_joined", "_members", "_parents", "_settings")

    def __init__(self, scope: ScopeSettings, seed_hosts: Iterable[str], joined_hosts: Iterable[str] = ()) -> None:
        self._settings = scope
        self._decisions: dict[str, Decision] = {}
        self._parents: tuple[str, ...] = ()  # of scope list: all below these, too
        members = hosts_of_scope(scope, seed_hosts)
        if scope.mode is ScopeMode.LIST:
            members = [host.lower() for host in members]
            self._parents = tuple(host for host in members if host.startswith("."))
            members = [host.removeprefix(".") for host in members]
        self._members = frozenset(members)  # hosts; of scope same_domain registrable domains
        self._joined = self._names_of(joined_hosts)  # apart: the members may be a million, and are shared

    def with_hosts(self, hostnames: Iterable[str]) -> "Scope":
        """This scope with further hosts that joined it. What the seeds say is shared, not read again."""
        scope = Scope.__new__(Scope)
        scope._settings, scope._members, scope._parents = self._settings, self._members, self._parents
        scope._decisions = {}
        scope._joined = self._joined | self._names_of(hostnames)
        return scope

    def _names_of(self, joined_hosts: Iterable[str]) -> frozenset[str]:
        listed = self._settings.mode is ScopeMode.LIST
        return frozenset(joined_hosts if listed else hosts_of_scope(self._settings, joined_hosts))

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
        return Decision(False, Refusal.SCOPE, f"host {hostname} is outside scope {self._settings.mode}")

    def _holds(self, hostname: str) -> bool:
        mode = self._settings.mode
        if mode is ScopeMode.ANY:
            return True
        name = registrable_domain(hostname) if mode is ScopeMode.SAME_DOMAIN else hostname
        if name in self._members or name in self._joined:
            return True
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


def hosts_of_scope(scope: ScopeSettings, hosts: Iterable[str]) -> list[str]:
    """The hosts that a scope names, each once: of the seeds' `hosts` with their www twins, their registrable domains,
    or the listed ones (a leading dot means: and all below it). None where every host is in scope."""
    match scope.mode:
        case ScopeMode.ANY:
            return []
        case ScopeMode.LIST:
            return list(scope.hosts)
        case ScopeMode.SAME_DOMAIN:
            return list(dict.fromkeys(map(registrable_domain, hosts)))
    return list(dict.fromkeys(name for host in hosts for name in (host, www_twin(host)) if name))


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
