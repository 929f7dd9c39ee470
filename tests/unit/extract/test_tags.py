"""The tags of a page: as the tokenizer of the standard finds them, as lexbor's tree has them, and in linear time."""

import runpy
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count, islice, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from nephila.extract import tags
from nephila.extract.html import HtmlPage, extract_html
from nephila.extract.page import PageJob, judged, page_of
from nephila.extract.tags import attributes_of, find_tags, text_of_title
from nephila.profiles import crawl_settings
from nephila.urls.admission import Admission
from nephila.worker.visit import BYTES_INLINE_MAX, LINKS_INLINE_MAX

HELD_SECONDS_MAX = 0.25
URL = "https://a.example/dir/page"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def hrefs(html: str) -> list[str]:
    return [href for href, _ in extract_html(html.encode(), URL, "utf-8").links]


@pytest.mark.requirement("W-12")
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<!--><a href=x>-->", ["x"]),
        ("<!---><a href=x>-->", ["x"]),
        ("<!-- --!><a href=x>", ["x"]),
        ("<!-- - -- > <a href=x> ", []),
        ("<!x <a href=x> <a href=y>", ["y"]),
        ("<?x <a href=x> <a href=y>", ["y"]),
        ("</3 <a href=x> <a href=y>", ["y"]),
        ("</><a href=x>", ["x"]),
        ("1 < 2 <3 <a href=x>", ["x"]),
        ("<p title='a>b' class=\"<a href=no>\"><a href=x>", ["x"]),
        ("<p title = 'a>b'><a href=x>", ["x"]),
        ("<p title=a'b><a href=x>'", ["x"]),
        ('<p ="a><a href=x>', ["x"]),
        ('<p="a><a href=x>"', ["x"]),
        ('<p x="<a href=x> never ends', []),
        ('<p x="1" y=\'<a href=x> never ends', []),
        ("</p title='<a href=no>'><a href=x>", ["x"]),
        ("<a/href=x/><a\fhref=y>", ["x/", "y"]),
        ("<a href=x href=y>", ["x"]),
        ("<abbr href=no><article href=no><areas href=no><a href=x>", ["x"]),
        ("<script>a <!-- <script> </script> <a href=no> </script> <a href=x> -->", ["x"]),
        ("<script>a <!-- </script><a href=x>", ["x"]),
        ("<script>a <!-- --> <script> </script><a href=x>", ["x"]),
        ("<script><!--></script><a href=x>", ["x"]),
        ("<script>1</scripts> <a href=no> </SCRIPT\n><a href=x>", ["x"]),
        ("<style><a href=no></style><xmp><a href=no></xmp><noembed><a href=no></noembed><a href=x>", ["x"]),
        ("<title><a href=no></title><textarea><a href=no></textarea><a href=x>", ["x"]),
        ("<iframe><a href=no></iframe><noframes><a href=no></noframes><a href=x>", ["x"]),
        ("<template><template><a href=no></template><a href=no></template><a href=x>", ["x"]),
        ("<plaintext><a href=no>", []),
        ("<a href=x\0y>", ["x\ufffdy"]),
        ("<a href='x\r\ny'>", ["x\ny"]),
    ],
)
def test_where_tags_end(html: str, expected: list[str]) -> None:
    assert hrefs(html) == expected


@pytest.mark.parametrize(
    ("tag", "attributes"),
    [
        ("", {}),
        (" a b=c", {"a": "", "b": "c"}),
        (" A='1' a=2", {"a": "1"}),
        (" a = \"1\"b='2'/c", {"a": "1", "b": "2", "c": ""}),
        (" a=b/", {"a": "b/"}),
        (" =a=b", {"=a": "b"}),
        (
            " a=&amp;&lt&copy;&copy=&copyx&notit;&nosuch;&#65;&#x42&#xd800;&",
            {"a": "&<©&copy=&copyx&notit;&nosuch;AB\ufffd&"},
        ),
    ],
)
def test_attributes(tag: str, attributes: dict[str, str]) -> None:
    assert attributes_of(tag.encode()) == attributes


# --- lexbor's tree says the same


def tree_page(html: str) -> HtmlPage:
    tree = LexborHTMLParser(html)
    page = HtmlPage("utf-8", URL)
    for node in tree.css("a,area,link,iframe,meta,title,html"):
        _from_tree(node, page)
    return page


