"""The contract of the archive (archive/archive.py): every test here holds for every kind."""

import os
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nephila.archive.archive import Archive, ArchiveWriter, Exchange, TornTail
from nephila.archive.member import LARGE_BYTES
from nephila.archive.reader import read_response
from nephila.archive.record import encode_record
from nephila.archive.verify import check_file
from nephila.errors import ArchiveError
from nephila.models import ArchivePlace
from tests.contract.archives import ARCHIVES, ArchiveKind
from tests.unit.archive.judges import HEAD, PAGE, check_place, complaints, exchange

SESSION = "0123456789abcdef"


@pytest.fixture(params=ARCHIVES)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> ArchiveKind:
    return ARCHIVES[request.param](tmp_path)


@pytest.fixture
def archive(kind: ArchiveKind) -> Archive:
    return kind.open()


@pytest.fixture
def writer(archive: Archive) -> ArchiveWriter:
    return archive.writer(SESSION)


@pytest.fixture
def place(writer: ArchiveWriter) -> ArchivePlace:
    """The second of two responses in a closed file."""
    writer.append(exchange())
    place = writer.append(exchange(url="http://example.org/b", body=PAGE * 9, truncated="length"))
    writer.close()
    return place


def commit(writer: ArchiveWriter) -> None:
    writer.sync()
    writer.committed()


def write(archive: Archive, *bodies: bytes) -> list[ArchivePlace]:
    writer = archive.writer(os.urandom(4).hex())
    places = [writer.append(exchange(body=body)) for body in bodies]
    writer.close()
    return places


def objections(kind: ArchiveKind, folder: Path, *files: str) -> list[str]:
    """What the judges say to these files."""
    for file in files:
        (folder / file).write_bytes(kind.content(file))
    return complaints(*(folder / file for file in files))


def is_revisit(archive: Archive, place: ArchivePlace) -> bool:
    return read_response(archive, place).revisit_of is not None


# Writing and listing


@pytest.mark.parametrize("size", [LARGE_BYTES - 4096, 6 * LARGE_BYTES])
def test_a_large_record_is_written_without_a_copy_of_its_body(kind: ArchiveKind, tmp_path: Path, size: int) -> None:
    archive, large = kind.open(), exchange(body=b"0123456789abcdef" * (size // 16))
    writer = archive.writer(SESSION)
    tracemalloc.start()
    try:
        place = writer.append(large)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    writer.close()
    assert peak < 4 * LARGE_BYTES
    assert read_response(archive, place).body == large.body
    assert objections(kind, tmp_path, place.file) == []


@pytest.mark.requirement("ST-05")
def test_what_is_synced_is_read_by_others_byte_by_byte_while_its_writer_goes_on(
    kind: ArchiveKind, writer: ArchiveWriter
) -> None:
    for count in range(1, 4):
        place = writer.append(exchange(body=PAGE * count))
        writer.sync()
        other = kind.open()
        read = read_response(other, place)
        assert (read.header_bytes, read.body) == (HEAD, PAGE * count)
        assert check_place(other, place, url="http://example.org/a") is None
        assert other.files() == writer.files
    writer.close()
    assert kind.open().files() == writer.files


def test_an_archive_can_be_prepared_again_and_again(archive: Archive, place: ArchivePlace) -> None:
    archive.prepare()
    archive.prepare()
    assert list(archive.files()) == [place.file]


def test_nothing_is_created_before_there_is_something_to_write(archive: Archive, writer: ArchiveWriter) -> None:
    writer.sync()
    writer.close()
    assert archive.files() == writer.files == {}


def test_names_tell_time_session_and_serial_and_none_is_used_twice(kind: ArchiveKind, archive: Archive) -> None:
    first, second = (archive.writer(SESSION) for _ in range(2))
    names = [writer.append(exchange()).file for writer in (first, second)]
    assert names == [f"nephila-20231114221320-01234567-0000{serial}{kind.suffix}" for serial in (1, 2)]
    assert list(archive.files()) == names


@pytest.mark.requirement("ST-05")
def test_rotation_by_size_between_exchanges(kind: ArchiveKind, tmp_path: Path) -> None:
    archive = kind.open(file_bytes_max=20_000)
    writer = archive.writer(SESSION)
    places = [writer.append(exchange(body=os.urandom(6000))) for _ in range(10)]
    writer.close()
    sizes = archive.files()
    assert sizes == writer.files == {file: len(kind.content(file)) for file in sizes}
    assert len(sizes) == 4
    assert all(size < 20_000 + 7000 for size in sizes.values())
    assert objections(kind, tmp_path, *sizes) == []
    assert [check_place(archive, place) for place in places] == [None] * 10


def test_strangers_are_listed_and_other_files_are_not(kind: ArchiveKind, archive: Archive) -> None:
    kind.put("b.warc.gz", b"123")
    kind.put("a.warc.zst", b"")
    kind.put("notes.txt", b"12")
    assert list(archive.files().items()) == [("a.warc.zst", 0), ("b.warc.gz", 3)]


def test_a_file_is_removed_once_and_for_all(archive: Archive, place: ArchivePlace) -> None:
    assert archive.has(place.file)
    for _ in range(2):
        archive.remove(place.file)
        assert not archive.has(place.file) and archive.files() == {}
        with pytest.raises(ArchiveError, match="no such file"):
            archive.read(place)


# Revisits


def test_a_revisit_needs_a_committed_original(archive: Archive, writer: ArchiveWriter) -> None:
    steps: list[tuple[Callable[[], None] | None, bool]] = [
        (None, False),
        (writer.sync, False),
        (writer.committed, True),
    ]
    writer.append(exchange())
    for step, revisits in steps:
        if step:
            step()
        place = writer.append(exchange(url="http://example.org/b"))
        writer.sync()
        assert is_revisit(archive, place) is revisits


def test_a_revisit_keeps_its_own_head_and_finds_the_body(
    kind: ArchiveKind, archive: Archive, writer: ArchiveWriter, tmp_path: Path
) -> None:
    original = writer.append(exchange())
    commit(writer)
    head = b"HTTP/1.1 203 Again\r\nA: b\r\n\r\n"
    place = writer.append(exchange(url="http://example.org/b", head=head))
    writer.close()
    read = read_response(archive, place)
    assert (read.status, read.header_bytes, read.body, read.revisit_of) == (203, head, PAGE, original)
    assert check_place(archive, place) is None
    assert objections(kind, tmp_path, place.file) == []
    fields = archive.read(place).fields
    assert fields["warc-refers-to-target-uri"] == "http://example.org/a"
    assert fields["warc-refers-to-date"] == "2023-11-14T22:13:20.123Z"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (exchange(body=b"short"), exchange(body=b"short")),
        (exchange(truncated="length"), exchange()),
        (exchange(), exchange(truncated="length")),
        (exchange(), exchange(body=PAGE + b".")),
        (exchange(head=b"HTTP/1.1 200 OK\n\n"), exchange()),
        (exchange(), exchange(head=b"HTTP/1.1 200 OK\n\n")),
    ],
    ids=["short", "original cut", "copy cut", "other body", "original with odd head", "copy with odd head"],
)
def test_no_revisit(archive: Archive, writer: ArchiveWriter, first: Exchange, second: Exchange) -> None:
    writer.append(first)
    commit(writer)
    place = writer.append(second)
    writer.close()
    assert not is_revisit(archive, place)


