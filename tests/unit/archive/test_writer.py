import errno
import gzip
import hashlib
import json
import os
import re
from pathlib import Path

import pytest
import zstandard
from fastwarc.warc import ArchiveIterator

from nephila import __version__
from nephila.archive import file as archive_file
from nephila.archive.archive import ArchiveWriter, Exchange
from nephila.archive.folder import FolderArchive
from nephila.archive.member import compress_member
from nephila.archive.reader import read_response
from nephila.archive.record import encode_record, new_record_id
from nephila.archive.verify import check_file
from nephila.clock import VirtualClock
from nephila.errors import ArchiveError, ArchiveFileGone, ArchiveUnavailable, DiskFull, StoreUnavailable
from nephila.models import ArchivePlace
from tests.unit.archive.judges import HEAD, PAGE, check_place, complaints, exchange

RULES = Path(__file__).parents[4] / "shared" / "conformance" / "warc_header_rules.json"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
GZIPPED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
BROTLI = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n"
CHUNKS = b"".join(b"%x\r\n%s\r\n" % (len(PAGE), PAGE) for _ in range(3)) + b"0\r\n\r\n"

KINDS: dict[str, Exchange] = {
    "plain": exchange(),
    "empty": exchange(body=b""),
    "no content": exchange(head=b"HTTP/1.1 204 No Content\r\n\r\n", body=b""),
    "chunked": exchange(head=CHUNKED, body=CHUNKS),
    "chunked, cut": exchange(head=CHUNKED, body=CHUNKS[:500], truncated="length"),
    "chunked, broken": exchange(head=CHUNKED, body=b"zz\r\nno chunks\r\n"),
    "gzip": exchange(head=GZIPPED, body=gzip.compress(PAGE)),
    "gzip, cut": exchange(head=GZIPPED, body=gzip.compress(os.urandom(50_000))[:20_000], truncated="time"),
    "gzip, but is not": exchange(head=GZIPPED, body=PAGE),
    "br, but is not": exchange(head=BROTLI, body=PAGE),
    "cut": exchange(body=PAGE[:100], truncated="disconnect"),
    "cut for a new reason": exchange(body=PAGE[:100], truncated="tired"),
    "large": exchange(body=os.urandom(3_000_000)),
    "h2": exchange(head=b"HTTP/2 200 \r\ncontent-type: text/html\r\n\r\n", protocol="h2"),
    "no request": exchange(request=b""),
    "ipv6": exchange(ip="2001:db8::1"),
    "no address": exchange(ip=None),
    "line feeds": exchange(head=b"HTTP/1.1 200 OK\nA: b\n\n"),
    "blank line in head": exchange(head=b"HTTP/1.1 200 OK\r\n \r\nA: b\r\n\r\n"),
    "interim head": exchange(head=b"HTTP/1.1 103 Early Hints\r\n\r\n" + HEAD),
    "long head": exchange(head=b"HTTP/1.1 200 OK\r\n" + b"A: bcdefghijk\r\n" * 9000 + b"\r\n"),
    "no head": exchange(head=b"", body=b"<html>"),
    "nothing": exchange(head=b"", body=b""),
    "binary head": exchange(head=b"HTTP/1.1 200 OK\r\nA: \xff\x00\x01\r\n\r\n"),
    "header injection": exchange(url="http://example.org/\r\nWARC-Type: x\r\n\r\n", ip="1\r\n2", protocol="h\r\n2"),
    "url with blank and umlaut": exchange(url="http://example.org/a b/ä"),
}


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@pytest.fixture
def writer(archive: FolderArchive) -> ArchiveWriter:
    return archive.writer("0123456789abcdef")


def stored(folder: Path, place: ArchivePlace) -> bytes:
    member = (folder / place.file).read_bytes()[place.offset : place.offset + place.length]
    return zstandard.decompress(member) if place.file.endswith(".zst") else gzip.decompress(member)


def commit(writer: ArchiveWriter) -> None:
    writer.sync()
    writer.committed()


