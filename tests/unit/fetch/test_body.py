import gzip
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from nephila.fetch.body import CHUNKS_MAX, MEMBERS_MAX, Decoded, dechunk, decode_body

PAGE = "".join(f"<p>Ein Satz über die Spinne {number * 7919 % 1000}.</p>" for number in range(1000)).encode()
LIMIT = 1_000_000


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


PACK = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def decode(coding: str, body: bytes, limit: int = LIMIT) -> Decoded:
    return decode_body([("content-Encoding", coding)], body, limit)


@pytest.mark.parametrize("coding", PACK)
def test_each_coding(coding: str) -> None:
    assert decode(coding, PACK[coding](PAGE)) == Decoded(PAGE)
    assert decode(coding.upper(), PACK[coding](b"")) == Decoded(b"")
    assert decode(coding, b"") == Decoded(b"")


@pytest.mark.parametrize("coding", ["identity", "", "none", " Identity "])
def test_no_coding(coding: str) -> None:
    assert decode(coding, PAGE) == Decoded(PAGE)


def test_raw_deflate() -> None:
    assert decode("deflate", raw_deflate(PAGE)) == Decoded(PAGE)


def test_gzip_members_follow_each_other() -> None:
    body = gzip.compress(PAGE) + gzip.compress(b"two") + gzip.compress(b"")
    assert decode("gzip", body) == Decoded(PAGE + b"two")
    assert decode("gzip", gzip.compress(PAGE) + b"\0\0 padding") == Decoded(PAGE)


def test_zstd_frames_follow_each_other() -> None:
    pack = zstandard.ZstdCompressor().compress
    assert decode("zstd", pack(b"one") + pack(b"two")) == Decoded(b"onetwo")


def test_gzip_members_are_bounded() -> None:
    assert decode("gzip", gzip.compress(b"x") * (MEMBERS_MAX + 5)).body == b"x" * MEMBERS_MAX


def test_stacked_codings() -> None:
    body = brotli.compress(zlib.compress(gzip.compress(PAGE)))
    assert decode_body([("Content-Encoding", "gzip, deflate"), ("content-encoding", "br")], body, LIMIT) == Decoded(
        PAGE
    )
    for _ in range(6):
        body = gzip.compress(body)
    assert decode(", ".join(["gzip"] * 6), body).problem == "too many codings"


def test_chunks_then_codings() -> None:
    packed = gzip.compress(PAGE)
    chunked = b"%x\r\n%s\r\n%X;name=1\r\n%s\r\n0\r\nTrailer: x\r\n\r\n" % (
        10,
        packed[:10],
        len(packed) - 10,
        packed[10:],
    )
    headers = [("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip")]
    assert decode_body(headers, chunked, LIMIT) == Decoded(PAGE)
    assert decode_body([("Transfer-Encoding", "gzip, chunked")], chunked, LIMIT) == Decoded(PAGE)


@pytest.mark.parametrize(
    ("wire", "body", "problem"),
    [
        (b"2\r\nhi\r\n0\r\n\r\n", b"hi", ""),
        (b"2\nhi\n0\n\n", b"hi", ""),
        (b" 2 ;x=y\r\nhi\r\n000\r\n", b"hi", ""),
        (b"0\r\n\r\n", b"", ""),
        (b"", b"", "chunked: cut short"),
        (b"2\r\nhi\r\n", b"hi", "chunked: cut short"),
        (b"9\r\nhi", b"hi", "chunked: cut short"),
        (b"ffffffffffffffff\r\nhi", b"hi", "chunked: cut short"),
        (b"2\r\nhi\r\n-4\r\nmore", b"hi", "chunked: no size line"),
        (b"2\r\nhi\r\n\r\n", b"hi", "chunked: no size line"),
        (b"<html>plain</html>\n", b"<html>plain</html>\n", "chunked: not chunked"),
        (b"0x2\r\nhi", b"0x2\r\nhi", "chunked: not chunked"),
        (b"11111111111111111\r\nhi", b"11111111111111111\r\nhi", "chunked: not chunked"),
    ],
)
def test_dechunk(wire: bytes, body: bytes, problem: str) -> None:
    assert dechunk(wire) == Decoded(body, problem=problem)


def test_chunks_are_bounded() -> None:
    decoded = dechunk(b"1\r\nx\r\n" * (CHUNKS_MAX + 5))
    assert (len(decoded.body), decoded.problem) == (CHUNKS_MAX, "chunked: too many chunks")


@pytest.mark.parametrize("coding", PACK)
def test_data_cut_short_gives_its_beginning(coding: str) -> None:
    packed = PACK[coding](PAGE)
    decoded = decode(coding, packed[: len(packed) * 3 // 4])
    assert PAGE.startswith(decoded.body)
    assert coding == "zstd" or len(decoded.body) > len(PAGE) // 2, "zstd gives whole blocks of 128 KB only"
    assert decoded.problem


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_broken_data_gives_what_came_before(coding: str) -> None:
    packed = bytearray(PACK[coding](PAGE))
    middle = len(packed) * 3 // 4
    packed[middle : middle + 40] = b"\xff" * 40
    decoded = decode(coding, bytes(packed))
    assert decoded.problem
    assert decoded.body[: len(PAGE) // 2] == PAGE[: len(PAGE) // 2]


def test_a_wrong_checksum_costs_nothing_but_a_remark() -> None:
    packed = gzip.compress(PAGE)
    decoded = decode("gzip", packed[:-8] + b"\0" * 8)
    assert len(decoded.body) > len(PAGE) * 9 // 10
    assert decoded.problem.startswith("broken")


@pytest.mark.parametrize("coding", PACK)
def test_a_plain_page_with_a_coding_header_stays_plain(coding: str) -> None:
    page = b"<html><title>no</title></html>"
    assert decode(coding, page) == Decoded(page, problem=f"not {coding.removeprefix('x-')}")


def test_an_unknown_coding_is_left_alone() -> None:
    assert decode("sdch", PAGE) == Decoded(PAGE, problem="unknown coding sdch")


@pytest.mark.parametrize("coding", PACK)
def test_the_limit_cuts_exactly(coding: str) -> None:
    assert decode(coding, PACK[coding](PAGE), 1000) == Decoded(PAGE[:1000], truncated=True)
    assert decode(coding, PACK[coding](PAGE), len(PAGE)) == Decoded(PAGE)
    assert decode("", PAGE, 10) == Decoded(PAGE[:10], truncated=True)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_costs_bounded_memory(coding: str) -> None:
    bomb = PACK[coding](bytes(50_000_000)) if coding != "br" else brotli.compress(bytes(50_000_000), quality=1)
    tracemalloc.start()
    decoded = decode(coding, bomb, LIMIT)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert decoded == Decoded(bytes(LIMIT), truncated=True)
    assert peak < 5 * LIMIT


@given(st.lists(st.sampled_from([*PACK, "chunked", "?"]), max_size=7), st.binary(max_size=400), st.integers(1, 500))
def test_nothing_raises(codings: list[str], body: bytes, limit: int) -> None:
    headers = [("Transfer-Encoding", "chunked"), ("Content-Encoding", ",".join(codings))]
    assert len(decode_body(headers, body, limit).body) <= limit


@given(st.sampled_from(list(PACK)), st.binary(max_size=300), st.integers(0, 300), st.binary(max_size=4))
def test_damage_never_raises(coding: str, page: bytes, place: int, damage: bytes) -> None:
    packed = PACK[coding](page)
    decode(coding, packed[:place] + damage + packed[place + len(damage) :])
