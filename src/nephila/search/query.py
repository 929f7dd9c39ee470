"""Queries: words that must all be there, "phrases", -excluded ones, prefixes*. Pure.

No text is a fault of syntax: quotes that are not closed end with the text, signs alone mean nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nephila.errors import UsageError
from nephila.search.words import is_unspaced, words

QUERY_CHARS_MAX = 1000
QUERY_WORDS_MAX = 50
PREFIX_CHARS_MIN = 2  # one letter would be most words there are

_PART = re.compile(r'(-*)(?:"([^"]*)(?:"|$)|([^\s"]+))(\**)')
_SPOILT = re.compile("[\x00\ud800-\udfff]")  # no store takes them


@dataclass(frozen=True, slots=True)
class Term:
    """Words that follow each other; with `prefix` the last one may go on."""

    words: tuple[str, ...]
    prefix: bool = False

    def matches(self, at: int, word: str) -> bool:
        """Whether the word fits the one at this place of the term."""
        own = self.words[at]
        return word.startswith(own) if self.prefix and at == len(self.words) - 1 else word == own


@dataclass(frozen=True, slots=True)
class Query:
    terms: tuple[Term, ...]
    excluded: tuple[Term, ...] = ()

    @property
    def words(self) -> list[str]:
        """The words that are looked for, each once."""
        return list(dict.fromkeys(word for term in self.terms for word in term.words))


def parse_query(text: str) -> Query:
    if len(text) > QUERY_CHARS_MAX:
        raise UsageError(f"the query has {len(text):,} characters: give at most {QUERY_CHARS_MAX:,}")
    found = list(_parts(_SPOILT.sub(" ", text)))
    terms = tuple(dict.fromkeys(term for term, excluded in found if not excluded))
    without = tuple(dict.fromkeys(term for term, excluded in found if excluded))
    if sum(len(term.words) for term in terms + without) > QUERY_WORDS_MAX:
        raise UsageError(f"the query has too many words: give at most {QUERY_WORDS_MAX}")
    if not terms and without:
        raise UsageError("the query only says what to leave out: add a word to look for")
    if not terms:
        raise UsageError('nothing to search for: give a word, a "phrase" or a prefix*, and -words to leave out')
    return Query(terms, without)


def _parts(text: str) -> Iterator[tuple[Term, bool]]:
    for minus, phrase, bare, stars in _PART.findall(text):
        found = tuple(words(phrase or bare))
        prefix = bool(found) and not is_unspaced(found[-1]) and (bool(stars) or bare.endswith("*"))
        if prefix and len(found[-1]) < PREFIX_CHARS_MIN:
            raise UsageError(
                f"{found[-1]}* would be almost every word: give {PREFIX_CHARS_MIN} letters or more before *"
            )
        if found:
            yield Term(found, prefix), bool(minus)
