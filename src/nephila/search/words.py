"""Text to the words it can be found by. Pure, and the only place that knows what a word is: both indexes are handed
these words joined by spaces, so they answer alike whatever their tokenizer or their server's locale would think.

- NFKD and casefold: Ⅷ is viii, STRASSE is straße; accents are dropped, so are soft hyphens and joiners.
- Everything that is neither letter nor digit separates words, the underscore too.
- In scripts that are written without spaces every character is a word: a query of several is a phrase.
"""

import re
import unicodedata
from collections.abc import Callable

WORD_CHARS_MAX = 64  # the rest of a longer word is not looked at, neither here nor in a query
FOLDED_MAX = 20_000  # characters whose folding is remembered

# Thai, Lao, Myanmar, Khmer, kana and bopomofo, CJK: no spaces between words.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3031-\u3035\u303b\u3040-\u30ff\u3100-\u312f"
UNSPACED += "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"[{UNSPACED}]")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_VOICING = frozenset((0x3099, 0x309A))  # of kana: not an accent, another syllable
_BREAK = 0x200B  # the one invisible character that separates
_SPACE = " "


class _Translation(dict[int, int | str | None]):
    """What becomes of each character: dropped, kept, a space, or a word of its own. Remembered when first met."""

    def __init__(self, read: Callable[[int], int | str | None]) -> None:
        self._read = read

    def __missing__(self, code: int) -> int | str | None:
        found = self._read(code)
        if len(self) < FOLDED_MAX:
            self[code] = found
        return found


def _folded(code: int) -> int | str | None:
    character = chr(code)
    if _UNSPACED.match(character):
        return f" {character} "
    if character.isalnum():
        return code
    category = unicodedata.category(character)
    if category == "Cf" and code != _BREAK:
        return None
    if category in ("Mn", "Mc", "Me"):  # vowel signs of Indian scripts have no class and are letters in all but name
        return code if unicodedata.combining(character) == 0 and category != "Me" else None
    return _SPACE


def _without_accent(code: int) -> int | None:
    return None if unicodedata.combining(chr(code)) != 0 and code not in _VOICING else code


_folding, _marks = _Translation(_folded), _Translation(_without_accent)


def is_unspaced(word: str) -> bool:
    """A character that is a word of its own: no word goes on after it."""
    return _UNSPACED.match(word) is not None


def words(text: str) -> list[str]:
    """In the order of the text."""
    if text.isascii():
        found = _ASCII_WORD.findall(text.lower())
    else:
        plain = unicodedata.normalize("NFKD", text).casefold().translate(_marks)
        # Composed again: syllables of Hangul and voiced kana are one character.
        found = unicodedata.normalize("NFC", plain).translate(_folding).split(_SPACE)
    return [word if len(word) <= WORD_CHARS_MAX else word[:WORD_CHARS_MAX] for word in found if word]
