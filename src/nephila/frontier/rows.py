"""Database rows to the records of store.py, for both stores: each function names the columns it wants."""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nephila.errors import UsageError
from nephila.frontier.columns import link_head
from nephila.frontier.operators import Access, BlockKind, BlockRule, HostRule, Token
from nephila.frontier.store import (
    CURRENT_MAX,
    LINKS_MAX,
    SORTED_URLS_MAX,
    ArchivedPage,
    Crawl,
    HostPage,
    HostRow,
    HostView,
    KnownHost,
    QueueRow,
    RobotsRecord,
    Sizes,
    UrlFilter,
    UrlRow,
    UrlSort,
    Vitals,
    WorkerRow,
)
from nephila.models import STATES_BY_CODE, CrawlState, Kind, UrlState
from nephila.policy.politeness import Pace
from nephila.profiles import settings_from_json

Values = tuple[Any, ...]
Claims = dict[int, tuple[int, int]]  # URL id -> the worker that has it in flight, since when

KEY_PREFIX_BYTES = 8  # of the 16 of a key: enough to find it among the URLs of one queue

# What `check` looks for in every store: the line of each row that is found.
BROKEN = {
    "stranded": "URL {} ({}) is open but no queue will ever load it",
    "homeless": "URL {} ({}) is in no queue of its crawl",
    "held_by_strangers": "queue {} ({}) is held by worker {}, which does not own it",
    "miscounted_limits": "crawl {}: {} URLs were granted but there are {}",
    "ended_without_page": "URL {} ({}) has ended without its page record",
    "pages_without_url": "page record {} is not that of its URL {}",
}


def crawl_of(row: Values, now: int) -> Crawl:
    (
        id,
        uuid,
        seeds,
        settings,
        state,
        reason,
        limited_by,
        seeding,
        joined,
        created_at,
        ended_at,
        active_ms,
        running_since,
    ) = row
    return Crawl(
        id=id,
        uuid=uuid,
        seeds=tuple(json.loads(seeds)),
        settings=settings_from_json(settings),
        state=CrawlState(state),
        reason=reason,
        limited_by=limited_by,
        seeding=bool(seeding),
        joined_hosts=tuple(json.loads(joined)),
        created_at=created_at,
        ended_at=ended_at,
        active_ms=active_ms + (now - running_since if running_since else 0),
    )


def crawl_of_key(row: Values, asked: str) -> int:
    """The crawl that a request with this key made; `asked`: the fingerprint of this one."""
    crawl_id, fingerprint = row
    if fingerprint != asked:
        raise UsageError("this Idempotency-Key was given with another request before: send a new one")
    return int(crawl_id)


def tallies_of(rows: Iterable[Values], in_flight: int) -> dict[str, int]:
    """urls, bytes, requests, retries, one per state and `reason:<reason>`; queued and in_progress are derived."""
    counts = {name: int(n) for name, n in rows}
    ended = sum(counts.get(state, 0) for state in UrlState if state.terminal)
    counts["in_progress"] = in_flight
    counts["queued"] = max(0, counts.get("urls", 0) - ended - in_flight)
    return counts


def sizes_of(tallies: Iterable[Values], store_bytes: int, archive_bytes: int) -> Sizes:
    counts = {name: int(n) for name, n in tallies}
    visited = counts.get(UrlState.VISITED, 0)
    return Sizes(counts.get("urls", 0), visited, counts.get("bytes", 0), store_bytes, archive_bytes)


# --- URLs and pages


def counted_by_state(where: UrlFilter, tallies: dict[str, int]) -> int | None:
    """How many URLs a filter by nothing else lets through; None: they must be counted."""
    if where != UrlFilter(states=where.states):
        return None
    return sum(tallies.get(state, 0) for state in set(where.states)) if where.states else tallies.get("urls", 0)


def refuse_unsortable(crawl_id: int, urls: int, where: UrlFilter, sort: UrlSort, reach: int) -> None:
    """What would read more rows than a request may; `reach`: the last place that is asked for."""
    by_index = sort is UrlSort.ID and where == UrlFilter(states=where.states) and reach <= SORTED_URLS_MAX
    if urls > SORTED_URLS_MAX and not by_index:
        raise UsageError(f"crawl {crawl_id} has more than {SORTED_URLS_MAX:,} URLs: list them by id, page by page")


def url_row(row: Values, claims: Claims, now: int) -> UrlRow:
    (
        id,
        url,
        code,
        reason,
        status,
        content_type,
        depth,
        parent,
        raw,
        title,
        digest,
        size,
        fetched_at,
        latency,
        tries,
        *rest,
    ) = row
    file, offset, length, redirect_to, host, kind, not_before, error = rest
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
        kind=Kind(kind),
        not_before_in_ms=max(0, not_before - now) if not_before else 0,
        claimed_by=claimed_by,
        claimed_at=claimed_at,
        error=error,
    )


def archived_page(row: Values) -> ArchivedPage:
    url_id, crawl, url, host, kind, code, title, content_type, fetched_at, offset, length, facts = row
    noindex = bool(facts) and "noindex" in facts and bool(json.loads(facts).get("noindex"))
    found = (title, content_type, fetched_at, offset, length, noindex)
    return ArchivedPage(url_id, crawl, url, host, Kind(kind), STATES_BY_CODE[code], *found)


