"""The store against the archive: every row has its record, every digest holds; what is left over is counted."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nephila.archive.reader import ANSWERS, ArchivedResponse, read_response
from nephila.archive.verify import check_file, check_place
from nephila.errors import ArchiveError
from nephila.fetch.body import decode_body
from nephila.frontier.store import Catalog
from nephila.models import ArchivePlace

PAGE_ROWS = 1000
PROBLEMS_SHOWN_MAX = 1000
ARCHIVE_PATTERN = "*.warc.gz"

ArchivedRow = tuple[int, int, str, int, int, bytes | None]


@dataclass(slots=True)
class FileReport:
    name: str
    known: bool  # to the store
    open: bool  # its writer has not closed it
    rows: int = 0
    records: int = 0  # responses and revisits
    bytes: int = 0
    cut: int = 0  # bytes of a torn tail that were cut off
    problem: str = ""  # the place where no whole record could be read

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
        counts = {"orphan_records": self.orphan_records, "orphan_files": self.orphan_files}
        files = [asdict(file) | {"orphans": file.orphans} for file in self.files]
        return (
            {"ok": self.ok, "rows": self.rows, "broken": self.broken}
            | counts
            | {"problems": self.problems, "files": files}
        )


def verify(catalog: Catalog, archive: Path, tell: Callable[[str, int], None]) -> Report:
    """`tell` hears of what is looked at and how far that is. Rows first: files only grow meanwhile."""
    report = Report()
    tell("the store", 0)
    for problem in catalog.check():
        report.break_with(problem)
    limits = sorted({crawl.settings.fetch.body_bytes_max for crawl in catalog.crawls()})
    rows_by_file: Counter[str] = Counter()
    for row in archived_rows(catalog):
        report.rows += 1
        rows_by_file[row[2]] += 1
        if wrong := row_problem(archive, row, limits):
            report.break_with(f"URL {row[1]}: {wrong}")
        if report.rows % PAGE_ROWS == 0:
            tell("rows", report.rows)
    for file in known_and_found(catalog, archive):
        file.rows = rows_by_file[file.name]
        tell(file.name, 0)
        read_file(archive, file)
        report.files.append(file)
    return report


def archived_rows(catalog: Catalog) -> Iterator[ArchivedRow]:
    after = 0
    while page := list(catalog.archived(after, PAGE_ROWS)):
        after = page[-1][0]
        yield from page


def row_problem(archive: Path, row: ArchivedRow, limits: Iterable[int]) -> str | None:
    _, _, file, offset, length, content_hash = row
    place = ArchivePlace(file, offset, length)
    problem = check_place(archive, place)
    if problem is not None or content_hash is None:
        return problem
    try:
        response = read_response(archive, place)
    except ArchiveError as error:
        return str(error)
    if content_hash in content_hashes(response, limits):
        return None
    return f"archive {file} at {offset}: the body is not the one whose hash the row has"


def content_hashes(response: ArchivedResponse, limits: Iterable[int]) -> Iterator[bytes]:
    """Of the body as received (errors are not decoded) and decoded up to the limit of a crawl."""
    yield hashlib.sha256(response.body).digest()
    for limit in limits:
        yield hashlib.sha256(decode_body(response.headers, response.body, limit).body).digest()


def known_and_found(catalog: Catalog, archive: Path) -> list[FileReport]:
    """Files that the store knows, then those that only lie in the folder."""
    known = {name: FileReport(name, True, is_open, cut=cut) for name, _, is_open, cut in catalog.archive_files()}
    found = sorted(path.name for path in archive.glob(ARCHIVE_PATTERN))
    return [*known.values(), *(FileReport(name, False, False) for name in found if name not in known)]


def read_file(archive: Path, file: FileReport) -> None:
    try:
        file.bytes = (archive / file.name).stat().st_size
        for record in check_file(archive / file.name):
            file.records += record.type in ANSWERS
            if record.problem is not None and not file.problem:
                file.problem = f"at {record.offset}: {record.problem}"
    except (ArchiveError, OSError) as error:
        file.problem = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
