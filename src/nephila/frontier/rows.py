"""Database rows to records (store.py, records.py), for both stores: each function names the columns it wants."""

import json
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from nephila.errors import StoreDamaged, UsageError
from nephila.frontier.columns import DETAILS, TIMING, host_clock, link_head, named, robots_record
from nephila.frontier.records import (
    CURRENT_MAX,
    LINKS_MAX,
    SORTED_URLS_MAX,
    ArchivedPage,
    CrawlHead,
    HostView,
    KnownHost,
    QueueRow,
    RedirectEnd,
    Sizes,
    UrlFilter,
    UrlRow,
    WorkerRow,
)
from nephila.frontier.store import Crawl, HostRecord, Naming, Vitals
from nephila.frontier.tables import Values
from nephila.models import (
    KINDS_BY_CODE,
    OPEN,
    STATES_BY_CODE,
    TALLY_PREFIXES,
    TERMINAL,
    CrawlState,
    Kind,
    Reason,
    Tally,
    UrlState,
)
from nephila.policy.politeness import Pace
from nephila.profiles import settings_from_json
from nephila.urls.identity import hostname_of
from nephila.urls.scope import hosts_of_scope

P = ParamSpec("P")
T = TypeVar("T")

Claims = dict[int, tuple[int, int]]  # URL id -> the worker that has it in flight, since when

COMMON = OPEN | {UrlState.VISITED}  # states that most rows have: only the others have an index in every store
LISTS_REMEMBERED = 4  # lists of seeds and hosts that a process does not read again
KEY_PREFIX_BYTES = 8  # of the 16 of a key: enough to find it among the URLs of one queue

# The line of each row that a statement of checks.sql finds.
BROKEN = {
    "stranded": "URL {} ({}) is open but no queue will ever load it",
    "homeless": "URL {} ({}) is in no queue of its crawl",
    "held_by_strangers": "queue {} ({}) is held by worker {}, which does not own it",
    "miscounted_limits": "crawl {}: {} URLs were granted but there are {}",
    "miscounted_hosts": "crawl {}: URLs of {} hosts were counted but there are {}",
    "miscounted_depth": "crawl {}: {} was counted as the greatest depth but it is {}",
    "ended_without_page": "URL {} ({}) has ended without its page record",
    "pages_without_url": "page record {} is not that of its URL {}",
    "open_and_ended": "URL {} ({}) has ended and is open",
    "open_without_url": "URL {} is open but there is no such URL",
    "damaged": "SQLite integrity: {}",
}


# What values that we never wrote lead to.
UNREADABLE = (ValueError, KeyError, IndexError, TypeError, AttributeError, struct.error, zlib.error)


def stored(make: Callable[P, T]) -> Callable[P, T]:
    """A decorator: values that cannot be read are StoreDamaged. A database sees damage to its pages, not to texts."""

    @wraps(make)
    def made(*values: P.args, **more: P.kwargs) -> T:
        try:
            return make(*values, **more)
        except UNREADABLE as error:
            what = f"{make.__name__}: {type(error).__name__}: {error}"
            raise StoreDamaged(
                f"the store is damaged, a row cannot be read ({what}): `nephila verify` says more, "
                "stop what uses the store and put the last backup in its place"
            ) from error

    return made


@stored
def crawl_of(row: Values, now: int) -> Crawl:
    id, uuid, seeds, settings, state, *others, created_at, ended_at, active_ms, running_since = row
    reason, limited_by, seeding, joined, allowed_hosts, seed_sent, name, labels = others
    seeds, settings, joined = _texts_of(seeds), settings_from_json(settings), tuple(json.loads(joined))
    if isinstance(allowed_hosts, str):  # an array, where the database has some
        allowed_hosts = _texts_of(allowed_hosts)
    elif allowed_hosts is None:
        allowed_hosts = hosts_of_scope(settings.scope, map(hostname_of, seeds))
    return Crawl(
        id=id,
        uuid=uuid,
        seeds=seeds,
        settings=settings,
        state=CrawlState(state),
        reason=reason,
        limited_by=limited_by,
        seeding=bool(seeding),
        joined_hosts=joined,
        allowed_hosts=tuple(allowed_hosts),
        seed_sent=seed_sent or "".join(seeds[:1]),
        created_at=created_at,
        ended_at=ended_at,
        active_ms=active_ms + (now - running_since if running_since else 0),
        naming=_naming(name, labels),
    )