def page_facts(row: Values, linked: Callable[[bytes], list[str]]) -> dict[str, object]:
    """`linked` finds the URLs of the packed links."""
    facts, ip, protocol, charset, wire_bytes, dns, connect, tls, first_byte, total, truncated, links, refused = row
    timing = {"dns_ms": dns, "connect_ms": connect, "tls_ms": tls, "first_byte_ms": first_byte, "total_ms": total}
    found: dict[str, object] = {
        "ip": ip,
        "protocol": protocol,
        "charset": charset,
        "wire_bytes": wire_bytes,
        "timing": timing,
        "truncated": truncated,
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


def linking_pages(pages: Iterable[tuple[int, bytes | None]]) -> list[tuple[int, list[LinkRange]]]:
    """The first of them, with their links: as many as have LINKS_MAX together, and always one."""
    found: list[tuple[int, list[LinkRange]]] = []
    count = 0
    for url_id, packed in pages:
        ranges = list(link_ranges(packed or b""))
        count += len(ranges)
        if found and count > LINKS_MAX:
            break
        found.append((url_id, ranges))
    return found


def linked_pages(
    found: list[tuple[int, list[LinkRange]]], ids_of: Callable[[list[LinkRange]], Iterable[tuple[int, int]]]
) -> list[tuple[int, list[int]]]:
    """`ids_of` is asked once for all links: of each its place in the list and a URL's id."""
    wanted = list(dict.fromkeys(link for _, ranges in found for link in ranges))
    ids: dict[LinkRange, int] = {wanted[place]: url_id for place, url_id in ids_of(wanted)} if wanted else {}
    return [(url_id, [ids[link] for link in ranges if link in ids]) for url_id, ranges in found]


# --- hosts, robots, workers


def robots_record(row: Values, now: int) -> RobotsRecord:
    origin, host, access, status, body, expires_at, failures, detail, fetched_at = row
    return RobotsRecord(origin, host, access, status, body, expires_at - now, failures, detail, fetched_at)


def host_row(row: Values, now: int) -> HostRow:
    host, next_at, delay_ms, requests, *known, rest_reason, addresses, cnames = row
    latency_ms, slowdown, errors, strikes, nxdomain, crawl_delay_ms, override_ms = known
    pace = Pace(latency_ms, slowdown, errors, strikes, crawl_delay_ms, override_ms, nxdomain)
    return HostRow(host, max(0, next_at - now), delay_ms, requests, pace, rest_reason, addresses, cnames)


def queue_row(row: Values, now: int) -> QueueRow:
    host, open_rows, due, held, fetched, delay_ms, dead = row
    due_in_ms = None if due is None else max(0, due - now)
    return QueueRow(host, open_rows, due_in_ms, held if held > 0 else None, fetched, delay_ms, dead)


def host_view(row: Values, now: int) -> HostView:
    """A queue, the clock of its host (a name where there is one), version and access of its robots.txt."""
    queue, clock, robots = row[:7], row[7:-2], row[-2:]
    return HostView(queue_row(queue, now), host_row(clock, now) if clock[0] is not None else None, *robots)


def host_page(rows: list[Values], limit: int, horizon: Values | None, now: int) -> HostPage:
    """`rows`: clocks with version and access of a robots.txt, one more than the limit where there are more; `horizon`:
    the name at which the look ended."""
    hosts = [KnownHost(host_row(row[:-2], now), *row[-2:]) for row in rows[:limit]]
    if len(rows) > limit:
        return HostPage(hosts, hosts[-1].clock.host)
    return HostPage(hosts, horizon[0] if horizon else None)


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


# --- rules and tokens


def block_rule(row: Values) -> BlockRule:
    id, kind, value, reason, created_by, created_at = row
    return BlockRule(id, BlockKind(kind), value, reason, created_by, created_at)


def host_rule(row: Values, now: int) -> HostRule:
    """A block whose time is over is none."""
    host, delay_ms, blocked_until, *said = row
    blocked = blocked_until is not None and blocked_until > now
    return HostRule(host, delay_ms, blocked_until - now if blocked else None, *said)


def token_of(row: Values) -> Token:
    id, name, access, created_at, revoked_at = row
    return Token(id, name, Access(access), created_at, revoked_at)


# --- verify


def broken(checks: Iterable[tuple[str, str]], read: Callable[[str], Iterable[Values]]) -> list[str]:
    """Of each check the line and the statement."""
    return [line.format(*row) for line, sql in checks for row in read(sql)]


def miscounted(crawl_id: int, by_code: Iterable[Values], tallies: dict[str, int]) -> list[str]:
    """What was counted as it happened against what is there."""
    counted = {STATES_BY_CODE[code]: n for code, n in by_code}
    lines = [
        f"crawl {crawl_id}: {counted.get(state, 0)} URLs are {state} but {tallies.get(state, 0)} were counted"
        for state in UrlState
        if state.terminal and tallies.get(state, 0) != counted.get(state, 0)
    ]
    total = sum(counted.values())
    if total != tallies.get("urls", 0):
        lines.append(f"crawl {crawl_id}: there are {total} URLs but {tallies.get('urls', 0)} were counted")
    return lines
