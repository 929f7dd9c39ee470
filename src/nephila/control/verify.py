"""Verifies the store against the archive: every row has its record, every record is whole; orphans are counted."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any

from nephila.archive.archive import Archive
from nephila.archive.reader import ANSWERS
from nephila.archive.verify import RecordCheck, check_file
from nephila.control.checkers import check_all
from nephila.control.crawls import every_crawl
from nephila.control.stretch import Checked, Stretch, cut
from nephila.errors import ArchiveError
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import ArchivedRow

PAGE_ROWS = 1000
PROBLEMS_SHOWN_MAX = 1000
BEFORE_ALL = (-1 << 63, -1 << 63)  # offset and page


@dataclass(slots=True)
class FileReport:
    name: str
    known: bool  # to the store
    open: bool  # its writer has not closed it
    rows: int = 0
    records: int = 0  # responses and revisits
    bytes: int = 0
    cut: int = 0  # bytes of a torn tail that were cut off
    problem: str = ""  # the first place behind what is committed where no whole record could be read: harmless

    @property
    def orphans(self) -> int:
        """Records that no row names: written, then the worker died before its commit. Harmless."""
        return max(0, self.records - self.rows)


@dataclass(slots=True)
class Report:
    rows: int = 0
    broken: int = 0
    problems: list[str] = field(default_factory=list)  # the first PROBLEMS_SHOWN_MAX
    files: list[FileReport] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.broken

    @property
    def orphan_records(self) -> int:
        return sum(file.orphans for file in self.files)

    @property
    def orphan_files(self) -> int:
        return sum(not file.known for file in self.files)

    def break_with(self, problem: str) -> None:
        self.broken += 1
        if len(self.problems) < PROBLEMS_SHOWN_MAX:
            self.problems.append(problem)

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "rows": self.rows,
            "broken": self.broken,
            "orphan_records": self.orphan_records,
            "orphan_files": self.orphan_files,
            "problems": self.problems,
            "files": [asdict(file) | {"orphans": file.orphans} for file in self.files],
        }


@dataclass(slots=True)
class RowProblems:
    """What is wrong with rows: how many, the first by page, and where their records should lie."""

    count: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)
    places: set[tuple[str, int]] = field(default_factory=set)

    def add(self, file: str, row: ArchivedRow, problem: str) -> None:
        self.count += 1
        self.places.add((file, row.offset))
        self.first.append((row.page, f"URL {row.url_id}: {problem}"))
        if len(self.first) >= 2 * PROBLEMS_SHOWN_MAX:
            self.first = sorted(self.first)[:PROBLEMS_SHOWN_MAX]


def verify(catalog: Catalog, archive: Archive, tell: Callable[[str], None], cores: int = 1) -> Report:
    """`tell` is told what is looked at and how far. Files and rows that come meanwhile may not be looked at."""
    report = Report()
    tell("the store")
    for problem in catalog.check():
        report.break_with(problem)
    limits = sorted({crawl.settings.fetch.body_bytes_max for crawl in every_crawl(catalog)})
    committed = dict(catalog.archive_sizes())  # before the sizes of the files, which only grow
    report.files = known_and_found(catalog, archive)
    by_name, size = {file.name: file for file in report.files}, sum(file.bytes for file in report.files)
    checked: dict[str, list[Checked]] = {name: [] for name in by_name}
    broken, done = RowProblems(), 0
    with closing(check_all(archive, limits, stretches_of(catalog, report.files), size, cores)) as answers:
        for part in answers:
            report.rows += part.rows
            by_name[part.file].rows += part.rows
            for row, problem in part.broken:
                broken.add(part.file, row, problem)
            checked[part.file].append(part._replace(broken=[]))
            done += part.end - part.start
            tell(f"the archive: {done // 1_000_000:,} of {size // 1_000_000:,} MB, {report.rows:,} rows")
    for _, problem in sorted(broken.first)[:PROBLEMS_SHOWN_MAX]:
        report.break_with(problem)
    report.broken += broken.count - min(len(broken.first), PROBLEMS_SHOWN_MAX)
    for file in report.files:
        for offset, problem in read_file(archive, file, committed.get(file.name, 0), checked[file.name]):
            if (file.name, offset) not in broken.places:
                report.break_with(f"archive {file.name} at {offset}: {problem}")
    return report


def stretches_of(catalog: Catalog, files: Iterable[FileReport]) -> Iterator[Stretch]:
    for file in files:
        yield from cut(file.name, file.bytes, archived_rows(catalog, file.name))


def archived_rows(catalog: Catalog, file: str) -> Iterator[ArchivedRow]:
    after = BEFORE_ALL
    while rows := catalog.archived(file, after, PAGE_ROWS):
        yield from rows
        after = rows[-1].offset, rows[-1].page


def known_and_found(catalog: Catalog, archive: Archive) -> list[FileReport]:
    """Files that the store knows, then those that only lie in the archive."""
    sizes = archive.files()
    known = [
        FileReport(name, True, is_open, bytes=sizes.pop(name, 0), cut=cut)
        for name, _, is_open, cut in catalog.archive_files()
    ]
    return [*known, *(FileReport(name, False, False, bytes=size) for name, size in sizes.items())]


def read_file(
    archive: Archive, file: FileReport, committed: int, parts: Collection[Checked]
) -> Iterator[tuple[int, str]]:
    """What is wrong where with the records of a file; behind its committed bytes it is only noted."""
    try:
        for record in read_unproven(archive, file, parts):
            file.records += record.type in ANSWERS
            if record.problem is None:
                continue
            kind = f"{record.type} record: " if record.type else ""
            if record.offset < committed:
                yield record.offset, f"{kind}{record.problem}"
            elif not file.problem:
                file.problem = f"at {record.offset}: {kind}{record.problem}"
        if file.bytes < committed:
            yield file.bytes, f"the file ends here, {committed - file.bytes} bytes too soon"
    except ArchiveError as error:
        file.problem = str(error)


def read_unproven(archive: Archive, file: FileReport, parts: Collection[Checked]) -> Iterator[RecordCheck]:
    """The records of a file that are not in its whole parts, whose records are only counted."""
    if all(part.whole for part in parts):
        file.records = sum(part.records for part in parts)
        return
    whole = {part.start: part for part in parts if part.whole and part.start < part.end}
    at: int | None = 0
    while at is not None:  # ends: each turn goes on further behind, or is the last
        while part := whole.get(at):
            file.records += part.records
            at = part.end
        records, at = check_file(archive, file.name, at), None
        for record in records:
            if record.offset in whole:
                at = record.offset
                break
            yield record
