from pathlib import Path

import pytest

from nephila.archive.member import compress_member, inflate_member
from nephila.archive.reader import open_archive
from nephila.archive.verify import check_file, check_place
from nephila.archive.writer import ArchiveWriter
from nephila.clock import VirtualClock
from nephila.models import ArchivePlace
from tests.unit.archive.judges import PAGE, exchange


@pytest.fixture
def place(tmp_path: Path, clock: VirtualClock) -> ArchivePlace:
    writer = ArchiveWriter(tmp_path, "s" * 32, clock)
    place = writer.append(exchange())
    writer.close()
    return place


def tamper(folder: Path, place: ArchivePlace, old: bytes, new: bytes) -> ArchivePlace:
    """The record with other content in a whole member of its own: only digests can tell."""
    with open_archive(folder, place.file) as fd:
        data = inflate_member(fd, place.offset).data
    assert old in data
    member = compress_member(data.replace(old, new, 1))
    (folder / "tampered.warc.gz").write_bytes(member)
    return ArchivePlace("tampered.warc.gz", 0, len(member))


def test_a_whole_record_has_no_problem(tmp_path: Path, place: ArchivePlace) -> None:
    assert check_place(tmp_path, place) is None
    assert check_place(tmp_path, place, url="http://example.org/a") is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"some text", b"some next", "payload digest"),
        (b"Payload-Digest: sha256:", b"Payload-Digest: sha256:0", "payload digest"),
        (b"Payload-Digest: sha256:", b"Payload-Digest: md5:", "payload digest"),
        (b"Payload-Digest: sha256:", b"Block-Digest: sha256:", "block digest"),
        (b"Payload-Digest: sha256:", b"No-Digest: sha256:", "no digest"),
        (b"Content-Length: ", b"Content-Length: 1", "Content-Length"),
    ],
)
def test_changed_content_is_found(tmp_path: Path, place: ArchivePlace, old: bytes, new: bytes, says: str) -> None:
    assert says in str(check_place(tmp_path, tamper(tmp_path, place, old, new)))


def test_the_answer_of_another_url_is_found(tmp_path: Path, place: ArchivePlace) -> None:
    assert "http://example.org/a" in str(check_place(tmp_path, place, url="http://example.org/b"))


def test_any_flipped_bit_is_found(tmp_path: Path, place: ArchivePlace) -> None:
    path = tmp_path / place.file
    data = path.read_bytes()
    missed = []
    # Nothing guards the gzip header (10 bytes) and the padding in the byte before the checksum: neither holds content.
    end = place.offset + place.length
    for offset in (*range(place.offset + 10, end - 9), *range(end - 8, end)):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 4]) + data[offset + 1 :])
        if check_place(tmp_path, place) is None:
            missed.append(offset)
    assert missed == []


def test_a_revisit_is_only_as_good_as_its_original(tmp_path: Path, clock: VirtualClock) -> None:
    writer = ArchiveWriter(tmp_path, "s" * 32, clock)
    original = writer.append(exchange())
    writer.sync()
    writer.committed()
    revisit = writer.append(exchange())
    writer.close()
    assert check_place(tmp_path, revisit) is None
    with (tmp_path / original.file).open("r+b") as file:
        file.seek(original.offset + original.length - 5)
        file.write(b"\x00\x01")
    assert f"at {original.offset}" in str(check_place(tmp_path, revisit))


def test_a_file_is_checked_record_by_record(tmp_path: Path, clock: VirtualClock) -> None:
    writer = ArchiveWriter(tmp_path, "s" * 32, clock)
    places = [writer.append(exchange(url=f"http://example.org/{n}", body=PAGE * n)) for n in range(1, 4)]
    writer.close()
    path = tmp_path / places[0].file
    checks = list(check_file(path))
    assert [check.type for check in checks] == ["warcinfo", *["response", "request"] * 3]
    assert [(c.offset, c.length) for c in checks if c.type == "response"] == [(p.offset, p.length) for p in places]
    assert [check.target for check in checks if check.type == "request"] == [
        f"http://example.org/{n}" for n in (1, 2, 3)
    ]
    assert all(check.problem is None for check in checks)
    with path.open("ab") as file:
        file.write(b"\x1f\x8b\x08\x00torn")
    assert [check.problem is None for check in check_file(path)] == [True] * 7 + [False]


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "x.warc.gz").touch()
    assert list(check_file(tmp_path / "x.warc.gz")) == []
