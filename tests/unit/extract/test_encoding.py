"""Which codec a page's bytes are read with."""

import base64
import codecs
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.extract.encoding import CODECS, _prescan, _scanned, charset_of, decode_html, sniff_encoding, utf8_of

CASES = Path(__file__).parents[4] / "shared" / "conformance" / "encoding.json"


def comparable(name: str) -> str:
    name = codecs.lookup(name).name
    return {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(name, name)


@pytest.mark.skipif(not CASES.exists(), reason="needs ../shared/conformance")
def test_reference_cases() -> None:
    cases = json.loads(CASES.read_text())["html5lib_prescan"]
    failed = [
        case["id"]
        for case in cases
        if comparable(sniff_encoding(base64.b64decode(case["html_base64"]))) != comparable(case["encoding"])
    ]
    assert failed == []


@pytest.mark.parametrize(
    ("html", "header", "codec"),
    [
        (b"", None, "cp1252"),
        (b"plain", None, "cp1252"),
        (b"\xef\xbb\xbf<meta charset=koi8-r>", "latin1", "utf-8"),
        (b"\xff\xfe<\0", None, "utf-16-le"),
        (b"\xfe\xff\0<", "utf-8", "utf-16-be"),
        (b"<meta charset=koi8-r>", "Windows-1251", "cp1251"),
        (b"<meta charset=koi8-r>", "no-such-thing", "koi8-r"),
        (b"<meta charset=koi8-r>", None, "koi8-r"),
        (b"<META CHARSET='  KOI8-R '>", None, "koi8-r"),
        (b'<meta\tcharset\n=\r"koi8-r">', None, "koi8-r"),
        (b"<meta/charset=koi8-r/>", None, "cp1252"),  # the slash belongs to the value
        (b"<metacharset=koi8-r>", None, "cp1252"),
        (b"<meta charset=utf-16>", None, "utf-8"),
        (b"<meta charset=utf-16be>", None, "utf-8"),
        (b"<meta charset=x-user-defined>", None, "cp1252"),
        (b"<meta charset=hz-gb-2312>", None, "cp1252"),
        (b"<meta charset=nonsense><meta charset=gb2312>", None, "gbk"),
        (b"<meta charset=gb18030>", None, "gb18030"),
        (b"<meta charset=ks_c_5601-1987>", None, "cp949"),
        (b"<meta charset=shift_jis>", None, "cp932"),
        (b"<meta charset=big5>", None, "big5hkscs"),
        (b"<meta charset=iso-8859-9>", None, "cp1254"),
        (b"<!-- <meta charset=koi8-r> -->", None, "cp1252"),
        (b"<!--><meta charset=koi8-r>", None, "koi8-r"),
        (b"<!-- unclosed <meta charset=koi8-r>", None, "cp1252"),
        (b"<p title='<meta charset=koi8-r>'>", None, "cp1252"),
        (b'<p title="><meta charset=koi8-r>', None, "cp1252"),
        (b"</p x><meta charset=koi8-r>", None, "koi8-r"),
        (b"<!doctype html><?xml ?></ ><meta charset=koi8-r>", None, "koi8-r"),
        (b"<meta http-equiv=content-type content='text/html; charset=koi8-r'>", None, "koi8-r"),
        (b"<meta content='text/html; charset=koi8-r' http-equiv=Content-Type>", None, "koi8-r"),
        (b"<meta content='text/html; charset=koi8-r'>", None, "cp1252"),
        (b"<meta http-equiv=content-type content='charset=\"koi8-r\"'>", None, "koi8-r"),
        (b"<meta http-equiv=content-type content='charset=\"koi8-r'>", None, "cp1252"),
        (b"<meta http-equiv=content-type content='charset charset = koi8-r;x'>", None, "koi8-r"),
        (b"<meta http-equiv=content-type content='charset=utf-8' charset=koi8-r>", None, "koi8-r"),
        (b"<meta charset=koi8-r charset=utf-8>", None, "koi8-r"),
        (b"<meta =charset=koi8-r>", None, "cp1252"),
        (b"<meta charset=koi8-r", None, "cp1252"),
        (b"<meta charset=", None, "cp1252"),
        (b"x" * 5000 + b"<meta charset=koi8-r>", None, "koi8-r"),  # late: the parser would start over
        (b"x" * 20_000 + b"<meta charset=koi8-r>", None, "cp1252"),
    ],
)
def test_sniffing(html: bytes, header: str | None, codec: str) -> None:
    assert sniff_encoding(html, header) == codec


@pytest.mark.parametrize(
    ("html", "header", "text", "codec"),
    [
        ("ä".encode(), None, "ä", "utf-8"),  # undeclared, but valid UTF-8
        ("aä".encode()[:2], None, "aÃ", "cp1252"),
        ("ää".encode()[:3], None, "ä\ufffd", "utf-8"),  # cut at the size limit
        (b"\xe4", None, "ä", "cp1252"),
        (b"\xe4", "utf-8", "\ufffd", "utf-8"),
        ("\ufeffä".encode(), None, "ä", "utf-8"),
        ("\ufeffä<".encode("utf-16-le"), None, "ä<", "utf-16-le"),
        ("日本".encode("cp932"), "Shift_JIS", "日本", "cp932"),
        ("日本".encode("iso2022_jp"), "iso-2022-jp", "日本", "iso2022_jp"),
        (b"a", "utf-16le", "\ufffd", "utf-16-le"),
    ],
)
def test_decoding(html: bytes, header: str | None, text: str, codec: str) -> None:
    assert decode_html(html, header) == (text, codec)
    utf8, charset = utf8_of(html, header)
    assert (utf8.decode("utf-8", "replace"), charset) == (text, codec)


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        (None, None),
        ("text/html", None),
        ("text/html; charset=UTF-8", "UTF-8"),
        ('text/html;Charset = "koi8-r"', "koi8-r"),
        ("text/html; charset=", None),
    ],
)
def test_charset_of_header(content_type: str | None, charset: str | None) -> None:
    assert charset_of(content_type) == charset


@given(st.binary(max_size=300), st.sampled_from([None, "", "\0", *sorted(CODECS)]))
def test_any_bytes_decode(html: bytes, header: str | None) -> None:
    for page in (html, b"<meta " + html, b"<meta http-equiv=content-type content='" + html):
        decode_html(page, header)
        utf8_of(page, header)


HEADS = st.lists(
    st.sampled_from(
        [
            b"<meta charset=utf-8>",
            b"<meta charset='",
            b"koi8-r",
            b"'",
            b">",
            b"<!--",
            b"-->",
            b"<p charset=x>",
            b"charset=",
            b" ",
        ]
    ),
    max_size=12,
).map(b"".join)


@given(HEADS)
def test_the_beginning_of_a_page_says_what_the_whole_says(head: bytes) -> None:
    assert _prescan(head) == _scanned(head)
