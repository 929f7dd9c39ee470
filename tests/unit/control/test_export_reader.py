"""Exports are read back, in any format; a file that is none is refused in one line."""

import json
from pathlib import Path

import pytest

from nephila.control import export_reader
from nephila.control.export_reader import ExportedUrl, entries
from nephila.errors import UsageError

ROWS = [{"url": f"http://a.test/{name}", "state": "visited", "content_hash": name * 4} for name in "abc"]
READ = [ExportedUrl(*row.values()) for row in ROWS]


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    match path.suffix:
        case ".jsonl":
            text = "".join(json.dumps(row) + "\n" for row in rows)
        case ".json":
            text = json.dumps(rows, indent=2)
        case _:
            text = (
                ",".join(rows[0])
                + "\n"
                + "".join(",".join(f'"{cell}"' for cell in row.values()) + "\n" for row in rows)
            )
    path.write_text(text)
    return path


@pytest.mark.requirement("T-04", "X-02")
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_every_format(tmp_path: Path, name: str) -> None:
    assert list(entries(write(tmp_path / name, ROWS))) == READ


@pytest.mark.requirement("X-02")
@pytest.mark.parametrize("name", ["b.json", "b.csv"])
def test_the_exports_of_runs_have_their_own_words(tmp_path: Path, name: str) -> None:
    runs = [{"id": "1", "normalized_url": row["url"], "status": row["state"]} for row in ROWS]
    assert list(entries(write(tmp_path / name, runs))) == [entry._replace(content_hash="") for entry in READ]


def test_urls_are_normalised(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [{"url": "HTTP://A.test:80/%7Ex#y", "state": ""}])
    assert [entry.url for entry in entries(path)] == ["http://a.test/%7Ex"]


@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
def test_objects_over_chunk_borders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(export_reader, "CHUNK_CHARS", chunk)
    rows = [{"url": f'http://a.test/{{}}[]"\\{number}é', "state": "]"} for number in range(20)]
    for name in ("a.json", "b.jsonl"):
        assert [entry.state for entry in entries(write(tmp_path / name, rows))] == ["]"] * 20


@pytest.mark.parametrize(
    "text",
    [
        "no export",
        "a,b\n1,2\n",
        "[1, 2]",
        '{"url": 1}',
        '{"state": "x"}',
        '{"url": "http://a',
        '[{"url": "x"}, nonsense]',
    ],
)
def test_a_file_that_is_no_export_is_one_line(tmp_path: Path, text: str) -> None:
    bad = tmp_path / "bad"
    bad.write_text(text)
    with pytest.raises(UsageError, match="no export"):
        list(entries(bad))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="no export"):
        list(entries(binary))
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        list(entries(tmp_path / "nowhere"))


def test_an_object_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_reader, "OBJECT_CHARS_MAX", 1000)
    bad = tmp_path / "bad"
    bad.write_text('{"url": "' + "x" * 200_000)
    with pytest.raises(UsageError, match="without end"):
        list(entries(bad))
