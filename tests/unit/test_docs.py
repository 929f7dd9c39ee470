"""The docs name every setting and word of the code, and no other. As a script: writes the tables of settings.md."""

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from nephila.api.faces.run_records import ENVIRONMENT
from nephila.models import CrawlState, Kind, Reason, Refusal, UrlState
from nephila.policy.classify import classify_error, classify_http
from nephila.profiles import PROFILES, VARIABLES, CrawlSettings, SettingGroup, crawl_settings
from nephila.settings import ALIASES, ProcessSettings, env_names

DOCS = Path(__file__).parents[2] / "docs"
SETTINGS, GLOSSARY, URL_STATES = DOCS / "settings.md", DOCS / "glossary.md", DOCS / "url-states.md"

GROUPS: dict[str, type[SettingGroup]] = {
    name: field.annotation
    for name, field in CrawlSettings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, SettingGroup)
}


# --- what docs/settings.md must say --------------------------------------------------------------


def bounds(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "$ref" in schema:
        return bounds(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        known = [bounds(part, definitions) for part in schema["anyOf"] if part.get("type") != "null"]
        return ", ".join([*known, "or unset"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "minimum" in schema:
        return f"{schema['minimum']:,} to {schema['maximum']:,}"
    words = {"boolean": "true, false", "array": "a list", "object": "pairs", "integer": "a number"}
    if "maxLength" in schema:
        return f"up to {schema['maxLength']} characters"
    return "a path" if schema.get("format") == "path" else words.get(schema["type"], "text")


def shown(value: object) -> str:
    if value is None:
        return "unset"
    if value in ("", (), {}):
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"`{' '.join(value)}`"
    return f"{value:,}" if isinstance(value, int | float) else f"`{value}`"


def properties(model: type[BaseModel]) -> Iterator[tuple[str, str, str, str]]:
    """(name, default, bounds, help) of every setting of a model."""
    schema = model.model_json_schema(by_alias=False)
    for name, field in model.model_fields.items():
        limits = bounds(schema["properties"][name], schema.get("$defs", {}))
        yield name, shown(field.default), limits, field.description or ""


def differences(group: str, name: str) -> str:
    default = getattr(getattr(crawl_settings(), group), name)
    values = {profile: getattr(getattr(crawl_settings(profile), group), name) for profile in PROFILES}
    return ", ".join(f"{profile}: {shown(value)}" for profile, value in values.items() if value != default)


def cell(text: str) -> str:
    return text.replace("|", r"\|").replace("<", "&lt;")


def table(*rows: Iterable[str]) -> str:
    head, *body = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join([head, "|" + "---|" * (head.count(" | ") + 1), *body])


def process_tables() -> str:
    rows = [
        (", ".join(f"`{env}`" for env in env_names(name)), default, limits, text)
        for name, default, limits, text in properties(ProcessSettings)
    ]
    return table(("setting", "default", "bounds", "what it does"), *rows)


def alias_table() -> str:
    """The documents' variables, and what of ours they set."""
    ours = [(alias, f"`{env_names(name)[0]}`") for name, aliases in ALIASES.items() for alias in aliases]
    units = {1: "", 1000: ", in seconds"}
    crawl = [(each.name, f"`{each.setting}`{units[each.factor]}") for each in VARIABLES]
    named = {variable for variable, _ in crawl}
    runs = [(variable, f"`{name}` of `/crawl-runs`") for name, variable in ENVIRONMENT.items() if variable not in named]
    rows = [(f"`{variable}`", what) for variable, what in (*ours, *crawl, *runs)]
    return table(("variable", "sets"), *rows)


def crawl_tables() -> str:
    return "\n\n".join([record_table(), *(group_table(name, model) for name, model in GROUPS.items())])


def record_table() -> str:
    """The settings outside all groups."""
    fields = {name: field for name, field in CrawlSettings.model_fields.items() if name not in GROUPS}
    rows = [(f"`{name}`", shown(field.default), field.description or "") for name, field in fields.items()]
    return table(("setting", "default", "what it is"), *rows)


def group_table(group: str, model: type[SettingGroup]) -> str:
    rows = [
        (f"`{group}.{name}`", default, limits, text, differences(group, name))
        for name, default, limits, text in properties(model)
    ]
    purpose = f"{model.__doc__}\n\n" if model.__doc__ else ""
    return f"### {group}\n\n{purpose}" + table(("setting", "default", "bounds", "what it does", "profiles"), *rows)


def expected_settings(text: str) -> str:
    parts = {"process": process_tables(), "aliases": alias_table(), "crawl": crawl_tables()}
    for part, tables in parts.items():
        begin, end = f"<!-- begin {part} -->", f"<!-- end {part} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{tables}\n{end}{rest.partition(end)[2]}"
    return text


# --- what the docs do say ------------------------------------------------------------------------


def section(path: Path, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", path.read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"{path.name} has no section {title!r}"
    return found[1]


def rows_of(path: Path, title: str) -> list[list[str]]:
    lines = [line for line in section(path, title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def words_of(path: Path, title: str) -> list[str]:
    return [row[0].strip("`") for row in rows_of(path, title)]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def state_reasons() -> dict[str, list[str]]:
    return {row[0].strip("`"): quoted(row[3]) for row in rows_of(URL_STATES, "States")}


# --- the comparison ------------------------------------------------------------------------------


def test_the_tables_of_settings_are_those_of_the_code() -> None:
    text = SETTINGS.read_text()
    expected = expected_settings(text)
    assert text == expected, f"write docs/settings.md anew (python tests/unit/test_docs.py):\n{expected}"


@pytest.mark.parametrize("model", [*GROUPS.values(), ProcessSettings], ids=lambda model: model.__name__)
def test_every_setting_has_a_help_text(model: type[BaseModel]) -> None:
    assert [name for name, field in model.model_fields.items() if not field.description] == []


@pytest.mark.parametrize("path", [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"], ids=lambda path: path.name)
def test_docs_name_no_setting_that_does_not_exist(path: Path) -> None:
    named = re.findall(rf"`({'|'.join(GROUPS)})\.(\w+)`", path.read_text())
    assert [f"{group}.{name}" for group, name in named if name not in GROUPS[group].model_fields] == []
    variables = {env for name in ProcessSettings.model_fields for env in env_names(name)}
    assert set(re.findall(r"NEPHILA_[A-Z_]+", path.read_text())) <= variables


@pytest.mark.parametrize(
    ("title", "words"),
    [("Crawl states", CrawlState), ("Reasons", Reason), ("Refusals", Refusal)],
)
def test_the_glossary_has_every_word_of_the_code_once(title: str, words: type[Enum]) -> None:
    assert sorted(words_of(GLOSSARY, title)) == sorted(word.value for word in words if word.value)


def test_the_glossary_has_every_kind_once() -> None:
    assert sorted(words_of(GLOSSARY, "Kinds")) == sorted(kind.name.lower() for kind in Kind)


def test_the_glossary_defines_each_word_once_in_order() -> None:
    words = [word.lower() for word in words_of(GLOSSARY, "Words")]
    assert words == sorted(set(words))
    assert all(row[1] for row in rows_of(GLOSSARY, "Words"))


@pytest.mark.requirement("S-07")
def test_every_state_is_documented_once() -> None:
    assert words_of(URL_STATES, "States") == [state.value for state in UrlState]


@pytest.mark.requirement("S-07")
def test_the_diagram_has_every_state_and_no_other() -> None:
    arrows = re.findall(r"^ +(\S+) --> (\w+)", URL_STATES.read_text(), re.MULTILINE)
    assert {state for arrow in arrows for state in arrow} - {"[*]"} == {state.value for state in UrlState}
    leaving = [arrow for arrow in arrows if arrow[0] != "[*]" and UrlState(arrow[0]).terminal]
    assert leaving == [("excluded", "queued")], "of a limit that was raised"


@pytest.mark.requirement("S-07")
def test_every_reason_belongs_to_one_state() -> None:
    reasons = [reason for listed in state_reasons().values() for reason in listed]
    assert sorted(reasons) == sorted(reason.value for reason in Reason if reason.value)


def test_the_table_of_states_agrees_with_the_verdicts() -> None:
    documented = state_reasons()
    transport = [Reason(word) for word in documented[UrlState.FAILED]]
    verdicts = [classify_http(status) for status in range(600)] + [classify_error(reason) for reason in transport]
    assert [verdict for verdict in verdicts if verdict.reason and verdict.reason not in documented[verdict.state]] == []


if __name__ == "__main__":
    SETTINGS.write_text(expected_settings(SETTINGS.read_text()))