def test_a_dropped_batch_is_never_referred_to(archive: Archive, writer: ArchiveWriter) -> None:
    writer.append(exchange())
    writer.sync()
    writer.discard()
    place = writer.append(exchange())
    commit(writer)
    assert not is_revisit(archive, place)


def test_the_least_recently_used_original_is_forgotten(kind: ArchiveKind) -> None:
    archive = kind.open(revisit_cache_max=2)
    writer = archive.writer(SESSION)
    bodies = [PAGE + b"%d" % n for n in range(3)]

    def revisits(body: bytes) -> bool:
        place = writer.append(exchange(body=body))
        commit(writer)
        return is_revisit(archive, place)

    assert [revisits(bodies[n]) for n in (0, 1, 0, 2, 0, 1)] == [False, False, True, False, True, False]


def test_a_revisit_whose_original_is_gone_says_which_file_is_missing(kind: ArchiveKind) -> None:
    archive = kind.open(file_bytes_max=1)
    writer = archive.writer(SESSION)
    original = writer.append(exchange())
    commit(writer)
    place = writer.append(exchange())
    writer.close()
    archive.remove(original.file)
    with pytest.raises(ArchiveError, match=original.file):
        read_response(archive, place)


# Discarding


def test_a_discard_cuts_what_is_not_durable(archive: Archive, writer: ArchiveWriter) -> None:
    first = writer.append(exchange())
    writer.sync()
    kept = writer.files[first.file]
    writer.append(exchange(body=PAGE * 2))
    writer.discard()
    assert archive.files() == writer.files == {first.file: kept}
    second = writer.append(exchange(body=PAGE * 3))
    writer.close()
    assert (second.offset, check_place(archive, second)) == (kept, None)


def test_a_discard_before_the_first_sync_leaves_an_empty_file_that_begins_anew(
    kind: ArchiveKind, archive: Archive, writer: ArchiveWriter, tmp_path: Path
) -> None:
    file = writer.append(exchange()).file
    writer.discard()
    assert archive.files() == {file: 0}
    assert objections(kind, tmp_path, file) == []
    assert writer.append(exchange()).file == file
    writer.close()
    assert objections(kind, tmp_path, file) == []


