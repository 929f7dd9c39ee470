"""The tags of a page that say something to a crawler, in document order, by one regular expression over its bytes.

No tree is built: what that changes of a page is where its elements stand, hardly which there are
(docs/decisions/0012). One pass at half the price of lexbor's tree, which is quadratic in hostile pages.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Generic, TypeVar

from nephila.extract.elements import OpenElements, Surroundings
from nephila.extract.grammar import (
    ANY_TAG,
    ATTRIBUTES,
    COMMENT,
    HIDDEN,
    NO_TAG,
    RAW,
    REST,
    SPACE,
    SPECIAL_START,
    drawing,
    each_attribute,
    many,
    raw_element,
    raw_text,
    script,
    tag_name,
    template,
)
from nephila.extract.references import unescape, unescape_value

TAGS_REMEMBERED = 20_000
TAG_BYTES_REMEMBERED = 500  # of the longest: 10 MB of tags at the most

# The plain form that most attributes are written in, tried first.
_PLAIN_ATTRIBUTES = many(r' [a-zA-Z:_-]++="[^"]*+"') + "[ /]*+"
_PLAIN_REST = rf"[a-zA-Z0-9]*+{_PLAIN_ATTRIBUTES}>"

_WANTED = ("a", "link", "area", "base", "html", "meta", "frame")
_CAREFUL = tag_name("svg", "math", "template")
_SPECIAL = tag_name(*_WANTED, *SPECIAL_START)

# What follows a `<` that is not wanted. The first four make most tags cheap: they need no look at all the names.
_PASSED = (
    "/[a-zA-Z][a-zA-Z0-9]*+>",
    f"[cdegjkoqruvwyzCDEGJKOQRUVWYZ]{_PLAIN_REST}",
    f"[sS][abd-suw-zABD-SUW-Z]{_PLAIN_REST}",
    f"[tT][a-df-hj-zA-DF-HJ-Z]{_PLAIN_REST}",
    f"(?!{_SPECIAL})[a-zA-Z](?:{_PLAIN_REST}|{REST})",
    f"/[a-zA-Z]{REST}",
    COMMENT,
    script(),
    *map(raw_element, ("style", "textarea", "noembed", "noframes", "xmp")),
    drawing(),
    template(),
    rf"{tag_name('plaintext')}{REST}(?s:.*+)",
    NO_TAG,
)
_CAUGHT = f"((?>{_PLAIN_ATTRIBUTES}(?=>)|{ATTRIBUTES}))>"
# A link as most are written: its href has no blanks and no references, and nothing before it may be a `rel` or another
# href. To catch the href itself costs 10 us a page and saves a second expression, which takes 1.3 us a link.
_PLAIN_LINK = (
    many(r' [a-gi-qs-z][a-z-]*+="[^"]*+"') + rf' href="([^"&{SPACE}\0]++)"' + many(r' [a-qs-z][a-z-]*+="[^"]*+"')
)
_FOUND = (
    f"[aA]{_PLAIN_LINK}>",
    f"({tag_name(*_WANTED)}){_CAUGHT}",
    f"{tag_name('iframe')}{_CAUGHT}{raw_text('iframe')}",
    f"{tag_name('title')}{REST}({raw_text('title')})",
)
_SKIPPED = many(f"[^<]*+<(?:{'|'.join(_PASSED)})") + "[^<]*+"
# At the end what only `_found_with_care` reads, or an unfinished tag, which takes all that is left with it.
_TAGS = re.compile(rf"{_SKIPPED}(?:<(?:{'|'.join(_FOUND)})|<(?={_CAREFUL})((?s:.+))|(?s:.+)|)".encode())

Tag = tuple[bytes, bytes, bytes, bytes, bytes, bytes]


def find_tags(html: bytes) -> list[Tag]:
    """For each tag of a page in UTF-8: (href of a link as most are written, else name of the tag, its attributes,
    attributes of an iframe, text of a title), what it is not empty.

    The sixth is for us alone. A link in a drawing or formula has the name `FOREIGN_LINK`.
    """
    tags: list[Tag] = _TAGS.findall(html)
    if len(tags) > 1 and (rest := tags[-2][5]):
        del tags[-2:]
        return tags + _found_with_care(html, len(html) - len(rest) - 1)
    return tags


# --- drawings, formulas and templates that are not plain: tag by tag, with a stack of open elements

FOREIGN_LINK = b"foreign a"

_token = re.compile(
    rf"[^<]*+(?:<(?:(/?)([a-zA-Z][^{SPACE}/>]*+)({ATTRIBUTES})>|(!\[CDATA\[)|{COMMENT}|{NO_TAG})|(?s:.*+))".encode()
).match
_hidden = {name: re.compile(f"<{raw_element(name)}".encode()).match for name in RAW}
_hidden["script"] = re.compile(f"<{script()}".encode()).match
_hidden["plaintext"] = re.compile(b"(?s:.*)").match
_title = re.compile(f"<{tag_name('title')}{REST}({raw_text('title')})".encode()).match
_WANTED_NAMES = frozenset(name.encode() for name in _WANTED)


@lru_cache(1)  # compiled by the first page that needs it: most processes read none, and it takes 20 ms
def _run() -> "re.Pattern[bytes]":
    """As `_TAGS`, but the first group is all that was read."""
    found = rf"<(?:{'|'.join(_FOUND)})|(?!<{_CAREFUL})(?s:.+)|"
    return re.compile(rf"({_SKIPPED}(?:{found}))(?:<(?={_CAREFUL})(?s:.+))?".encode())


@lru_cache(1)
def _any_tag() -> "re.Pattern[bytes]":
    """Each tag outside of drawings, formulas and templates: a slash or nothing, its name."""
    tag = rf"(?=(/?)([a-zA-Z][^{SPACE}/>]*+))(?:{ANY_TAG}|/[a-zA-Z]{REST})"
    return re.compile(rf"[^<]*+<(?:{tag}|{HIDDEN}|{drawing()}|{template()}|{NO_TAG})".encode())


def _found_with_care(html: bytes, at: int) -> list[Tag]:
    """The tags from here on, where a drawing, formula or template begins."""
    found: list[Tag] = []

    def tags_between(start: int, end: int) -> list[tuple[str, str]]:
        tags = _any_tag().findall(html, start, end)
        return [(slash.decode(), name.decode("latin-1").lower()) for slash, name in tags if name]

    around = Surroundings(tags_between)
    around.add(0, at)
    elements, run = OpenElements(around.ends), _run().findall
    while at < len(html):
        at = _read_inside(html, at, elements, found)
        began = at
        for whole, *tag in run(html, at):
            at += len(whole)
            found.append((*tag, b""))
        around.add(began, at)
    return found


def _read_inside(html: bytes, at: int, elements: OpenElements, found: list[Tag]) -> int:
    """Read tags until nothing is open any more; answers where that is."""
    while at < len(html):
        token = _token(html, at)
        assert token is not None
        slash, raw, attributes, cdata = token.groups()
        at = token.end()
        if cdata:
            end = b"]]>" if elements.in_foreign else b">"
            at = html.find(end, at) + len(end)
            at = len(html) if at < len(end) else at
        if raw is None:
            continue
        name = raw.lower()
        if slash:
            elements.end(name.decode("latin-1"))
        else:
            was_open = bool(elements)
            start = token.start(1) - 1
            is_html = elements.start(name.decode("latin-1"), attributes.decode("latin-1"))
            if is_html and (elements or not was_open):
                at = _read_start(html, start, at, name, attributes, found if not elements.in_template else [])
            elif is_html:
                return start
            elif name == b"a" and not elements.in_template:
                found.append((b"", FOREIGN_LINK, attributes, b"", b"", b""))
        if not elements:
            return at
    return at


def _read_start(html: bytes, start: int, end: int, name: bytes, attributes: bytes, found: list[Tag]) -> int:
    """A start tag of HTML; answers where it, or what is no markup inside it, is over."""
    if name in _WANTED_NAMES:
        found.append((b"", name, attributes, b"", b"", b""))
    elif name == b"iframe":
        found.append((b"", b"", b"", attributes, b"", b""))
    elif name == b"title":
        title = _title(html, start)
        assert title is not None
        found.append((b"", b"", b"", b"", title[1], b""))
    hidden = _hidden.get(name.decode("latin-1"))
    whole = hidden(html, start) if hidden is not None else None
    return end if whole is None else whole.end()


T = TypeVar("T")


class TagMemory(dict[bytes, T], Generic[T]):
    """Remembers what tags say, by their bytes: a site repeats most tags on many pages.

    When half full it begins anew and keeps what it had behind it: a tag that comes again in time stays remembered,
    however many come once.
    """

    def __init__(self, read: Callable[[bytes], T]) -> None:
        self._read = read
        self._older: dict[bytes, T] = {}

    def __missing__(self, tag: bytes) -> T:
        said = self._older[tag] if tag in self._older else self._read(tag)
        if len(tag) <= TAG_BYTES_REMEMBERED:
            if len(self) >= TAGS_REMEMBERED // 2:
                self._older = dict(self)
                self.clear()
            self[tag] = said
        return said


def attributes_of(tag: bytes) -> Mapping[str, str]:
    """As `attributes_in`. The tag is decoded as a whole: what divides it is ASCII, so the pieces are the same, at a
    third of the price."""
    return attributes_in(text_of(tag))


def attributes_in(text: str) -> Mapping[str, str]:
    """The attributes between the name of a tag and its end; the first of a name counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in each_attribute(text):
        value = double or single or bare
        found.setdefault(name.lower(), unescape_value(value) if "&" in value else value)
    return found


def text_of_title(title: bytes) -> str:
    return unescape(text_of(title))


def text_of(raw: bytes) -> str:
    """Characters as the standard prepares its input: line ends and null bytes replaced."""
    text = raw.decode("utf-8", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\0", "\ufffd") if "\0" in text else text
