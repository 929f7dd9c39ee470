"""Every statement of the .sql files is used, by the name it has there."""

import re
from pathlib import Path

import pytest

from nephila.search import postgres_fts, sqlite_fts


@pytest.mark.parametrize("module", [sqlite_fts, postgres_fts])
def test_every_statement_is_used_and_exists(module: object) -> None:
    used = re.findall(r'SQL\["(\w+)"\]', Path(module.__file__).read_text())  # type: ignore[attr-defined]
    assert sorted(set(used)) == sorted(module.SQL)  # type: ignore[attr-defined]
