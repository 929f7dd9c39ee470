"""How results are shown."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from nephila.cli.catching_up import follow_up, progress_line
from nephila.cli.search import as_json, show, total_line
from nephila.cli.status import derivation_line, print_derivations
from nephila.control.derivation import DerivationProgress
from nephila.control.search import Result, Results
from nephila.search.snippet import Part
from nephila.settings import process_settings

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
    behind = DerivationProgress("search", 2, 1234, 5_000_000, 0)
    assert progress_line(behind) == "1,234 pages are indexed, 5.0 MB of the archive to go"
    assert progress_line(DerivationProgress("search", 2, 1234, 0, 0)) == "1,234 pages are indexed"


def test_json_has_the_words_of_the_api() -> None:
    found = as_json(FOUND)
    assert found["total"] == 12 and found["words"] == ["silk"]
    (result,) = found["results"]  # type: ignore[misc]
    assert result["snippet"][1] == {"text": "Silk", "match": True}
    assert result["fetched_at"] == "2023-11-14T22:13:20.123Z"


def test_a_process_that_indexes_and_does_not_get_on_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stuck:
        skipped = 0
        unreachable = frozenset[str]()

        def step(self) -> None:
            """It is another's turn."""

        def progress(self) -> list[DerivationProgress]:
            return [DerivationProgress("search", 2, 7, 1000, 0)]

        def close(self) -> None:
            """There is no helper."""

    monkeypatch.setattr("nephila.cli.catching_up.sleep", lambda seconds: None)
    follow_up(Stuck(), process_settings({}), "")  # type: ignore[arg-type]
    assert "another process indexes and does not get on: 7 pages are indexed" in capsys.readouterr().err


def test_a_derivation_is_told_in_one_line() -> None:
    behind = DerivationProgress("search", 2, 1234, 5_000_000, 3)
    assert derivation_line(behind) == "search: 1,234 pages derived, 5.0 MB of the archive to go, 3 record(s) skipped"


@pytest.mark.parametrize(
    ("pages", "pending", "skipped", "lines"), [(0, 9, 0, 0), (5, 0, 0, 0), (5, 9, 0, 1), (5, 0, 1, 1)]
)
def test_a_status_tells_of_what_is_used_and_behind(
    capsys: pytest.CaptureFixture[str], pages: int, pending: int, skipped: int, lines: int
) -> None:
    print_derivations([DerivationProgress("search", 2, pages, pending, skipped)])
    assert len(capsys.readouterr().out.splitlines()) == lines
