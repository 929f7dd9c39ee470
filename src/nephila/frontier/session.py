"""What a session of either store remembers between its flushes, and what follows from it without a statement."""

import json
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nephila.frontier.columns import error_values
from nephila.frontier.store import (
    ERRORS_PER_FLUSH,
    EXAMPLES_EACH,
    Batch,
    ErrorNote,
    Outcome,
    RefusedLink,
)
from nephila.frontier.tables import Values
from nephila.models import (
    KINDS_BY_CODE,
    OTHER_TYPES,
    TERMINAL,
    TYPE_PREFIX,
    TYPES_MAX,
    Child,
    Kind,
    Reason,
    Refusal,
    Tally,
    UrlState,
    counted_type,
    depth_tally,
    reason_tally,
    status_tally,
    type_tally,
)
from nephila.policy.balance import Lease, Moves, balance
from nephila.urls.admission import EXAMPLE_CHARS_MAX
from nephila.urls.identity import url_key

END_CHUNK = 2000  # open rows that one flush ends without a request: keeps a transaction far below 0.5 s
ARRIVALS_MAX = 5000  # taken by one flush
ENTRY_URLS_MAX = 1024  # ids in one entry of `changes`: places in 2**43 entries are exact where numbers are doubles
QUEUE_IDS_MAX = 200_000  # (crawl, host) -> queue id: only saves look-ups

Tallies = Counter[tuple[int, str]]  # (crawl, name of the tally)
Refusals = Counter[tuple[int, str, str]]  # (crawl, host, reason)


