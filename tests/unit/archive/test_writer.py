import errno
import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator

from nephila.archive import file as archive_file
from nephila.archive.reader import read_response
from nephila.archive.verify import check_file, check_place
from nephila.archive.writer import ArchiveWriter, Exchange
from nephila.clock import VirtualClock
from nephila.errors import ArchiveError, DiskFull
from nephila.models import ArchivePlace
from tests.unit.archive.judges import HEAD, PAGE, complaints, exchange

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


@pytest.fixture
def writer(tmp_path: Path, clock: VirtualClock) -> ArchiveWriter:
    return ArchiveWriter(tmp_path, "0123456789abcdef", clock, info={"robots": "obey\r\nx: y", "isPartOf": "crawl 1"})


def stored(folder: Path, place: ArchivePlace) -> bytes:
    return gzip.decompress((folder / place.file).read_bytes()[place.offset : place.offset + place.length])


def commit(writer: ArchiveWriter) -> None:
    writer.sync()
    writer.committed()


@pytest.mark.requirement("ST-05", "X-03")
@pytest.mark.parametrize("sent", KINDS.values(), ids=KINDS.keys())
def test_both_judges_accept_and_we_read_back_every_byte(writer: ArchiveWriter, tmp_path: Path, sent: Exchange) -> None:
    place = writer.append(sent)
    writer.append(exchange())
    writer.close()
    assert complaints(tmp_path / place.file) == []
    assert check_place(tmp_path, place, url=sent.url) is None
    read = read_response(tmp_path, place)
    assert (read.header_bytes, read.body) == (sent.header_bytes, sent.body)


def test_all_kinds_in_one_file_follow_the_rules_of_the_standard(writer: ArchiveWriter, tmp_path: Path) -> None:
    if not RULES.exists():
        pytest.skip("needs ../shared/conformance")
    for sent in KINDS.values():
        writer.append(sent)
    commit(writer)
    place = writer.append(exchange())
    writer.close()
    rules = json.loads(RULES.read_text())
    types = set()
    for check in check_file(tmp_path / place.file):
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
    assert "robots: obey x: y\r\nisPartOf: crawl 1\r\n" in text


def test_names_tell_time_session_and_serial_and_none_is_used_twice(tmp_path: Path, clock: VirtualClock) -> None:
    first, second = (ArchiveWriter(tmp_path, "0123456789abcdef", clock) for _ in range(2))
    names = [writer.append(exchange()).file for writer in (first, second)]
    assert names == ["nephila-20231114221320-01234567-00001.warc.gz", "nephila-20231114221320-01234567-00002.warc.gz"]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.requirement("ST-05")
def test_rotation_by_size_between_exchanges(tmp_path: Path, clock: VirtualClock) -> None:
    writer = ArchiveWriter(tmp_path, "s" * 32, clock, file_bytes_max=20_000)
    places = [writer.append(exchange(body=os.urandom(6000))) for _ in range(10)]
    writer.close()
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert writer.files == sizes
    assert len(sizes) == 4
    assert all(size < 20_000 + 7000 for size in sizes.values())
    assert complaints(*tmp_path.iterdir()) == []
    assert [check_place(tmp_path, place) for place in places] == [None] * 10


def test_nothing_is_created_before_there_is_something_to_write(writer: ArchiveWriter, tmp_path: Path) -> None:
    writer.sync()
    writer.close()
    assert list(tmp_path.iterdir()) == []


# Revisits


def test_a_revisit_needs_a_committed_original(writer: ArchiveWriter, tmp_path: Path) -> None:
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
        assert (read_response(tmp_path, place).revisit_of is not None) is revisits


def test_a_revisit_keeps_its_own_head_and_finds_the_body(writer: ArchiveWriter, tmp_path: Path) -> None:
    original = writer.append(exchange())
    commit(writer)
    head = b"HTTP/1.1 203 Again\r\nA: b\r\n\r\n"
    place = writer.append(exchange(url="http://example.org/b", head=head))
    writer.close()
    read = read_response(tmp_path, place)
    assert (read.status, read.header_bytes, read.body, read.revisit_of) == (203, head, PAGE, original)
    assert check_place(tmp_path, place) is None
    assert complaints(tmp_path / place.file) == []
    text = stored(tmp_path, place)
    assert b"WARC-Refers-To-Target-URI: http://example.org/a\r\n" in text
    assert b"WARC-Refers-To-Date: 2023-11-14T22:13:20.123Z\r\n" in text


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
def test_no_revisit(writer: ArchiveWriter, tmp_path: Path, first: Exchange, second: Exchange) -> None:
    writer.append(first)
    commit(writer)
    place = writer.append(second)
    writer.close()
    assert read_response(tmp_path, place).revisit_of is None


def test_a_dropped_batch_is_never_referred_to(writer: ArchiveWriter, tmp_path: Path) -> None:
    writer.append(exchange())
    writer.sync()
    writer.discard()
    place = writer.append(exchange())
    commit(writer)
    assert read_response(tmp_path, place).revisit_of is None


def test_the_least_recently_used_original_is_forgotten(tmp_path: Path, clock: VirtualClock) -> None:
    writer = ArchiveWriter(tmp_path, "s" * 32, clock, revisit_cache_max=2)
    bodies = [PAGE + b"%d" % n for n in range(3)]

    def revisits(body: bytes) -> bool:
        place = writer.append(exchange(body=body))
        commit(writer)
        return read_response(tmp_path, place).revisit_of is not None

    assert [revisits(bodies[n]) for n in (0, 1, 0, 2, 0, 1)] == [False, False, True, False, True, False]


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
    ("code", "raised"), [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EIO, ArchiveError)]
)
@pytest.mark.parametrize("before", [0, 2])
def test_a_failed_append_leaves_whole_records_and_can_be_repeated(
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
    assert [check_place(tmp_path, place) for place in places] == [None] * (before + 1)
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
    writer: ArchiveWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    assert [check_place(tmp_path, place) for place in (first, second, third)] == [None] * 3
    assert complaints(tmp_path / first.file) == []


def test_a_discard_cuts_what_is_not_durable(writer: ArchiveWriter, tmp_path: Path) -> None:
    first = writer.append(exchange())
    writer.sync()
    kept = writer.files[first.file]
    writer.append(exchange(body=PAGE * 2))
    writer.discard()
    assert (tmp_path / first.file).stat().st_size == writer.files[first.file] == kept
    second = writer.append(exchange(body=PAGE * 3))
    writer.close()
    assert (second.offset, check_place(tmp_path, second)) == (kept, None)


def test_a_discard_before_the_first_sync_leaves_an_empty_file_that_begins_anew(
    writer: ArchiveWriter, tmp_path: Path
) -> None:
    writer.append(exchange())
    writer.discard()
    path = next(tmp_path.iterdir())
    assert path.stat().st_size == 0
    assert complaints(path) == []
    assert writer.append(exchange()).file == path.name
    writer.close()
    assert complaints(path) == []


def test_memory_for_bytes_that_are_not_durable_is_bounded(
    writer: ArchiveWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_file, "UNSYNCED_BYTES_MAX", 10_000)
    synced: list[int] = []
    real = os.fdatasync
    monkeypatch.setattr(archive_file.os, "fdatasync", lambda fd: (synced.append(fd), real(fd)))
    for _ in range(5):
        writer.append(exchange(body=os.urandom(6000)))
    assert len(synced) == 2


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path, clock: VirtualClock) -> None:
    (tmp_path / "warc").write_text("a file")
    with pytest.raises(ArchiveError, match="cannot create"):
        ArchiveWriter(tmp_path / "warc", "s" * 32, clock).append(exchange())
