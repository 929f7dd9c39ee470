"""The documents name what exists, and the tables of commands and targets are those of the code."""

import re
from pathlib import Path

import pytest
import typer.main

from nephila.api.faces.run_records import ENVIRONMENT
from nephila.cli.app import command_line
from nephila.profiles import VARIABLES
from nephila.settings import ALIASES
from tests.architecture.sources import ROOT, SRC, constants, members, product

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


def variables() -> set[str]:
    """The variables of the environment that the documents name."""
    ours = {alias for aliases in ALIASES.values() for alias in aliases}
    return ours | {variable.name for variable in VARIABLES} | set(ENVIRONMENT.values())


@documents
def test_every_constant_exists(path: Path) -> None:
    known = {name for module in product() for name in constants(module.path)} | constants(
        ROOT / "tests/contract/backend.py"
    )
    named = {
        name for name in quoted(path) if CONSTANT.fullmatch(name) and not name.startswith(("NEPHILA_", "CRAWLER_"))
    } - variables()
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
    assert documented == list(typer.main.get_command(command_line()).commands)  # type: ignore[attr-defined]


def options_of(verb: str) -> set[str]:
    command = typer.main.get_command(command_line()).commands[verb]  # type: ignore[attr-defined]
    deeper = list(getattr(command, "commands", {}).values())  # of `token`
    return {"--help", *(flag for each in (command, *deeper) for option in each.params for flag in option.opts)}


def options_named(text: str) -> set[tuple[str, str]]:
    """Verbs and options of commands in examples and in quotes: `nephila export 1 --output x`, or `export --output`."""
    verbs = "|".join(typer.main.get_command(command_line()).commands)  # type: ignore[attr-defined]
    quotes = [f"nephila {found}" for found in re.findall(rf"`((?:{verbs}) --[^`]*)`", text)]
    commands = re.findall(rf"nephila ({verbs})\b([^`\n|;]*)", "\n".join([text, *quotes]))
    return {(verb, flag) for verb, rest in commands for flag in re.findall(r"(?<!\S)--[a-z][a-z-]*", rest)}


@documents
def test_every_option_of_a_command_exists(path: Path) -> None:
    text = re.sub(r"(?<!\S)#.*", "", path.read_text())  # what stands behind an example
    assert sorted(f"{verb} {flag}" for verb, flag in options_named(text) if flag not in options_of(verb)) == []


def test_options_are_found_where_documents_name_them() -> None:
    text = "`show`, `export --body` or `nephila crawl URL --delay 1`\n$ nephila serve --port 3000 & sleep --x"
    assert options_named(text) >= {("export", "--body"), ("crawl", "--delay"), ("serve", "--port")}
    assert "--body" not in options_of("export") and "--delay" in options_of("crawl")


@pytest.mark.requirement("O-14")
def test_the_page_on_politeness_names_the_hook_of_robots_txt() -> None:
    page = (ROOT / "docs" / "politeness.md").read_text()
    robots = page.partition("\n## robots.txt\n")[2].partition("\n## ")[0]
    assert {"RobotsGate", "crawl_delay_ms", "delay_ms"} <= set(QUOTED.findall(robots))
    assert {"policy/robots_gate.py", "policy/politeness.py"} <= set(QUOTED.findall(robots))
    assert "(politeness.md)" in (ROOT / "docs" / "README.md").read_text()


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
