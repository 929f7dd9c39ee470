"""What the links of a page say: their texts and `rel`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.extract.anchors import REL_CHARS_MAX, TEXT_CHARS_MAX, Anchor, anchors_of
from nephila.extract.html import extract_html

URL, HTML = "http://a.test/dir/", "text/html; charset=utf-8"


def said(html: str) -> list[tuple[str, str, str]]:
    return [tuple(anchor) for anchor in anchors_of(html.encode(), URL, HTML)[1]]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", []),
        ("<a href=x>one</a>", [("x", "one", "")]),
        ("<a href=x> one\n <b>t</b>wo&amp;&eacute; </a>", [("x", "one two&é", "")]),
        ("<a href=x>a<p>b</p>c</a>d", [("x", "a b c", "")]),
        ("<a href=x>one<a href=y>two", [("x", "one", ""), ("y", "two", "")]),
        ("<A HREF=x REL='NoFollow  ugc'>one</A>", [("x", "one", "nofollow ugc")]),
        ("<a href=x rel=nofollow>one</a><a href=x rel='ugc nofollow'>two</a>", [("x", "one", "nofollow ugc")]),
        ("<a href=x></a><a href=x>two</a>", [("x", "two", "")]),
        ("<a href=x><img src=i alt='A &amp;amp; B'></a>", [("x", "A &amp; B", "")]),
        ("<a href=x>see <img alt=this>!</a><img alt=no>", [("x", "see this !", "")]),
        ("<a href=x title=Titled></a><a href=y aria-label=Named> </a>", [("x", "Titled", ""), ("y", "Named", "")]),
        ("<a name=x>no link</a> <a href=y>one</a>", [("y", "one", "")]),
        ("<map><area href=x alt=Region></map>", [("x", "Region", "")]),
        ("<link rel='canonical' href=x>", [("x", "", "canonical")]),
        ("<iframe src=x></iframe><meta http-equiv=refresh content='0;url=y'>", [("x", "", ""), ("y", "", "")]),
        ("<a href=x><script>no()</script><style>no{}</style>yes<!-- no --></a>", [("x", "yes", "")]),
        ("<!-- <a href=no>no</a> --><script>'<a href=no>no</a>'</script>", []),
        ("<svg><a xlink:href=x><text>drawn</text></a></svg>", [("x", "drawn", "")]),
        ("<template><a href=no>no</a></template><a href=x>yes</a>", [("x", "yes", "")]),
        ("<a href=' x '>one</a>", [("x", "one", "")]),
        ("<a href='?q=&amp;r'>one</a>", [("?q=&r", "one", "")]),
    ],
)
def test_links_say(html: str, expected: list[tuple[str, str, str]]) -> None:
    assert said(html) == expected


def test_what_links_are_resolved_against() -> None:
    assert anchors_of(b"<base href=/other/><a href=x>x</a>", URL, HTML)[0] == "http://a.test/other/"


def test_texts_are_bounded() -> None:
    ((_, text, rel),) = said(f"<a href=x rel='{'r ' * 10}{'long' * 100}'>{'word ' * 100_000}")
    assert (len(text), len(rel)) == (TEXT_CHARS_MAX - 1, REL_CHARS_MAX), "no blank at the end"


def test_a_page_in_another_encoding() -> None:
    page = '<meta charset=iso-8859-1><a href="?q=é">Größe</a>'.encode("latin-1")
    assert anchors_of(page, URL, "text/html")[1] == [Anchor("?q=%E9", "Größe", "")]


TAGS = "<a href=x>|<a href='y' rel=z>|</a>|<svg>|</svg>|<template>|</template>|<p>|<script>|</script>|<title>|</title>"
SOUP = st.lists(
    st.sampled_from([*TAGS.split("|"), "text", "<!--", "-->", "<img alt=q>", "<a ", "&amp;", "\0"]), max_size=30
)


@given(SOUP.map("".join))
def test_the_links_are_those_that_the_crawl_follows(html: str) -> None:
    followed = dict.fromkeys(href for href, _ in extract_html(html.encode(), URL, "utf-8").links)
    assert [href for href, _, _ in said(html)] == list(followed)
