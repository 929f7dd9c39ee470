"""The tags of a page that say something to a crawler, in document order, by one regular expression over its bytes.

A page is read as the tokenizer of the HTML standard reads it (13.2.5): quoted values, comments, scripts, raw text and
broken tags end where they end in a browser. No tree is built: what that changes of a page is where its elements stand,
hardly which there are (docs/decisions/0012). One pass in linear time whatever the bytes are, at half the price of
lexbor's tree, which is quadratic in hostile pages.
"""

import re
import sys
from collections.abc import Callable, Mapping
from html import unescape
from html.entities import html5
from typing import Generic, TypeVar

TAGS_REMEMBERED = 20_000
TAG_BYTES_REMEMBERED = 500  # of the longest: 10 MB of tags at the most

_SPACE = r"\t\n\f\r "
_NAME_ENDS = rf"(?=[{_SPACE}/>])"
# Before 3.11.5 (Debian 12 has 3.11.2) `re` got them wrong; atomic groups mean the same and take a fifth longer.
_POSSESSIVE_GROUPS = sys.version_info >= (3, 11, 5)


def _name(name: str) -> str:
    """This name of a tag, in any case. Spelled out: where case does not matter to it, `re` looks for no first byte."""
    return "".join(f"[{letter}{letter.upper()}]" for letter in name) + _NAME_ENDS


def _names(*names: str) -> str:
    return f"(?:{'|'.join(map(_name, names))})"


def _all(one: str) -> str:
    """As many of these as there are, for good: never fewer because what follows does not match."""
    return f"(?:{one})*+" if _POSSESSIVE_GROUPS else f"(?>(?:{one})*)"


# --- attributes: the plain form that most are written in, tried first, and every form there is
_PLAIN_ATTRIBUTES = _all(r' [a-zA-Z:_-]++="[^"]*+"') + "[ /]*+"
_VALUE = rf'"[^"]*+(?:"|\Z)|\'[^\']*+(?:\'|\Z)|(?!["\'])[^{_SPACE}>]*+'
_ATTRIBUTE = rf"[^{_SPACE}/>][^{_SPACE}/>=]*+(?>(?:[{_SPACE}]*+=[{_SPACE}]*+(?:{_VALUE}))?)[{_SPACE}/]*+"
_ATTRIBUTES = rf"[{_SPACE}/]*+{_all(_ATTRIBUTE)}"

# From inside a name to the end of its tag.
_PLAIN_REST = rf"[a-zA-Z0-9]*+{_PLAIN_ATTRIBUTES}>"
_REST = rf"[^{_SPACE}/>]*+{_ATTRIBUTES}>"


def _raw_text(name: str) -> str:
    """Nothing is a tag in there but its own end."""
    return _all(rf"[^<]++|<(?!/{_name(name)})")


def _raw(name: str) -> str:
    return f"{_name(name)}{_REST}{_raw_text(name)}"


def _script() -> str:
    """Raw text, but after `<!--` another `<script` takes the next end tag for itself (13.2.5.17 to 13.2.5.31)."""
    script = _name("script")
    inner = _all(rf"[^<-]++|-(?!->)|<(?!/{script})") + f"(?>(?:</{script})?)"
    comment = _all(rf"[^<-]++|-(?!->)|<(?!/?{script})|<{script}{inner}") + "(?>(?:-->)?)"
    return f"{script}{_REST}" + _all(rf"[^<]++|<(?!/{script}|!--)|<!{comment}")


def _template() -> str:
    """With a template inside it; deeper ones do not occur."""
    template = _name("template")
    inner = f"<{template}" + _all(rf"[^<]++|<(?!/?{template})") + f"</{template}"
    return f"{template}{_REST}" + _all(rf"[^<]++|<(?!/?{template})|{inner}")


_WANTED = ("a", "link", "area", "base", "html", "meta", "frame", "svg")
_HIDING = ("iframe", "noembed", "noframes", "title", "textarea", "template", "script", "style", "plaintext", "xmp")
_SPECIAL = _names(*_WANTED, *_HIDING)

