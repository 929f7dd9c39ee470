"""Queries in the encoding of their page. The expected are those of Chromium 156."""

from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.extract.decoders import decoded
from nephila.extract.encoding import CODECS, codec_of
from nephila.extract.queries import in_page_encoding

LEGACY = sorted({codec for codec in CODECS.values() if not codec.startswith("utf")})
UNICODE = ("utf-8", "utf-16-le", "utf-16-be")


@pytest.mark.requirement("N-01", "N-05")
@pytest.mark.parametrize(
    ("label", "href", "sent"),
    [
        ("utf-8", "?é", "?é"),
        ("utf-16le", "?é", "?é"),
        ("windows-1252", "/é?a=é&b=%E9#é", "/é?a=%E9&b=%E9#é"),
        ("windows-1252", "/é#?é", "/é#?é"),
        ("windows-1252", "?\x81日\U0001f600", "?%81%26%2326085%3B%26%23128512%3B"),
        ("windows-1251", "?q=при", "?q=%EF%F0%E8"),
        ("windows-1251", "http://x.example/é?é?я", "http://x.example/é?%26%23233%3B?%FF"),
        ("koi8-u", "?ўЎ", "?%AE%BE"),
        ("macintosh", "?¥é", "?%B4%8E"),
        ("big5", "?日本十卅═～€é", "?%A4%E9%A5%BB%A4Q%A4%CA%F9%F9%A1%E3%A3%E1%26%23233%3B"),
        ("euc-kr", "?日本가", "?%EC%ED%DC%E2%B0%A1"),
        ("euc-jp", "?日本¥ｱ−①髙é", "?%C6%FC%CB%DC\\%8E%B1%A1%DD%AD%A1%FC%E2%26%23233%3B"),
        ("shift_jis", "?日本¥ｱ−①髙é", "?%93%FA%96{\\%B1%81|%87@%FB%FC%26%23233%3B"),
        ("iso-2022-jp", "?日本¥ｱ&b=é", "?%1B$BF|K\\%1B(J\\%1B$B%%22%1B(B&b=%26%23233%3B"),
        ("iso-2022-jp", '?日\n本"日', '?%1B$BF|K\\%1B(B"%1B$BF|%1B(B'),
        ("gbk", "?日é€¥\ue78d", "?%C8%D5%A8%A6%80%26%23165%3B%A6%D9"),
        ("gb18030", "?日é€¥ｱ\ue7c7", "?%C8%D5%A8%A6%A2%E3%810%846%841%973%815%F47"),
        ("gb18030", "?\ue5e5", "?%26%2358853%3B"),
        ("big5", "?\ud800", "?%26%2365533%3B"),
    ],
)
def test_what_is_sent(label: str, href: str, sent: str) -> None:
    codec = codec_of(label)
    assert codec is not None
    assert in_page_encoding(href, codec) == sent


# Some Japanese and some private characters are sent as others.
WRITTEN = st.text(st.characters(exclude_categories=["Cs", "Co"], exclude_characters="#%\t\n\r"), max_size=5)
ROUND = sorted(set(LEGACY) - {"cp932", "euc_jp", "iso2022_jp"})


@given(WRITTEN, st.sampled_from(ROUND))
def test_what_is_sent_means_what_was_written(text: str, codec: str) -> None:
    """Or stands for a character that the encoding lacks."""
    sent = in_page_encoding(f"?{text}", codec)
    assert sent.isascii()
    if "%26%23" not in sent:
        assert decoded(unquote_to_bytes(sent[1:]), codec) == text


@given(st.text(max_size=5), st.sampled_from(UNICODE))
def test_pages_in_unicode_change_nothing(text: str, codec: str) -> None:
    assert in_page_encoding(text, codec) == text
