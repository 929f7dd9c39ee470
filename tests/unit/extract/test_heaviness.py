"""No input may hold the event loop: what looks_heavy lets through is parsed well below 250 ms."""

import time
from collections.abc import Callable, Iterator
from itertools import count, islice, product

import pytest

from nephila.extract.heaviness import BYTES_INLINE_MAX, TAGS_MAX, looks_heavy
from nephila.extract.html import extract_html

HELD_SECONDS_MAX = 0.25
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def names() -> Iterator[str]:
    for length in count(1):
        yield from map("".join, product(LETTERS, repeat=length))


def distinct(tag: str, n: int) -> str:
    return "".join(f"<{tag} {name}>" for name in islice(names(), n))


def attributes(n: int) -> str:
    return " ".join(islice(names(), n))


def hidden(n: int) -> str:
    """A tag of n attributes in which every 50 bytes a quoted value looks like the end of a tag and text."""
    return "<a " + " ".join(x if i % 12 else f"{x}='<p>'" for i, x in enumerate(islice(names(), n))) + ">"


def misnested(n: int) -> str:
    """What hill climbing found: 200 ms for 1,000 tags, 2.3 s for 2,000."""
    third = distinct("s", n // 20) + "".join(f"<u {x}><big><ul>x" for x in islice(names(), n // 20))
    return third + "".join(f"</s><u {x}><big {x}>" for x in islice(names(), n // 4))


def climbed(n: int) -> str:
    """77 ms for 700 tags."""
    return (
        "".join(f"<big {x}><font><u {x}><a>x" for x in islice(names(), n // 9))
        + "<pre>x" * (n // 16)
        + "".join(f"<ul><font {x}><option>x" for x in islice(names(), n // 20))
        + "</big><option>" * (n // 5)
    )


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
    "misnested": misnested,
    "climbed": climbed,
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
    "attributes, hiding ends": hidden,
    "attributes of some tags": lambda n: f"<a {attributes(n // 8)}>" * 8,
    "attributes, values": lambda n: "<a " + attributes(n).replace(" ", "='x' ") + ">",
    "a long value": lambda n: "<a href='" + "x" * n + "'>",
    "text": lambda n: "x" * n,
    "entities": lambda n: "&amp;" * n,
    "nothing": lambda n: "\0" * n,
}
COUNTS = (100, TAGS_MAX, 2_000, 10_000, 100_000, 1_000_000)
ENCODINGS = ("utf-8", "utf-16")


@pytest.mark.requirement("R-22")
@pytest.mark.parametrize("name", PAGES)
def test_what_passes_is_parsed_soon(name: str) -> None:
    worst = 0.0
    for n, encoding in product(COUNTS, ENCODINGS):
        body = PAGES[name](n).encode(encoding)
        if not looks_heavy(body):
            began = time.thread_time()
            extract_html(body, "https://a.example/")
            worst = max(worst, time.thread_time() - began)
    print(f"{name}: {worst * 1000:.1f} ms")
    assert worst < HELD_SECONDS_MAX


@pytest.mark.parametrize("name", ["divs, closed by nothing", "distinct bold", "misnested", "less than", "text"])
def test_what_is_too_much_does_not_pass(name: str) -> None:
    assert looks_heavy(PAGES[name](100_000).encode())


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("attributes")])
def test_floods_of_attributes_do_not_pass(name: str) -> None:
    assert looks_heavy(PAGES[name](15_000).encode())
    assert not looks_heavy(PAGES[name](300).encode())


@pytest.mark.parametrize(
    ("body", "heavy"),
    [
        (b"", False),
        (b"<p>hello</p>", False),
        (b"<p class='x'>some words, <br>\n" * 300, False),
        (b'<li><a href="/page?q=">it\'s a link</a>\n' * 200, False),
        (b"<p>" + b"a paragraph of many words, " * 100 + b"\n" + b'<img src="x">' * 200, False),
        (b"<p>x</p>" * TAGS_MAX, True),
        (b"<p>" + b"x" * BYTES_INLINE_MAX, True),
        ("\ufeff<p>hello</p>".encode("utf-16-le") * 200, True),
        (b"<p>\x1b$B" + b"x" * 4000, True),
    ],
)
def test_plain_pages(body: bytes, heavy: bool) -> None:
    assert looks_heavy(body) is heavy