class SessionMemory:
    """The base of both frontiers: what they own, and the crawls that were open at version `_control`."""

    def __init__(self) -> None:
        self.worker = 0
        self._session = ""
        self._parts: frozenset[int] = frozenset()
        self._sorted_parts: list[int] = []
        self._last_part = -1  # where the last full load stopped
        self._control = -1  # version of _crawls
        self._crawls: dict[int, tuple[str, str]] = {}  # open crawls: state, reason
        self._pages_limited: set[int] = set()  # of them, those with max_pages
        self._types: dict[int, set[str]] = {}  # of them, the content types that are counted by name

    def _own(self, parts: Iterable[int]) -> None:
        self._parts = frozenset(parts)
        self._sorted_parts = sorted(self._parts)

    def _remember_crawls(self, version: int, found: list[Values]) -> None:
        self._control = version
        self._crawls = {crawl: (state, reason) for crawl, state, reason, _ in found}
        self._pages_limited = {crawl for crawl, _, _, limited in found if limited}
        self._types = {crawl: types for crawl, types in self._types.items() if crawl in self._crawls}

    def _rotated_parts(self) -> list[int]:
        """Own partitions from behind the one where the last full load stopped, so that none is always last."""
        parts = self._sorted_parts
        start = bisect(parts, self._last_part)
        return parts[start:] + parts[:start]

    def _queues_each(self, wanted: int) -> int:
        """How many due queues to look for in each partition, so that some busy ones are enough."""
        return max(1, 4 * wanted // len(self._parts))

    def _countable(self, counts: Mapping[Any, int]) -> list[Values]:
        """Rows of the counts of open crawls: nobody would ever remove those of a crawl that was deleted meanwhile."""
        return [(*key, n) for key, n in counts.items() if n and key[0] in self._crawls]

    def _refused_links(self, links: Iterable[RefusedLink]) -> list[RefusedLink]:
        """Those of open crawls, in the order of their keys."""
        return sorted((link for link in links if link.crawl in self._crawls), key=lambda link: link[:5])

    def _count_ended(self, ended: Iterable[Outcome], tallies: Tallies, stored: Callable[[int], Iterable[str]]) -> None:
        """Count outcomes that had a permit by state, reason, status and content type, those of requisites and
        sitemaps apart and by state and reason; `stored` answers the names of a crawl's tallies. Like ones are counted
        together: a flush has few kinds."""
        kinds = Counter(
            [
                (o.crawl, o.kind, o.state, o.reason, page.status, page.content_type)
                if (page := o.page) is not None
                else (o.crawl, o.kind, o.state, o.reason, None, None)
                for o in ended
            ]
        )
        for (crawl, kind, state, reason, status, content_type), n in kinds.items():
            prefix = kind.traits.tally_prefix
            tallies[crawl, prefix + state.value] += n
            if reason:
                tallies[crawl, prefix + reason_tally(reason)] += n
            if status is not None and not prefix:
                tallies[crawl, status_tally(status)] += n
                tallies[crawl, type_tally(self._counted_type(crawl, content_type, stored))] += n

    def _counted_type(self, crawl: int, content_type: str | None, stored: Callable[[int], Iterable[str]]) -> str:
        """The name that a content type is counted by: its own, of TYPES_MAX in a crawl. (Sessions that begin at the
        same time do not see each other's: each may name as many.)"""
        types = self._types.get(crawl)
        if types is None:
            names = (name.removeprefix(TYPE_PREFIX) for name in stored(crawl) if name.startswith(TYPE_PREFIX))
            types = self._types[crawl] = set(names)
        named = counted_type(content_type)
        if named not in types and len(types) >= TYPES_MAX:
            return OTHER_TYPES
        types.add(named)
        return named

    def _error_rows(self, errors: list[ErrorNote], now: int) -> list[Values]:
        noted = errors[:ERRORS_PER_FLUSH]
        return [error_values(note, self.worker, now) for note in noted if note.crawl in self._crawls]


class Added(NamedTuple):
    """What an insert brought to a crawl."""

    urls: int = 0  # without those of kinds that are counted apart
    hosts: int = 0  # that it knew no URL of
    depths: Mapping[int, int] = {}  # of the new pages -> how many
    depth_max: int = 0  # of the new pages; 0 where the session has counted one as deep before
    apart: Mapping[str, int] = {}  # by the tally prefix of their kind

    def add_to(self, crawl: int, tallies: Tallies) -> None:
        tallies[crawl, Tally.URLS] += self.urls
        tallies[crawl, Tally.HOSTS] += self.hosts
        tallies[crawl, Tally.DEPTH_MAX] = self.depth_max
        for prefix, n in self.apart.items():
            tallies[crawl, prefix + Tally.URLS] += n
        for depth, pages in self.depths.items():
            tallies[crawl, depth_tally(depth)] += pages


def counted_apart(by_kind: Iterable[tuple[int, int]]) -> dict[str, int]:
    """How many of each kind (by its code) -> by tally prefix, without those that are counted as pages are."""
    found: Counter[str] = Counter()
    for code, n in by_kind:
        if prefix := KINDS_BY_CODE[code].traits.tally_prefix:
            found[prefix] += n
    return found


class QueueMemory:
    """The base of both inserters: the ids of queues, which crawls are limited, and how deep they are known to be.

    `forget` is called after a transaction that was rolled back: its ids never existed.
    """

    def __init__(self) -> None:
        self._ids: dict[int, dict[str, int]] = {}  # crawl -> host -> queue
        self._known = 0  # hosts in _ids
        self._limited: dict[int, bool] = {}  # crawl -> has max_urls or max_frontier, which never changes
        self._depths: dict[int, int] = {}  # crawl -> depth of the deepest page that this session has counted

    def forget(self) -> None:
        self._ids.clear()
        self._known = 0
        self._limited.clear()
        self._depths.clear()

    def ids(self, crawl: int) -> dict[str, int]:
        return self._ids.setdefault(crawl, {})

    def _deeper(self, crawl: int, depths: Iterable[int]) -> int:
        """The greatest of these depths, where this session has counted none as great; else 0."""
        depth = max(depths, default=0)
        if depth <= self._depths.get(crawl, 0):
            return 0
        self._depths[crawl] = depth
        return depth

    def _make_room(self) -> None:
        if self._known > QUEUE_IDS_MAX:
            self.forget()

    def _learn(self, found: Iterable[tuple[int, str, int]]) -> None:
        for crawl, host, queue in found:
            self.ids(crawl)[host] = queue
            self._known += 1


# --- the limits of what is inserted


@dataclass(slots=True)
class Counts:
    """What one transaction counts of its crawls; it is written at its end."""

    tallies: Tallies = field(default_factory=Counter)
    refusals: Refusals = field(default_factory=Counter)
    crowded_out: set[tuple[int, bytes]] = field(default_factory=set)  # as Flushed.crowded_out
    refused_links: list[RefusedLink] = field(default_factory=list)  # up to EXAMPLES_EACH

    def ended(self, crawl: int) -> int:
        return sum(self.tallies[crawl, state] for state in TERMINAL)

    def refuse(self, child: Child, refusal: Refusal) -> None:
        self.refusals[child.crawl, child.host, refusal] += 1
        if refusal is Refusal.FRONTIER:
            self.crowded_out.add((child.crawl, child.key))
        if len(self.refused_links) < EXAMPLES_EACH and len(child.url) <= EXAMPLE_CHARS_MAX:
            self.refused_links.append(RefusedLink(child.crawl, refusal, "", child.host, child.url, child.parent))


@dataclass(slots=True)
class Vacancies:
    """How many more URLs of a crawl its limits let in during a transaction; None: this limit is not set."""

    urls: int | None  # by max_urls
    open: int | None  # by max_frontier, which counts pages
    limited_by: str = ""  # the limit that refused some

    def fits(self, count: int) -> bool:
        return (self.urls is None or self.urls >= count) and (self.open is None or self.open >= count)

    def take(self, child: Child) -> Refusal | None:
        """Take a place for the child; answers why there is none.

        Only links meet max_frontier. Nobody would find a seed or the target of a redirect again, and a host waits for
        its robots.txt, which max_urls lets in, too: the URLs of that host were admitted. Nor would anybody find a
        requisite again: the page that needs it is read once. A sitemap is no link, but what it
        lists is: a page that there is no room for is not taken in before another page links to it.
        """
        if self.urls is not None and self.urls <= 0 and child.kind.traits.ruled:
            self.limited_by = "max_urls"
            return Refusal.LIMIT
        if self.open is not None and self.open <= 0 and child.is_link:
            self.limited_by = self.limited_by or "max_frontier"
            return Refusal.FRONTIER
        self.urls = None if self.urls is None else self.urls - 1
        if self.open is not None and not child.kind.traits.tally_prefix:
            self.open -= 1
        return None


def within(
    children: Sequence[Child], rooms: Mapping[int, Vacancies], known: set[tuple[int, bytes]], counts: Counts
) -> list[Child]:
    """The children that these crawls have room for, in their order: the most important ones. The others are counted.

    `known`: crawl and key of those that are stored already. Children of other crawls pass.
    """
    refused: set[int] = set()
    asked = [place for place, child in enumerate(children) if child.crawl in rooms and _name(child) not in known]
    for place in sorted(asked, key=lambda place: _rank(children[place])):
        child = children[place]
        name = _name(child)
        if name not in known:  # nor did it come twice
            refusal = rooms[child.crawl].take(child)
            if refusal is None:
                known.add(name)
            else:
                counts.refuse(child, refusal)
                refused.add(place)
    return [child for place, child in enumerate(children) if place not in refused]


def without_linked(children: Sequence[Child], stored: Callable[[list[Child]], Iterable[bytes]]) -> Sequence[Child]:
    """The children without requisites that are pages of the crawl, too: those are visited anyway. `stored` answers the
    keys of pages that the store has under the URLs of these requisites.

    The other way round nothing is left out: a link to what is a requisite already is a page with a row of its own.
    """
    needed = [child for child in children if child.kind is Kind.REQUISITE]
    if not needed:
        return children
    pages = {child.key for child in children if child.kind is Kind.PAGE}.union(stored(needed))
    if not pages:
        return children
    return [child for child in children if child.kind is not Kind.REQUISITE or url_key(child.url) not in pages]


def _name(child: Child) -> tuple[int, bytes]:
    return child.crawl, child.key


def _rank(child: Child) -> tuple[bool, int]:
    return child.is_link, child.priority


# --- the table of partitions: part, owner, offered to, load, forced at


def moves_of(me: int, live: list[int], table: list[Values]) -> Moves:
    owners = {part: owner for part, owner, *_ in table}
    loads = {part: load for part, _, _, load, _ in table}
    offers = {part: offered for part, _, offered, *_ in table if offered is not None}
    return balance(me, live, owners, loads, offers)


def done_by(batch: Batch, tallies: Tallies) -> tuple[int, int]:
    """Pages and errors of a flush."""
    pages = sum(n for (_, name), n in tallies.items() if name == UrlState.VISITED)
    return pages, len(batch.errors) + batch.errors_more


class FencedSessions(NamedTuple):
    sessions: int = 0
    urls: int = 0  # that they had in flight


def lease_of(me: int, live: list[int], table: list[Values], now: int, fenced: FencedSessions) -> Lease:
    mine = {
        part: None if forced is None else max(0, now - forced) for part, owner, _, _, forced in table if owner == me
    }
    give = [part for part, owner, offered, *_ in table if owner == me and offered in live and offered != me]
    return Lease(mine, give, len(live), fenced=fenced.sessions, fenced_urls=fenced.urls)


# --- outcomes


def pages_of(outcomes: Iterable[Outcome]) -> Counter[int]:
    """Pages of each crawl, as max_pages counts them."""
    return Counter(outcome.crawl for outcome in outcomes if outcome.state is UrlState.VISITED and outcome.counts)


def state_without_request(reason: str) -> UrlState:
    """The state of open rows that a crawl or host ends for this reason."""
    if reason in (Reason.HOST_DEAD, Reason.UNREACHABLE):
        return UrlState.FAILED
    return UrlState.CANCELLED if reason == Reason.CANCELLED else UrlState.EXCLUDED


def hosts_by_crawl(joined: Iterable[tuple[int, str]]) -> list[tuple[int, list[str]]]:
    """The hosts that joined the scope of each crawl, in the order of the crawls, in which their rows are locked."""
    hosts: dict[int, list[str]] = defaultdict(list)
    for crawl, host in joined:
        hosts[crawl].append(host)
    return sorted(hosts.items())


def with_hosts(known: str, hosts: list[str]) -> str:
    """The JSON list with further hosts, each once: all of a flush at once, since a list of many takes long to write."""
    return json.dumps(list(dict.fromkeys([*json.loads(known), *hosts])))


def count_unasked(tallies: Tallies, crawl: int, state: UrlState, reason: str, kinds: Mapping[int, int]) -> None:
    """Count rows that ended without a request: how many of each kind (by its code)."""
    for code, n in kinds.items():
        prefix = KINDS_BY_CODE[code].traits.tally_prefix
        tallies[crawl, prefix + state.value] += n
        tallies[crawl, prefix + reason_tally(reason)] += n
