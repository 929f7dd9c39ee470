import os
from pathlib import Path

import pytest

from nephila.archive.folder import FolderArchive
from nephila.archive.member import MEMBER_HEADS, SMALL_BYTES, compress_member
from nephila.archive.reader import read_response
from nephila.archive.verify import check_file
from nephila.models import ArchiveFormat, ArchivePlace
from tests.unit.archive.judges import PAGE, check_place, exchange

EVERY_BITS = 5  # each bit of a byte has its turn in five bytes; all of them take a minute


@pytest.fixture
def place(archive: FolderArchive, tmp_path: Path) -> ArchivePlace:
    writer = archive.writer("s" * 32)
    place = writer.append(exchange())
    writer.close()
    return place


def tamper(archive: FolderArchive, folder: Path, place: ArchivePlace, old: bytes, new: bytes) -> ArchivePlace:
    """The record with other content in a whole member of its own: only digests can tell."""
    data = next(member.data for offset, member in archive.members(place.file) if offset == place.offset)
    assert old in data
    member = compress_member(data.replace(old, new, 1))
    (folder / "tampered.warc.gz").write_bytes(member)
    return ArchivePlace("tampered.warc.gz", 0, len(member))


def test_a_whole_record_has_no_problem(archive: FolderArchive, place: ArchivePlace) -> None:
    assert check_place(archive, place) is None
    assert check_place(archive, place, url="http://example.org/a") is None


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
def test_changed_content_is_found(
    archive: FolderArchive, tmp_path: Path, place: ArchivePlace, old: bytes, new: bytes, says: str
) -> None:
    assert says in str(check_place(archive, tamper(archive, tmp_path, place, old, new)))


def test_the_answer_of_another_url_is_found(archive: FolderArchive, place: ArchivePlace) -> None:
    assert "http://example.org/a" in str(check_place(archive, place, url="http://example.org/b"))


def test_any_flipped_bit_is_found(archive: FolderArchive, tmp_path: Path, place: ArchivePlace) -> None:
    path = tmp_path / place.file
    data = path.read_bytes()
    missed = []
    # Nothing guards the gzip header (10 bytes) and the padding in the byte before the checksum: neither holds content.
    # Tables of Zstandard have unused bits, too: what is read is the same.
    end = place.offset + place.length
    for offset in (*range(place.offset + 10, end - 9), *range(end - 8, end)):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 4]) + data[offset + 1 :])
        if check_place(archive, place) is None and not same_content(archive, place):
            missed.append(offset)
    assert missed == []


def same_content(archive: FolderArchive, place: ArchivePlace) -> bool:
    return archive.format is ArchiveFormat.ZSTD and read_response(archive, place).body == PAGE


def test_a_revisit_is_only_as_good_as_its_original(archive: FolderArchive, tmp_path: Path) -> None:
    writer = archive.writer("s" * 32)
    original = writer.append(exchange())
    writer.sync()
    writer.committed()
    revisit = writer.append(exchange())
    writer.close()
    assert check_place(archive, revisit) is None
    forged = tamper(archive, tmp_path, revisit, b"Payload-Digest: sha256:", b"Payload-Digest: sha256:0")
    assert "its payload digest is another" in str(check_place(archive, forged))
    with (tmp_path / original.file).open("r+b") as file:
        file.seek(original.offset + original.length - 5)
        file.write(b"\x00\x01")
    assert f"at {original.offset}" in str(check_place(archive, revisit))


