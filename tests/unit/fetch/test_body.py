import gzip
import random
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from nephila.fetch.body import MEMBERS_MAX, RATIO_BYTES_MIN, RATIO_MAX, Decoded, decode_body
from nephila.fetch.headers import Headers

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
    return decode_body(Headers([("content-Encoding", coding)]), body, limit)


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
    assert decode_body(
        Headers([("Content-Encoding", "gzip, deflate"), ("content-encoding", "br")]), body, LIMIT
    ) == Decoded(PAGE)
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
    assert decode_body(Headers(headers), chunked, LIMIT) == Decoded(PAGE)
    assert decode_body(Headers([("Transfer-Encoding", "gzip, chunked")]), chunked, LIMIT) == Decoded(PAGE)


@pytest.mark.parametrize("coding", PACK)
def test_data_cut_short_gives_its_beginning(coding: str) -> None:
    packed = PACK[coding](PAGE)
    decoded = decode(coding, packed[: len(packed) * 3 // 4])
    assert PAGE.startswith(decoded.body)
    assert coding == "zstd" or len(decoded.body) > len(PAGE) // 2, "zstd gives whole blocks of 128 KB only"
    assert decoded.problem == f"{coding}: cut short" and decoded.short


STREAMED = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor(write_content_size=False).compress,
    "zstd with a checksum": zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress,
}


@pytest.mark.parametrize("size", [0, 1, 1000, 300_000])
@pytest.mark.parametrize("coding", STREAMED)
def test_no_coding_ends_short_in_silence(coding: str, size: int) -> None:
    """At whatever byte it is cut: also where the frame does not say how long its content is, as servers stream it."""
    page = random.Random(size).randbytes(size)
    packed, name = STREAMED[coding](page), coding.split()[0]
    assert decode(name, packed) == Decoded(page)
    for cut in {1, 2, 3, 4, 5, 8, 9, size // 2, size - 1, size} & set(range(1, len(packed))):
        short = decode(name, packed[:-cut])
        assert short.problem, cut
        # Without its beginning it is no such coding at all, and is taken as it is.
        assert page.startswith(short.body) if short.short else short.body in (b"", packed[:-cut]), cut


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
    assert decoded.problem.startswith("gzip: broken")


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


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_what_grows_too_much_is_cut_and_says_so(coding: str) -> None:
    bomb, limit = PACK[coding](bytes(20_000_000)), 1 << 24
    decoded = decode(coding, bomb, limit)
    cut = max(RATIO_MAX * len(bomb), RATIO_BYTES_MIN)
    assert cut < limit and decoded == Decoded(bytes(cut), True, "cut at 100 times its compressed size")
    assert decode(coding, PACK[coding](bytes(RATIO_BYTES_MIN)), limit) == Decoded(bytes(RATIO_BYTES_MIN)), (
        "small enough"
    )


def test_a_large_page_of_nothing_but_rows_is_whole() -> None:
    row = b'<tr class="row"><td><a href="/item?id=%07d">Item</a></td><td class="n">0.00</td><td></td></tr>\n'
    page = b"<table>" + b"".join(row % number for number in range(120_000))
    for coding, packed in {"gzip": gzip.compress(page, 9), "br": brotli.compress(page, quality=7)}.items():
        assert len(page) > 5 * RATIO_BYTES_MIN and decode(coding, packed, 1 << 24) == Decoded(page)


def test_codings_within_codings_grow_as_one() -> None:
    bomb = gzip.compress(gzip.compress(bytes(20_000_000)))
    decoded = decode_body(Headers([("Content-Encoding", "gzip, gzip")]), bomb, 1 << 24)
    assert len(decoded.body) == RATIO_BYTES_MIN and decoded.truncated


@given(st.lists(st.sampled_from([*PACK, "chunked", "?"]), max_size=7), st.binary(max_size=400), st.integers(1, 500))
def test_nothing_raises(codings: list[str], body: bytes, limit: int) -> None:
    headers = [("Transfer-Encoding", "chunked"), ("Content-Encoding", ",".join(codings))]
    assert len(decode_body(Headers(headers), body, limit).body) <= limit


@given(st.sampled_from(list(PACK)), st.binary(max_size=300), st.integers(0, 300), st.binary(max_size=4))
def test_damage_never_raises(coding: str, page: bytes, place: int, damage: bytes) -> None:
    packed = PACK[coding](page)
    decode(coding, packed[:place] + damage + packed[place + len(damage) :])


@pytest.mark.parametrize("quality", [1, 5, 11])
@pytest.mark.parametrize("kib", [1, 255, 256, 257, 480, 600, 1024, 5000])
def test_a_large_brotli_page_is_whole(kib: int, quality: int) -> None:
    """Its last output comes when there is no input left: a page above 491 KB was cut in silence."""
    page = b"".join(b"<a href=/%06d>x</a>" % number for number in range(kib * 1024 // 20))
    packed = brotli.compress(page, quality=min(quality, 5 if kib > 1024 else 11))
    assert decode_body(Headers([("Content-Encoding", "br")]), packed, 1 << 24) == Decoded(page)
    short = decode_body(Headers([("Content-Encoding", "br")]), packed[:-1], 1 << 24)
    assert short.problem == "br: cut short" and page.startswith(short.body)
