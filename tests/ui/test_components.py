"""The tests of the UI's own code, by Vitest."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_vitest_passes() -> None:
    own = str(ROOT / ".venv" / "bin")  # Node of a wheel, where the system has none
    path = os.pathsep.join((os.environ["PATH"], own))
    npm = shutil.which("npm", path=path)
    if npm is None or not (ROOT / "ui" / "node_modules").exists():
        pytest.skip("needs Node.js and the packages of the UI: make ui")
    done = subprocess.run(
        [npm, "--prefix", str(ROOT / "ui"), "run", "--silent", "test"],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": path, "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