# Reading


def test_a_response_is_read_as_it_was_received(archive: Archive, place: ArchivePlace) -> None:
    read = read_response(archive, place)
    assert (read.url, read.ip, read.truncated) == ("http://example.org/b", "192.0.2.7", "length")
    assert read.revisit_of is None
    assert read.date == datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC)
    assert (read.status, read.headers) == (200, (("Content-Type", "text/html"),))
    assert (read.header_bytes, read.body) == (HEAD, PAGE * 9)


def test_a_file_is_read_member_by_member(kind: ArchiveKind, archive: Archive, place: ArchivePlace) -> None:
    members = list(archive.members(place.file))
    assert [member.problem for _, member in members] == [None] * 5
    offsets = [offset for offset, _ in members]
    assert offsets[0] == archive.packing(place.file).first
    assert offsets == [offsets[0] + sum(member.length for _, member in members[:n]) for n in range(5)]
    assert place.offset in offsets and offsets[-1] + members[-1][1].length == len(kind.content(place.file))
    assert list(archive.members(place.file, offsets[3])) == members[3:]
    kind.put(place.file, kind.content(place.file) + b"torn")
    assert [member.problem is None for _, member in archive.members(place.file)] == [True] * 5 + [False]


def test_a_stretch_of_a_file_is_read(kind: ArchiveKind, archive: Archive, place: ArchivePlace) -> None:
    content = kind.content(place.file)
    assert archive.stretch(place.file, 7, 30) == content[7:37]
    assert archive.stretch(place.file, 7, 10**6) == content[7:]
    assert archive.stretch(place.file, len(content), 5) == b""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"file": "other.warc.gz"}, "no such file"),
        ({"file": "../x.warc.gz"}, "not that of a file in the archive"),
        ({"file": ""}, "not that of a file in the archive"),
        ({"offset": 7}, "no record begins here"),
        ({"offset": 10**9}, "the file ends before it"),
        ({"offset": 0}, "bytes, not"),
        ({"length": 10**15}, "bytes, not"),
        ({"length": 0}, "bytes, not"),
    ],
)
def test_a_wrong_place_is_one_clear_line(
    archive: Archive, place: ArchivePlace, change: dict[str, object], says: str
) -> None:
    wrong = replace(place, **change)
    if wrong.file == place.file and wrong.offset < archive.packing(place.file).first:
        says = "no record begins here"  # but the dictionary
    with pytest.raises(ArchiveError, match=says) as caught:
        archive.read(wrong)
    assert str(caught.value).startswith(f"archive {wrong.file} at {wrong.offset}: ")
    assert "\n" not in str(caught.value)
    with pytest.raises(ArchiveError, match=says):
        read_response(archive, wrong)


@pytest.mark.parametrize("file", ["other.warc.gz", "../x.warc.gz", "/x.warc.gz", ""])
def test_a_wrong_name_is_one_clear_line(archive: Archive, place: ArchivePlace, file: str) -> None:
    assert not archive.has(file)
    for call in (archive.recover, lambda name: list(archive.members(name)), lambda name: archive.stretch(name, 0, 1)):
        with pytest.raises(ArchiveError, match=r"^[^\n]+$"):
            call(file)


def test_only_files_of_the_archive_are_removed(archive: Archive, place: ArchivePlace, tmp_path: Path) -> None:
    outside = tmp_path / "x.warc.gz"
    outside.touch()
    for file in ("../x.warc.gz", str(outside), ""):
        with pytest.raises(ArchiveError, match="not that of a file in the archive"):
            archive.remove(file)
    assert outside.exists() and archive.has(place.file)


def test_a_record_that_is_no_response_is_refused(kind: ArchiveKind, archive: Archive, place: ArchivePlace) -> None:
    end = place.offset + place.length
    request = ArchivePlace(place.file, end, len(kind.content(place.file)) - end)
    with pytest.raises(ArchiveError, match="holds a request record"):
        archive.read(request)


def test_a_torn_record_is_refused(kind: ArchiveKind, archive: Archive, place: ArchivePlace) -> None:
    kind.put(place.file, kind.content(place.file)[: place.offset + place.length - 1])
    with pytest.raises(ArchiveError, match="ends in the middle"):
        archive.read(place)


def test_a_record_that_inflates_beyond_the_bound_is_refused(kind: ArchiveKind, place: ArchivePlace) -> None:
    with pytest.raises(ArchiveError, match="more than 5000 bytes"):
        kind.open(record_bytes_max=5000).read(place)


def test_a_member_without_a_record_is_refused(kind: ArchiveKind, archive: Archive) -> None:
    data, file = kind.member(b"hello"), f"x{kind.suffix}"
    kind.put(file, data)
    with pytest.raises(ArchiveError, match="not a WARC"):
        archive.read(ArchivePlace(file, 0, len(data)))


