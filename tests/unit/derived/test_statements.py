"""The statements of what is derived are all used, and all there."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from nephila.derived import postgres_ledger, postgres_pages, sqlite_ledger, sqlite_pages
from nephila.links import postgres_links, sqlite_links
from nephila.search import postgres_fts, sqlite_fts
from nephila.statements import named_statements

OWN = {"make", "drop"}  # of an index: used by `SqlitePages` and `PostgresPages`
POSTGRES_PAGES = named_statements("nephila.derived", "sql", "postgres_pages.sql")


def used(module: ModuleType) -> set[str]:
    assert module.__file__ is not None
    return set(re.findall(r"(?:SQL|sql)\[['\"](\w+)", Path(module.__file__).read_text()))


@pytest.mark.parametrize("module", [sqlite_fts, postgres_fts, sqlite_links, postgres_links])
def test_every_statement_of_an_index_is_used_and_exists(module: ModuleType) -> None:
    assert used(module) | OWN == set(module.SQL)


@pytest.mark.parametrize("module", [sqlite_pages, sqlite_ledger, postgres_ledger])
def test_every_statement_is_used_and_exists(module: ModuleType) -> None:
    assert used(module) == set(module.SQL)


def test_every_statement_of_a_cluster_is_used_and_exists() -> None:
    assert used(postgres_pages) == set(POSTGRES_PAGES)
