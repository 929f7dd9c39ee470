import json
from pathlib import Path

import pytest

from nephila.control import compare as comparing
from nephila.control.compare import Difference, compare
from nephila.errors import UsageError

ROWS = [{"url": f"http://a.test/{name}", "state": "visited"} for name in "abc"]


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
@pytest.mark.parametrize("a", ["a.jsonl", "a.json", "a.csv"])
@pytest.mark.parametrize("b", ["b.jsonl", "b.json", "b.csv"])
def test_any_two_formats(tmp_path: Path, a: str, b: str) -> None:
    first = write(tmp_path / a, ROWS)
    assert compare(first, write(tmp_path / b, ROWS), states=True) == Difference(same=3)
    other = [*ROWS[:1], ROWS[1] | {"state": "failed"}, {"url": "http://a.test/d", "state": "visited"}]
    found = compare(first, write(tmp_path / b, other), states=True)
    assert found.only_a == ["http://a.test/c"]
    assert found.only_b == ["http://a.test/d"]
    assert found.changed == [("http://a.test/b", "visited", "failed")]
    assert not found.empty and found.same == 1


@pytest.mark.requirement("X-02")
@pytest.mark.parametrize("name", ["b.json", "b.csv"])
def test_the_exports_of_runs_have_their_own_words(tmp_path: Path, name: str) -> None:
    ours = write(tmp_path / "a.jsonl", ROWS)
    runs = [{"id": "1", "normalized_url": row["url"], "status": row["state"]} for row in ROWS]
    assert compare(ours, write(tmp_path / name, runs), states=True) == Difference(same=3)


def test_states_count_only_when_asked(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.json", ROWS), write(tmp_path / "b.json", [row | {"state": "x"} for row in ROWS])
    assert compare(a, b).empty
    assert not compare(a, b, states=True).empty


def test_urls_are_compared_normalised_and_as_a_set(tmp_path: Path) -> None:
    a = write(tmp_path / "a.csv", [{"url": "HTTP://A.test:80/%7Ex#y", "state": ""}] * 2)
    b = write(tmp_path / "b.jsonl", [{"url": "http://a.test/%7Ex", "state": ""}])
    assert compare(a, b) == Difference(same=1)


@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
def test_objects_over_chunk_borders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(comparing, "CHUNK_CHARS", chunk)
    rows = [{"url": f'http://a.test/{{}}[]"\\{number}é', "state": "]"} for number in range(20)]
    assert compare(write(tmp_path / "a.json", rows), write(tmp_path / "b.jsonl", rows)).same == 20


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
        compare(write(tmp_path / "a.json", ROWS), bad)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="no export"):
        compare(binary, binary)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        compare(tmp_path / "nowhere", binary)


def test_an_object_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "OBJECT_CHARS_MAX", 1000)
    bad = tmp_path / "bad"
    bad.write_text('{"url": "' + "x" * 200_000)
    with pytest.raises(UsageError, match="without end"):
        compare(bad, bad)
