"""How results are shown."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from nephila.cli.search import as_json, progress_line, show, total_line
from nephila.control.indexing import Progress
from nephila.control.search import Result, Results
from nephila.search.snippet import Part

RESULT = Result(
    crawl_id=3,
    crawl_uuid="u",
    url_id=7,
    url="http://a.test/",
    host="a.test",
    title="A title",
    snippet=[Part("…golden ", False), Part("Silk", True), Part(" here", False)],
    fetched_at=1_700_000_000_123,
    score=1.5,
)
FOUND = Results([RESULT], 12, True, 1234, 0, ["silk"])


def shown(found: Results, *, terminal: bool) -> str:
    stream = io.StringIO()
    show(found, Console(file=stream, force_terminal=terminal, soft_wrap=True, highlight=False, markup=False))
    return stream.getvalue()


def test_results_are_lines_of_text() -> None:
    lines = shown(FOUND, terminal=False).splitlines()
    assert lines == ["A title", "http://a.test/", "…golden Silk here", "", "1 of 12 found (of 1,234 indexed pages)"]


def test_matches_stand_out_on_a_terminal() -> None:
    assert "\x1b[1;33mSilk\x1b[0m here" in shown(FOUND, terminal=True)


def test_a_page_cannot_command_the_terminal() -> None:
    hostile = replace(RESULT, title="\x1b]0;x\x07\x9b31m[red]t\u202e", snippet=[Part("a\x1b[2Jb\rc\x00", True)])
    text = shown(replace(FOUND, results=[hostile]), terminal=False)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "[red]t" in text


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (FOUND, "1 of 12 found (of 1,234 indexed pages)"),
        (replace(FOUND, total=10_000, total_exact=False), "1 of more than 10,000 found (of 1,234 indexed pages)"),
        (replace(FOUND, results=[], total=0), "no page has silk (of 1,234 indexed pages)"),
    ],
)
def test_the_total_is_said(found: Results, expected: str) -> None:
    assert total_line(found) == expected


def test_the_progress_is_said() -> None:
    assert progress_line(Progress(1234, 5_000_000)) == "1,234 pages are indexed, 5.0 MB of the archive to go"
    assert progress_line(Progress(1234, 0)) == "1,234 pages are indexed"


def test_json_has_the_words_of_the_api() -> None:
    found = as_json(FOUND)
    assert found["total"] == 12 and found["words"] == ["silk"]
    (result,) = found["results"]  # type: ignore[misc]
    assert result["snippet"][1] == {"text": "Silk", "match": True}
    assert result["fetched_at"] == "2023-11-14T22:13:20.123Z"
