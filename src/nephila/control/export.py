"""A crawl's URLs as JSONL, JSON or CSV: a stream of keyset pages, so memory does not grow with the crawl."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from nephila.errors import UsageError
from nephila.frontier.store import Catalog, UrlFilter, UrlRow
from nephila.models import Kind, UrlState

PAGE_ROWS = 1000
PARTIAL = ".partial"
# What a spreadsheet would take for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
SHOWN_STATES = (UrlState.QUEUED, UrlState.IN_PROGRESS)

FIELDS = (
    "id",
    "url",
    "state",
    "reason",
    "status",
    "content_type",
    "depth",
    "discovered_from",
    "raw_url",
    "title",
    "content_hash",
    "bytes",
    "fetched_at",
    "latency_ms",
    "retries",
    "archive_file",
    "archive_offset",
    "redirect_to",
)
Value = str | int | float | None
Record = dict[str, Value]


class Format(StrEnum):
    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"


def rows_of(catalog: Catalog, crawl_id: int, where: UrlFilter, after: int = 0) -> Iterator[UrlRow]:
    """Every page URL that the filter lets through, by id.

    A page of the store may be short, even empty, before the end: it says where to go on. Whether an open URL is queued
    or in progress changes from one page to the next: the store is asked for both.
    """
    wanted = frozenset(where.states)
    if wanted & set(SHOWN_STATES):
        where = replace(where, states=tuple(wanted | set(SHOWN_STATES)))
    at: int | None = after
    while at is not None:
        page = catalog.urls_page(crawl_id, at, PAGE_ROWS, where)
        at = page.next
        for row in page.rows:
            if row.kind is Kind.PAGE and (not wanted or row.state in wanted):
                yield row


def record_of(row: UrlRow) -> Record:
    found: Record = {name: getattr(row, name) for name in FIELDS}
    if row.fetched_at is not None:
        found["fetched_at"] = iso_time(row.fetched_at)
    if row.latency_ms is not None:
        found["latency_ms"] = round(row.latency_ms, 1)
    return found


def iso_time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def safe_cell(value: Value) -> Value:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


# Built once: json.dumps with options makes an encoder for every call.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def jsonl_lines(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        yield _encode(record) + "\n"


def json_lines(records: Iterable[Record]) -> Iterator[str]:
    """One array, one object a line."""
    before = "[\n"
    for record in records:
        yield before + _encode(record)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def csv_lines(records: Iterable[Record], columns: Iterable[str] = FIELDS) -> Iterator[str]:
    """The records have these columns, in this order."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for record in records:
        writer.writerow(map(safe_cell, record.values()))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


LINES: dict[Format, Callable[[Iterable[Record]], Iterator[str]]] = {
    Format.JSONL: jsonl_lines,
    Format.JSON: json_lines,
    Format.CSV: csv_lines,
}


def write_rows(rows: Iterable[UrlRow], format: Format, out: BinaryIO) -> int:
    """How many rows were written."""
    written = 0

    def records() -> Iterator[Record]:
        nonlocal written
        for row in rows:
            written += 1
            yield record_of(row)

    for line in LINES[format](records()):
        out.write(line.encode("utf-8", "backslashreplace"))
    return written


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when it is complete; after a failure the part stays beside it."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as out:
            yield out
        partial.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
