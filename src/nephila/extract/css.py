"""The URLs that a stylesheet fetches: those of `@import`, of `url()` and of `image-set()`, as CSS Syntax 3 reads them.

No tree is built. One expression goes to the next function or at-keyword; only inside an `image-set()` another one goes
token by token. Both go forward alone, so hostile text takes linear time, too. The tests compare with tinycss2.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from nephila.extract.decoders import decoded
from nephila.extract.encoding import UTF8, codec_of
from nephila.extract.grammar import many

CHARSET_BYTES = 1024  # of a stylesheet, in which an `@charset` counts

_ESCAPE = r"\\(?:[0-9a-fA-F]{1,6}[ \t\n]?|[^\n0-9a-fA-F]|\Z)"
_LETTER = r"A-Za-z0-9_\u0080-\U0010ffff-"  # of a name
_NAME = many(rf"[{_LETTER}]++|{_ESCAPE}")
_NAMED = rf"(?=[{_LETTER}]|{_ESCAPE})"  # a name begins here
_COMMENT = r"/\*" + many(r"[^*]++|[*](?!/)") + r"(?:\*/|\Z)"
_BLANKS = many(rf"[ \t\n]++|{_COMMENT}")


def _string(quote: str, caught: bool) -> str:
    """A string. One that its line ends before it is closed is bad, and not caught."""
    inner = many(rf"[^{quote}\\\n]++|{_ESCAPE}|\\\n")
    return rf"{quote}({inner})(?:{quote}|\Z)|{quote}{inner}" if caught else rf"{quote}{inner}(?:{quote}|\Z|(?=\n))"


_CAUGHT = f"{_string(chr(34), caught=True)}|{_string(chr(39), caught=True)}"
_PASSED = (
    rf"[^\\/\"'@#<{_LETTER}]++",
    rf"{_NAMED}{_NAME}(?!\()",
    rf"(?=-?[0-9]){_NAME}",  # a number with its unit, whatever follows
    _string('"', caught=False),
    _string("'", caught=False),
    _COMMENT,
    rf"#{_NAME}",
    rf"@(?!{_NAMED})",
    r"<(?:!--)?+|/|\\(?=\n)",
)

Match = Callable[[str, int], "re.Match[str] | None"]


class _Syntax(NamedTuple):
    following: Match  # up to and with the next at-keyword, or the next function and its bracket
    imported: Match
    namespace: Match
    function: Match
    # What follows `url(`: a string, or what is quoted by nothing, up to the bracket; else it is bad up to there.
    quoted: Match
    unquoted: Match
    bad: Match
    token: Match


@lru_cache(1)  # compiled by the first stylesheet: most processes read none, and it takes 50 ms
def _syntax() -> _Syntax:
    expressions = (
        many("|".join(_PASSED)) + rf"(?:@{_NAMED}({_NAME})|({_NAME})\()",
        rf"{_BLANKS}(?:{_CAUGHT})",
        rf"{_BLANKS}(?:{_NAMED}{_NAME}(?!\())?{_BLANKS}",
        rf"{_BLANKS}({_NAME})\(",
        rf"[ \t\n]*+(?:{_CAUGHT})",
        r"[ \t\n]*+(" + many(rf"[^ \t\n\"'()\\\x00-\x08\x0b\x0e-\x1f\x7f]++|{_ESCAPE}") + r")[ \t\n]*+(?:\)|\Z)",
        many(rf"[^)\\]++|{_ESCAPE}|\\") + r"\)?",
        rf"{_BLANKS}(?:{_CAUGHT}|(?=-?[0-9]){_NAME}|[#@]{_NAME}|{_NAMED}({_NAME})(\(?)|<!--|((?s:.))|\Z)",
    )
    return _Syntax(*(re.compile(expression).match for expression in expressions))


_unfinished = re.compile(many(r"[^\\]++|\\(?s:.)") + r"\\").fullmatch
_without_escapes = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\n]?|(\n)|(.))", re.DOTALL).sub

_IMAGE_SETS = ("image-set", "-webkit-image-set")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def css_text(body: bytes, header_charset: str | None) -> str:
    """The text of a stylesheet: by its BOM, the header, its `@charset`, else UTF-8."""
    declared = codec_of(header_charset) if header_charset is not None else None
    if declared is None and body.startswith(b'@charset "'):
        declared = codec_of(body[10:CHARSET_BYTES].partition(b'"')[0].decode("latin-1"))
        declared = UTF8 if declared is not None and declared.startswith("utf-16") else declared
    for bom, codec in ((b"\xef\xbb\xbf", UTF8), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le")):
        if body.startswith(bom):
            return decoded(body[len(bom) :], codec)
    return decoded(body, declared or UTF8)


def css_urls(text: str) -> Iterator[str]:
    """The URLs in a stylesheet or in the value of a `style` attribute, as they are written there, in their order."""
    if "\r" in text or "\f" in text or "\0" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\0", "\ufffd")
    at, following = 0, _syntax().following
    while found := following(text, at):
        at, keyword, function = found.end(), found[1], found[2]
        if keyword is not None:
            name = _unescaped(keyword).lower()
            if name == "import" and (quoted := _syntax().imported(text, at)):
                at = quoted.end()
                yield from _value(quoted)
            elif name == "namespace":  # names a namespace by a URL that nobody fetches
                at = _after_namespace(text, at)
        else:
            name = _unescaped(function).lower()
            if name == "url":
                at, urls = _after_url(text, at)
                yield from urls
            elif name in _IMAGE_SETS:
                at, urls = _after_image_set(text, at)
                yield from urls


def _after_url(text: str, at: int) -> tuple[int, list[str]]:
    """Where a `url(` that was read up to here ends, and the URL in it; none where it is bad."""
    if found := _syntax().quoted(text, at):
        return found.end(), _value(found)
    if found := _syntax().unquoted(text, at):
        return found.end(), [_unescaped(found[1])]
    bad = _syntax().bad(text, at)
    return (bad.end() if bad else len(text)), []


def _after_namespace(text: str, at: int) -> int:
    prefix = _syntax().namespace(text, at)
    at = prefix.end() if prefix else at
    function = _syntax().function(text, at)
    if function is not None and _unescaped(function[1]).lower() == "url":
        return _after_url(text, function.end())[0]
    return at


def _after_image_set(text: str, at: int) -> tuple[int, list[str]]:
    """Where an image set that was read up to its bracket ends, and its URLs: strings that stand in it directly."""
    urls: list[str] = []
    open_brackets = [(")", True)]  # what closes each, and whether strings in it are URLs
    while open_brackets and at < len(text):
        token = _syntax().token(text, at)
        assert token is not None
        at, name, mark = token.end(), token[3], token[5]
        if name is not None and token[4]:
            function = _unescaped(name).lower()
            quoted = function == "url" and _syntax().quoted(text, at)
            if function == "url":
                at, found = _after_url(text, at)
                urls += found
            if function != "url" or quoted:
                open_brackets.append((")", function in _IMAGE_SETS))
        elif token[1] is not None or token[2] is not None:
            urls += _value(token) if open_brackets[-1][1] else []
        elif mark in _CLOSING:
            open_brackets.append((_CLOSING[mark], False))
        elif mark == open_brackets[-1][0]:
            open_brackets.pop()
    return at, urls


def _value(string: "re.Match[str]") -> list[str]:
    """What a string says, where it is none that its line cuts off."""
    value = string[1] if string[1] is not None else string[2]
    return [] if value is None else [_unescaped(value, at_end="")]


def _unescaped(text: str, at_end: str = "\ufffd") -> str:
    """`at_end`: what a backslash at the end of the stylesheet means."""
    return _without_escapes(_character, text[:-1] + at_end if _unfinished(text) else text) if "\\" in text else text


def _character(escape: "re.Match[str]") -> str:
    code, newline, character = escape.groups()
    if code is None:
        return "" if newline else character
    number = int(code, 16)
    return "\ufffd" if number == 0 or number > 0x10FFFF or 0xD800 <= number < 0xE000 else chr(number)