@pytest.mark.requirement("ST-05", "X-03")
@pytest.mark.parametrize("sent", KINDS.values(), ids=KINDS.keys())
def test_all_judges_accept_and_we_read_back_every_byte(
    archive: FolderArchive, writer: ArchiveWriter, tmp_path: Path, sent: Exchange
) -> None:
    place = writer.append(sent)
    writer.append(exchange())
    writer.close()
    assert complaints(tmp_path / place.file) == []
    assert check_place(archive, place, url=sent.url) is None
    read = read_response(archive, place)
    assert (read.header_bytes, read.body) == (sent.header_bytes, sent.body)


@pytest.mark.parametrize("packed", [PAGE, gzip.compress(os.urandom(500))], ids=["plain", "gzip"])
def test_the_payload_digest_of_a_chunked_answer_covers_the_body_without_its_chunks(
    archive: FolderArchive, writer: ArchiveWriter, tmp_path: Path, packed: bytes
) -> None:
    """Under a name of ours: warcio and fastwarc hash the body with its chunks, jwarc without, as the standard says."""
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding:Chunked\r\nVary: Transfer-Encoding\r\n\r\n"
    digest = f"sha256:{hashlib.sha256(packed).hexdigest()}"
    place = writer.append(exchange(head=head, body=chunked(packed, 100)))
    commit(writer)
    fields = archive.read(place).fields
    assert (fields["nephila-payload-digest"], "warc-payload-digest" in fields) == (digest, False)
    again = writer.append(exchange(head=head, body=chunked(packed, 77)))
    plain = writer.append(exchange(body=packed))
    commit(writer)
    assert [archive.read(each).fields["warc-type"] for each in (again, plain)] == ["revisit", "response"]
    assert [archive.read(each).fields["warc-payload-digest"] for each in (again, plain)] == [digest] * 2
    assert [check_place(archive, each) for each in (place, again, plain)] == [None] * 3
    assert complaints(tmp_path / place.file) == []


