"""Records to the values of their columns, for both stores. Pure; the order of each tuple is the contract."""

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Any

from isal import isal_zlib
from pydantic_core import to_json

from nephila.frontier.store import ErrorNote, HostClock, RobotsRecord
from nephila.models import PageRecord

link_head = Struct(">QI")  # of pages.links: queue id, count of key prefixes that follow

SMALL_BYTES = 2048  # level 1 of isal takes 6 us to set up its tables, level 0 takes 1 us
DETAIL_MAX = 500  # characters of an error that are kept

NUL = "\x00"
NOT_NUL = "\ufffd"  # what HTML too makes of it

# Of page_values.
PAGE_COLUMNS = (
    *("status", "content_type", "body_bytes", "wire_bytes", "fetched_at"),
    *("dns_ms", "connect_ms", "tls_ms", "first_byte_ms", "total_ms"),
    *("ip", "protocol", "charset", "title", "facts", "content_hash", "file", "offset", "length"),
    *("truncated", "redirect_to", "error", "links", "refused"),
)


def page_values(page: PageRecord, queues: Mapping[str, int], files: Mapping[str, object]) -> tuple[Any, ...]:
    """`queues`: the crawl's queue of each politeness key; `files`: what stands for each archive file."""
    timing, place = page.timing, page.archive
    facts = to_json(page.facts).decode() if page.facts else None
    file, offset, length = (files[place.file], place.offset, place.length) if place else (None, None, None)
    links = packed_links(page.links, queues) if page.links else None
    refused = packed_lines(page.refused) if page.refused else None
    # fmt: off
    return (
        page.status, storable(page.content_type), page.body_bytes, page.wire_bytes, page.fetched_at,
        timing.dns_ms, timing.connect_ms, timing.tls_ms, timing.first_byte_ms, timing.total_ms,
        page.ip, page.protocol, storable(page.charset), storable(page.title), facts, page.content_hash,
        file, offset, length,
        page.truncated, storable(page.redirect_to), storable(page.error), links, refused,
    )
    # fmt: on


def packed_links(links: Mapping[str, bytes], queues: Mapping[str, int]) -> bytes | None:
    """Per host: its queue (0: none), the count of keys, the first 8 bytes of each."""
    head = link_head.pack
    return b"".join([head(queues.get(host, 0), len(keys) // 8) + keys for host, keys in links.items()]) or None


def packed_lines(lines: Iterable[str]) -> bytes:
    text = "\n".join(lines).encode()
    packed: bytes = isal_zlib.compress(text, 0 if len(text) < SMALL_BYTES else 1)
    return packed


def storable(text: str | None) -> str | None:
    """PostgreSQL has no NUL in a text, the web has."""
    return text.replace(NUL, NOT_NUL) if text is not None and NUL in text else text


def host_values(clock: HostClock, now: int) -> tuple[Any, ...]:
    """In the order of the columns of `hosts`."""
    pace = clock.pace
    # fmt: off
    return (
        clock.host, now + clock.next_in_ms, clock.delay_ms,
        pace.latency_ms, pace.slowdown, pace.errors, pace.strikes, pace.nxdomain, pace.crawl_delay_ms, pace.override_ms,
        clock.rest_reason, clock.requests, clock.addresses, clock.cnames,
    )
    # fmt: on


def robots_values(record: RobotsRecord, now: int) -> tuple[Any, ...]:
    """In the order of the columns of `robots`."""
    # fmt: off
    return (
        record.host, record.origin, record.access, record.status, record.body, now + record.expires_in_ms,
        record.failures, record.detail, record.fetched_at,
    )
    # fmt: on


def error_values(note: ErrorNote, worker: int, now: int) -> tuple[Any, ...]:
    """In the order of the columns of `errors`."""
    return now, worker, note.crawl, note.url_id, note.reason, storable(note.detail[:DETAIL_MAX]), note.tries
