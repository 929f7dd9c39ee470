"""The ledger of a cluster: a table in the store's own database."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from nephila.derived.ledger import WHY_CHARS_MAX, Derived
from nephila.models import FailedRecord
from nephila.statements import named_statements

SQL = named_statements("nephila.derived", "sql", "postgres.sql")
MAKE_LOCK = 0x4E45504C  # "NEPL": advisory, of whoever makes the table


class LedgerDatabase(Protocol):
    """What is needed of frontier.postgres.Database, a sibling that this package may not import."""

    def read(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[tuple[Any, ...]]: ...
    def write(self) -> AbstractContextManager[Any]: ...
    def close(self) -> None: ...


class PostgresLedger:
    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database

    def failed(self, what: Derived, file: str, start: int, end: int) -> list[FailedRecord]:
        return self._records(SQL["failed"], (*what, file, start, end))

    def note(self, what: Derived, records: Sequence[FailedRecord]) -> None:
        rows = [(*what, *record[:-1], record.why[:WHY_CHARS_MAX].replace("\0", "")) for record in records]
        with self._database.write() as cursor:
            cursor.execute(SQL["lock"], (MAKE_LOCK,))
            cursor.execute(SQL["make"])
            cursor.execute(SQL["forget_older"], what)
            for row in rows:
                cursor.execute(SQL["note"], row)

    def forget(self, what: Derived, file: str, offsets: Sequence[int]) -> None:
        if self._exists():
            with self._database.write() as cursor:
                cursor.execute(SQL["forget"], (*what, file, list(offsets)))

    def skipped(self, what: Derived, limit: int) -> list[FailedRecord]:
        return self._records(SQL["skipped"], (*what, limit))

    def count_skipped(self, what: Derived) -> int:
        return int(self._database.read(SQL["count_skipped"], what)[0][0]) if self._exists() else 0

    def forget_files(self, files: Sequence[str]) -> None:
        if self._exists():
            with self._database.write() as cursor:
                cursor.execute(SQL["forget_files"], (list(files),))

    def close(self) -> None:
        self._database.close()

    def _records(self, sql: str, values: tuple[Any, ...]) -> list[FailedRecord]:
        return [FailedRecord(*row) for row in self._database.read(sql, values)] if self._exists() else []

    def _exists(self) -> bool:
        return bool(self._database.read(SQL["exists"])[0][0])
