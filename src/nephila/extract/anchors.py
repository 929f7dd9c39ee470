"""What the links of a page say: the text of each, and its `rel`. Which links a page has, `extract_html` decides."""

from collections.abc import Mapping
from typing import NamedTuple

from nephila.extract.encoding import charset_of, decode_html
from nephila.extract.html import extract_html
from nephila.extract.queries import in_page_encoding
from nephila.extract.references import unescape
from nephila.extract.tags import attributes_in
from nephila.extract.text import PLAIN, read_text

TEXT_CHARS_MAX = 200
REL_CHARS_MAX = 100

_SPACE = "\t\n\f\r "
_NAMED = ("title", "aria-label")  # attributes that say what a link without a text is
_WATCHED = frozenset(("a", "area", "img", "link"))
_UNWATCHED = {name: left for name, left in PLAIN.items() if name not in _WATCHED}


class Anchor(NamedTuple):
    """A link as it is written."""

    href: str
    text: str
    rel: str


def anchors_of(body: bytes, url: str, content_type: str | None) -> tuple[str, list[Anchor]]:
    """What links are resolved against, and each link of a page once, by its href. Of several with the same href the
    first text counts, and the words of every `rel`."""
    charset = charset_of(content_type)
    page = extract_html(body, url, charset)
    html, _ = decode_html(body, charset)
    said = _AnchorReader(page.charset).read(html)
    nothing = ("", "")
    found = {href: Anchor(href, *said.get(href, nothing)) for href, _ in page.links}
    return page.base, list(found.values())


class _AnchorReader:
    """Notes what stands between `<a href>` and its end, where the end may be missing."""

    def __init__(self, charset: str) -> None:
        self._charset = charset
        self._pieces: list[str] = []
        self._said: dict[str, tuple[str, str]] = {}
        self._open: Mapping[str, str] | None = None  # attributes of the link that is open; the pieces are its text

    def read(self, html: str) -> dict[str, tuple[str, str]]:
        """href -> text and rel"""
        read_text(html, self._pieces, _UNWATCHED, self._watch)
        self._close()
        return self._said

    def _watch(self, slash: str, name: str, attributes: str) -> None:
        if name == "a":
            self._close()
            if not slash:
                self._open = attributes_in(attributes)
        elif name == "img":
            if self._open is not None and (alt := attributes_in(attributes).get("alt")):
                self._pieces.append(f" {alt.replace('&', '&amp;')} ")
        elif name in _WATCHED and not slash:
            found = attributes_in(attributes)
            self._note(found, found.get("alt", ""))

    def _close(self) -> None:
        if self._open is not None:
            text = unescape("".join(self._pieces)[: 16 * TEXT_CHARS_MAX])
            self._note(self._open, text)
            self._open = None
        self._pieces.clear()

    def _note(self, attributes: Mapping[str, str], text: str) -> None:
        href = attributes.get("href", attributes.get("xlink:href"))
        if href is None:
            return
        href = in_page_encoding(href.strip(_SPACE), self._charset)
        known, rels = self._said.get(href, ("", ""))
        named = (attributes.get(name, "") for name in _NAMED)
        text = known or _folded(text) or next(filter(None, map(_folded, named)), "")
        if "rel" in attributes:
            rels = " ".join(dict.fromkeys([*rels.split(), *attributes["rel"].lower().split()]))[:REL_CHARS_MAX]
        self._said[href] = text, rels


def _folded(text: str) -> str:
    return " ".join(text[: 16 * TEXT_CHARS_MAX].split())[:TEXT_CHARS_MAX].rstrip()
