"""What is proven by reading a file once is what is found by reading each record for itself."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from nephila.archive.archive import Archive
from nephila.control import stretch
from nephila.control.stretch import Stretch
from nephila.errors import ArchiveError
from nephila.frontier.records import ArchivedRow
from tests.contract.archives import OPENED
from tests.unit.control.filled import Filled, fill
from tests.unit.control.test_verify import verified


@pytest.fixture(params=OPENED)
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Filled:
    return fill(tmp_path / "data", OPENED[request.param])


def record_by_record(filled: Filled) -> dict[str, object]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stretch, "_members", _nothing)
        return verified(filled).as_json()


def _nothing(archive: Archive, stretch: Stretch) -> Iterator[tuple[int, int, bytes]]:
    raise ArchiveError("nothing is proven")


def damaged(data: bytes, dice: Random) -> bytes:
    at, length = dice.randrange(len(data)), dice.randrange(1, 200)
    return dice.choice(
        [
            data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :],
            data[:at] + data[at + length :],
            data[:at] + dice.randbytes(length) + data[at:],
            data[:at] + bytes(length) + data[at + length :],
            data[:at],
            data + data[at : at + length],
        ]
    )


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_stretches_find_what_single_records_do(filled: Filled, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(stretch, "STRETCH_ROWS", rows)
    file, dice = filled.only_archive_file(), Random(rows)
    whole = file.read_bytes()
    assert verified(filled).as_json() == record_by_record(filled)
    for _ in range(60):
        file.write_bytes(damaged(whole, dice))
        assert verified(filled).as_json() == record_by_record(filled)
    file.unlink()
    assert verified(filled).as_json() == record_by_record(filled)


@pytest.mark.parametrize(
    "change",
    [
        '"offset" = "offset" + 1',
        '"offset" = 0',
        '"offset" = -5',
        '"offset" = 1 << 40',
        "length = length + 1",
        "length = 0",
        "length = 1 << 40",
        '"offset" = "offset" + length',
        "content_hash = NULL",
        "content_hash = x'00'",
    ],
)
def test_rows_that_name_wrong_places_are_found(filled: Filled, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    monkeypatch.setattr(stretch, "STRETCH_ROWS", 2)
    with filled.catalog.database.write() as db:
        db.execute(f"UPDATE pages SET {change} WHERE id IN (2, 3)")
    report = verified(filled)
    assert report.ok == (change == "content_hash = NULL")
    assert report.as_json() == record_by_record(filled)


def test_a_file_that_is_long_between_two_rows_is_read_member_by_member(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretch, "READ_BYTES_MAX", 10)
    file = filled.only_archive_file()
    assert verified(filled).ok
    file.write_bytes(file.read_bytes()[:-3])
    assert verified(filled).as_json() == record_by_record(filled)


def test_stretches_begin_at_rows_and_leave_nothing_out() -> None:
    places = [0, 700, 1500, 5 << 20, (5 << 20) + 9, 9 << 20, 70 << 20]
    rows = [ArchivedRow(n, n, offset, 5, None) for n, offset in enumerate(places)]
    stretches = list(stretch.cut("x", 60 << 20, rows))
    assert [row for each in stretches for row in each.rows] == rows
    assert [each.start for each in stretches] == [0, 5 << 20, 9 << 20, 60 << 20]
    assert [each.end for each in stretches] == [5 << 20, 9 << 20, 60 << 20, 60 << 20]
