"""`nephila verify`: the store against the archive."""

from collections.abc import Callable

import typer
from rich.console import Console
from rich.status import Status

from nephila.cli import words
from nephila.cli.display import print_json
from nephila.cli.options import ArchiveOption, DataOption, JsonOption, StoreOption, open_catalog, reading_settings
from nephila.control import verify as verifying
from nephila.control.verify import FileReport, Report

EXIT_BROKEN = 1


def verify(
    data: DataOption = None, store: StoreOption = None, archive: ArchiveOption = None, json: JsonOption = False
) -> None:
    """Check that every row has its archive record and every digest holds. Exit code 1 on any broken row."""
    settings = reading_settings(data, store, archive)
    catalog = open_catalog(settings)
    console = Console(stderr=True)
    with console.status("looking at the store") as status:
        report = verifying.verify(catalog, settings.archive_folder, _teller(status))
    if json:
        print_json(report.as_json())
    else:
        print("\n".join(report_lines(report)))
    raise typer.Exit(0 if report.ok else EXIT_BROKEN)


def _teller(status: Status) -> Callable[[str, int], None]:
    def tell(what: str, done: int) -> None:
        status.update(f"looking at {what}{f': {words.count(done)}' if done else ''}")

    return tell


def report_lines(report: Report) -> list[str]:
    lines = [f"broken: {problem}" for problem in report.problems]
    if report.broken > len(report.problems):
        lines.append(f"broken: and {words.count(report.broken - len(report.problems))} more")
    lines += [line for file in report.files if (line := _file_line(file))]
    verdict = "everything holds" if report.ok else f"{words.count(report.broken)} broken"
    files = f"{words.count(len(report.files))} archive file{'' if len(report.files) == 1 else 's'}"
    orphans = f"{words.count(report.orphan_records)} orphan records (harmless)"
    return [*lines, f"{verdict}: {words.count(report.rows)} archived rows, {files}, {orphans}"]


def _file_line(file: FileReport) -> str:
    notes = []
    if not file.known:
        notes.append("not known to the store (an orphan)")
    if file.cut:
        notes.append(f"a torn tail of {words.size(file.cut)} was cut off")
    if file.problem:
        notes.append(f"{'its end is being written, or torn' if file.open else 'not readable'} {file.problem}")
    return f"note: {file.name}: {'; '.join(notes)}" if notes else ""
