"""The difference of two exports as sets of normalised URLs. Any of the three formats, told apart by the first byte."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from nephila.errors import UsageError
from nephila.profiles import NormSettings
from nephila.urls.normalize import Normalizer

CHUNK_CHARS = 1 << 16
OBJECT_CHARS_MAX = 1 << 24
BETWEEN_OBJECTS = " \t\r\n,[]"
CELL_CHARS_MAX = 1 << 20

# Ours, and those of the exports of /crawl-runs.
URL_NAMES, STATE_NAMES = ("url", "normalized_url"), ("state", "status")

Entry = tuple[str, str]  # url, state


@dataclass(frozen=True, slots=True)
class Difference:
    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)
    changed: list[tuple[str, str, str]] = field(default_factory=list)  # url, state in a, state in b
    same: int = 0

    @property
    def empty(self) -> bool:
        return not (self.only_a or self.only_b or self.changed)


def compare(a: Path, b: Path, *, states: bool = False) -> Difference:
    """Holds the URLs of `a`; `b` is a stream."""
    known = dict(entries(a))
    met: set[str] = set()
    only_b: dict[str, None] = {}
    changed: list[tuple[str, str, str]] = []
    for url, state in entries(b):
        before = known.get(url)
        if before is None:
            only_b[url] = None
        elif url not in met:
            met.add(url)
            if states and before != state:
                changed.append((url, before, state))
    only_a = [url for url in known if url not in met]
    return Difference(only_a, list(only_b), changed, len(met) - len(changed))


def entries(path: Path) -> Iterator[Entry]:
    """(normalised URL, state) of every row of an export."""
    normalizer = Normalizer(NormSettings())
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            first = lines.read(1)
            lines.seek(0)
            for record in _objects(lines) if first in ("[", "{") else _csv_rows(lines):
                url, state = _first(record, URL_NAMES), _first(record, STATE_NAMES)
                if not isinstance(url, str) or not url:
                    raise ValueError("a row without a url")
                yield normalizer.resolve(url)[0] or url, state if isinstance(state, str) else ""
    except (ValueError, csv.Error) as error:
        raise UsageError(f"{path} is no export of Nephila: {error}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _first(record: dict[str, object], names: tuple[str, ...]) -> object:
    return next((record[name] for name in names if name in record), None)


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
        at = _skip(buffer, at)
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


def _skip(buffer: str, at: int) -> int:
    while at < len(buffer) and buffer[at] in BETWEEN_OBJECTS:
        at += 1
    return at
