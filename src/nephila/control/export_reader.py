"""Reads the URLs of exports back. The first bytes of a file tell JSON from CSV, and gzip."""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from nephila.errors import UsageError
from nephila.profiles import NormSettings
from nephila.urls.normalize import Normalizer

CHUNK_CHARS = 1 << 16
OBJECT_CHARS_MAX = 1 << 24
BETWEEN_OBJECTS = " \t\r\n,[]"
CELL_CHARS_MAX = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"

# Columns of our exports, and of those of /crawl-runs.
URL_NAMES, STATE_NAMES = ("url", "normalized_url"), ("state", "status")
HASH_NAMES = ("content_hash",)


class ExportedUrl(NamedTuple):
    url: str  # normalised
    state: str  # empty where the export has none
    content_hash: str  # hexadecimal; empty where the export has none


def entries(path: Path) -> Iterator[ExportedUrl]:
    """Every row of an export."""
    normalizer = Normalizer(NormSettings())
    try:
        with _opened(path) as lines:
            first = lines.read(1)
            lines.seek(0)
            for record in _objects(lines) if first in ("[", "{") else _csv_rows(lines):
                url = _text(record, URL_NAMES)
                if not url:
                    raise ValueError("a row without a url")
                normalised = normalizer.resolve(url)[0] or url
                yield ExportedUrl(normalised, _text(record, STATE_NAMES), _text(record, HASH_NAMES))
    except (ValueError, csv.Error, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path} is no export of Nephila: {error}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _opened(path: Path) -> TextIO:
    with path.open("rb") as file:
        packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    if packed:
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _text(record: dict[str, object], names: tuple[str, ...]) -> str:
    """The first of these columns that is there, where it is text."""
    found = next((record[name] for name in names if name in record), None)
    return found if isinstance(found, str) else ""


def _csv_rows(lines: TextIO) -> Iterator[dict[str, object]]:
    csv.field_size_limit(CELL_CHARS_MAX)
    rows = csv.DictReader(lines)
    if rows.fieldnames and not set(URL_NAMES).intersection(rows.fieldnames):
        raise ValueError("its first line has no column `url`")
    yield from rows


def _objects(lines: TextIO) -> Iterator[dict[str, object]]:
    """The objects of a JSON array or of JSON lines, also where they are printed over several lines."""
    decode = json.JSONDecoder().raw_decode
    buffer, at = "", 0
    while True:  # ends: each turn yields an object, reads on, or is the last
        while at < len(buffer) and buffer[at] in BETWEEN_OBJECTS:
            at += 1
        if at < len(buffer):
            try:
                found, after = decode(buffer, at)
            except ValueError:
                after = -1
            if after >= 0:
                if not isinstance(found, dict):
                    raise ValueError("it holds something that is no row")
                yield found
                at = after
                continue
        chunk = lines.read(CHUNK_CHARS)
        if not chunk:
            if at < len(buffer):
                raise ValueError("it is cut off or no JSON")
            return
        buffer, at = buffer[at:] + chunk, 0
        if len(buffer) > OBJECT_CHARS_MAX:
            raise ValueError("a row without end")