@stored
def crawl_head(row: Values, now: int) -> CrawlHead:
    id, state, name, labels, seeds, active_ms, running_since = row
    active_ms += now - running_since if running_since else 0
    return CrawlHead(id, CrawlState(state), _naming(name, labels), seeds, active_ms)


def _naming(name: str, labels: str | Iterable[str]) -> Naming:
    """`labels`: an array, where the database has some, else JSON."""
    return Naming(name, tuple(json.loads(labels) if isinstance(labels, str) else labels))


@lru_cache(LISTS_REMEMBERED)
def _texts_of(listed: str) -> tuple[str, ...]:
    """The texts of a JSON list. They are remembered: a crawl of a million seeds is read with every change of control,
    and reading 34 MB of JSON takes ten times as long as telling that they are the same."""
    return tuple(json.loads(listed))


def crawl_of_key(row: Values, asked: str) -> int:
    """The crawl that a request with this key made; `asked`: the fingerprint of this one."""
    crawl_id, fingerprint = row
    if fingerprint != asked:
        raise UsageError("this Idempotency-Key was given with another request before: send a new one")
    return int(crawl_id)


@stored
def tallies_of(rows: Iterable[Values], in_flight: Iterable[Values]) -> dict[str, int]:
    """urls, bytes, requests, retries, one per state and `reason:<reason>`, and those of kinds that are counted apart;
    queued and in_progress are derived. `in_flight`: of each kind."""
    counts = {name: int(n) for name, n in rows}
    flying = {prefix: 0 for prefix in TALLY_PREFIXES if not prefix or prefix + Tally.URLS in counts}
    for kind, n in in_flight:
        prefix = KINDS_BY_CODE[kind].traits.tally_prefix
        flying[prefix] = flying.get(prefix, 0) + n
    for prefix, n in flying.items():
        counts[prefix + UrlState.IN_PROGRESS] = n
        counts[prefix + UrlState.QUEUED] = max(0, open_of(counts, prefix) - n)
    return counts


def open_of(tallies: Mapping[str, int], prefix: str = "") -> int:
    """How many URLs of a crawl are open: all but those that have ended. `prefix`: of a kind that is counted apart."""
    ended = sum(tallies.get(prefix + state, 0) for state in TERMINAL)
    return int(tallies.get(prefix + Tally.URLS, 0) - ended)


def sizes_of(tallies: Iterable[Values], store_bytes: int, archive_bytes: int) -> Sizes:
    counts = {name: int(n) for name, n in tallies}
    visited = counts.get(UrlState.VISITED, 0)
    return Sizes(counts.get(Tally.URLS, 0), visited, counts.get(Tally.BYTES, 0), store_bytes, archive_bytes)


# --- URLs and pages


def counted_by_state(where: UrlFilter, tallies: dict[str, int]) -> int | None:
    """How many URLs a filter by states and kind alone lets through; None: there are other filters, so they must be
    counted. Robots.txt files count as pages do."""
    if where != UrlFilter(states=where.states, kind=where.kind):
        return None
    prefixes: Sequence[str] = TALLY_PREFIXES if where.kind is None else [where.kind.traits.tally_prefix]
    names = set(where.states) if where.states else {Tally.URLS}
    return sum(tallies.get(prefix + name, 0) for prefix in prefixes for name in names)


def unsortable_urls(crawl_id: int, tallies: dict[str, int], where: UrlFilter) -> str:
    """Why a listing cannot be sorted: it would read more rows than a request may. Empty: it can."""
    indexed = where.states and not COMMON.intersection(where.states)
    names = where.states if indexed else [Tally.URLS]
    rows = sum(tallies.get(prefix + name, 0) for prefix in TALLY_PREFIXES for name in names)
    if rows <= SORTED_URLS_MAX:
        return ""
    return f"crawl {crawl_id} has more than {SORTED_URLS_MAX:,} URLs: list them by id, page by page, or export them"


def listed_by_index(tallies: dict[str, int], where: UrlFilter) -> bool:
    """Whether an index has these URLs in the order of their ids: they are filtered by state alone, and there are few
    others that are passed over because they are no pages."""
    apart = sum(tallies.get(prefix + Tally.URLS, 0) for prefix in TALLY_PREFIXES if prefix)
    plain = where.kind is None or (where.kind is Kind.PAGE and apart <= SORTED_URLS_MAX)
    return plain and where == UrlFilter(states=where.states, kind=where.kind)


