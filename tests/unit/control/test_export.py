import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from nephila.control import export
from nephila.control.export import (
    FIELDS,
    Format,
    iso_time,
    json_of,
    record_of,
    rows_of,
    safe_cell,
    whole_file,
    write_rows,
)
from nephila.errors import UsageError
from nephila.frontier.records import UrlFilter
from nephila.models import UrlState
from tests.unit.control.filled import PAGE, SEED, Filled


def exported(filled: Filled, format: Format, where: UrlFilter | None = None) -> str:
    out = io.BytesIO()
    write_rows(rows_of(filled.catalog, filled.crawl.id, where or UrlFilter()), format, out)
    return out.getvalue().decode()


@pytest.mark.requirement("A-13", "A-43", "X-01")
def test_three_formats_hold_the_same_rows(filled: Filled) -> None:
    lines = [json.loads(line) for line in exported(filled, Format.JSONL).splitlines()]
    assert lines == json.loads(exported(filled, Format.JSON))
    table = list(csv.DictReader(io.StringIO(exported(filled, Format.CSV))))
    assert [row["url"] for row in table] == [line["url"] for line in lines]
    assert [row["state"] for row in table] == [line["state"] for line in lines]
    assert list(lines[0]) == list(table[0]) == list(FIELDS)


@pytest.mark.requirement("D-05")
def test_fields_of_a_page(filled: Filled) -> None:
    rows = {row["url"]: row for row in map(json.loads, exported(filled, Format.JSONL).splitlines())}
    first, second = rows[SEED], rows[f"{SEED}x"]
    assert first["archive_file"].endswith(".warc.gz") and first["archive_offset"] > 0
    assert len(first["content_hash"]) == 64
    assert (first["url"], first["depth"], first["discovered_from"]) == (SEED, 0, None)
    assert (second["discovered_from"], second["raw_url"]) == (first["id"], f"{SEED}x#top")
    assert (first["fetched_at"], first["latency_ms"]) == ("2023-11-14T22:13:20.123Z", 12.3)
    assert (first["status"], first["bytes"], first["retries"]) == (200, len(PAGE), 0)


ODD = ["", "a", 'say "x" \\ y', "\x00\x1f\x7f\u2028\n\t", "\u00e9\U0001f577", "\ud800", "=1", "null"]


@pytest.mark.parametrize("text", [None, *ODD])
def test_a_json_line_is_what_json_writes(filled: Filled, text: str | None) -> None:
    """Field by field, for every value that a field may have."""
    texts = dict.fromkeys(("content_type", "raw_url", "title", "content_hash", "archive_file", "redirect_to"), text)
    for row in rows_of(filled.catalog, filled.crawl.id, UrlFilter()):
        for number in (None, 0, 7, 1_700_000_000_999):
            numbers = dict.fromkeys(("status", "discovered_from", "bytes", "fetched_at", "archive_offset"), number)
            for latency in (None, 0.0, 12.34, 1e-9, 1e20, 5):
                odd = replace(row, **texts, **numbers, url=text or "", reason=text or "", latency_ms=latency)
                assert json_of(odd) == json.dumps(record_of(odd), ensure_ascii=False)


def test_nothing_is_a_valid_file_in_every_format(filled: Filled) -> None:
    nothing = UrlFilter(host="nowhere.test")
    assert exported(filled, Format.JSONL, nothing) == ""
    assert json.loads(exported(filled, Format.JSON, nothing)) == []
    assert exported(filled, Format.CSV, nothing) == ",".join(FIELDS) + "\n"


@pytest.mark.parametrize("page_rows", [1, 2, 3, 1000])
@pytest.mark.parametrize(
    ("where", "count"),
    [
        (UrlFilter(), 6),
        (UrlFilter(states=(UrlState.VISITED,)), 3),
        (UrlFilter(states=(UrlState.QUEUED,)), 1),
        (UrlFilter(states=(UrlState.IN_PROGRESS,)), 0),
        (UrlFilter(states=(UrlState.QUEUED, UrlState.NOT_FOUND)), 2),
        (UrlFilter(status=404), 1),
        (UrlFilter(text="for"), 1),
    ],
)
def test_pages_join_without_gap_or_repeat(
    filled: Filled, monkeypatch: pytest.MonkeyPatch, page_rows: int, where: UrlFilter, count: int
) -> None:
    monkeypatch.setattr(export, "PAGE_ROWS", page_rows)
    ids = [row.id for row in rows_of(filled.catalog, filled.crawl.id, where)]
    assert len(ids) == count and ids == sorted(set(ids))


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("a=1", "a=1"),
        ("", ""),
        (-5, -5),
        (None, None),
    ],
)
def test_cells_are_no_formulas(value: str | int | None, cell: str | int | None) -> None:
    assert safe_cell(value) == cell


def test_csv_of_hostile_pages_has_no_formula(filled: Filled) -> None:
    row = next(
        row for row in csv.DictReader(io.StringIO(exported(filled, Format.CSV))) if row["url"].endswith("formula")
    )
    assert (row["raw_url"], row["title"]) == ("'=cmd()", "'+1")


def test_iso_time() -> None:
    assert iso_time(0) == "1970-01-01T00:00:00.000Z"


def test_a_file_appears_only_when_complete(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("before")
    with pytest.raises(KeyError), whole_file(target) as out:
        out.write(b"half")
        raise KeyError
    assert target.read_text() == "before" and (tmp_path / "out.jsonl.partial").exists()
    with whole_file(target) as out:
        out.write(b"whole")
    assert target.read_text() == "whole" and not (tmp_path / "out.jsonl.partial").exists()


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"), whole_file(tmp_path / "no" / "out"):
        pass
