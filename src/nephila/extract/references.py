"""Character references, `&amp;` and `&#38;`, as the standard reads them (13.2.5.72 to 13.2.5.80).

The standard library's `html.unescape` drops control characters and noncharacters, and raises at very long numbers.
"""

import re
from html.entities import html5

NAME_CHARS_MAX = 32  # of the longest name, with its semicolon
CODE_MAX = 0x10FFFF
_DIGITS_MAX = 7  # of a number that may be a character

# What is written as a number of windows-1252, by the character that is meant.
_C1 = {code: character for code in range(0x80, 0xA0) if (character := bytes([code]).decode("cp1252", "ignore"))}

_NUMBER = "#(?:[xX]([0-9a-fA-F]++)|([0-9]++));?"
_in_text = re.compile(rf"&(?:{_NUMBER}|([a-zA-Z][a-zA-Z0-9]*+;?))").sub
# `&copy=1` stays as it is in a value, `&copy;` and `&copy ` do not.
_in_value = re.compile(rf"&(?:{_NUMBER}|([a-zA-Z][a-zA-Z0-9]*+(?:;|(?!=))))").sub


def unescape(text: str) -> str:
    """Text, its references replaced."""
    return _in_text(_meant_in_text, text) if "&" in text else text


def unescape_value(value: str) -> str:
    """The value of an attribute, its references replaced."""
    return _in_value(_meant_in_value, value) if "&" in value else value


def _meant_in_text(reference: "re.Match[str]") -> str:
    hexadecimal, decimal, name = reference.groups()
    if name is None:
        return _numbered(hexadecimal, decimal)
    for length in range(min(len(name), NAME_CHARS_MAX), 1, -1):
        if (character := html5.get(name[:length])) is not None:
            return character + name[length:]
    return reference[0]


def _meant_in_value(reference: "re.Match[str]") -> str:
    hexadecimal, decimal, name = reference.groups()
    return _numbered(hexadecimal, decimal) if name is None else html5.get(name, reference[0])


def _numbered(hexadecimal: str | None, decimal: str | None) -> str:
    digits = (hexadecimal or decimal or "").lstrip("0")
    code = int(digits or "0", 16 if hexadecimal else 10) if len(digits) <= _DIGITS_MAX else CODE_MAX + 1
    if code == 0 or code > CODE_MAX or 0xD800 <= code < 0xE000:
        return "\ufffd"
    return _C1.get(code) or chr(code)
