"""The ledger of the follower: records of the archive that could not be derived, and how often each was tried.

It is apart from what is derived, for all derivations alike. A try is written before the next one begins, so a page that
ends its helper is tried so often in all, also where the follower itself is killed meanwhile.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from nephila.models import FailedRecord

WHY_CHARS_MAX = 300
SHOWN_MAX = 1_000  # skipped records that one answer has


class Derived(NamedTuple):
    """What is derived: its name, and the version of how. A newer version tries everything again."""

    name: str
    version: int


class Ledger(Protocol):
    """Not shared between threads. Reading never makes one: a ledger that is not there is empty."""

    def failed(self, what: Derived, file: str, start: int, end: int) -> list[FailedRecord]:
        """Records in this stretch of a file, by offset."""

    def note(self, what: Derived, records: Sequence[FailedRecord]) -> None:
        """Write down records, in the place of what is known of them."""

    def forget(self, what: Derived, file: str, offsets: Sequence[int]) -> None:
        """Remove records that were derived at last."""

    def skipped(self, what: Derived, limit: int) -> list[FailedRecord]:
        """The first skipped records, by file and offset."""

    def count_skipped(self, what: Derived) -> int:
        """Number of skipped records."""

    def forget_files(self, files: Sequence[str]) -> None:
        """Remove the records of files that are gone."""

    def close(self) -> None: ...
