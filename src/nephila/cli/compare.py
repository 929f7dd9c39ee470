"""`nephila compare`: the difference of two exports."""

from pathlib import Path
from typing import Annotated

import typer

from nephila.cli import words
from nephila.control import compare as comparing

EXIT_DIFFERENT = 1


def compare(
    a: Annotated[Path, typer.Argument(help="An export: JSONL, JSON or CSV.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="Another one.", show_default=False)],
    states: Annotated[
        bool, typer.Option("--states", metavar="", help="The same URL in another state is a difference, too.")
    ] = False,
) -> None:
    """Compare two exports on the normalised URL. Exit code 1 if they differ."""
    found = comparing.compare(a, b, states=states)
    for url in found.only_a:
        print(f"< {url}")
    for url in found.only_b:
        print(f"> {url}")
    for url, before, after in found.changed:
        print(f"~ {url} {before} -> {after}")
    parts = [f"{words.count(len(found.only_a))} only in {a} (<)", f"{words.count(len(found.only_b))} only in {b} (>)"]
    parts += [f"{words.count(len(found.changed))} in another state (~)"] if states else []
    print(", ".join([*parts, f"{words.count(found.same)} the same"]))
    raise typer.Exit(0 if found.empty else EXIT_DIFFERENT)
