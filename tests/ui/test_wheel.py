"""What a user installs: the wheel carries the built UI, the SQL and the mark of a typed package."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.patience import PATIENCE_SECONDS
from tests.ui.browser import UI

ROOT = Path(__file__).parents[2]


def test_the_wheel_has_the_ui(tmp_path: Path) -> None:
    if not UI.exists():
        pytest.skip("needs the built UI: make ui")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    (wheel,) = tmp_path.glob("nephila-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    built = {path.relative_to(UI.parent).as_posix() for path in UI.parent.rglob("*") if path.is_file()}
    assert {f"nephila/ui/{name}" for name in built} <= set(names)
    assert any(name.startswith("nephila/ui/assets/") and name.endswith(".js.br") for name in names)
    assert {"nephila/py.typed", "nephila/frontier/sql/sqlite/0001.sql", "nephila/api/reference.css"} <= set(names)
    assert not [name for name in names if "node_modules" in name or name.endswith(".ts")]