def redirect_end(moved: bool, reason: str) -> RedirectEnd:
    """Of a URL that ended `redirected`; `moved`: with status 301. The catalogues say the same in SQL."""
    if moved:
        return RedirectEnd.MOVED
    if not reason:
        return RedirectEnd.FOLLOWED
    return RedirectEnd.LEFT if reason == Reason.REDIRECT_OUT_OF_SCOPE else RedirectEnd.STOPPED


@stored
def url_row(row: Values, claims: Claims, now: int) -> UrlRow:
    id, url, code, reason, status, content_type, depth, parent, raw, title, digest, size = row[:12]
    fetched_at, latency, tries, file, offset, length, redirect_to, host, kind, not_before, error, spelling = row[12:-1]
    state = STATES_BY_CODE[code]
    claimed_by, claimed_at = claims.get(id, (None, None)) if state is UrlState.QUEUED else (None, None)
    return UrlRow(
        id=id,
        url=url,
        state=UrlState.IN_PROGRESS if claimed_by else state,
        reason=reason or "",
        status=status,
        content_type=content_type,
        depth=depth,
        discovered_from=parent,
        raw_url=raw,
        title=title,
        content_hash=digest.hex() if digest else None,
        bytes=size if status is not None else None,
        fetched_at=fetched_at or None,
        latency_ms=latency if status is not None else None,
        retries=max(0, tries - 1) if state.terminal else tries,
        archive_file=file,
        archive_offset=offset,
        archive_length=length,
        redirect_to=redirect_to,
        host=host,
        kind=KINDS_BY_CODE[kind],
        not_before_in_ms=max(0, not_before - now) if not_before else 0,
        claimed_by=claimed_by,
        claimed_at=claimed_at,
        error=error,
        spelling=spelling,
        updated_at=max(row[-1] or 0, claimed_at or 0) or None,
    )


@stored
def archived_page(row: Values) -> ArchivedPage:
    url_id, crawl, url, host, kind, code, title, content_type, fetched_at, offset, length, facts = row
    noindex = bool(facts) and "noindex" in facts and bool(json.loads(facts).get("noindex"))
    found = (title, content_type, fetched_at, offset, length, noindex)
    return ArchivedPage(url_id, crawl, url, host, Kind(kind), STATES_BY_CODE[code], *found)


@stored
def page_facts(row: Values, linked: Callable[[bytes], list[str]]) -> dict[str, object]:
    """`linked` finds the URLs of the packed links."""
    facts, links, refused, *details = row
    found: dict[str, object] = {
        "timing": named(TIMING, details[: len(TIMING)]),
        **named(DETAILS, details[len(TIMING) :]),
    }
    found |= json.loads(facts) if facts else {}
    found["links_out"] = linked(links) if links else []
    found["links_refused"] = zlib.decompress(refused).decode().splitlines() if refused else []
    return found


