"""A crawl's URLs as JSONL, JSON or CSV: a stream of keyset pages, so memory does not grow with the crawl."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from json.encoder import encode_basestring
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO

from nephila.errors import UsageError
from nephila.frontier.listings import UrlPages
from nephila.frontier.records import UrlFilter, UrlRow
from nephila.models import OPEN, Kind

PAGE_ROWS = 1000
LINES_PER_WRITE = 200
PARTIAL = ".partial"
GZIP_BYTES = 65_536  # compressed at once
# A spreadsheet takes a cell that begins so for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

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
LISTED_KINDS = tuple(kind for kind in Kind if kind.traits.page)
Value = str | int | float | None
Record = dict[str, Value]


class Format(StrEnum):
    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"


ENDINGS = {".jsonl": Format.JSONL, ".ndjson": Format.JSONL, ".json": Format.JSON, ".csv": Format.CSV}
GZIP_ENDING = ".gz"


def format_of(path: Path) -> Format:
    """The format that the name of a file asks for; with .gz behind it, it is written compressed."""
    name = path.name.lower().removesuffix(GZIP_ENDING)
    for ending, format in ENDINGS.items():
        if name.endswith(ending):
            return format
    raise UsageError(
        f"no format is known by the name {path.name}: let it end in .jsonl, .json or .csv (or with .gz behind it), "
        "or say --format"
    )


def rows_of(catalog: UrlPages, crawl_id: int, where: UrlFilter, after: int = 0) -> Iterator[UrlRow]:
    """Every URL that the filter lets through, by id: pages, where it does not ask for another kind.

    A page of the store may be short or empty before the end; its `next` says where to go on. The store is asked for
    both open states, since a URL may change from one to the other between two pages.
    """
    wanted, kinds = frozenset(where.states), LISTED_KINDS if where.kind is None else (where.kind,)
    if wanted & OPEN:
        where = replace(where, states=tuple(wanted | OPEN))
    at: int | None = after
    while at is not None:
        page = catalog.urls_page(crawl_id, at, PAGE_ROWS, where)
        at = page.next
        for row in page.rows:
            if row.kind in kinds and (not wanted or row.state in wanted):
                yield row


def record_of(row: UrlRow) -> Record:
    return dict(zip(FIELDS, _cells_of(row), strict=True))


def _cells_of(row: UrlRow) -> list[Value]:
    cells = list(_values_of(row))
    if row.fetched_at is not None:
        cells[_FETCHED_AT] = iso_time(row.fetched_at)
    if row.latency_ms is not None:
        cells[_LATENCY_MS] = round(row.latency_ms, 1)
    return cells


_FETCHED_AT, _LATENCY_MS = FIELDS.index("fetched_at"), FIELDS.index("latency_ms")
_values_of = attrgetter(*FIELDS)


def iso_time(ms: int) -> str:
    seconds, rest = divmod(ms, 1000)
    return f"{_utc_second(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=256)
def _utc_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def safe_cell(value: Value) -> Value:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


# Built once: json.dumps with options makes an encoder for every call.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def json_of(row: UrlRow) -> str:
    """As `_encode` writes its record, field by field in a third of the time: an export makes nothing else."""
    fetched_at = None if row.fetched_at is None else iso_time(row.fetched_at)
    latency_ms = None if row.latency_ms is None else round(row.latency_ms, 1)
    return (
        f'{{"id": {row.id}, "url": {_text(row.url)}, "state": {_text(row.state)}, "reason": {_text(row.reason)}, '
        f'"status": {_number(row.status)}, "content_type": {_text(row.content_type)}, "depth": {row.depth}, '
        f'"discovered_from": {_number(row.discovered_from)}, "raw_url": {_text(row.raw_url)}, '
        f'"title": {_text(row.title)}, "content_hash": {_text(row.content_hash)}, "bytes": {_number(row.bytes)}, '
        f'"fetched_at": {_text(fetched_at)}, "latency_ms": {_number(latency_ms)}, "retries": {row.retries}, '
        f'"archive_file": {_text(row.archive_file)}, "archive_offset": {_number(row.archive_offset)}, '
        f'"redirect_to": {_text(row.redirect_to)}}}'
    )


def _text(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)


def _number(value: float | None) -> float | str:
    return "null" if value is None else value


def json_lines(records: Iterable[Record]) -> Iterator[str]:
    """One JSON array with one object per line."""
    return _array(map(_encode, records))


def _array(objects: Iterable[str]) -> Iterator[str]:
    before = "[\n"
    for text in objects:
        yield before + text
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def csv_lines(records: Iterable[Record], columns: Iterable[str] = FIELDS) -> Iterator[str]:
    """CSV with a head line. The records have these columns, in this order."""
    return _table((record.values() for record in records), columns)


def _table(rows: Iterable[Iterable[Value]], columns: Iterable[str]) -> Iterator[str]:
    writer = csv.writer(_Echo(), lineterminator="\n")
    line: str = writer.writerow(columns)
    yield line
    for row in rows:
        line = writer.writerow([safe_cell(cell) if isinstance(cell, str) else cell for cell in row])
        yield line


class _Echo:
    """A file that gives back what is written: so does `writerow`."""

    def write(self, text: str) -> str:
        return text


LINES: dict[Format, Callable[[Iterable[UrlRow]], Iterator[str]]] = {
    Format.JSONL: lambda rows: (json_of(row) + "\n" for row in rows),
    Format.JSON: lambda rows: _array(map(json_of, rows)),
    Format.CSV: lambda rows: _table(map(_cells_of, rows), FIELDS),
}


def write_rows(rows: Iterable[UrlRow], format: Format, out: BinaryIO) -> int:
    """Write the rows to `out`; how many they were."""
    written = 0

    def counted() -> Iterator[UrlRow]:
        nonlocal written
        for row in rows:
            written += 1
            yield row

    lines = LINES[format](counted())
    while some := "".join(islice(lines, LINES_PER_WRITE)):
        out.write(some.encode("utf-8", "backslashreplace"))
    return written


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when it is complete; after a failure the part stays beside it.

    Compressed where its name ends in .gz.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as out:
            if path.name.lower().endswith(GZIP_ENDING):
                # Written line by line: GzipFile takes a call of zlib for each.
                with io.BufferedWriter(gzip.GzipFile("", "wb", fileobj=out, mtime=0), GZIP_BYTES) as packed:
                    yield packed
            else:
                yield out
        partial.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
