from pathlib import Path

import pytest

from nephila.archive.archive import Exchange
from nephila.archive.verify import check_file
from nephila.control.verify import Report, archived_rows, verify
from tests.contract.archives import OPENED
from tests.unit.control.filled import FETCHED_AT, HEAD, PAGE, Filled, fill


@pytest.fixture(params=OPENED)
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Filled:
    return fill(tmp_path / "data", OPENED[request.param])


def verified(filled: Filled) -> Report:
    return verify(filled.catalog, filled.archive, lambda what: None)


def extra_record(filled: Filled) -> None:
    """As a worker leaves it that died between archive and commit."""
    writer = filled.archive.writer("f" * 16)
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
    (row, *_) = archived_rows(filled.catalog, file.name)
    data[row.offset + row.length // 2] ^= 0xFF
    file.write_bytes(data)
    report = verified(filled)
    assert not report.ok
    assert any(problem.startswith(f"URL {row.url_id}: archive {file.name}") for problem in report.problems)


def test_damage_in_any_record_is_broken_and_named_by_file_and_offset(filled: Filled) -> None:
    file = filled.only_archive_file()
    data = file.read_bytes()
    checks = list(check_file(filled.archive, file.name))
    assert {check.type for check in checks} == {"warcinfo", "response", "revisit", "request"}
    for check in checks:
        at = check.offset + check.length // 2
        file.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        report = verified(filled)
        assert f"archive {file.name} at {check.offset}: " in report.problems[0]
        assert report.broken == 1 or check.type == "response"  # whose revisits have no body now


def test_a_file_that_ends_too_soon_is_broken(filled: Filled) -> None:
    """By its last request: no row names it."""
    file = filled.only_archive_file()
    last = list(check_file(filled.archive, file.name))[-1]
    assert last.type == "request"
    file.write_bytes(file.read_bytes()[: last.offset])
    report = verified(filled)
    assert report.problems == [
        f"archive {file.name} at {last.offset}: the file ends here, {last.length} bytes too soon"
    ]


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