def link_ranges(packed: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """The queue of each link, and the least and the greatest key it may have there."""
    at = 0
    while at < len(packed):
        queue, count = link_head.unpack_from(packed, at)
        at += link_head.size
        for start in range(at, at + KEY_PREFIX_BYTES * count, KEY_PREFIX_BYTES):
            prefix = packed[start : start + KEY_PREFIX_BYTES]
            yield queue, prefix + b"\x00" * KEY_PREFIX_BYTES, prefix + b"\xff" * KEY_PREFIX_BYTES
        at += KEY_PREFIX_BYTES * count


LinkRange = tuple[int, bytes, bytes]


@stored
def linking_pages(pages: Iterable[tuple[int, bytes | None]]) -> list[tuple[int, list[LinkRange]]]:
    """The first pages with their links: as many as have LINKS_MAX links together, and always one."""
    found: list[tuple[int, list[LinkRange]]] = []
    count = 0
    for url_id, packed in pages:
        ranges = list(link_ranges(packed or b""))
        count += len(ranges)
        if found and count > LINKS_MAX:
            break
        found.append((url_id, ranges))
    return found


@stored
def linked_pages(
    found: list[tuple[int, list[LinkRange]]], ids_of: Callable[[list[LinkRange]], Iterable[tuple[int, int]]]
) -> list[tuple[int, list[int]]]:
    """The ids that each page links to. `ids_of` is asked once for all links: it answers places in its list with ids."""
    wanted = list(dict.fromkeys(link for _, ranges in found for link in ranges))
    ids: dict[LinkRange, int] = {wanted[place]: url_id for place, url_id in ids_of(wanted)} if wanted else {}
    return [(url_id, [ids[link] for link in ranges if link in ids]) for url_id, ranges in found]


# --- hosts, robots, workers


@stored
def host_records(
    hosts: Iterable[str], clocks: Iterable[Values], robots: Iterable[Values], now: int
) -> dict[str, HostRecord]:
    """What a worker that loads these hosts hears of each; nothing is known of a host without a clock."""
    records = {host: HostRecord(0, Pace(), "", 0, []) for host in hosts}
    for row in clocks:
        clock = host_clock(row, now)
        known = (clock.next_in_ms, clock.pace, clock.rest_reason, clock.requests)
        records[clock.host] = HostRecord(*known, robots=[], resolved=bool(clock.addresses))
    for row in robots:
        record = robots_record(row, now)
        records[record.host].robots.append(record)
    return records


@stored
def queue_row(row: Values, now: int, open_max: int) -> QueueRow:
    """`open_max`: one more open row than this was looked for."""
    host, found, due, held, fetched, delay_ms, dead = row
    due_in_ms, held_by = None if due is None else max(0, due - now), held if held > 0 else None
    return QueueRow(host, min(found, open_max), due_in_ms, held_by, fetched, delay_ms, dead, found > open_max)


@stored
def host_view(row: Values, now: int, open_max: int) -> HostView:
    """A queue, the clock of its host (a name where there is one), version and access of its robots.txt."""
    queue, clock, robots = row[:7], row[7:-2], row[-2:]
    known = host_clock(clock, now) if clock[0] is not None else None
    return HostView(queue_row(queue, now, open_max), known, *robots)


@stored
def known_host(row: Values, now: int) -> KnownHost:
    """The clock of a host, version and access of its robots.txt."""
    return KnownHost(host_clock(row[:-2], now), *row[-2:])


@stored
def worker_rows(
    found: list[tuple[Values, bool]], urls_of: Callable[[list[int]], Iterable[tuple[int, str]]]
) -> list[WorkerRow]:
    """`found`: a row and whether its session lives; the dead have nothing in flight, whatever their rows say.

    `urls_of` is asked once for all workers.
    """
    flights = {row[0]: json.loads(row[8]) for row, alive in found if alive}
    shown = {worker: _oldest(flight) for worker, flight in flights.items()}
    urls = dict(urls_of([url_id for ids in shown.values() for url_id in ids]))
    rows = []
    for row, alive in found:
        id, name, pid, version, started_at, seen_at, partitions, flushes, _, *vitals = row
        current = tuple(urls[url_id] for url_id in shown.get(id, ()) if url_id in urls)
        in_flight = len(flights.get(id, ()))
        known = (id, name, pid, version, started_at, seen_at, alive, partitions, in_flight, flushes)
        rows.append(WorkerRow(*known, Vitals(*vitals), current))
    return rows


def _oldest(in_flight: list[list[int]]) -> list[int]:
    return [url_id for url_id, _ in sorted(in_flight, key=lambda claim: claim[1])[:CURRENT_MAX]]


# --- verify


def miscounted(crawl_id: int, by_code: Iterable[Values], tallies: dict[str, int]) -> list[str]:
    """Compare the tallies with the rows that are there: one line for each difference."""
    by_prefix: dict[str, Counter[UrlState]] = {prefix: Counter() for prefix in TALLY_PREFIXES}
    for kind, code, n in by_code:
        by_prefix[KINDS_BY_CODE[kind].traits.tally_prefix][STATES_BY_CODE[code]] += n
    lines = []
    for prefix, counted in by_prefix.items():
        what, totals = f"{prefix[:-1]}s" if prefix else "URLs", tallies.get(prefix + Tally.URLS, 0)
        lines += [
            f"crawl {crawl_id}: {counted[state]} {what} are {state} but {tallies.get(prefix + state, 0)} were counted"
            for state in TERMINAL
            if tallies.get(prefix + state, 0) != counted[state]
        ]
        if counted.total() != totals:
            lines.append(f"crawl {crawl_id}: there are {counted.total()} {what} but {totals} were counted")
    return lines
