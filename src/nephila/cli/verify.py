"""`nephila verify`: the store against the archive."""

import typer
from rich.console import Console

from nephila import wiring
from nephila.cli import words
from nephila.cli.options import ARCHIVE, DATA, JsonOption, open_catalog, with_settings
from nephila.cli.output import EXIT_DONE, EXIT_FAILED, print_json, print_lines
from nephila.control import verify as verifying
from nephila.control.verify import FileReport, Report
from nephila.settings import ProcessSettings, usable_cores


@with_settings(*DATA, ARCHIVE)
def verify(*, settings: ProcessSettings, json: JsonOption = False) -> None:
    """Check that every row has its archive record and every record is whole. Exit code 1 on any that is not."""
    catalog = open_catalog(settings)
    console = Console(stderr=True)
    with console.status("looking at the store") as status:
        report = verifying.verify(
            catalog, wiring.open_archive(settings), lambda what: status.update(f"looking at {what}"), usable_cores()
        )
    print_json(report.as_json()) if json else print_lines(report_lines(report))
    raise typer.Exit(EXIT_DONE if report.ok else EXIT_FAILED)


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
