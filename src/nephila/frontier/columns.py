"""The columns that a worker writes, each described once, for both stores. Pure.

A column has its name, its type and its attribute here and nowhere else in the code. Everything else follows: statements
name a list of columns (LISTS, filled in by statements.py), rows are packed and unpacked in the order of the list, and
postgres/arrays.py finds the type of each array. So a new field of the pace is written in `Pace`, in PACE, and in a
migration of each database.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from struct import Struct
from typing import Any, NamedTuple

from isal import isal_zlib
from pydantic_core import to_json

from nephila.frontier.store import ErrorNote, HostClock, RobotsRecord, Row
from nephila.frontier.tables import Values
from nephila.models import Child, Kind, PageRecord
from nephila.policy.politeness import Pace

link_head = Struct(">QI")  # of pages.links: queue id, count of key prefixes that follow

SMALL_BYTES = 2048  # level 1 of isal takes 6 us to set up its tables, level 0 takes 1 us
DETAIL_MAX = 500  # characters of an error that are kept

KINDS = {kind.value: kind for kind in Kind}

NUL = "\x00"
NOT_NUL = "\ufffd"  # what HTML too makes of it


class ColumnType(Enum):
    INT = auto()
    TIME = auto()  # milliseconds since 1970; the attribute counts from now
    FLOAT = auto()
    TEXT = auto()
    WEB_TEXT = auto()  # a text that the web sent: `storable` replaces its NULs
    BLOB = auto()


INT, TIME, FLOAT, TEXT, WEB_TEXT, BLOB = ColumnType

WRITTEN = {TIME: "now + record.{}", WEB_TEXT: "storable(record.{})"}  # all others: as the attribute is


class Column(NamedTuple):
    name: str
    type: ColumnType
    attribute: str  # of the record, with a dot for an attribute of an attribute


def _columns(path: str = "", /, **types: ColumnType) -> tuple[Column, ...]:
    """Columns with the names of their attributes; `path` leads from the record to these."""
    return tuple(Column(name, type, path + name) for name, type in types.items())


def named(columns: Iterable[Column], values: Iterable[Any]) -> dict[str, Any]:
    return {column.name: value for column, value in zip(columns, values, strict=True)}


def _packer(columns: Iterable[Column]) -> Callable[[Any, int], Values]:
    """A function of a record and the time now: its values in these columns.

    Compiled once, as methods of dataclasses are: operator.attrgetter takes twice as long.
    """
    values = ", ".join(WRITTEN.get(column.type, "record.{}").format(column.attribute) for column in columns)
    packer: Callable[[Any, int], Values] = eval(f"lambda record, now: ({values})", {"storable": storable})
    return packer


def storable(text: str | None) -> str | None:
    """A text without NULs, which the web sends and PostgreSQL refuses."""
    return text.replace(NUL, NOT_NUL) if text is not None and NUL in text else text


# --- hosts: in the order of HostClock, with its pace in the order of Pace -------------------------------------------

PACE = (
    *_columns("pace.", latency_ms=FLOAT, slowdown=FLOAT, errors=INT, strikes=INT),
    *_columns("pace.", crawl_delay_ms=INT, override_ms=INT, nxdomain=INT),
)
HOSTS = (
    *_columns(host=TEXT),
    Column("next_at", TIME, "next_in_ms"),
    *_columns(delay_ms=INT),
    *PACE,
    *_columns(rest_reason=TEXT, requests=INT, addresses=TEXT, cnames=TEXT),
)
host_values = _packer(HOSTS)


def host_clock(row: Values, now: int) -> HostClock:
    host, next_at, delay_ms, *others = row
    pace = Pace(*others[: len(PACE)])
    return HostClock(host, max(0, next_at - now), delay_ms, pace, *others[len(PACE) :])


# --- robots: in the order of RobotsRecord ---------------------------------------------------------------------------

ROBOTS = (
    *_columns(origin=TEXT, host=TEXT, access=TEXT, status=INT, body=BLOB),
    Column("expires_at", TIME, "expires_in_ms"),
    *_columns(failures=INT, detail=TEXT, fetched_at=INT),
)
robots_values = _packer(ROBOTS)


def robots_record(row: Values, now: int) -> RobotsRecord:
    origin, host, access, status, body, expires_at, *others = row
    return RobotsRecord(origin, host, access, status, body, expires_at - now, *others)


# --- pages: all columns of a PageRecord but its archive file, for which each store has its own id -------------------

TIMING = _columns("timing.", dns_ms=FLOAT, connect_ms=FLOAT, tls_ms=FLOAT, first_byte_ms=FLOAT, total_ms=FLOAT)
DETAILS = _columns(wire_bytes=INT, ip=TEXT, protocol=TEXT, charset=WEB_TEXT, truncated=TEXT)  # shown of one page only
_listed = (
    *_columns(status=INT, body_bytes=INT, fetched_at=INT, content_hash=BLOB),
    *_columns(content_type=WEB_TEXT, title=WEB_TEXT, redirect_to=WEB_TEXT, error=WEB_TEXT),
)
_packed = (  # in the order of page_values
    *_columns(facts=TEXT),
    Column('"offset"', INT, "archive.offset"),  # a word of SQL
    Column("length", INT, "archive.length"),
    *_columns(links=BLOB, refused=BLOB),
)
_unpacked = (*_listed, *TIMING, *DETAILS)
PAGES = (*_unpacked, *_packed)
_unpacked_values = _packer(_unpacked)


def page_values(page: PageRecord, queues: Mapping[str, int]) -> Values:
    """`queues`: the crawl's queue of each politeness key."""
    place = page.archive
    packed = (
        to_json(page.facts).decode() if page.facts else None,
        place.offset if place else None,
        place.length if place else None,
        packed_links(page.links, queues) if page.links else None,
        packed_lines(page.refused) if page.refused else None,
    )
    return _unpacked_values(page, 0) + packed


