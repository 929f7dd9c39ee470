"""The ledger of an embedded store: a file of its own, which mostly does not exist."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nephila.derived.ledger import WHY_CHARS_MAX, Derived
from nephila.disposable import DisposableFile
from nephila.models import FailedRecord
from nephila.statements import named_statements

SQL = named_statements("nephila.derived", "sql", "sqlite.sql")
FILE = "follower.db"
VERSION = 1  # of its table


class SqliteLedger:
    """Its turn is waited for: whoever has it writes a few rows."""

    def __init__(self, folder: Path) -> None:
        self._file = DisposableFile(
            folder / FILE, "ledger of the follower", VERSION, drop=SQL["drop"], make=SQL["make"]
        )

    def failed(self, what: Derived, file: str, start: int, end: int) -> list[FailedRecord]:
        return self._records(SQL["failed"], (*what, file, start, end))

    def note(self, what: Derived, records: Sequence[FailedRecord]) -> None:
        rows = [(*what, *record[:-1], record.why[:WHY_CHARS_MAX]) for record in records]
        with self._file.turn(wait=True), self._file.changing() as db:
            db.execute(SQL["forget_older"], what)
            db.executemany(SQL["note"], rows)

    def forget(self, what: Derived, file: str, offsets: Sequence[int]) -> None:
        with self._file.turn(wait=True), self._file.changing() as db:
            db.executemany(SQL["forget"], [(*what, file, offset) for offset in offsets])

    def skipped(self, what: Derived, limit: int) -> list[FailedRecord]:
        return self._records(SQL["skipped"], (*what, limit))

    def count_skipped(self, what: Derived) -> int:
        return sum(count for (count,) in self._file.rows(SQL["count_skipped"], what))

    def forget_files(self, files: Sequence[str]) -> None:
        if not self._file.path.exists():
            return
        with self._file.turn(wait=True), self._file.changing() as db:
            db.executemany(SQL["forget_file"], [(file,) for file in files])

    def close(self) -> None:
        self._file.close()

    def _records(self, sql: str, values: tuple[Any, ...]) -> list[FailedRecord]:
        return [_record(*row) for row in self._file.rows(sql, values)]


def _record(file: str, offset: int, url_id: int, tries: int, skipped: int, why: str) -> FailedRecord:
    return FailedRecord(file, offset, url_id, tries, bool(skipped), why)