def test_chunks_that_are_broken_have_no_payload_digest_and_are_no_original(
    archive: FolderArchive, writer: ArchiveWriter
) -> None:
    for head, body in (
        (CHUNKED, CHUNKS[:-7]),
        (CHUNKED.replace(b"chunked", b"gzip, chunked"), CHUNKS),
        (CHUNKED.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n"), CHUNKS),
    ):
        places = []
        for _ in range(2):
            places.append(writer.append(exchange(head=head, body=body)))
            commit(writer)
        read = [archive.read(place) for place in places]
        assert [(record.fields["warc-type"], record.payload_digest) for record in read] == [("response", None)] * 2
        assert "warc-block-digest" in read[0].fields


def test_the_digest_that_earlier_versions_wrote_still_holds(tmp_path: Path, archive: FolderArchive) -> None:
    """Of the body with its chunks."""
    for digest, says in ((hashlib.sha256(CHUNKS).hexdigest(), None), ("0" * 64, "its payload digest does not hold")):
        fields = (
            f"WARC-Type: response\r\nWARC-Record-ID: {new_record_id()}\r\nWARC-Date: 2023-11-14T22:13:20Z\r\n"
            "WARC-Target-URI: http://example.org/a\r\n"
            f"WARC-Payload-Digest: sha256:{digest}\r\nContent-Type: application/http;msgtype=response\r\n"
        )
        member = compress_member(encode_record(fields, CHUNKED, CHUNKS))
        (tmp_path / "old.warc.gz").write_bytes(member)
        found = check_place(archive, ArchivePlace("old.warc.gz", 0, len(member)))
        assert found == (says and f"archive old.warc.gz at 0: {says}")


def test_all_kinds_in_one_file_follow_the_rules_of_the_standard(
    archive: FolderArchive, writer: ArchiveWriter, tmp_path: Path
) -> None:
    if not RULES.exists():
        pytest.skip("needs ../shared/conformance")
    for sent in KINDS.values():
        writer.append(sent)
    commit(writer)
    place = writer.append(exchange())
    writer.close()
    rules = json.loads(RULES.read_text())
    types = set()
    for check in check_file(archive, place.file):
        assert check.problem is None
        types.add(check.type)
        text = stored(tmp_path, ArchivePlace(place.file, check.offset, check.length))
        assert broken_rules(rules, text) == []
    assert types == {"warcinfo", "response", "revisit", "request"}


def broken_rules(rules: dict[str, dict[str, dict[str, object]]], record: bytes) -> list[str]:
    head, _, rest = record.partition(b"\r\n\r\n")
    lines = [line.split(": ", 1) for line in head.decode("ascii").split("\r\n")[1:]]
    fields = dict(lines)
    names = [name for name, _ in lines]
    broken = [f"no {name}" for name in rules["mandatory"] if name not in fields]
    broken += [f"{name} twice" for name in names if names.count(name) > 1]
    if not rest.endswith(b"\r\n\r\n") or len(rest) != int(fields["Content-Length"]) + 4:
        broken.append("bad end")
    return broken + [problem for name, rule in rules["fields"].items() for problem in broken_rule(name, rule, fields)]


def broken_rule(name: str, rule: dict[str, object], fields: dict[str, str]) -> list[str]:
    patterns = {"media type": r"^[\w.+-]+/[\w.+-]+(;\s*[\w-]+=\S+)*$", "same": r"^\w+:[A-Za-z0-9/@+=._-]+$"}
    pattern = str(rule.get("pattern", "")).replace("[token]", r"\w+")
    kind, value = fields["WARC-Type"], fields.get(name)
    required, forbidden, allowed = (rule.get(key, []) for key in ("required_on", "forbidden_on", "values"))
    if value is None:
        return [f"{name} missing on {kind}"] if kind in required else []  # type: ignore[operator]
    broken = [f"{name} on {kind}"] if kind in forbidden else []  # type: ignore[operator]
    if allowed and value not in allowed:  # type: ignore[operator]
        broken.append(f"{name}: {value}")
    if pattern and not re.search(patterns.get(pattern, pattern), value):
        broken.append(f"{name}: {value}")
    return broken


def test_the_place_is_that_of_the_response_and_the_request_names_it(writer: ArchiveWriter, tmp_path: Path) -> None:
    place = writer.append(exchange(protocol="h2"))
    writer.close()
    warcinfo, response, request = list(ArchiveIterator(str(tmp_path / place.file), parse_http=False))
    assert (response.stream_pos, request.stream_pos) == (place.offset, place.offset + place.length)
    assert request.headers["WARC-Concurrent-To"] == response.record_id
    assert response.headers["WARC-Warcinfo-ID"] == warcinfo.record_id
    assert response.headers["WARC-Date"] == "2023-11-14T22:13:20.123Z"
    assert (response.headers["WARC-IP-Address"], response.headers["WARC-Protocol"]) == ("192.0.2.7", "h2")


def test_the_file_begins_with_a_warcinfo(writer: ArchiveWriter, tmp_path: Path) -> None:
    place = writer.append(exchange())
    text = stored(tmp_path, ArchivePlace(place.file, 0, place.offset)).decode()
    assert f"WARC-Filename: {place.file}\r\n" in text
    assert f"software: Nephila/{__version__}\r\nformat: WARC File Format 1.1\r\n" in text


# Failures


def fail_once(monkeypatch: pytest.MonkeyPatch, name: str, code: int, *, leave: int = 0) -> None:
    """The next call of os.<name> fails, after `leave` bytes of a write reached the file."""
    real = getattr(os, name)

    def failing(fd: int, *args: object) -> object:
        monkeypatch.setattr(archive_file.os, name, real)
        if leave:
            os.pwrite(fd, b"x" * leave, os.fstat(fd).st_size)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(archive_file.os, name, failing)


@pytest.mark.parametrize(
    ("code", "raised"), [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EIO, ArchiveUnavailable)]
)
@pytest.mark.parametrize("before", [0, 2])
def test_a_failed_append_leaves_whole_records_and_can_be_repeated(
    archive: FolderArchive,
    writer: ArchiveWriter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    raised: type[Exception],
    before: int,
) -> None:
    places = [writer.append(exchange()) for _ in range(before)]
    fail_once(monkeypatch, "pwritev", code, leave=100)
    with pytest.raises(raised):
        writer.append(exchange())
    path = next(tmp_path.iterdir())
    assert path.stat().st_size == writer.files[path.name]
    assert complaints(path) == []
    places.append(writer.append(exchange()))
    commit(writer)
    assert [check_place(archive, place) for place in places] == [None] * (before + 1)
    assert complaints(path) == []