# What follows a `<` that is not wanted. The first five only make most tags cheap: they need no look at all the names.
_PASSED = (
    "/[a-rt-zA-RT-Z][a-zA-Z0-9]*+>",
    f"[cdegjkoqruvwyzCDEGJKOQRUVWYZ]{_PLAIN_REST}",
    f"[sS][abd-suw-zABD-SUW-Z]{_PLAIN_REST}",
    "/[sS](?![vV])[a-zA-Z0-9]*+>",
    f"[tT][a-df-hj-zA-DF-HJ-Z]{_PLAIN_REST}",
    f"(?!{_SPECIAL})[a-zA-Z](?:{_PLAIN_REST}|{_REST})",
    f"/(?!{_name('svg')})[a-zA-Z]{_REST}",
    rf"!--(?:-?>|{_all('[^-]++|-(?!-!?>)')}(?:--!?>|\Z))",
    _script(),
    *map(_raw, ("style", "textarea", "noembed", "noframes", "xmp")),
    _template(),
    rf"{_name('plaintext')}{_REST}(?s:.*+)",
    r"[!?][^>]*+(?:>|\Z)",
    r"/(?:>|[^a-zA-Z>][^>]*+(?:>|\Z))",
    r"(?![a-zA-Z/!?])",
)
_CAUGHT = f"((?>{_PLAIN_ATTRIBUTES}(?=>)|{_ATTRIBUTES}))>"
_FOUND = (
    f"({_names(*_WANTED)}|/{_name('svg')}){_CAUGHT}",
    f"{_name('iframe')}{_CAUGHT}{_raw_text('iframe')}",
    f"{_name('title')}{_REST}({_raw_text('title')})",
)
_SKIPPED = _all(f"[^<]*+<(?:{'|'.join(_PASSED)})")
# At the end an unfinished tag, which takes all that is left with it.
_TAGS = re.compile(rf"{_SKIPPED}[^<]*+(?:<(?:{'|'.join(_FOUND)})|(?s:.+)|)".encode())

find_tags = _TAGS.findall
"""Of UTF-8: (name, its attributes, attributes of an iframe, text of a title): of each only the one or the other."""

_each_attribute = re.compile(
    rf"([^{_SPACE}/>][^{_SPACE}/>=]*+)"
    rf"(?:[{_SPACE}]*+=[{_SPACE}]*+(?:\"([^\"]*+)\"|'([^']*+)'|([^{_SPACE}>]*+)))?".encode()
).findall
# `&copy=1` stays as it is in a value, `&copy;` and `&copy ` do not.
_in_value = re.compile(r"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|([a-zA-Z][a-zA-Z0-9]*+)(?:;|(?!=)))").sub


T = TypeVar("T")


class TagMemory(dict[bytes, T], Generic[T]):
    """What tags say, by their bytes: most tags of a site stand alike on many of its pages. When full it forgets all."""

    def __init__(self, read: Callable[[bytes], T]) -> None:
        self._read = read

    def __missing__(self, tag: bytes) -> T:
        said = self._read(tag)
        if len(tag) <= TAG_BYTES_REMEMBERED:
            if len(self) >= TAGS_REMEMBERED:
                self.clear()
            self[tag] = said
        return said


def attributes_of(tag: bytes) -> Mapping[str, str]:
    """What is between the name of a tag and its end; the first of a name counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _each_attribute(tag):
        found.setdefault(_text(name).lower(), _value_of(double or single or bare))
    return found


def _value_of(value: bytes) -> str:
    text = _text(value)
    return _in_value(_referred, text) if "&" in text else text


def text_of_title(title: bytes) -> str:
    return unescape(_text(title))


def _referred(reference: "re.Match[str]") -> str:
    whole, name = reference[0], reference[1]
    return unescape(whole) if name is None else html5.get(whole[1:], whole)


def _text(raw: bytes) -> str:
    """As the standard prepares its input."""
    text = raw.decode("utf-8", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\0", "\ufffd") if "\0" in text else text
