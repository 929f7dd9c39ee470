"""Text as the encoding standard reads it: every byte, every two bytes, and soups, against another implementation."""

from itertools import product

import pytest
import turbohtml
from hypothesis import given, settings
from hypothesis import strategies as st

from nephila.extract.decoders import decoded
from nephila.extract.encoding import CODECS, codec_of

# One label of each encoding; `x-user-defined` and `replacement` are read as windows-1252 here.
SINGLE_LABELS = (
    "ibm866 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-10 iso-8859-13"
    " iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh windows-874 windows-1250 windows-1251 windows-1252"
    " windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 x-mac-cyrillic"
)
SINGLE = SINGLE_LABELS.split()
DOUBLE = ("big5", "euc-jp", "euc-kr", "gb18030", "gbk", "shift_jis")
PREFIX = b"<!doctype html><plaintext>"
# The page's tokenizer replaces these, whatever the encoding.
REPLACED = b"\0\n\r"


def reference(raw: bytes, label: str) -> str:
    text = turbohtml.parse(PREFIX + raw, encoding=label).find("plaintext")
    assert text is not None
    return text.text or ""


def ours(raw: bytes, label: str) -> str:
    codec = codec_of(label)
    assert codec is not None
    return decoded(raw, codec)


def test_every_encoding_is_compared() -> None:
    compared = {codec_of(label) for label in (*SINGLE, *DOUBLE, "iso-2022-jp", "utf-8", "utf-16le", "utf-16be")}
    assert compared == set(CODECS.values())


@pytest.mark.requirement("R-22")
@pytest.mark.parametrize("label", [*SINGLE, *DOUBLE])
def test_every_byte(label: str) -> None:
    every = [bytes([byte]) for byte in range(256) if byte not in REPLACED]
    assert {raw: ours(raw, label) for raw in every} == {raw: reference(raw, label) for raw in every}


@pytest.mark.requirement("R-22")
@pytest.mark.parametrize("label", DOUBLE)
def test_every_two_bytes(label: str) -> None:
    """A line for each lead byte: after a full stop, which is ASCII and no part of any sequence, reading begins anew."""
    for lead in range(0x80, 0x100):
        line = b".".join(bytes([lead, trail]) for trail in range(256) if trail not in REPLACED)
        assert ours(line, label) == reference(line, label), hex(lead)


def test_every_three_bytes_of_euc_jp() -> None:
    line = b".".join(bytes([0x8F, lead, trail]) for lead, trail in product(range(0xA0, 0x100), range(0x80, 0x100)))
    assert ours(line, "euc-jp") == reference(line, "euc-jp")


def test_four_bytes_of_gb18030() -> None:
    line = b".".join(
        bytes([first, 0x30 + second, third, 0x30 + fourth])
        for first, second, third, fourth in product(
            (0x81, 0x84, 0x85, 0x90, 0xE3, 0xFE), range(10), range(0x80, 0x100), range(10)
        )
    )
    assert ours(line, "gb18030") == reference(line, "gb18030")


@pytest.mark.parametrize("escape", [b"$B", b"$@"])
def test_every_two_bytes_of_iso_2022_jp(escape: bytes) -> None:
    every = b"".join(bytes(pair) for pair in product(range(0x21, 0x7F), repeat=2))
    raw = b"\x1b" + escape + every + b"\x1b(B."
    assert ours(raw, "iso-2022-jp") == reference(raw, "iso-2022-jp")


@pytest.mark.parametrize(
    ("raw", "label", "text"),
    [
        (b"\x81\x9d", "windows-1252", "\x81\x9d"),
        (b"\xae\xbe", "koi8-u", "ўЎ"),
        (b"\xad\xa1\xfc\xe2\x8f\xa2\xb7~", "euc-jp", "①髙～~"),
        (b"\xa1\x3c\x8e<\x8f\xa1<", "euc-jp", "\ufffd<\ufffd<\ufffd<"),
        (b"\x1b$B-!\x1b(I1\x1b(J\\~\x1b(B\\", "iso-2022-jp", "①ｱ¥‾\\"),
        (b"\x1b$B\x1b(B<\x1b<", "iso-2022-jp", "\ufffd<\ufffd<"),
        (b"\x80\xa8\xbc\xff8\x81", "gbk", "€ḿ\ufffd8\ufffd"),
        (b"\x87\x7a\xa1\xe3\xa1\xfe\xa2A\xa2B\xa3\xe1", "big5", "㡵～／∕﹨€"),
        (b"\xa0\xfd\xfe\xff\x81<", "shift_jis", "\ufffd\ufffd\ufffd\ufffd\ufffd<"),
    ],
)
def test_what_python_reads_otherwise(raw: bytes, label: str, text: str) -> None:
    assert ours(raw, label) == text


EDGES = [0x1B, *b"($BIJ@A09<~", 0x80, 0x81, 0x8E, 0x8F, 0xA0, 0xA1, 0xA2, 0xFE, 0xFF]
SOUP = st.lists(st.sampled_from(EDGES) | st.integers(0x20, 0xFF), max_size=10).map(bytes)


@pytest.mark.requirement("R-22")
@settings(max_examples=1000)
@given(
    SOUP, st.sampled_from([*DOUBLE, "iso-2022-jp", "utf-8"]), st.sampled_from([b"", b"\x1b$B", b"\x1b(J", b"\x1b(I"])
)
def test_any_bytes(soup: bytes, label: str, before: bytes) -> None:
    raw = before + soup if label == "iso-2022-jp" else soup
    assert ours(raw, label) == reference(raw, label)