def test_what_could_not_be_cut_is_cut_before_the_next_write(
    writer: ArchiveWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.append(exchange())
    fail_once(monkeypatch, "pwritev", errno.ENOSPC, leave=1_000_000)
    fail_once(monkeypatch, "ftruncate", errno.EIO)
    with pytest.raises(DiskFull):
        writer.append(exchange())
    place = writer.append(exchange(body=b"short"))
    writer.close()
    assert (tmp_path / place.file).stat().st_size == writer.files[place.file]
    assert complaints(tmp_path / place.file) == []


def test_a_failed_sync_can_be_repeated_and_writes_the_bytes_again(
    archive: FolderArchive, writer: ArchiveWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = writer.append(exchange())
    writer.sync()
    second = writer.append(exchange(body=PAGE * 2))
    fail_once(monkeypatch, "fdatasync", errno.EIO)
    with pytest.raises(ArchiveError):
        writer.sync()
    # What Linux does after a failed sync: the pages count as clean, and their content is gone after the next read.
    with (tmp_path / first.file).open("r+b") as raw:
        raw.seek(second.offset)
        raw.write(bytes(second.length))
    third = writer.append(exchange(body=PAGE * 3))
    writer.sync()
    assert [check_place(archive, place) for place in (first, second, third)] == [None] * 3
    assert complaints(tmp_path / first.file) == []


def test_memory_for_bytes_that_are_not_durable_is_bounded(
    writer: ArchiveWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_file, "UNSYNCED_BYTES_MAX", 10_000)
    synced: list[int] = []
    real = os.fdatasync
    monkeypatch.setattr(archive_file.os, "fdatasync", lambda fd: (synced.append(fd), real(fd)))
    for _ in range(5):
        writer.append(exchange(body=os.urandom(6000)))
    assert len(synced) == 2


def test_a_file_that_was_removed_under_its_writer_is_not_written_on(
    archive: FolderArchive, writer: ArchiveWriter, tmp_path: Path
) -> None:
    """Its bytes would be durable where nobody reads them. What is not committed is written again, into a new file."""
    gone = writer.append(exchange())
    commit(writer)
    (tmp_path / gone.file).unlink()
    writer.append(exchange(body=PAGE * 2))
    with pytest.raises(ArchiveFileGone, match="somebody removed it"):
        writer.sync()
    places = [writer.append(exchange()), writer.append(exchange(body=PAGE * 2))]
    writer.close()
    assert [check_place(archive, place) for place in places] == [None] * 2
    assert list(writer.files) == [places[0].file] != [gone.file]


def test_a_file_that_was_removed_is_found_missing_also_where_much_is_not_durable(
    writer: ArchiveWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_file, "UNSYNCED_BYTES_MAX", 10_000)
    gone = writer.append(exchange(body=os.urandom(20_000)))
    (tmp_path / gone.file).unlink()
    with pytest.raises(ArchiveFileGone):
        writer.append(exchange())
    assert writer.append(exchange()).file != gone.file


def test_a_close_that_fails_gives_the_file_free(
    archive: FolderArchive, writer: ArchiveWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = writer.append(exchange()).file
    fail_once(monkeypatch, "fdatasync", errno.EIO)
    with pytest.raises(ArchiveUnavailable):
        writer.close()
    assert archive.recover(file) is None


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path, clock: VirtualClock) -> None:
    (tmp_path / "warc").write_text("a file")
    with pytest.raises(StoreUnavailable, match="cannot create"):
        FolderArchive(tmp_path / "warc", clock).writer("s" * 32).append(exchange())
