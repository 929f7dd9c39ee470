"""`nephila settings`: every setting, its value and where it came from."""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from nephila.cli.display import print_json
from nephila.cli.options import ArchiveOption, DataOption, JsonOption, StoreOption, reading_settings
from nephila.profiles import PROFILES, CrawlSettings, Group, crawl_settings
from nephila.settings import SettingLine

LONG_LIST = 8


class CrawlSettingLine(NamedTuple):
    name: str
    value: Any
    source: str  # default | profile <name>
    help: str


def settings(
    profile: Annotated[
        str, typer.Option(metavar="NAME", help=f"Whose crawl settings: {', '.join(PROFILES)}.")
    ] = "default",
    data: DataOption = None,
    store: StoreOption = None,
    archive: ArchiveOption = None,
    json: JsonOption = False,
) -> None:
    """Every setting of this process, with its value and where it came from, and every crawl setting of a profile."""
    process = reading_settings(data, store, archive).describe()
    crawl = list(crawl_lines(crawl_settings(profile)))
    if json:
        print_json({"process": [line._asdict() for line in process], "crawl": [line._asdict() for line in crawl]})
        return
    console = Console()
    console.print(_process_table(process))
    console.print()
    console.print(_crawl_table(profile, crawl))


def crawl_lines(wanted: CrawlSettings) -> Iterator[CrawlSettingLine]:
    default = crawl_settings()
    for group in CrawlSettings.model_fields:
        values = getattr(wanted, group)
        if isinstance(values, Group):
            for name, field in type(values).model_fields.items():
                value = getattr(values, name)
                same = value == getattr(getattr(default, group), name)
                source = "default" if same else f"profile {wanted.profile}"
                yield CrawlSettingLine(f"{group}.{name}", value, source, field.description or "")


def shown(value: Any) -> str:
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        more = f" and {len(value) - LONG_LIST} more" if len(value) > LONG_LIST else ""
        return " ".join(map(str, value[:LONG_LIST])) + more or "none"
    return str(value) or "unset"


def _table(title: str, *headings: str) -> Table:
    table = Table(
        title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0)
    )
    for heading in headings:
        table.add_column(heading, no_wrap=heading == "setting", overflow="fold")
    return table


def _process_table(lines: list[SettingLine]) -> Table:
    table = _table(
        "This process (NEPHILA_<NAME> in the environment, or an option)", "setting", "value", "from", "what it does"
    )
    for line in lines:
        table.add_row(line.name, line.value or "unset", line.source, line.help)
    return table


def _crawl_table(profile: str, lines: list[CrawlSettingLine]) -> Table:
    table = _table(
        f"A crawl of profile {profile} (`nephila crawl --set NAME=VALUE`)", "setting", "value", "from", "what it does"
    )
    for line in lines:
        table.add_row(line.name, shown(line.value), line.source, line.help)
    return table