def _from_tree(node: LexborNode, page: HtmlPage) -> None:
    has = node.attributes
    rel = (has.get("rel") or "").lower().split()
    if node.tag in ("a", "area") and "href" in has:
        page.links.append(((has["href"] or "").strip("\t\n\f\r "), "nofollow" in rel))
    elif node.tag == "iframe" and has.get("src"):
        page.links.append((has["src"] or "", False))
    elif node.tag == "link" and "canonical" in rel:
        page.links.append((has["href"] or "", False))
    elif node.tag == "meta" and has.get("name") == "description":
        page.description = page.description or has.get("content")
    elif node.tag == "title":
        page.title = page.title or " ".join(node.text().split()) or None
    elif node.tag == "html":
        page.language = has.get("lang")


PIECES = """<a href=x1>|<a href="x2">|<A HREF='x3' >|</a>|<a|<area href=y>| href="|"|'|>|<!--|-->|--!>|<!|<?|<script>
|</script>|<script|<style>|</style>|<title>|</title>|<textarea>|</textarea>|<noscript>|</noscript>
|<iframe src=f>|</iframe>|<xmp>|</xmp>|=|x|text | |<p |<p>|</p>|<div class="a b">|<div title='<a href=no>'>
|<div title="a>b">|<b>|</b>|<table>|<tr><td>|</table>|/|<|!|/>|&amp;|&copy|&copy=|&notit;|&#65;
|<meta name=description content=d>|<html lang=de>|<link rel=canonical href=c>|<body>|<head>|</head>|</body>|<li>
|<br/>|-|--|<!-->|<!--->|</|</ x>|</>|<3|<a href=u/v/>|<a title = "q" href = w >|<a href=r rel=nofollow>
|<a href=a href=b>|<a/href=z>|<a"href=k>|<a href=">">|<script><!--<script>|<noembed>|</noembed>""".replace(
    "\n|", "|"
).split("|")


@pytest.mark.requirement("W-12", "W-13")
@settings(max_examples=1500)
@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
def test_lexbors_tree_has_the_same(html: str) -> None:
    """All but drawings, templates and frame sets, where a tree knows more (docs/decisions/0012)."""
    tree, ours = tree_page(html), extract_html(html.encode(), URL, "utf-8")
    assert set(ours.links) == set(tree.links)
    assert (ours.title, ours.description, ours.language) == (tree.title, tree.description, tree.language)


@given(st.lists(st.sampled_from([*PIECES, "<svg>", "</svg>", "<template>"]), max_size=16))
def test_older_pythons_read_the_same(pieces: list[str]) -> None:
    html = "".join(pieces).encode()
    assert OF_OLDER_PYTHONS(html) == find_tags(html)


def _of_older_pythons() -> Callable[[bytes], list[tuple[bytes, bytes, bytes, bytes]]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "version_info", (3, 11, 2))
        found: Callable[[bytes], list[tuple[bytes, bytes, bytes, bytes]]] = runpy.run_path(tags.__file__)["find_tags"]
    return found


OF_OLDER_PYTHONS = _of_older_pythons()


# --- hostile pages


def names() -> Iterator[str]:
    for length in count(1):
        yield from map("".join, product(LETTERS, repeat=length))


def distinct(tag: str, n: int) -> str:
    return "".join(f"<{tag} {name}>" for name in islice(names(), n))


def attributes(n: int) -> str:
    return " ".join(islice(names(), n))


