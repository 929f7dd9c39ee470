"""The contract of the follower's ledger: the same on every store."""

from nephila.derived.ledger import WHY_CHARS_MAX, Derived, Ledger
from nephila.models import FailedRecord
from tests.contract.backend import Backend

SEARCH, TEXT = Derived("search", 2), Derived("text", 1)


def failed(offset: int, tries: int = 1, skipped: bool = False, file: str = "a") -> FailedRecord:
    return FailedRecord(file, offset, 1000 + offset, tries, skipped, "it ended\0")


def plain(record: FailedRecord) -> FailedRecord:
    return record._replace(why="it ended")


def records(ledger: Ledger, what: Derived = SEARCH, file: str = "a") -> list[FailedRecord]:
    return [plain(record) for record in ledger.failed(what, file, 0, 1000)]


def test_one_that_is_not_there_is_empty(ledger: Ledger) -> None:
    assert (ledger.failed(SEARCH, "a", 0, 10), ledger.skipped(SEARCH, 10), ledger.count_skipped(SEARCH)) == ([], [], 0)
    ledger.forget_files(["a"])


def test_what_was_noted_is_there_for_the_next_one(backend: Backend) -> None:
    ledger = backend.ledger()
    ledger.note(SEARCH, [failed(7), failed(300, 3, True), failed(5)])
    ledger.note(SEARCH, [failed(7, 2)])
    other = backend.ledger()
    assert records(other) == [plain(failed(5)), plain(failed(7, 2)), plain(failed(300, 3, True))], "by offset"
    assert [record.offset for record in other.failed(SEARCH, "a", 6, 300)] == [7], "of a stretch"
    assert other.failed(SEARCH, "b", 0, 1000) == []


def test_skipped_records_are_counted_and_named(ledger: Ledger) -> None:
    ledger.note(SEARCH, [failed(7, 3, True, "b"), failed(9, 0, True), failed(5), failed(3, 3, True)])
    assert [(record.file, record.offset) for record in ledger.skipped(SEARCH, 2)] == [("a", 3), ("a", 9)]
    assert (ledger.count_skipped(SEARCH), ledger.count_skipped(TEXT)) == (3, 0)


def test_derivations_are_apart_and_a_newer_version_begins_anew(ledger: Ledger) -> None:
    ledger.note(SEARCH, [failed(7, 3, True)])
    ledger.note(TEXT, [failed(7)])
    assert (len(records(ledger)), len(records(ledger, TEXT))) == (1, 1)
    newer = Derived("search", 3)
    assert records(ledger, newer) == []
    ledger.note(newer, [failed(8)])
    assert (records(ledger), len(records(ledger, newer)), len(records(ledger, TEXT))) == ([], 1, 1)


def test_what_was_derived_at_last_is_forgotten(ledger: Ledger) -> None:
    ledger.note(SEARCH, [failed(7), failed(8), failed(9)])
    ledger.note(TEXT, [failed(7)])
    ledger.forget(SEARCH, "a", [7, 9, 11])
    assert ([record.offset for record in records(ledger)], len(records(ledger, TEXT))) == ([8], 1)


def test_files_that_are_gone_are_forgotten(ledger: Ledger) -> None:
    ledger.note(SEARCH, [failed(7), failed(7, file="b")])
    ledger.forget_files(["b", "c"])
    assert (len(records(ledger)), records(ledger, file="b")) == (1, [])


def test_a_long_reason_is_cut(ledger: Ledger) -> None:
    ledger.note(SEARCH, [failed(7)._replace(why="x" * 10_000)])
    (record,) = ledger.failed(SEARCH, "a", 0, 10)
    assert len(record.why) == WHY_CHARS_MAX
