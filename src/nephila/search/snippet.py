"""Snippets: the part of a page that matches a query best, in the page's own spelling. Pure; work is bounded."""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nephila.search.query import Query, Term
from nephila.search.words import UNSPACED, words

SNIPPET_CHARS = 200
BEFORE_CHARS = 50  # shown in front of the first match
SCAN_CHARS_MAX = 200_000  # of a page, looked through for the best place
MATCHES_MAX = 1_000
EDGE_CHARS = 20  # a cut moves so far to the next space
CUT = "…"

# A stretch that words() makes one word of, nearly always: signs and spaces separate, unspaced characters stand alone.
_SIGNS = r"\s!-/:-@\[-`{-~\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b4\u00b6-\u00b8\u00bb\u00bf\u2010-\u2027"
_SIGNS += r"\u2030-\u205e\u3001-\u3004\u3008-\u3030\uff01-\uff0f\uff1a-\uff20\u200b"
_STRETCH = re.compile(f"[{UNSPACED}]|[^{_SIGNS}{UNSPACED}]+")


class Part(NamedTuple):
    text: str
    match: bool


class _Word(NamedTuple):
    start: int
    end: int
    word: str


class _Match(NamedTuple):
    start: int
    end: int
    term: int


def snippet(text: str, query: Query) -> list[Part]:
    """About SNIPPET_CHARS around the place with the most different terms; the beginning where there is none."""
    found = _matches(text[:SCAN_CHARS_MAX], query.terms)
    start, end = _window(text, _best(found))
    pieces = list(_pieces(text, start, end, [match for match in found if match.start >= start and match.end <= end]))
    if start > 0:
        pieces.insert(0, Part(CUT, False))
    if end < len(text):
        pieces.append(Part(CUT, False))
    return _joined(pieces)


def plain(parts: Iterable[Part]) -> str:
    return "".join(part.text for part in parts)


def _matches(text: str, terms: tuple[Term, ...]) -> list[_Match]:
    """Matches in the order of the text; a phrase gives one for each of its words."""
    found: list[_Match] = []
    known: dict[str, list[str]] = {}  # the words of each stretch; none where no term has one of them
    last: deque[_Word] = deque(maxlen=max(len(term.words) for term in terms))
    for match in _STRETCH.finditer(text):
        stretch = match[0]
        if (own := known.get(stretch)) is None:
            own = known[stretch] = _wanted(words(stretch), terms)
        if not own:
            last.clear()  # no phrase goes on over it
            continue
        for word in own:
            last.append(_Word(match.start(), match.end(), word))
            found += _ended_by(last, terms)
        if len(found) >= MATCHES_MAX:
            break
    return sorted(set(found))


def _wanted(own: list[str], terms: tuple[Term, ...]) -> list[str]:
    return own if any(term.matches(at, word) for word in own for term in terms for at in range(len(term.words))) else []


def _ended_by(last: "deque[_Word]", terms: tuple[Term, ...]) -> Iterator[_Match]:
    """The matches of all terms that the last word completes."""
    for number, term in enumerate(terms):
        size = len(term.words)
        seen = list(last)[-size:]
        if len(seen) == size and all(term.matches(at, word) for at, (_, _, word) in enumerate(seen)):
            yield from (_Match(start, end, number) for start, end, _ in seen)


def _best(found: list[_Match]) -> _Match | None:
    """The first match of the window that has the most different terms, then the most matches, then comes first."""
    best, best_worth = None, (0, 0)
    end = 0
    within: dict[int, int] = {}  # term -> matches of it in the window
    for first in range(len(found)):
        while end < len(found) and found[end].end - found[first].start <= SNIPPET_CHARS - BEFORE_CHARS:
            within[found[end].term] = within.get(found[end].term, 0) + 1
            end += 1
        worth = (len(within), end - first)
        if worth > best_worth:
            best, best_worth = found[first], worth
        if end == first:  # one that is longer than the window
            end = first + 1
        elif (left := within[found[first].term] - 1) > 0:
            within[found[first].term] = left
        else:
            del within[found[first].term]
    return best or (found[0] if found else None)


def _window(text: str, best: _Match | None) -> tuple[int, int]:
    start = max(0, best.start - BEFORE_CHARS) if best else 0
    end = min(len(text), start + SNIPPET_CHARS)
    if end == len(text):
        start = max(0, end - SNIPPET_CHARS)
    if start > 0:  # not in the middle of a word, where a space is near
        space = re.compile(r"\s").search(text, start - 1, start + EDGE_CHARS)
        start = space.end() if space else start
    if end < len(text):
        space_at = max(text.rfind(" ", end - EDGE_CHARS, end + 1), text.rfind("\n", end - EDGE_CHARS, end + 1))
        end = space_at if space_at > start else end
    return start, end


def _pieces(text: str, start: int, end: int, found: list[_Match]) -> Iterator[Part]:
    at = start
    for match in found:
        if match.start < at:  # of another term, in the same stretch
            continue
        yield Part(text[at : match.start], False)
        yield Part(text[match.start : match.end], True)
        at = match.end
    yield Part(text[at:end], False)


def _joined(pieces: Iterable[Part]) -> list[Part]:
    """Neighbours of one kind as one; lines become spaces."""
    parts: list[Part] = []
    for text, match in pieces:
        text = text.replace("\n", " ")
        if parts and parts[-1].match is match:
            parts[-1] = Part(parts[-1].text + text, match)
        elif text:
            parts.append(Part(text, match))
    return parts
