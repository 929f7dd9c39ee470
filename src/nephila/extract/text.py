"""The visible text of a page: what a reader could look for. One pass over the characters, linear whatever they are.

Not by lexbor's tree: it is quadratic in hostile pages, so it would take helper processes with deadlines here, too, for
a result that hardly differs: what a parser repairs of a tree does not change the order of its text.
tests/unit/extract/test_text.py compares both.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from nephila.extract.elements import OpenElements, Surroundings
from nephila.extract.encoding import charset_of, decode_html
from nephila.extract.grammar import BOGUS_COMMENT, COMMENT, SPACE, attributes, tag_name
from nephila.extract.page import is_html
from nephila.extract.references import unescape
from nephila.models import media_type

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
_ENDS = {name: re.compile(f"</{tag_name(name)}") for name in _RAW}
_INNER = frozenset(("svg", "math", "template"))
# What the tags that pages are made of leave in the text, as they are mostly spelled. Others are looked at more closely.
_PLAIN_NAMES = (
    "address article aside blockquote body br button caption col colgroup dd details div dl dt fieldset figcaption"
    " figure footer form h1 h2 h3 h4 h5 h6 head header hr html img input legend li link main meta nav ol option p"
    " picture pre section select source summary table tbody td tfoot th thead tr ul video"
)
PLAIN = dict.fromkeys(_INLINE, "") | dict.fromkeys(_PLAIN_NAMES.split(), "\n")
# Here a quote that never ends is none, and a tag that never ends goes to the end of the page.
_ATTRIBUTES = attributes(rf"\"[^\"]*+\"|'[^']*+'|[^{SPACE}>]*+")
_MARKUP = re.compile(rf"<(?:(/?)([a-zA-Z][^{SPACE}/>]*+)({_ATTRIBUTES})>?|(!\[CDATA\[)|{COMMENT}|{BOGUS_COMMENT})")


def text_of(body: bytes, content_type: str | None) -> str:
    """Lines of words; empty where it is neither HTML nor text."""
    if is_html(content_type, body):
        html, _ = decode_html(body[:HTML_BYTES_MAX], charset_of(content_type))
        return visible_text(html)
    if media_type(content_type) != "text/plain" or b"\0" in body[:BINARY_LOOK]:
        return ""
    plain, _ = decode_html(body[: 4 * TEXT_CHARS_MAX], charset_of(content_type) or "utf-8")
    return _tidied(plain[:TEXT_CHARS_MAX])


def visible_text(html: str) -> str:
    pieces: list[str] = []
    read_text(html, pieces)
    return _tidied(unescape("".join(pieces))[:TEXT_CHARS_MAX])


def read_text(
    html: str,
    pieces: list[str],
    plain: Mapping[str, str] = PLAIN,
    watch: Callable[[str, str, str], None] | None = None,
) -> None:
    """Append the text of a page to `pieces`, its references still as they are written.

    `plain`: what tags leave in the text that need no closer look. All other tags are shown to `watch`: a slash where it
    ends an element, its name, its attributes.
    """
    around = Surroundings(lambda start, end: _tags_between(html, start, end))
    inside = OpenElements(around.ends)  # a drawing, formula or template
    outside, at, chars, outside_from = True, 0, 0, 0
    while chars < TEXT_CHARS_MAX and (tag := _MARKUP.search(html, at)) is not None:
        if outside and (left := plain.get(tag[2])) is not None:  # nearly all of them
            start, end = tag.span()
            pieces += html[at:start], left
            chars += start - at
            at = end
            continue
        if not (inside and inside.hide_text):
            pieces.append(html[at : tag.start()])
            chars += tag.start() - at
        at = tag.end()
        slash, raw, attributes, cdata = tag.groups()
        if raw is None:
            if cdata:
                at = _after_cdata(html, at, inside, pieces)
            continue
        name = raw.lower()
        if watch is not None:
            watch(slash, name, attributes)
        if name not in _INLINE:
            pieces.append("\n")
        is_html = True
        if inside:
            is_html = _step(inside, slash, name, attributes)
            outside_from = at
            if not inside and is_html and not slash:
                outside_from = tag.start()
        elif name in _INNER and not slash:
            around.add(outside_from, tag.start())
            inside.start(name, attributes)
        outside = not inside
        if is_html and not slash and name in _ENDS:
            ends = _ENDS[name].search(html, at)
            at = ends.start() if ends else len(html)
    if chars < TEXT_CHARS_MAX and not inside.hide_text:
        pieces.append(html[at : at + TEXT_CHARS_MAX - chars])


def _step(inside: OpenElements, slash: str, name: str, attributes: str) -> bool:
    """A tag inside a drawing, formula or template; whether it is one of HTML."""
    if slash:
        inside.end(name)
        return True
    return inside.start(name, attributes)


def _after_cdata(html: str, at: int, inside: OpenElements, pieces: list[str]) -> int:
    """Where `<![CDATA[` is over: in a drawing or formula it is text, elsewhere a comment."""
    if not inside.in_foreign:
        return html.find(">", at) + 1 or len(html)
    end = html.find("]]>", at)
    end = len(html) if end < 0 else end
    if not inside.hide_text:
        pieces.append(html[at:end].replace("&", "&amp;"))
    return min(end + 3, len(html))


def _tags_between(html: str, start: int, end: int) -> Iterator[tuple[str, str]]:
    at = start
    while (tag := _MARKUP.search(html, at, end)) is not None:
        at = tag.end()
        if tag[2] is not None:
            name = tag[2].lower()
            yield tag[1], name
            if name in _ENDS and not tag[1]:
                ends = _ENDS[name].search(html, at, end)
                at = ends.start() if ends else end


def _tidied(text: str) -> str:
    """One space between words, no empty lines."""
    return "\n".join([words for line in text.split("\n") if line and (words := " ".join(line.split()))])
