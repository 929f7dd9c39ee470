"""Reference cases written by others, scored by their own judge (../shared/conformance beside the clone)."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
JUDGE = ROOT.parent / "shared" / "conformance" / "judge.py"


@pytest.mark.requirement("RB-01", "N-01", "T-07")
def test_every_group_is_at_its_target() -> None:
    if not JUDGE.is_file():
        pytest.skip("needs ../shared/conformance")
    command = [sys.executable, str(JUDGE), str(Path(__file__).with_name("adapter.py")), "-v"]
    scored = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert scored.returncode == 0, scored.stdout + scored.stderr
    assert scored.stdout.count("ok ") >= 9, scored.stdout
