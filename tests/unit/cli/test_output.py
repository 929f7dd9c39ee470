"""Tables fit the terminal, whatever its width."""

import pytest

from nephila.cli.output import print_table

SEEDS = "http://127.0.0.1:8123/" + "x" * 40
ROWS = [
    {"crawl": "1", "state": "completed", "begun": "2026-11-16 19:01", "seeds": SEEDS},
    {"crawl": "12", "state": "running", "begun": "2026-11-16 19:05", "seeds": "http://a.test/"},
]
UNBROKEN = ("crawl", "state", "begun")
LEAST = 5 + 2 + 9 + 2 + 16 + 2 + 16


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_table(ROWS, right=("crawl",), unbroken=UNBROKEN)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [10, 40, LEAST - 1, LEAST, 60, 80, 300])
def test_nothing_is_cut_at_any_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = printed(capsys)
    assert all(any(row[name] in line for line in lines) for row in ROWS for name in UNBROKEN)
    if width < LEAST:
        assert lines[:4] == ["crawl  1", "state  completed", "begun  2026-11-16 19:01", f"seeds  {SEEDS}"]
    else:
        assert max(map(len, lines)) <= width
        assert "".join(lines).count("x") == SEEDS.count("x")


def test_into_a_pipe_each_row_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = printed(capsys)
    assert len(lines) == 3 and lines[1].split() == ["1", "completed", "2026-11-16", "19:01", SEEDS]
