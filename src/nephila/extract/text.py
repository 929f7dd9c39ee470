"""The visible text of a page: what a reader could look for. One pass over the characters, linear whatever they are.

Not by lexbor's tree: it is quadratic in hostile pages (heaviness.py), so it would take helper processes with deadlines
here, too, for a result that hardly differs: what a parser repairs of a tree does not change the order of its text.
tests/unit/extract/test_text.py compares both.
"""

import re
from html import unescape

from nephila.extract.encoding import charset_of, decode_html
from nephila.extract.page import is_html

TEXT_CHARS_MAX = 500_000
HTML_BYTES_MAX = 8 << 20  # of a page that is looked through
BINARY_LOOK = 4096

# Tags that do not separate words; at all others, unknown ones too, a new line begins.
_INLINE_NAMES = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rb rp rt rtc ruby s samp"
    " small span strike strong sub sup time tt u var wbr"
)
_INLINE = frozenset(_INLINE_NAMES.split())
# Elements whose content nobody reads. Inside the raw ones nothing is a tag but their own end.
_RAW = ("script", "style", "noscript", "iframe", "noembed", "noframes", "title")
_ENDS = {name: re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE) for name in _RAW}
_TEMPLATE = re.compile(r"<(/?)template(?=[\s/>])", re.IGNORECASE)
# Possessive: never tries twice. A tag goes to its `>`, or to the end; a quote counts only after `=`.
_MARKUP = re.compile(
    r"<(?:!--(?:>|->|.*?--!?>|.*)|[!?][^>]*+>?|/[^a-zA-Z>][^>]*+>?|/>"
    r"|/?([a-zA-Z][^\s/>]*+)(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+>?)",
    re.DOTALL,
)


def text_of(body: bytes, content_type: str | None) -> str:
    """Lines of words; empty where it is neither HTML nor text."""
    if is_html(content_type, body):
        html, _ = decode_html(body[:HTML_BYTES_MAX], charset_of(content_type))
        return visible_text(html)
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if media_type != "text/plain" or b"\0" in body[:BINARY_LOOK]:
        return ""
    plain, _ = decode_html(body[: 4 * TEXT_CHARS_MAX], charset_of(content_type) or "utf-8")
    return _tidied(plain[:TEXT_CHARS_MAX])


def visible_text(html: str) -> str:
    pieces: list[str] = []
    at, chars = 0, 0
    while chars < TEXT_CHARS_MAX and (tag := _MARKUP.search(html, at)) is not None:
        pieces.append(html[at : tag.start()])
        chars += tag.start() - at
        name = (tag[1] or "").lower()
        if name and name not in _INLINE:
            pieces.append("\n")
        at = tag.end()
        if name in _ENDS or name == "template":
            at = _after(html, tag, name)
    if chars < TEXT_CHARS_MAX:
        pieces.append(html[at : at + TEXT_CHARS_MAX - chars])
    return _tidied(unescape("".join(pieces))[:TEXT_CHARS_MAX])


def _after(html: str, tag: "re.Match[str]", name: str) -> int:
    """Where the content of an element that nobody reads is over; its end tag is read as any other."""
    if tag[0].startswith("</"):
        return tag.end()
    if name != "template":
        end = _ENDS[name].search(html, tag.end())
        return end.start() if end else len(html)
    depth = 1
    for mark in _TEMPLATE.finditer(html, tag.end()):
        depth += -1 if mark[1] else 1
        if depth == 0:
            return mark.start()
    return len(html)


def _tidied(text: str) -> str:
    """One space between words, no empty lines."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)
