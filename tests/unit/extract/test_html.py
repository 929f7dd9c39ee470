"""Links and facts of a page."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nephila.extract.html import LINKS_MAX, TITLE_CHARS_MAX, HtmlPage, extract_html, refresh_target

URL = "https://a.example/dir/page"


def page_of(html: str) -> HtmlPage:
    return extract_html(html.encode(), URL, "utf-8")


@pytest.mark.requirement("W-12")
@pytest.mark.parametrize(
    ("html", "links"),
    [
        ("<a href=x>", [("x", False)]),
        ("<A HREF=' x\n'>", [("x", False)]),
        ("<a>", []),
        ("<a href>", [("", False)]),
        ("<a href=''>", [("", False)]),
        ("<a href=x&amp;y=&auml;>", [("x&y=ä", False)]),
        ("<a href=x rel='UGC NoFollow'>", [("x", True)]),
        ("<a href=x rel='ugc sponsored'>", [("x", False)]),
        ("<a href=x rel=nofollowing>", [("x", False)]),
        ("<map><area href=x></map>", [("x", False)]),
        ("<iframe src=x></iframe><iframe></iframe>", [("x", False)]),
        ("<frameset><frame src=x><frame src=y></frameset>", [("x", False), ("y", False)]),
        (
            "<link rel=stylesheet href=x><link rel=canonical href=y><link rel='foo NEXT' href=z>",
            [("y", False), ("z", False)],
        ),
        ("<link rel=canonical href=''>", []),
        ("<meta http-equiv=Refresh content='0;url=x'>", [("x", False)]),
        ("<template><a href=x></a></template>", []),
        ("<!-- <a href=x> -->", []),
        ("<script>'<a href=x>'</script><style><a href=y></style><textarea><a href=z></textarea>", []),
        ("<noscript><a href=x></a></noscript>", [("x", False)]),
        ("<head><noscript><img src=i></noscript><link rel=next href=x>", [("x", False)]),
        ("<p title='<a href=x>'>", []),
        ("<svg><a href=x></a><a xlink:href=y></a><use href=z /></svg>", [("x", False), ("y", False)]),
        ("<svg><a xlink:href=x rel=nofollow>", [("x", True)]),
        (
            "<a href=1></a><p><a href=2></a><iframe src=3></iframe></p><area href=4><a href=5>",
            [(n, False) for n in "12345"],
        ),
        ("<a href=x", []),
    ],
)
def test_links(html: str, links: list[tuple[str, bool]]) -> None:
    assert page_of(html).links == links


@pytest.mark.requirement("W-13")
@pytest.mark.parametrize(
    ("html", "facts"),
    [
        ("", {"title": None, "language": None, "description": None, "base": URL}),
        ("<title> A \n b&amp;c </title><title>d</title>", {"title": "A b&c"}),
        ("<title></title>", {"title": None}),
        ("<svg><g><title>drawing</title></g></svg>", {"title": None}),
        ("<svg><title>drawing</title></svg><title>page</title>", {"title": "page"}),
        ("<svg><title/></svg><title>page</title>", {"title": "page"}),
        ("<svg><desc><title>HTML</title></desc></svg>", {"title": "HTML"}),
        ("<svg><base href=/no/></base></svg><base href=/b/>", {"base": "https://a.example/b/"}),
        ("<svg><html lang=no></html></svg>", {"language": None}),
        ("<title>" + "ab " * 2000, {"title": ("ab " * 2000)[:TITLE_CHARS_MAX]}),
        ("<html lang=de>", {"language": "de"}),
        ("<html xml:lang=de>", {"language": "de"}),
        ("<meta name=Description content=' a\tb '>", {"description": "a b"}),
        ("<meta name=description content=''><meta name=description content=x>", {"description": "x"}),
        ("<meta name=keywords content='a, b'><meta name=keywords>", {"keywords": "a, b"}),
        ("<link rel=canonical href=' /c '><link rel=canonical href=/d>", {"canonical": "/c"}),
        ("<link rel=next href=?p=2>", {"next": "?p=2"}),
        ("<meta http-equiv=refresh content='5; URL=\"x\"y'>", {"refresh": "x"}),
        ("<meta http-equiv=refresh content=5>", {"refresh": None}),
        (
            "<meta name=robots content=noindex><meta name=NEPHILA content=none><meta name=otherbot content=all>",
            {"meta_robots": ["noindex", "none"]},
        ),
        ("<base href=/b/>", {"base": "https://a.example/b/"}),
        ("<base target=_top><base href=b/><base href=c/>", {"base": "https://a.example/dir/b/"}),
        ("<base href='//b.example'><a href=x>", {"base": "https://b.example/"}),
        ("<base href='http://['><base href=/c/>", {"base": URL}),
        ("<base href='javascript:x'>", {"base": URL}),
        ("<base href='data:,x'>", {"base": URL}),
        ("<template><base href=/b/></template>", {"base": URL}),
    ],
)
def test_facts(html: str, facts: dict[str, Any]) -> None:
    page = page_of(html)
    assert {name: getattr(page, name) for name in facts} == facts


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("", None),
        ("x", None),
        ("5", None),
        ("5;", None),
        ("5x", None),
        ("0;x", "x"),
        ("0,x", "x"),
        ("0 x", "x"),
        (" 1.5.2 ;\n url = x", "x"),
        (".5;x", "x"),
        ("0;url=x", "x"),
        ("0;URL='x'y", "x"),
        ('0;url="x', "x"),
        ("0;'x'", "x"),
        ("0;url x", "url x"),
        ("0;ur=x", "ur=x"),
        ("0;url=", None),
        ("0;url=url=x", "url=x"),
        (";url=x", None),
    ],
)
def test_refresh(content: str, target: str | None) -> None:
    assert refresh_target(content) == target


def test_links_are_bounded() -> None:
    page = page_of("<a href=x>" * (LINKS_MAX + 10))
    assert len(page.links) == LINKS_MAX


@pytest.mark.parametrize(
    ("body", "header", "charset", "title"),
    [
        ("<title>ä</title>".encode(), None, "utf-8", "ä"),
        ("<title>ä</title>".encode("cp1252"), None, "cp1252", "ä"),
        ("<meta charset=koi8-r><title>ж</title>".encode("koi8-r"), None, "koi8-r", "ж"),
        ("<title>ж</title>".encode("utf-16"), None, "utf-16-le", "ж"),
        (b"<title>\xff\xfe</title>", "utf-8", "utf-8", "\ufffd\ufffd"),
        ("\ufeff<title>x</title>".encode(), None, "utf-8", "x"),
    ],
)
def test_charsets(body: bytes, header: str | None, charset: str, title: str) -> None:
    page = extract_html(body, URL, header)
    assert (page.charset, page.title) == (charset, title)


@pytest.mark.requirement("N-01", "W-12")
def test_queries_are_sent_in_the_encoding_of_the_page() -> None:
    html = (
        "<base href='/é?é'><link rel=canonical href='?c=é'><meta http-equiv=refresh content='0;url=?r=é'>"
        "<a href='/é?q=при&amp;e=&eacute;#é'><iframe src='?f=я'></iframe><svg><a xlink:href='?s=я'></svg><area href=я>"
    )
    page = extract_html(html.replace("é", "&eacute;").encode("cp1251"), URL, "windows-1251")
    sent = "%26%23233%3B"
    expected = [f"?c={sent}", f"?r={sent}", f"/é?q=%EF%F0%E8&e={sent}#é", "?f=%FF", "?s=%FF", "я"]
    assert [href for href, _ in page.links] == expected
    assert (page.canonical, page.refresh) == (f"?c={sent}", f"?r={sent}")
    assert page.base == f"https://a.example/%C3%A9?{sent}"


@pytest.mark.parametrize("charset", ["utf-8", "utf-16le"])
def test_queries_of_unicode_pages_are_sent_in_utf_8(charset: str) -> None:
    page = extract_html("<a href='?q=é'>".encode(charset), URL, charset)
    assert page.links == [("?q=é", False)]


TAG = st.sampled_from(
    b"<a href= |<base href= |<meta content= |<title> |</ |<svg> |<!-- |' |\" |> |&#xd800; |\0 |<p |=".split(b"|")
)


@pytest.mark.requirement("R-22")
@settings(max_examples=300)
@given(st.lists(st.one_of(TAG, st.binary(max_size=8)), max_size=30), st.sampled_from([None, "utf-8", "utf-16", "x"]))
def test_any_bytes(parts: list[bytes], header: str | None) -> None:
    page = extract_html(b"".join(parts), URL, header)
    for href, _ in page.links:
        href.encode()


@pytest.mark.parametrize("tag", ["<div>", "<b>", "<table>", "<svg>", "<template>", "<a href=x>", "<select>"])
def test_deep_nesting_does_not_crash(tag: str) -> None:
    extract_html(tag.encode() * 3000, URL)
