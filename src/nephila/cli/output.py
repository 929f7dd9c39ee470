"""What the verbs answer: JSON for machines, tables and lines for people, an exit code for both."""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130
GAP = 2  # characters between two columns
LEGIBLE = 16  # characters of a cell that is broken over lines
EXIT_BUSY = os.EX_TEMPFAIL  # 75: another process writes, try again


def print_json(value: Any, *, flush: bool = True) -> None:
    print(json.dumps(value, ensure_ascii=False), flush=flush)


def print_lines(lines: Iterable[str]) -> None:
    print("\n".join(lines), flush=True)


def table(
    rows: Sequence[Mapping[str, str]],
    *,
    right: Collection[str] = (),
    unbroken: Collection[str] = (),
    title: str | None = None,
) -> Table:
    """A table of at least one row, each a cell by its heading. `right`: columns of numbers; `unbroken`: columns whose
    cells stay on one line."""
    made = Table(
        title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0)
    )
    for heading in rows[0]:
        justify: JustifyMethod = "right" if heading in right else "left"
        made.add_column(heading, justify=justify, no_wrap=heading in unbroken, overflow="fold")
    for row in rows:
        made.add_row(*row.values())
    return made


def print_table(
    rows: Sequence[Mapping[str, str]], *, right: Collection[str] = (), unbroken: Collection[str] = ()
) -> None:
    """Print a table: into a pipe as wide as it needs, else as wide as the terminal. Where that is too narrow, each row
    is a record of lines."""
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = max(console.width, sum(_widths(rows)))
    least = sum(_widths(rows, legible=LEGIBLE, whole=unbroken)) - GAP
    if console.width >= least:
        console.print(table(rows, right=right, unbroken=unbroken))
    else:
        print_lines("\n".join(_record(row)) + "\n" for row in rows)


def _widths(
    rows: Sequence[Mapping[str, str]], *, legible: int | None = None, whole: Collection[str] = ()
) -> Iterator[int]:
    """What the columns need with the gaps between them: all of their text, or `legible` characters unless `whole`."""
    for heading in rows[0]:
        longest = max(cell_len(text) for text in (heading, *(row[heading] for row in rows)))
        yield GAP + (longest if legible is None or heading in whole else min(longest, legible))


def _record(row: Mapping[str, str]) -> Iterator[str]:
    names = max(map(len, row))
    return (f"{heading:<{names}}  {cell}" for heading, cell in row.items())


def harmless(text: str) -> str:
    """Text of a stranger without control characters: none may command the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)
