"""Hints are command lines; tests/integration/test_hints.py provokes and runs each of them."""

import ast
import inspect
import re
import shlex
from pathlib import Path

import pytest

from nephila.cli.app import command_line
from nephila.cli.hints import WITHOUT_ARCHIVE, command, located
from nephila.settings import process_settings
from tests.architecture.sources import product
from tests.integration.test_hints import PROVOKED, UNPROVOKED

WHERE = {"data": Path("it's my data"), "archive": Path("/war c")}
ODD_URL = "http://a.test/it's?q=a b&c=$HOME`x`"


def test_a_command_is_split_by_a_shell_into_the_words_that_are_meant() -> None:
    settings = process_settings(WHERE)
    line = command(settings, "explain", 3, ODD_URL)
    assert shlex.split(line) == ["nephila", "explain", "3", ODD_URL, "--data", "it's my data"]
    assert command(settings, "resume", 3, workers="0").endswith(
        " --workers 0 --data 'it'\"'\"'s my data' --archive '/war c'"
    )
    assert command(process_settings(), "export", 1, output="x.csv") == "nephila export 1 --output x.csv"
    assert command(process_settings(), "search", "-a", no_update=True) == "nephila search --no-update -- -a"


def test_a_password_is_not_printed_again() -> None:
    for url, shown in (
        ("postgresql://me:secret@db/x", "postgresql://me@db/x"),
        ("postgresql://db/x?user=me&password=secret&sslmode=require", "postgresql://db/x?user=me&sslmode=require"),
        ("postgresql://db/x?password=secret", "postgresql://db/x"),
    ):
        assert shlex.split(command(process_settings({"store": url}), "urls", 1))[-2:] == ["--store", shown]


def test_what_the_environment_says_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEPHILA_DATA", "/elsewhere")
    assert command(process_settings(), "urls", 1) == "nephila urls 1"
    assert command(process_settings({"data": Path("nephila-data")}), "urls", 1) == "nephila urls 1 --data nephila-data"


def test_the_commands_of_a_message_find_the_same_data() -> None:
    settings = process_settings(WHERE)
    said = located(
        "there is none: `nephila verify` says more, `nephila token create NAME --access read` less", settings
    )
    data = "--data 'it'\"'\"'s my data'"
    assert said == (
        f"there is none: `nephila verify {data} --archive '/war c'` says more, "
        f"`nephila token create NAME --access read {data}` less"
    )
    assert located(said, settings) == said
    odd = f"`{command(settings, 'explain', 1, ODD_URL)}`"
    assert located(odd, settings) == odd


def test_archives_are_said_to_verbs_that_take_them() -> None:
    taking = {verb.callback for verb in command_line().registered_commands if verb.callback}
    without = {verb.__name__ for verb in taking if "archive" not in inspect.signature(verb).parameters}
    assert without - {"openapi", "manual"} == WITHOUT_ARCHIVE - {"token"}


def test_every_hint_of_the_sources_is_provoked_and_run() -> None:
    """Strings with a command in them, but for docstrings, and commands that are built."""
    found = set()
    for module in product():
        docstrings = {id(node.value) for node in ast.walk(module.tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                found |= {
                    (module.place, each) for each in re.findall(r"(?:`|with: )nephila ([a-z ]*[a-z])", node.value)
                }
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "command":
                words = [each.value for each in node.args if isinstance(each, ast.Constant)]
                found.add((module.place, " ".join(map(str, words)).removesuffix(" NAME")))
    assert found == PROVOKED | UNPROVOKED
