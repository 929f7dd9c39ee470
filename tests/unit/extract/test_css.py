"""Every case of the table, tinycss2 as the judge of random text, and hostile text in linear time."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import tinycss2
from hypothesis import given
from hypothesis import strategies as st

from nephila.extract.css import css_text, css_urls

CASES: list[tuple[str, list[str]]] = [
    ("a { background: url(a.png) }", ["a.png"]),
    ("a { background: URL( 'a b.png' ) }", ["a b.png"]),
    ('a { background: url("a)b.png") }', ["a)b.png"]),
    ("a { background: url(a\\)b\\.png) }", ["a)b.png"]),
    ("a { background: u\\72l(\\61.png) }", ["a.png"]),
    ("a { background: url(a b.png) } b { color: url(c.png) }", ["c.png"]),  # a space: it is bad up to its bracket
    ('a { background: url(a"b.png) url(c.png) }', ["c.png"]),
    ("@import 'a.css'; @import \"b.css\" screen; @IMPORT url(c.css) layer(x);", ["a.css", "b.css", "c.css"]),
    ("@import/**/'a.css';", ["a.css"]),
    ("@import 'a.css", ["a.css"]),
    ("@import 'a\n.css';", []),
    ("@font-face { src: url(a.woff2) format('woff2'), url(a.woff) format('woff') }", ["a.woff2", "a.woff"]),
    ("@namespace url(http://www.w3.org/1999/xhtml); a { background: url(a.png) }", ["a.png"]),
    ("@namespace svg url('http://www.w3.org/2000/svg');", []),
    ("@namespace svg 'http://www.w3.org/2000/svg';", []),
    ("/* url(no.png) */ a { content: 'url(no.png)'; background: url(a.png) }", ["a.png"]),
    (
        "a { background: image-set('a.png' 1x, url(b.png) 2x, 'c.webp' type('image/webp')) }",
        ["a.png", "b.png", "c.webp"],
    ),
    ("a { background: -webkit-image-set(url('a.png') 1x, 'b.png' 2x) } b { content: 'no' }", ["a.png", "b.png"]),
    ("a { background: curl(no.png) }", []),
    ("a { background: #url(no.png) }", []),
    ("a { background: 10url(no.png) }", []),
    ("a { --x: url(a.png); clip-path: url(#clip) }", ["a.png", "#clip"]),
    ("a { background: url() }", [""]),
    ("a { background: url(a.png", ["a.png"]),
    ("a { background: url(data:image/png;base64,AA==) }", ["data:image/png;base64,AA=="]),
    ("a\r\n{ background: url(\r\na.png\f) }", ["a.png"]),
    ("a { background: url(\\0 a.png) }", ["\ufffda.png"]),
    ("<!-- a { background: url(a.png) } -->", ["a.png"]),
]


@pytest.mark.parametrize(("css", "urls"), CASES)
def test_every_form_is_read_as_the_standard_says(css: str, urls: list[str]) -> None:
    assert list(css_urls(css)) == urls


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        (b"a", None, "a"),
        ("ä".encode(), None, "ä"),
        (b"\xef\xbb\xbf\xc3\xa4", "latin1", "ä"),  # the mark at the beginning comes first
        (b"\xe4", "iso-8859-1", "ä"),
        (b'@charset "iso-8859-1";\xe4', None, '@charset "iso-8859-1";ä'),
        (b'@charset "utf-16";a', None, '@charset "utf-16";a'),  # that it could be read shows that it is not
        (b"\xff\xfea\0", None, "a"),
    ],
)
def test_a_stylesheet_is_in_the_encoding_it_says(body: bytes, charset: str | None, text: str) -> None:
    assert css_text(body, charset) == text


PIECES = (
    *("url(", "URL(", ")", '"', "'", "a.png", "\\", " ", "/*", "*/", "@import", "@namespace", "svg", "image-set("),
    *("-webkit-image-set(", "type(", "{", "}", "[", "]", "(", ";", ",", "#", "@", "1", "-", "u\\72l(", "\\75 rl(", "é"),
    *("x", "url", "calc(", 'url("a")', "url('b' )", "url( c )", '"d" 1x', ".", "+", "--", "\\2e", "\n", "<!--", "-->"),
)
SETS = ("image-set", "-webkit-image-set")


def judged(nodes: list[Any], *, in_set: bool = False, nested: bool = False) -> Iterator[str]:
    """The same by the tokens of tinycss2. (At-keywords inside of an image set are nobody's.)"""
    rest = iter(enumerate(nodes))
    for place, node in rest:
        if node.type == "url" or (node.type == "string" and in_set):
            yield node.value
        elif node.type == "function":
            if node.lower_name == "url":
                first = next((each for each in node.arguments if each.type != "whitespace"), None)
                if first is not None and first.type == "string":
                    yield first.value
                arguments = [each for each in node.arguments if each.type != "string"]
                yield from judged(arguments, nested=nested)
            else:
                is_set = node.lower_name in SETS
                yield from judged(node.arguments, in_set=is_set, nested=nested or is_set)
        elif node.type.endswith(" block"):
            yield from judged(node.content, nested=nested)
        elif node.type == "at-keyword" and not nested and node.lower_value in ("import", "namespace"):
            following = [(n, each) for n, each in enumerate(nodes) if n > place and each.type not in BLANK]
            if node.lower_value == "namespace" and following and following[0][1].type == "ident":
                following = following[1:]
            if following and _is_address(following[0][1], node.lower_value):
                if node.lower_value == "import":
                    yield following[0][1].value
                while next(rest)[0] < following[0][0]:
                    pass


BLANK = ("whitespace", "comment")


def _is_address(node: Any, keyword: str) -> bool:
    if keyword == "import":
        return bool(node.type == "string")
    return bool(node.type == "url" or (node.type == "function" and node.lower_name == "url"))


def _is_at_odds(css: str) -> bool:
    """tinycss2 takes a backslash at the end of a line in `url(` for a character; the standard says it is bad. And a
    string behind the first in a `url()` is nobody's."""
    return "\\\n" in css or (css.lower().count("rl(") + css.count("72l(") > 0 and "@import" in css and '"d" 1x' in css)


@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join).filter(lambda css: not _is_at_odds(css)))
def test_random_text_is_read_as_tinycss2_reads_it(css: str) -> None:
    assert list(css_urls(css)) == list(judged(tinycss2.parse_component_value_list(css)))


@pytest.mark.parametrize(
    "piece",
    ["url(", "image-set(", '"', "\\", "/*", "@import ", "@namespace ", 'url("', "a\\", "'\n", "url(x ", "u\\72l("],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    """Eight times the text takes some eight times as long: far less than the 64 of a square."""

    def seconds(count: int) -> float:
        text = piece * count
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            sum(1 for _ in css_urls(text))
            best = min(best, time.process_time() - began)
        return best

    assert seconds(80_000) < 24 * seconds(10_000) + 0.05
