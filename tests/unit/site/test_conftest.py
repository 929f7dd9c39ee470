import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import REQUIREMENTS, known_ids, report_lines, settled_ids, skipped_line

ROOT = Path(__file__).parents[3]
TESTS = """
import pytest

@pytest.mark.requirement("{ids}")
def test_proof(): pass

def test_absent(): pytest.skip("needs a server")

def test_chosen(): pytest.skip("only on Sundays")
"""


def run(folder: Path, *options: str, ids: str = "T-01", ci: str = "") -> subprocess.CompletedProcess[str]:
    """pytest with our conftest as a plugin, over one file in a folder of its own."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = requirement(*ids): x\n")
    (folder / "test_some.py").write_text(TESTS.format(ids=ids))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", *options]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CI": ci, "PYTEST_ADDOPTS": ""}  # whatever this run was told
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


def test_ids_are_read_from_the_first_column() -> None:
    text = "N-01 | one | 000\n## N-02\nRB-10 | ten (as N-03 | has it)\n| K07 | key | as K08 |\n| F-06 | kept as |\n"
    assert known_ids(text) == {"N-01", "RB-10", "K07"}


def test_the_report() -> None:
    known = {"N-02", "N-10", "A-03", "A-01", "K02", "K11", "F-06"}
    lines = report_lines(Counter({"N-10": 1, "N-02": 3, "K11": 2}), known, {"F-06", "N-10"})
    assert lines == [
        "K11    2",
        "N-02   3",
        "N-10   1",
        "unproven: A-01 A-03 K02",
        "unproven, kept in another form: F-06",
        "3 of 7 requirement ids proven",
    ]
    assert report_lines(Counter({"N-02": 3}), set(), set()) == ["N-02   3", "1 ids proven"]


def test_what_is_kept_in_another_form_is_read_from_part_3() -> None:
    text = (
        "| K07 | key | one |\n## Part 3. Settled\n| line | kept as |\n|---|---|\n| F-18, K38 | x, K39 |\n| N-13 | y |\n"
    )
    assert settled_ids(text) == {"F-18", "K38", "N-13"}


def test_the_option_lists_ids_and_no_tests(tmp_path: Path) -> None:
    done = run(tmp_path, "--proven-requirements")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("T-01   1\n") and "test_some.py" not in done.stdout


@pytest.mark.skipif(not REQUIREMENTS.exists(), reason="needs ../shared/requirements.md beside the repository")
def test_an_unknown_id_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path, ids="ZZ-99")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "not in requirements.md: ZZ-99" in done.stderr


@pytest.mark.parametrize(("ci", "failed"), [("", 0), ("true", 1)])
def test_on_ci_nothing_may_be_missing(tmp_path: Path, ci: str, failed: int) -> None:
    done = run(tmp_path, ci=ci)
    assert done.returncode == failed
    assert ("1 failed, 1 passed, 1 skipped" if failed else "1 passed, 2 skipped") in done.stdout
    assert ("nothing may be missing: Skipped: needs a server" in done.stdout) == bool(failed)


def test_what_is_missing_is_said_in_one_line() -> None:
    chromium, root = "Skipped: needs Chromium: install the package chromium", "Skipped: needs root"
    assert skipped_line([]) == skipped_line(["Skipped: only on Sundays"]) == ""
    assert skipped_line([root, "Skipped: only on Sundays"]) == "1 test skipped: needs root"
    assert skipped_line([root, chromium, chromium]) == (
        "3 tests skipped: 2 needs Chromium: install the package chromium; 1 needs root"
    )


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["one process", "xdist"])
def test_a_run_ends_with_that_line(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run(tmp_path, *options)
    assert [line for line in done.stdout.splitlines() if "needs" in line] == ["1 test skipped: needs a server"]
