"""The documents name what exists, and the tables of commands and targets are those of the code."""

import ast
import re
from pathlib import Path

import pytest
import typer.main

from nephila.cli.app import app
from tests.architecture.sources import ROOT, SRC, product

README, ARCHITECTURE = ROOT / "README.md", ROOT / "ARCHITECTURE.md"
DECISIONS = ROOT / "docs" / "decisions"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\((?!https?://)([^)#]+)(#[^)]*)?\)")
PATH = re.compile(r"(?:[\w.-]+/)+(?:[\w.-]+\.(?:py|sql|md|toml|lock))?|[\w-]+\.(?:py|sql|md|toml)|\.ci/run")
MEMBER = re.compile(r"([A-Z][a-z][A-Za-z]*)\.(\w+)")
CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|PARTITIONS|PROFILES|RULES|FIELDS|BACKENDS")
# Folders and files of a data folder or of a set-up, which no repository has.
NOT_HERE = {"nephila-data/", "sessions/", "warc/", "settings/", "requirements.md"}

documents = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())


def quoted(path: Path) -> set[str]:
    """What stands in backticks, transcripts and diagrams left out."""
    return set(QUOTED.findall(FENCED.sub("", path.read_text())))


def exists(name: str, document: Path) -> bool:
    return any((place / name).exists() for place in (ROOT, SRC, document.parent))


def members() -> dict[str, set[str]]:
    """Methods, properties and fields of every class of the product."""
    found: dict[str, set[str]] = {}
    for module in product():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(_members(node))
    return found


def _members(node: ast.ClassDef) -> set[str]:
    names: set[str] = set()
    for part in node.body:
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(part.name)
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            names.add(part.target.id)
        elif isinstance(part, ast.Assign):
            names.update(target.id for target in part.targets if isinstance(target, ast.Name))
    return names


def constants(path: Path) -> set[str]:
    """Names that a module assigns at its top."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            found.update(name.id for name in ast.walk(target) if isinstance(name, ast.Name))
    return found


@documents
def test_every_path_exists(path: Path) -> None:
    named = {name for name in quoted(path) if PATH.fullmatch(name)} - NOT_HERE
    assert sorted(name for name in named if not exists(name, path)) == []


@documents
def test_every_link_leads_somewhere(path: Path) -> None:
    targets = [target for target, _ in LINK.findall(path.read_text())]
    assert [target for target in targets if not (path.parent / target).exists()] == []


@documents
def test_every_member_exists(path: Path) -> None:
    known = members()
    named = [MEMBER.fullmatch(name) for name in quoted(path)]
    pairs = sorted((match[1], match[2]) for match in named if match)
    assert [f"{owner}.{name}" for owner, name in pairs if name not in known.get(owner, ())] == []


@documents
def test_every_constant_exists(path: Path) -> None:
    known = {name for module in product() for name in constants(module.path)} | constants(
        ROOT / "tests/contract/backend.py"
    )
    named = {
        name for name in quoted(path) if CONSTANT.fullmatch(name) and not name.startswith(("NEPHILA_", "CRAWLER_"))
    }
    assert sorted(named - known) == []


def test_the_limits_are_where_the_table_says() -> None:
    section = ARCHITECTURE.read_text().partition("\n## Limits\n")[2]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `")]
    assert len(rows) > 20
    for names, place in rows:
        assert set(QUOTED.findall(names)) <= constants(SRC / QUOTED.findall(place)[0])


def test_the_table_of_commands_is_that_of_the_help() -> None:
    table = README.read_text().partition("<!-- begin commands -->")[2].partition("<!-- end commands -->")[0]
    documented = re.findall(r"^\| `nephila (\w+)", table, re.MULTILINE)
    assert documented == list(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_the_table_of_targets_is_that_of_make_help() -> None:
    documented = re.findall(r"^\| `make ([a-z-]+)`", README.read_text(), re.MULTILINE)
    assert documented == re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_decisions_are_numbered_and_listed() -> None:
    names = sorted(path.name for path in DECISIONS.glob("*.md"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
    index = (ROOT / "docs" / "README.md").read_text()
    for number, name in enumerate(names, 1):
        title = (DECISIONS / name).read_text().splitlines()[0]
        assert f"  {number}. [{title.removeprefix(f'# {number}. ')}](decisions/{name})" in index


def test_ci_runs_check_and_test() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    lines = script.read_text().splitlines()
    assert "set -euo pipefail" in lines
    assert [line for line in lines if line.startswith("make ")] == ["make check", "make test"]