def test_a_file_is_checked_record_by_record(archive: FolderArchive, tmp_path: Path) -> None:
    writer = archive.writer("s" * 32)
    places = [writer.append(exchange(url=f"http://example.org/{n}", body=PAGE * n)) for n in range(1, 4)]
    writer.close()
    path = tmp_path / places[0].file
    checks = list(check_file(archive, path.name))
    assert [check.type for check in checks] == ["warcinfo", *["response", "request"] * 3]
    assert [(c.offset, c.length) for c in checks if c.type == "response"] == [(p.offset, p.length) for p in places]
    assert [check.target for check in checks if check.type == "request"] == [
        f"http://example.org/{n}" for n in (1, 2, 3)
    ]
    assert all(check.problem is None for check in checks)
    with path.open("ab") as file:
        file.write(b"\x1f\x8b\x08\x00torn")
    assert [check.problem is None for check in check_file(archive, path.name)] == [True] * 7 + [False]


@pytest.fixture
def kinds(archive: FolderArchive) -> tuple[str, list[int]]:
    """A file with a record of each type, one of them with incompressible content; and their offsets."""
    writer = archive.writer("s" * 32)
    place = writer.append(exchange(body=PAGE[:700]))
    writer.sync()
    writer.committed()
    writer.append(exchange(body=PAGE[:700]))
    writer.append(exchange(body=os.urandom(SMALL_BYTES)))
    writer.close()
    checks = list(check_file(archive, place.file))
    types = ["warcinfo", "response", "request", "revisit", "request", "response", "request"]
    assert [(check.type, check.problem) for check in checks] == [(kind, None) for kind in types]
    return place.file, [check.offset for check in checks]


def named(archive: FolderArchive, file: str) -> list[int]:
    return [check.offset for check in check_file(archive, file) if check.problem]


def test_a_flipped_byte_of_any_record_is_named_and_the_others_are_read(
    archive: FolderArchive, tmp_path: Path, kinds: tuple[str, list[int]]
) -> None:
    file, offsets = kinds
    data = (tmp_path / file).read_bytes()
    missed = []
    for at in range(len(data)):
        (tmp_path / file).write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        record = max(offset for offset in offsets if offset <= at)
        if (found := named(archive, file)) != [record]:
            missed.append((at, record, found))
    assert missed == []


def test_a_flipped_bit_is_named_or_is_none_of_the_records(
    archive: FolderArchive, tmp_path: Path, kinds: tuple[str, list[int]]
) -> None:
    """Deflate has unused bits, which no reader sees: seven or fewer at each end of a block. So have the tables of
    Zstandard."""
    file, offsets = kinds
    data = (tmp_path / file).read_bytes()
    content = [member.data for _, member in archive.members(file)]
    unseen = 0
    for bit in range(0, 8 * offsets[3], EVERY_BITS):  # of the warcinfo, a response and its request
        at = bit // 8
        (tmp_path / file).write_bytes(data[:at] + bytes([data[at] ^ 1 << bit % 8]) + data[at + 1 :])
        if not named(archive, file):
            unseen += 1
            assert [member.data for _, member in archive.members(file)] == content
    assert unseen < (8 if archive.format is ArchiveFormat.GZIP else 16)


def test_every_damaged_record_is_named(archive: FolderArchive, tmp_path: Path, kinds: tuple[str, list[int]]) -> None:
    file, offsets = kinds
    data = bytearray((tmp_path / file).read_bytes())
    for offset in offsets:
        data[offset + 40] ^= 0xFF
    data[offsets[4] : offsets[5]] = bytes(offsets[5] - offsets[4])
    (tmp_path / file).write_bytes(data)
    # Nothing tells where a damaged record ends: what lies between two whole ones is one place.
    assert named(archive, file) == [0]
    data[offsets[3] + 40] ^= 0xFF
    (tmp_path / file).write_bytes(data)
    assert named(archive, file) == [0, offsets[4]]


def test_our_members_begin_as_a_damaged_header_is_told_by() -> None:
    assert {compress_member(bytes(size))[:10] for size in (0, SMALL_BYTES - 1, SMALL_BYTES)} == set(MEMBER_HEADS)


def test_an_empty_file_has_no_records(archive: FolderArchive, tmp_path: Path) -> None:
    (tmp_path / "x.warc.gz").touch()
    assert list(check_file(archive, "x.warc.gz")) == []
