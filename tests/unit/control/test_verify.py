import pytest

from nephila.archive.writer import ArchiveWriter, Exchange
from nephila.clock import SystemClock
from nephila.control.verify import Report, verify
from tests.unit.control.filled import FETCHED_AT, HEAD, PAGE, Filled


def verified(filled: Filled) -> Report:
    return verify(filled.catalog, filled.archive, lambda what, done: None)


def extra_record(filled: Filled) -> None:
    """As a worker leaves it that died between archive and commit."""
    writer = ArchiveWriter(filled.archive, "f" * 16, SystemClock())
    writer.append(Exchange("http://a.test/lost", FETCHED_AT, None, "http/1.1", b"", HEAD, PAGE))
    writer.close()


@pytest.mark.requirement("RC-09")
def test_everything_holds(filled: Filled) -> None:
    report = verified(filled)
    assert report.ok and report.problems == []
    assert (report.rows, report.orphan_records, report.orphan_files) == (5, 0, 0)
    assert [(file.rows, file.records, file.problem) for file in report.files] == [(5, 5, "")]


def test_a_flipped_byte_breaks_its_rows(filled: Filled) -> None:
    file = filled.only_archive_file()
    data = bytearray(file.read_bytes())
    rows = list(filled.catalog.archived(0, 10))
    offset, length = rows[0][3], rows[0][4]
    data[offset + length // 2] ^= 0xFF
    file.write_bytes(data)
    report = verified(filled)
    assert not report.ok
    assert any(problem.startswith(f"URL {rows[0][1]}: archive {file.name}") for problem in report.problems)


def test_a_missing_file_breaks_every_row(filled: Filled) -> None:
    filled.only_archive_file().unlink()
    report = verified(filled)
    assert report.broken == 5 and "no such file" in report.problems[0]


def test_a_row_with_another_hash_is_broken(filled: Filled) -> None:
    with filled.catalog.database.write() as db:
        db.execute("UPDATE pages SET content_hash = zeroblob(32) WHERE id = 1")
    assert "not the one whose hash the row has" in verified(filled).problems[0]


def test_orphans_are_counted_and_harmless(filled: Filled) -> None:
    extra_record(filled)
    report = verified(filled)
    assert report.ok
    assert (report.orphan_records, report.orphan_files) == (1, 1)


def test_a_torn_tail_is_told_and_harmless(filled: Filled) -> None:
    with filled.only_archive_file().open("ab") as out:
        out.write(bytes.fromhex("1f8b0800000000") + b"torn")
    report = verified(filled)
    assert report.ok and report.files[0].problem


def test_a_miscounted_store_is_broken(filled: Filled) -> None:
    with filled.catalog.database.write() as db:
        db.execute("UPDATE tallies SET n = n + 1 WHERE name = 'visited'")
    assert not verified(filled).ok
