"""What only Zstandard can get wrong: dictionaries, frames that lie, and what came compressed."""

import gzip
import os
from functools import partial
from pathlib import Path

import pytest
import zstandard

from nephila.archive.file import ArchiveFile
from nephila.archive.folder import FolderArchive
from nephila.archive.member import INFLATE_STEP_BYTES, RECORD_BYTES_MAX, compress_member, store_member
from nephila.archive.packing import packing_of
from nephila.archive.reader import read_response
from nephila.archive.record import came_packed, encode_record
from nephila.archive.verify import check_file
from nephila.archive.writer import FILE_BYTES_MAX, WarcWriter
from nephila.archive.zstd import (
    DAMAGED_DICTIONARY,
    DICTIONARY_BYTES,
    DICTIONARY_FRAME_MAGIC,
    ZstdPacker,
    ZstdPacking,
    dictionary_frame,
    read_packing,
    trained,
)
from nephila.clock import VirtualClock
from nephila.errors import ArchiveError
from nephila.models import ArchiveFormat, ArchivePlace
from tests.unit.archive.judges import HEAD, check_place, complaints, exchange

PAGES = [
    b"<html><head><title>Page %d</title></head><body>%s</body></html>"
    % (n, b"".join(b"<li class='entry'><a href='/page/%d'>the page %d</a></li>\n" % (n * k, k) for k in range(1, 40)))
    for n in range(200)
]
SAMPLES_BYTES = 200_000


@pytest.fixture
def archive(tmp_path: Path, clock: VirtualClock) -> FolderArchive:
    return FolderArchive(tmp_path, clock, format=ArchiveFormat.ZSTD)


@pytest.fixture
def writer(tmp_path: Path, clock: VirtualClock) -> WarcWriter:
    packer = ZstdPacker(samples_bytes=SAMPLES_BYTES)
    return WarcWriter(partial(ArchiveFile.create, tmp_path), "0123456789", clock, FILE_BYTES_MAX, 100, packer)


def write(writer: WarcWriter) -> list[ArchivePlace]:
    places = [writer.append(exchange(url=f"http://example.org/{n}", body=page)) for n, page in enumerate(PAGES)]
    writer.close()
    return places


def test_the_first_file_ends_when_its_records_make_a_dictionary_and_the_next_begins_with_it(
    archive: FolderArchive, writer: WarcWriter, tmp_path: Path
) -> None:
    places = write(writer)
    first, second = archive.files()
    assert archive.packing(first).first == 0
    assert (tmp_path / second).read_bytes()[:4] == DICTIONARY_FRAME_MAGIC and archive.packing(second).first > 4
    assert complaints(tmp_path / first, tmp_path / second) == []
    assert [check_place(archive, place, f"http://example.org/{n}") for n, place in enumerate(places)] == [None] * 200
    assert {read_response(archive, place).body for place in places} == set(PAGES)
    assert [check.problem for file in (first, second) for check in check_file(archive, file) if check.problem] == []
    sizes = {file: [place.length for place in places if place.file == file] for file in (first, second)}
    assert sum(sizes[second]) / len(sizes[second]) < 0.7 * sum(sizes[first]) / len(sizes[first])


def test_records_that_make_no_dictionary_go_on_without_one(writer: WarcWriter, tmp_path: Path) -> None:
    for _ in range(3):
        writer.append(exchange(body=os.urandom(SAMPLES_BYTES)))
    writer._packer._sampled_bytes = SAMPLES_BYTES  # of three samples nothing can be learnt
    for _ in range(3):
        writer.append(exchange(body=b"page" * 99))
    writer.close()
    assert complaints(*(tmp_path / file for file in writer.files)) == []
    assert len(writer.files) == 2 and not writer._packer.learnt


def test_a_session_that_is_discarded_at_its_first_record_keeps_the_dictionary(
    writer: WarcWriter, tmp_path: Path
) -> None:
    write(writer)
    last = list(writer.files)[-1]
    writer.append(exchange())
    writer.discard()
    place = writer.append(exchange())
    writer.close()
    assert place.file != last
    assert complaints(tmp_path / place.file) == []


@pytest.mark.parametrize("at", [8, 100, 500])
def test_a_damaged_dictionary_is_named_and_nothing_is_cut(
    archive: FolderArchive, writer: WarcWriter, tmp_path: Path, at: int
) -> None:
    place = write(writer)[-1]
    path = tmp_path / place.file
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data + b"torn")
    assert str(check_place(archive, place)).endswith(DAMAGED_DICTIONARY)
    assert [check.problem for check in check_file(archive, place.file)] == [DAMAGED_DICTIONARY]
    with pytest.raises(ArchiveError, match=DAMAGED_DICTIONARY):
        archive.recover(place.file)
    assert path.read_bytes() == data + b"torn"