PAGES: dict[str, Callable[[int], str]] = {
    "divs": lambda n: "<div>" * n,
    "divs, closed": lambda n: "<div>" * (n // 2) + "</div>" * (n // 2),
    "divs, closed by nothing": lambda n: "<div></x>" * (n // 2),
    "divs, closed in a value": lambda n: "<div t='</div>'>" * (n // 2),
    "bold": lambda n: "<b>" * n,
    "bold and italic": lambda n: "<b><i>" * (n // 2),
    "distinct bold": lambda n: distinct("b", n),
    "distinct bold, then blocks": lambda n: distinct("b", n // 2) + "<p>x" * (n // 2),
    "distinct bold, blocks, ends": lambda n: distinct("b", n // 3) + "<div>" * (n // 3) + "</b>" * (n // 3),
    "fonts in paragraphs": lambda n: "".join(f"<p><font {x}>x" for x in islice(names(), n // 2)),
    "open links": lambda n: "<a href=x>" * n,
    "links around blocks": lambda n: "<a href=x><div>" * (n // 2),
    "nobr": lambda n: "<nobr><table>" * (n // 2),
    "tables": lambda n: "<table>" * n,
    "tables in cells": lambda n: "<table><tr><td>" * (n // 3),
    "fostered": lambda n: "<table><b>x" * (n // 2),
    "options": lambda n: "<select>" + "<option>x" * n,
    "option groups": lambda n: "<select>" + "<optgroup><option>" * (n // 2),
    "drawings": lambda n: "<svg><g>" * (n // 2),
    "drawings in HTML in drawings": lambda n: "<svg><foreignObject><div>" * (n // 3),
    "formulas": lambda n: "<math><mi>" * (n // 2),
    "lists": lambda n: "<ul><li>" * (n // 2),
    "definitions": lambda n: "<dl><dd>" * (n // 2),
    "headings": lambda n: "<h1><address>" * (n // 2),
    "details": lambda n: "<details>" * n,
    "templates": lambda n: "<template>" * n,
    "buttons": lambda n: "<button><object>" * (n // 2),
    "frames": lambda n: "<frameset>" * n,
    "ruby": lambda n: "<ruby><rt>" * (n // 2),
    "ends": lambda n: "<div>" * (n // 2) + "</p>" * (n // 2),
    "bases": lambda n: "<base href=x>" * n,
    "metas": lambda n: "<meta http-equiv=refresh content='0;url=x'>" * n,
    "titles": lambda n: "<title>x</title>" * (n // 2),
    "bodies": lambda n: "".join(f"<body {x}>" for x in islice(names(), n)),
    "less than": lambda n: "<" * n,
    "comments": lambda n: "<!--" * n,
    "attributes": lambda n: "<a " + attributes(n) + ">",
    "attributes, newlines": lambda n: "<a\n" + attributes(n).replace(" ", "\n") + ">",
    "attributes, slashes": lambda n: "<a/" + attributes(n).replace(" ", "/") + ">",
    "attributes of some tags": lambda n: f"<a {attributes(n // 8)}>" * 8,
    "attributes, values": lambda n: "<a " + attributes(n).replace(" ", "='x' ") + ">",
    "a long value": lambda n: "<a href='" + "x" * n + "'>",
    "text": lambda n: "x" * n,
    "entities": lambda n: "&amp;" * n,
    "nothing": lambda n: "\0" * n,
    "links": lambda n: "".join(f"<a href={x}>" for x in islice(names(), n)),
    "links elsewhere": lambda n: "".join(f"<a href=//{x}é.b>" for x in islice(names(), n)),
    "links with entities": lambda n: "".join(f"<a href={x}&copy&amp;>" for x in islice(names(), n)),
    "frames of pages": lambda n: "".join(f"<iframe src={x}></iframe>" for x in islice(names(), n)),
    "open quotes": lambda n: '<a b="' * n,
    "both quotes": lambda n: "<a b='\"' c=\"'\"" * n,
    "open tags": lambda n: "<a " * n,
    "equals": lambda n: "<a " + "= " * n,
    "scripts": lambda n: "<script></script" * n,
    "scripts in comments in scripts": lambda n: "<script><!--<script>" * n,
    "templates in templates": lambda n: "<template><template></template>" * n,
    "dashes": lambda n: "<!--" + "-" * n,
}
ENCODINGS = ("utf-8", "utf-16")


@pytest.mark.requirement("R-22")
@pytest.mark.parametrize("name", PAGES)
def test_what_is_read_on_the_loop_is_read_soon(name: str) -> None:
    worst = 0.0
    for encoding in ENCODINGS:
        body = PAGES[name](BYTES_INLINE_MAX).encode(encoding)[:BYTES_INLINE_MAX]
        job, admission = PageJob(body, URL, "text/html", 1), Admission(crawl_settings("default"), [URL])
        began = time.thread_time()
        page = page_of(job)
        page.links = page.links[:LINKS_INLINE_MAX]  # with more it would be judged elsewhere
        judged(page, job, admission, obey_robots_meta=True)
        worst = max(worst, time.thread_time() - began)
    print(f"{name}: {worst * 1000:.1f} ms")
    assert worst < HELD_SECONDS_MAX


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", PAGES)
def test_a_hostile_page_takes_no_long_time(name: str) -> None:
    """Linear: a quadratic one would take hours here."""
    extract_html(PAGES[name](300_000).encode()[:3_000_000], URL)


def test_titles_may_be_long() -> None:
    found = find_tags(b"<title>" + b"x" * 1_000_000)
    assert len(text_of_title(found[0][3])) == 1_000_000
