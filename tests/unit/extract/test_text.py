"""The visible text of a page, also of hostile ones, and compared with what lexbor's tree has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from nephila.extract.text import TEXT_CHARS_MAX, text_of, visible_text
from nephila.search.words import words
from tests.patience import PATIENCE_SECONDS

HTML = "text/html"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", ""),
        ("plain", "plain"),
        ("<p>one</p><p>two</p>", "one\ntwo"),
        ("<p>un<b>believ</b>able <i>x</i>", "unbelievable x"),
        ("one<br>two<hr/>three", "one\ntwo\nthree"),
        ("<table><tr><td>a<td>b</table>", "a\nb"),
        ("<ul><li>a<li>b</ul>", "a\nb"),
        ("<my-card>a</my-card>b", "a\nb"),
        ("  much \n\t white  space ", "much\nwhite space"),
        ("<script>if (a < b) '</p>'</script>x", "x"),
        ("<SCRIPT>a</ScRiPt >x", "x"),
        ("<script>never ends <p>x", ""),
        ("<style>p { color: red }</style>x", "x"),
        ("<noscript><p>no</p></noscript>x", "x"),
        ("<template>a<template>b</template>c</template>x", "x"),
        ("<head><title>T</title><meta name=x content=y></head><body>x", "x"),
        ("<textarea>typed</textarea>", "typed"),
        ("a<!-- <p>no</p> -->b", "ab"),
        ("a<!-- never ends <p>x", "a"),
        ("a<!-->b", "ab"),
        ("<!doctype html><?xml?>x<![CDATA[y]]>", "x"),
        ("<a title='x > y' href=\"a>b\">t</a>", "t"),
        ("<a title='never ends>t</a>", "t"),
        ("<a b=c>t</a", "t"),
        ("1 < 2, a<3 &lt;b&gt; &amp;amp; &eacute; &#233; &#x65e5;", "1 < 2, a<3 <b> &amp; é é 日"),
        ("&nbsp;a&nbsp;b", "a b"),
        ("&#0;&#xd800;x", "\ufffd\ufffdx"),
        ("</p></>x</ y>z", "xz"),
        ("<svg><title/></svg>x", "x"),
        ("<svg><style/><script/><text>drawn</text></svg>x", "drawn\nx"),
        ("<svg><title>tip</title><style>no{}</style><script>no()</script></svg>x", "x"),
        ("<svg><text><![CDATA[a < b &amp; c]]></text></svg><![CDATA[no]]>x", "a < b &amp; c\nx"),
        ("<svg><foreignObject><style>no</style><p>yes</p></foreignObject></svg>x", "yes\nx"),
        ("<svg><p>out<style>no</style>x", "out\nx"),
        ("<div><svg></div><style>no</style>x", "x"),
        ("<math><mi>a</mi><mo>=</mo><style/></math>x", "a\n=\nx"),
        ("<template><!-- </template> -->no<script>'</template>'</script></template>x", "x"),
        ("<template><svg><title/></svg>no</template>x", "x"),
        ("<div><template shadowrootmode=open>shown<template>no</template></template></div>x", "shown\nx"),
        ("&#128;&#x1;&#xfffe;", "€\x01\ufffe"),
    ],
)
def test_the_text_of(html: str, expected: str) -> None:
    assert visible_text(html) == expected


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"<p>caf\xe9</p>", "text/html; charset=iso-8859-1", "café"),
        ("<p>café</p>".encode(), HTML, "café"),
        ("<meta charset=shift_jis><p>日本".encode("cp932"), HTML, "日本"),
        (b"<html><p>x", None, "x"),
        (b"a < b\n\nc", "text/plain", "a < b\nc"),
        ("naïve".encode(), "text/plain", "naïve"),
        ("naïve".encode("latin-1"), "text/plain; charset=latin1", "naïve"),
        ("naïve".encode("utf-16"), "text/plain", ""),
        (b"bin\x00ary", "text/plain", ""),
        (b"%PDF-1.4", "application/pdf", ""),
        (b'{"a": 1}', "application/json", ""),
        (b"", HTML, ""),
    ],
)
def test_the_text_of_a_body(body: bytes, content_type: str | None, expected: str) -> None:
    assert text_of(body, content_type) == expected


HOSTILE = {
    "nested": "<div>" * 200_000,
    "unclosed": "<a " * 300_000,
    "quotes": '<a b="' * 300_000,
    "both quotes": "<a b='\"' c=\"'\"" * 200_000,
    "less": "<" * 1_000_000,
    "equals": "<a " + "= " * 500_000,
    "comments": "<!-- --" * 200_000,
    "scripts": "<script></script" * 100_000,
    "templates": "<template>" * 300_000,
    "entities": "&not" * 300_000,
    "ampersands": "&" * 1_000_000,
    "attributes": "<a " + "b " * 500_000 + ">x",
    "drawings": "<svg><title/></svg>" * 100_000,
    "drawings, nested": "<svg><g>" * 200_000,
    "drawings, open": "<div><svg></div>" * 100_000,
    "drawings, ends": "<svg><g>" * 20_000 + "</x></div>" * 100_000,
    "CDATA": "<svg>" + "<![CDATA[" * 300_000,
    "misnested": "<b><p></b>" * 100_000,
    "words": "word " * 500_000,
}


@pytest.mark.timeout(PATIENCE_SECONDS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_takes_no_long_time(name: str) -> None:
    """Linear: a quadratic one would take hours here."""
    assert len(visible_text(HOSTILE[name])) <= TEXT_CHARS_MAX


@given(st.text(alphabet=st.sampled_from("<>/!-\"'=& \nabps;#x?"), max_size=200))
def test_nothing_raises(html: str) -> None:
    visible_text(html)


INLINE = st.sampled_from(["b", "i", "span", "a", "em"])
BLOCK = st.sampled_from(["p", "div", "li", "h1", "section", "td"])
LEAF = st.sampled_from(["word", "two words", "a &amp; b", "&eacute;t&eacute;", "1 < 2", "<!-- no -->", "<br>", "日本"])


def wrapped(content: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inline = st.builds(lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>", INLINE, st.lists(content, max_size=3))
    block = st.builds(
        lambda tag, parts: f"<div><{tag} class='x y'>{''.join(parts)}</{tag}></div>",
        BLOCK,
        st.lists(content, max_size=3),
    )
    dropped = st.sampled_from(["<script>if (a<b) no()</script>", "<style>no</style>", "<template><p>no</p></template>"])
    inner = st.sampled_from(
        [
            "<svg><title/><text>drawn</text></svg>",
            "<svg><style/><script/></svg>",
            "<svg><text><![CDATA[a &amp; <b]]></text></svg>",
            "<svg><foreignObject><p>in it</p></foreignObject></svg>",
            "<math><mi>x</mi></math>",
            "<template><!-- </template> -->no</template>",
        ]
    )
    return inline | block | dropped | inner


@given(st.recursive(LEAF, wrapped, max_leaves=12))
def test_it_has_the_words_of_the_tree(html: str) -> None:
    tree = LexborHTMLParser(f"<body>{html}")
    tree.strip_tags(["script", "style", "template", "noscript"])
    assert tree.body is not None
    expected = "".join(words(tree.body.text(separator="")))
    assert "".join(words(visible_text(f"<body>{html}"))) == expected
