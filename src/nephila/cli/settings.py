"""`nephila settings`: every setting, its value and where it came from."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from nephila.cli.crawl_options import naming_options
from nephila.cli.options import ARCHIVE, DATA, JsonOption, with_settings
from nephila.cli.output import print_json, table
from nephila.profiles import PROFILES, SETTINGS, VARIABLES, crawl_settings, environment_settings
from nephila.settings import ProcessSettings, SettingLine

LIST_SHOWN_MAX = 8


class CrawlSettingLine(NamedTuple):
    name: str
    value: Any
    source: str  # default | profile <name> | env <variable>
    help: str


@with_settings(*DATA, ARCHIVE)
def settings(
    profile: Annotated[
        str, typer.Option(metavar="NAME", help=f"Whose crawl settings: {', '.join(PROFILES)}.")
    ] = "default",
    *,
    settings: ProcessSettings,
    json: JsonOption = False,
) -> None:
    """Every setting of this process, with its value and where it came from, and every crawl setting of a profile."""
    with naming_options():
        process, crawl = settings.describe(), list(crawl_lines(profile, os.environ))
    if json:
        print_json({"process": [line._asdict() for line in process], "crawl": [line._asdict() for line in crawl]})
        return
    console = Console()
    console.print(_table("This process (NEPHILA_<NAME> in the environment, or an option)", process))
    console.print()
    console.print(_table(f"A crawl of profile {profile} (changed by --set NAME=VALUE)", crawl))


def crawl_lines(profile: str, env: Mapping[str, str]) -> Iterator[CrawlSettingLine]:
    found = environment_settings(env)
    default, wanted = crawl_settings(), crawl_settings(profile, found)
    for name, field in SETTINGS.items():
        value = wanted.value(name)
        source = "default" if value == default.value(name) else f"profile {profile}"
        if name in found:
            set_by = (variable.name for variable in VARIABLES if variable.setting == name and env.get(variable.name))
            source = f"env {', '.join(set_by)}"
        yield CrawlSettingLine(name, value, source, field.description or "")


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        more = f" and {len(value) - LIST_SHOWN_MAX} more" if len(value) > LIST_SHOWN_MAX else ""
        return " ".join(map(str, value[:LIST_SHOWN_MAX])) + more or "none"
    return "unset" if value in (None, "") else str(value)


def _table(title: str, lines: Sequence[SettingLine | CrawlSettingLine]) -> Table:
    rows = [
        {"setting": line.name, "value": shown(line.value), "from": line.source, "what it does": line.help}
        for line in lines
    ]
    return table(rows, unbroken=("setting",), title=title)
