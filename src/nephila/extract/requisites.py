"""What a page needs to look as it does: the URLs of its images, stylesheets, scripts, fonts, icons and media.

A pass of its own over the bytes of a page, only in crawls with `scope.requisites`: the expression of `tags.py`, which
every page goes through, stays as it is. As there, one expression finds the tags in linear time, as the tokenizer of the
HTML standard does. Unlike there, drawings and templates are read tag by tag as if they were HTML: what that gets wrong
costs a request or an image, never a page.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from nephila.extract.css import css_urls
from nephila.extract.encoding import UTF8, utf8_of
from nephila.extract.grammar import (
    ATTRIBUTES,
    COMMENT,
    NO_TAG,
    RAW,
    REST,
    SPACE,
    attributes_but,
    in_any_case,
    many,
    raw_element,
    raw_text,
    script,
    tag_name,
)
from nephila.extract.queries import in_page_encoding
from nephila.extract.tags import TagMemory, attributes_of, text_of

REQUISITES_MAX = 5_000  # of a page or a stylesheet; an image may come in a dozen sizes
STYLE_BYTES_REMEMBERED = 20_000  # of a style element: the pages of a site repeat theirs
STYLES_REMEMBERED = 100

_SPACE = "\t\n\f\r "
# What a browser loads of the links in a head. `alternate stylesheet` and `shortcut icon` are among them by one word.
_RELATIONS = frozenset(
    (
        *("stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon"),
        *("manifest", "preload", "modulepreload"),
    )
)
_TABLES = frozenset(("body", "table", "thead", "tbody", "tfoot", "tr", "td", "th"))  # with a `background`
_NOT_FETCHED = ("data:", "about:", "blob:", "javascript:")

_WANTED = ("img", "image", "source", "video", "audio", "track", "input", "link", "object", "embed", "use", "feimage")
_LOOKED_AT = ("style", "background")  # attributes of whatever tag


@lru_cache(1)  # compiled by the first page that needs it: most processes read none, and it takes 20 ms
def _tags() -> "re.Pattern[bytes]":
    """Text of a style element, attributes of a script, name and attributes of any other tag that is looked at."""
    special = tag_name(*_WANTED, *RAW, "script", "plaintext")
    plain = many(rf' (?!{"|".join(map(in_any_case, _LOOKED_AT))})[a-zA-Z:_-]++="[^"]*+"') + "[ /]*+>"
    passed = (
        "/[a-zA-Z][a-zA-Z0-9]*+>",
        f"[cdghjkmqrwyzCDGHJKMQRWYZ][a-zA-Z0-9]*+{plain}",
        f"(?!{special})[a-zA-Z][^{SPACE}/>]*+{attributes_but(*_LOOKED_AT)}>",
        f"/[a-zA-Z]{REST}",
        COMMENT,
        *(raw_element(name) for name in RAW if name != "style"),
        rf"{tag_name('plaintext')}{REST}(?s:.*+)",
        NO_TAG,
    )
    found = (
        f"{tag_name('style')}{REST}({raw_text('style')})",
        f"(?={tag_name('script')}({ATTRIBUTES})>){script()}",
        f"([a-zA-Z][^{SPACE}/>]*+)({ATTRIBUTES})>",
    )
    skipped = many(f"[^<]*+<(?:{'|'.join(passed)})") + "[^<]*+"
    return re.compile(rf"{skipped}(?:<(?:{'|'.join(found)})|(?s:.+)|)".encode())


def html_requisites(body: bytes, header_charset: str | None = None) -> list[str]:
    """The references of a page to what it needs, as they are written there: each once, in their order."""
    html, charset = utf8_of(body, header_charset)
    found: dict[str, None] = {}
    for style, script_tag, name, attributes in _tags().findall(html):
        if name:
            found.update(_of_tag[name.lower() + b" " + attributes])
        elif style:
            found.update(_of_style(style))
        elif script_tag:
            found.update(_of_tag[b"script " + script_tag])
        if len(found) >= REQUISITES_MAX:
            break
    references = list(found)[:REQUISITES_MAX]
    return references if charset == UTF8 else [in_page_encoding(reference, charset) for reference in references]


def css_requisites(text: str) -> list[str]:
    """The same of a stylesheet."""
    found: dict[str, None] = {}
    for reference in _fetched(css_urls(text)):
        found[reference] = None
        if len(found) >= REQUISITES_MAX:
            break
    return list(found)


def srcset_urls(srcset: str) -> Iterator[str]:
    """The URLs of the candidates of a srcset (HTML 4.8.4.2.1), whatever their descriptors say.

    A URL may have commas inside, not at its end; a comma in brackets is part of a descriptor.
    """
    at = 0
    while found := _candidate(srcset, at):
        at, url = found.end(), found[1]
        if url.endswith(","):
            url = url.rstrip(",")
        elif descriptors := _descriptors(srcset, at):
            at = descriptors.end()
        if url:
            yield url


_candidate = re.compile(rf"[{SPACE},]*+([^{SPACE}]++)").match
_descriptors = re.compile(many(r"[^,(]++|\([^)]*+(?:\)|\Z)") + ",?").match


# --- what each tag needs


def _read(tag: bytes) -> dict[str, None]:
    """The references of a tag, of which the name stands before the first space."""
    name, _, raw = tag.partition(b" ")
    attributes = attributes_of(raw)
    element = name.decode("latin-1")
    references = list(_READERS.get(element, _nothing)(attributes))
    if element in _TABLES and "background" in attributes:
        references.append(attributes["background"])
    if "(" in (style := attributes.get("style", "")):
        references += css_urls(style)
    return dict.fromkeys(_fetched(references))


_of_tag = TagMemory(_read)


def _of_style(text: bytes) -> dict[str, None]:
    if b"(" not in text and b"@" not in text:
        return {}
    return _remembered_style(text) if len(text) <= STYLE_BYTES_REMEMBERED else _read_style(text)


def _read_style(text: bytes) -> dict[str, None]:
    return dict.fromkeys(css_requisites(text_of(text)))


_remembered_style = lru_cache(STYLES_REMEMBERED)(_read_style)


def _fetched(references: "Iterator[str] | list[str]") -> Iterator[str]:
    """Those that a request can be made for. One that is only a fragment means a part of the page itself."""
    for reference in references:
        reference = reference.strip(_SPACE)
        if reference and reference[0] != "#" and not reference[:11].lower().startswith(_NOT_FETCHED):
            yield reference


_Attributes = Mapping[str, str]
_Reader = Callable[[_Attributes], Iterator[str]]


def _nothing(attributes: _Attributes) -> Iterator[str]:
    return iter(())


def _values(*names: str) -> _Reader:
    """Reads the attributes of these names."""

    def read(attributes: _Attributes) -> Iterator[str]:
        return (attributes[name] for name in names if name in attributes)

    return read


def _image(attributes: _Attributes) -> Iterator[str]:
    """An image, a source of one, or an image of a drawing."""
    yield from _values("src", "href", "xlink:href")(attributes)
    yield from srcset_urls(attributes.get("srcset", ""))


def _input(attributes: _Attributes) -> Iterator[str]:
    if attributes.get("type", "").lower() == "image":
        yield from _values("src")(attributes)


def _link(attributes: _Attributes) -> Iterator[str]:
    if not _RELATIONS.isdisjoint(attributes.get("rel", "").lower().split()):
        yield from _values("href")(attributes)
        yield from srcset_urls(attributes.get("imagesrcset", ""))


_READERS: dict[str, _Reader] = {
    "img": _image,
    "image": _image,
    "source": _image,
    "feimage": _values("href", "xlink:href"),
    "use": _values("href", "xlink:href"),
    "video": _values("src", "poster"),
    "audio": _values("src"),
    "track": _values("src"),
    "embed": _values("src"),
    "object": _values("data"),
    "input": _input,
    "link": _link,
    "script": _values("src", "href", "xlink:href"),
}