def packed_links(links: Mapping[str, bytes], queues: Mapping[str, int]) -> bytes | None:
    """For each host its queue (0: none), the count of keys, and the first 8 bytes of each key."""
    head = link_head.pack
    return b"".join([head(queues.get(host, 0), len(keys) // 8) + keys for host, keys in links.items()]) or None


def packed_lines(lines: Iterable[str]) -> bytes:
    text = "\n".join(lines).encode()
    packed: bytes = isal_zlib.compress(text, 0 if len(text) < SMALL_BYTES else 1)
    return packed


# --- urls: what a Child brings, in its order; the inserters find the queue of its host ------------------------------

URLS_OF_LINK = (Column("queue", INT, "host"), *_columns(key=BLOB, url=TEXT, raw=WEB_TEXT, spelling=TEXT))
# The links of a page have these in common.
URLS_OF_PAGE = (Column("prio", INT, "priority"), *_columns(crawl=INT, depth=INT, parent=INT, kind=INT, hops=INT))
URLS = tuple(sorted((*URLS_OF_LINK, *URLS_OF_PAGE), key=lambda column: Child._fields.index(column.attribute)))

# Of a Row, in its order.
ROWS = (
    *_columns(id=INT, url=TEXT, depth=INT, kind=INT, hops=INT, tries=INT, crashes=INT),
    *_columns(raw=TEXT, limited=INT, spelling=TEXT),
)


def open_row(row: Sequence[Any]) -> Row:
    id, url, depth, kind, *others = row
    return Row(id, url, depth, KINDS[kind], *others)


# --- errors ---------------------------------------------------------------------------------------------------------

ERRORS = (
    *_columns(at=INT, worker=INT, crawl=INT),
    Column("url", INT, "url_id"),
    *_columns(reason=TEXT, detail=WEB_TEXT, tries=INT),
)


def error_values(note: ErrorNote, worker: int, now: int) -> Values:
    return now, worker, note.crawl, note.url_id, note.reason, storable(note.detail[:DETAIL_MAX]), note.tries


# --- the lists of columns that a statement may name -----------------------------------------------------------------

LISTS: dict[str, tuple[Column, ...]] = {
    "hosts": HOSTS,
    "hosts_clock": HOSTS[1:-2],  # what every flush of the owner changes: all but the name and what a look-up found
    "robots": ROBOTS,
    "robots_answer": ROBOTS[2:],
    "pages": PAGES,
    "page_details": (*TIMING, *DETAILS),
    "urls": URLS,
    "urls_of_link": URLS_OF_LINK,
    "urls_of_page": URLS_OF_PAGE,
    "rows": ROWS,
    "errors": ERRORS,
}
