"""Character references in text and in values, also compared with a tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from nephila.extract.references import unescape, unescape_value


@pytest.mark.requirement("R-22")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain & simple", "plain & simple"),
        ("&amp;&lt&copy;&copyx&notit;&nosuch;", "&<©©x¬it;&nosuch;"),
        ("&#65;&#x42&#X43;&#068", "ABCD"),
        ("&#128;&#x80;&#150;&#x9f;", "€€–Ÿ"),  # numbers of windows-1252
        ("&#x81;&#x8d;&#x8F;&#x90;&#x9d;", "\x81\x8d\x8f\x90\x9d"),
        ("&#0;&#xD800;&#xdfff;&#x110000;&#1114112;", "\ufffd" * 5),
        ("&#1;&#11;&#127;&#xfdd0;&#xFFFE;&#x10ffff;", "\x01\x0b\x7f\ufdd0\ufffe\U0010ffff"),
        (f"&#{'9' * 10_000};&#x{'f' * 10_000};&#{'0' * 10_000}65;", "\ufffd\ufffdA"),
        ("&#;&#x;&#xg;&;&1;", "&#;&#x;&#xg;&;&1;"),
        ("&#38;amp;", "&amp;"),
        ("&CounterClockwiseContourIntegral;", "∳"),
        ("&" + "a" * 100, "&" + "a" * 100),
    ],
)
def test_text(text: str, expected: str) -> None:
    assert unescape(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("?a=1&copy=2&copy;&copy &copyx&amp", "?a=1&copy=2©© &copyx&"),
        ("&#65=&#x80x", "A=€x"),
    ],
)
def test_values(value: str, expected: str) -> None:
    assert unescape_value(value) == expected


PIECES = "& # x X 0 00 65 80 9f D800 110000 10FFFF FFFE 8 d a ; = amp copy not it notin lt z _ ."


@given(st.lists(st.sampled_from(PIECES.split()), max_size=10).map("".join))
def test_a_tree_has_the_same(text: str) -> None:
    tree = LexborHTMLParser(f"<!doctype html><body><p title='{text}'>{text}")
    paragraph = tree.css_first("p")
    assert paragraph is not None
    assert unescape(text) == paragraph.text()
    assert unescape_value(text) == paragraph.attributes["title"]