# Recovery


def test_a_whole_file_is_left_alone(kind: ArchiveKind, archive: Archive) -> None:
    file = write(archive, PAGE, PAGE * 2)[0].file
    content = kind.content(file)
    assert archive.recover(file) is None
    assert archive.recover(file, len(content)) is None
    assert kind.content(file) == content


def test_wherever_a_file_is_torn_it_ends_after_its_last_whole_record(
    kind: ArchiveKind, archive: Archive, tmp_path: Path
) -> None:
    file = write(archive, PAGE, os.urandom(300))[0].file
    data = kind.content(file)
    ends = [0, *(check.offset + check.length for check in check_file(archive, file))]
    near = {end + step for end in ends for step in range(-12, 13)}  # within a gzip header or checksum of a boundary
    for size in sorted({size for size in near if 0 <= size < len(data)} | set(range(0, len(data), 9))):
        kind.put(file, data[:size])
        kept = max(end for end in ends if end <= size)
        expected = TornTail(file, kept, size - kept) if kept < size else None
        assert archive.recover(file) == expected
        assert kind.content(file) == data[:kept]
        assert archive.recover(file) is None
    for end in ends:
        kind.put(file, data[:end])
        assert objections(kind, tmp_path, file) == []


def test_a_known_boundary_saves_the_scan_and_changes_nothing(kind: ArchiveKind, archive: Archive) -> None:
    places = write(archive, PAGE, PAGE * 2, PAGE * 3)
    file, content = places[0].file, kind.content(places[0].file)
    kind.put(file, content + archive.packing(file).start[:3])
    assert archive.recover(file, places[2].offset) == TornTail(file, len(content), 3)


@pytest.mark.parametrize("tail", [bytes(100_000), b"\x1f\x8b", b"\x28\xb5", os.urandom(5000), None])
def test_a_tail_of_anything_is_cut(kind: ArchiveKind, archive: Archive, tmp_path: Path, tail: bytes | None) -> None:
    file = write(archive, PAGE)[0].file
    content = kind.content(file)
    tail = kind.member(b"no record")[:-1] if tail is None else tail
    kind.put(file, content + tail)
    assert archive.recover(file) == TornTail(file, len(content), len(tail))
    assert objections(kind, tmp_path, file) == []


def test_records_inside_a_torn_body_are_not_taken_for_ours(kind: ArchiveKind, archive: Archive) -> None:
    """The body is itself an archive. What cannot be compressed is stored, so its members are members here too."""
    inner = kind.content(write(archive, PAGE, PAGE * 2)[0].file)
    file = write(archive, PAGE)[0].file
    content = kind.content(file)
    torn = kind.stored(encode_record("WARC-Type: response\r\n", inner))[:-1]
    assert inner in torn
    kind.put(file, content + torn)
    assert archive.recover(file) == TornTail(file, len(content), len(torn))


def test_decay_in_the_middle_is_reported_and_no_whole_record_is_cut(kind: ArchiveKind, archive: Archive) -> None:
    places = write(archive, PAGE, os.urandom(5000), PAGE * 3)
    file, content = places[0].file, bytearray(kind.content(places[0].file))
    content[places[1].offset + 2000 : places[1].offset + 2050] = bytes(50)
    kind.put(file, content + b"torn")
    damaged = places[1].length
    assert archive.recover(file) == TornTail(file, len(content), 4, damaged=damaged)
    assert archive.recover(file) == TornTail(file, len(content), 0, damaged=damaged)
    assert [check_place(archive, place) is None for place in places] == [True, False, True]


def test_a_file_whose_writer_lives_is_not_touched(archive: Archive, writer: ArchiveWriter) -> None:
    file = writer.append(exchange()).file
    with pytest.raises(ArchiveError, match="a living process writes it"):
        archive.recover(file)
    writer.close()
    assert archive.recover(file) is None


def test_an_empty_file_is_fine_and_a_missing_one_an_error(kind: ArchiveKind, archive: Archive) -> None:
    kind.put(f"x{kind.suffix}", b"")
    assert archive.recover(f"x{kind.suffix}") is None
    assert list(archive.members(f"x{kind.suffix}")) == []
    with pytest.raises(ArchiveError, match="cannot recover"):
        archive.recover("y.warc.gz")


def test_the_first_bytes_of_a_file_are_read_in_pieces(kind: ArchiveKind, archive: Archive, place: ArchivePlace) -> None:
    content = kind.content(place.file)
    assert b"".join(archive.pieces(place.file, 100)) == content[:100]
    assert b"".join(archive.pieces(place.file, len(content) + 1)) == content
    with pytest.raises(ArchiveError):
        list(archive.pieces("none.warc.gz", 1))
