"""`nephila compare`: the difference of two crawls, two exports, or one of each."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated

import typer

from nephila.cli import words
from nephila.cli.options import DATA, JsonOption, open_catalog, with_settings
from nephila.cli.output import EXIT_DONE, EXIT_FAILED
from nephila.control import compare as comparing
from nephila.control.compare import SAME, By, Change, Counts, Difference
from nephila.control.export_reader import ExportedUrl, entries
from nephila.frontier.catalog import Catalog
from nephila.frontier.store import Crawl
from nephila.settings import ProcessSettings

MARKS = {Change.GONE: "<", Change.ADDED: ">", Change.STATE: "~", Change.CONTENT: "*"}
SENTENCES = {
    Change.GONE: "only in {first}",
    Change.ADDED: "only in {second}",
    Change.STATE: "in another state",
    Change.CONTENT: "with another content",
}
COMPARED = {
    By.URLS: (Change.GONE, Change.ADDED),
    By.STATES: (Change.GONE, Change.ADDED, Change.STATE),
    By.CONTENT: tuple(Change),
}


@with_settings(*DATA)
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="Number of a crawl, or an export.", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one.", show_default=False)],
    by: Annotated[
        By,
        typer.Option(
            help="Compare which URLs there are; also the state of each; also its content, by digest.",
        ),
    ] = By.CONTENT,
    as_json: JsonOption = False,
    *,
    settings: ProcessSettings,
) -> None:
    """Compare two crawls or exports (JSONL, JSON or CSV, also with .gz) on the normalised URL.

    Prints `<` for a URL that only A has, `>` only B, `~` for another state, `*` for another content. Exit code 1 if
    they differ.
    """
    sides, counts = Sides(settings, first, second), Counter[str]()
    for found in sides.differences(by, counts):
        print(_object(found) if as_json else _line(found))
    if as_json:
        print(json.dumps({each: counts[each] for each in (*COMPARED[by], SAME)}))
    else:
        print(_sentence(sides, by, counts))
    raise typer.Exit(EXIT_FAILED if any(counts[change] for change in Change) else EXIT_DONE)


class Sides:
    """The two that are compared. A file that exists is an export, another number a crawl of the store."""

    def __init__(self, settings: ProcessSettings, first: str, second: str) -> None:
        self._settings = settings
        self._given = (first, second)
        self._crawls = [self._crawl(word) for word in self._given]

    @cached_property
    def _catalog(self) -> Catalog:
        return open_catalog(self._settings)

    def _crawl(self, word: str) -> Crawl | None:
        return self._catalog.crawl(int(word)) if word.isdecimal() and not Path(word).exists() else None

    @property
    def names(self) -> dict[str, str]:
        named = (f"crawl {found.id}" if found else word for found, word in zip(self._crawls, self._given, strict=True))
        return dict(zip(("first", "second"), named, strict=True))

    def differences(self, by: By, counts: Counts) -> Iterator[Difference]:
        match self._crawls:
            case [Crawl() as one, Crawl() as other] if comparing.comparable(one, other):
                return comparing.walk(self._catalog, (one.id, other.id), by, counts)
        first, second = (self._entries(*each) for each in zip(self._crawls, self._given, strict=True))
        return comparing.differences(first, second, by, counts)

    def _entries(self, crawl: Crawl | None, word: str) -> Iterator[ExportedUrl]:
        return entries(Path(word)) if crawl is None else comparing.entries_of(self._catalog, crawl.id)


def _line(found: Difference) -> str:
    states = f" {found.first.state} -> {found.second.state}" if found.first and found.second else ""
    return f"{MARKS[found.change]} {found.url}{states if found.change is Change.STATE else ''}"


def _object(found: Difference) -> str:
    first, second = (known and known.state for known in (found.first, found.second))
    return json.dumps({"change": found.change, "url": found.url, "first": first, "second": second}, ensure_ascii=False)


def _sentence(sides: Sides, by: By, counts: Counts) -> str:
    parts = [
        f"{words.count(counts[change])} {SENTENCES[change].format(**sides.names)} ({MARKS[change]})"
        for change in COMPARED[by]
    ]
    return ", ".join([*parts, f"{words.count(counts[SAME])} the same"])
