import gzip
import os
import zlib
from pathlib import Path

import pytest

from nephila.archive.record import encode_record
from nephila.archive.recover import TornTail, close_torn_tail
from nephila.archive.verify import check_file, check_place
from nephila.archive.writer import ArchiveWriter
from nephila.clock import VirtualClock
from nephila.errors import ArchiveError
from nephila.models import ArchivePlace
from tests.unit.archive.judges import PAGE, complaints, exchange


def write(folder: Path, *bodies: bytes) -> tuple[Path, list[ArchivePlace]]:
    writer = ArchiveWriter(folder, os.urandom(4).hex(), VirtualClock())
    places = [writer.append(exchange(body=body)) for body in bodies]
    writer.close()
    return folder / places[0].file, places


def boundaries(path: Path) -> list[int]:
    return [0, *(check.offset + check.length for check in check_file(path))]


def test_a_whole_file_is_left_alone(tmp_path: Path) -> None:
    path, _ = write(tmp_path, PAGE, PAGE * 2)
    size = path.stat().st_size
    assert close_torn_tail(path) is None
    assert close_torn_tail(path, size) is None
    assert path.stat().st_size == size


def test_wherever_a_file_is_torn_it_ends_after_its_last_whole_record(tmp_path: Path) -> None:
    path, _ = write(tmp_path, PAGE, os.urandom(300))
    data, ends = path.read_bytes(), boundaries(path)
    near = {end + step for end in ends for step in range(-12, 13)}  # within a gzip header or checksum of a boundary
    for size in sorted({size for size in near if 0 <= size < len(data)} | set(range(0, len(data), 9))):
        path.write_bytes(data[:size])
        kept = max(end for end in ends if end <= size)
        expected = TornTail(path, kept, size - kept) if kept < size else None
        assert close_torn_tail(path) == expected
        assert path.read_bytes() == data[:kept]
        assert close_torn_tail(path) is None
    for end in ends:
        path.write_bytes(data[:end])
        assert complaints(path) == []


def test_a_known_boundary_saves_the_scan_and_changes_nothing(tmp_path: Path) -> None:
    path, places = write(tmp_path, PAGE, PAGE * 2, PAGE * 3)
    with path.open("ab") as file:
        file.write(b"\x1f\x8b\x08")
    size = path.stat().st_size
    assert close_torn_tail(path, places[2].offset) == TornTail(path, size - 3, 3)


@pytest.mark.parametrize(
    "tail", [bytes(100_000), b"\x1f\x8b", os.urandom(5000), gzip.compress(b"no record", mtime=0)[:-1]]
)
def test_a_tail_of_anything_is_cut(tmp_path: Path, tail: bytes) -> None:
    path, _ = write(tmp_path, PAGE)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(tail)
    assert close_torn_tail(path) == TornTail(path, size, len(tail))
    assert complaints(path) == []


def test_records_inside_a_torn_body_are_not_taken_for_ours(tmp_path: Path) -> None:
    """The body is itself an archive. What cannot be compressed is stored, so its members are members here too."""
    inner, _ = write(tmp_path / "inner", PAGE, PAGE * 2)
    path, _ = write(tmp_path, PAGE)
    size = path.stat().st_size
    stored = zlib.compressobj(0, wbits=31)
    torn = stored.compress(encode_record("WARC-Type: response\r\n", inner.read_bytes())) + stored.flush()[:-1]
    assert inner.read_bytes() in torn
    with path.open("ab") as file:
        file.write(torn)
    assert close_torn_tail(path) == TornTail(path, size, len(torn))


def test_decay_in_the_middle_is_reported_and_no_whole_record_is_cut(tmp_path: Path) -> None:
    path, places = write(tmp_path, PAGE, os.urandom(5000), PAGE * 3)
    with path.open("r+b") as file:
        file.seek(places[1].offset + 2000)
        file.write(bytes(50))
        file.seek(0, os.SEEK_END)
        file.write(b"torn")
    size = path.stat().st_size
    assert close_torn_tail(path) == TornTail(path, size - 4, 4, damaged=places[1].length)
    assert close_torn_tail(path) == TornTail(path, size - 4, 0, damaged=places[1].length)
    assert [check_place(tmp_path, place) is None for place in places] == [True, False, True]


def test_a_file_whose_writer_lives_is_not_touched(tmp_path: Path, clock: VirtualClock) -> None:
    writer = ArchiveWriter(tmp_path, "s" * 32, clock)
    path = tmp_path / writer.append(exchange()).file
    with pytest.raises(ArchiveError, match="a living process writes it"):
        close_torn_tail(path)
    writer.close()
    assert close_torn_tail(path) is None


def test_an_empty_file_is_fine_and_a_missing_one_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.warc.gz").touch()
    assert close_torn_tail(tmp_path / "x.warc.gz") is None
    with pytest.raises(ArchiveError, match="cannot recover"):
        close_torn_tail(tmp_path / "y.warc.gz")