@pytest.mark.parametrize("size", [2, 6, 8, 300])
def test_a_file_that_is_torn_in_its_dictionary_is_left_empty(
    archive: FolderArchive, writer: WarcWriter, tmp_path: Path, size: int
) -> None:
    place = write(writer)[-1]
    path = tmp_path / place.file
    path.write_bytes(path.read_bytes()[:size])
    torn = archive.recover(place.file)
    assert torn is not None and (torn.kept, torn.cut, torn.damaged) == (0, size, 0)
    assert path.read_bytes() == b""


def test_a_dictionary_may_stand_there_as_it_is() -> None:
    dictionary = trained(PAGES)
    assert dictionary is not None and len(dictionary.as_bytes()) <= DICTIONARY_BYTES
    plain = dictionary.as_bytes()
    for frame in (DICTIONARY_FRAME_MAGIC + len(plain).to_bytes(4, "little") + plain, dictionary_frame(dictionary)):
        packing = reading(frame)
        assert packing.problem is None and packing.first == len(frame)
        assert packing.dictionary is not None and packing.dictionary.as_bytes() == plain


def reading(content: bytes) -> ZstdPacking:
    return read_packing(lambda size, offset: content[offset : offset + size])


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (zstandard.ZstdCompressor(write_checksum=False).compress(bytes(range(99))), "no record begins here"),
        (zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress(b"x" * 99), "no record"),
        (zstandard.ZstdCompressor(write_checksum=True).compress(bytes(6000)), "inflates to more than 5000"),
        (bytes.fromhex("28b52ffd2463") + b"\x07\x00\x00" * 9, "no whole frame"),
        (bytes.fromhex("28b52ffd2463") + b"\x00\x00\x00" * 99, "ends in the middle"),
        (bytes.fromhex("28b52ffd2463") + b"\x13\x00\x00a" + bytes(4), "damaged"),
        (bytes.fromhex("28b52ffd"), "ends in the middle"),
        (b"\x28", "ends in the middle"),
        (b"", "the file ends before it"),
    ],
)
def test_frames_that_are_none_of_ours_are_refused(frame: bytes, says: str) -> None:
    read_at = partial(lambda content, size, offset: content[offset : offset + size], frame)
    member = ZstdPacking().inflate(read_at, 0, read_bytes=100, bytes_max=5000)
    assert says in str(member.problem) and member.length == 0
    assert ZstdPacking().inflate_whole(frame) is None or "5000" in says


def test_a_frame_of_another_dictionary_is_refused() -> None:
    dictionary = trained(PAGES)
    record = ZstdPacker(dictionary).pack(PAGES[0])
    assert ZstdPacking().inflate_whole(record) is None
    assert ZstdPacking(dictionary).inflate_whole(record) == PAGES[0]
    assert ZstdPacking(dictionary).inflate_whole(record + b"x") is None


@pytest.mark.parametrize("size", [0, 1, 70_000, 3 * INFLATE_STEP_BYTES])
@pytest.mark.parametrize("read_bytes", [1, 20, 300_000, 10_000_000])
def test_members_of_any_size_are_read_with_any_first_read(size: int, read_bytes: int) -> None:
    content = os.urandom(size // 2) + bytes(size - size // 2)
    data = b"before" + ZstdPacker().pack(content) + b"after"
    member = ZstdPacking().inflate(
        lambda size, offset: data[offset : offset + size], 6, read_bytes=read_bytes, bytes_max=RECORD_BYTES_MAX
    )
    assert (member.problem, member.data, member.length) == (None, content, len(data) - 11)


# What came compressed


@pytest.mark.parametrize(
    ("head", "packed"),
    [
        (HEAD, False),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding:BR\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Type: image/svg+xml\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nX-Content-Type: image/png\r\n\r\n", False),
        (b"", False),
    ],
)
def test_what_came_compressed(head: bytes, packed: bool) -> None:
    assert came_packed(head) is packed


@pytest.mark.parametrize("size", [0, 10, 65_535, 65_536, 200_000])
def test_what_came_compressed_is_stored_in_a_member_like_any_other(size: int) -> None:
    record = encode_record("WARC-Type: response\r\n", os.urandom(size))
    member = store_member(record)
    assert gzip.decompress(member) == record and len(member) < len(record) + 40
    assert packing_of("a.warc.gz", lambda size, offset: b"").inflate_whole(member) == record
    assert packing_of("a.warc.gz", lambda size, offset: b"").head_problem(member) is None
    assert compress_member(record)[:4] == member[:4]


@pytest.mark.parametrize("format", ArchiveFormat)
def test_a_body_that_came_compressed_is_read_as_any_other(
    tmp_path: Path, clock: VirtualClock, format: ArchiveFormat
) -> None:
    archive = FolderArchive(tmp_path, clock, format=format)
    writer, body = archive.writer("0123456789"), gzip.compress(os.urandom(90_000))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    place = writer.append(exchange(head=head, body=body))
    writer.close()
    assert (check_place(archive, place), read_response(archive, place).body) == (None, body)
    assert len(body) < place.length < len(body) + 1000
    assert complaints(tmp_path / place.file) == []
