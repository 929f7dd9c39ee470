"""The seam to the full-text index: derived data beside the store, off the hot path, made anew from the archive at will.

An index follows archive files: of each it remembers a mark, up to where its rows are indexed. Documents and mark move
in one transaction, so a death at any moment loses nothing and repeats nothing. tests/contract/test_search.py is the
definition: every index gives the same documents for the same query; in which order is its own affair.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile
from typing import Any, NamedTuple, Protocol

from nephila.derived.pages import DerivedPages
from nephila.search.query import Query
from nephila.search.words import words

VERSION = 3  # of what is indexed and how: an index of an older version is dropped and made anew

MATCHES_MAX = 10_000  # counted; beyond that `total` is only a lower bound
RANKED_MAX = 2_000  # of the matches, put into order: one page of results beyond SKIPPED_MAX fits in
SKIPPED_MAX = 1_000
HITS_MAX = 100

TITLE_WORDS_MAX = 200
PLACED_WORDS_MAX = 16_000  # of title and text: a tsvector knows no place behind its 16,383rd word
BYTES_MAX = 500_000  # of the different words of a document: a tsvector has a megabyte for them and their places
UTF8_BYTES_MAX = 4  # of a character
TEXT_LEVEL = 6  # of zlib


class Document(NamedTuple):
    url_id: int
    crawl: int
    host: str
    url: str
    title: str
    text: str
    fetched_at: int


class Entry(NamedTuple):
    """What a document is found by. `rest`: words of a long text behind those with a place, each once: they are found,
    but not as parts of a phrase."""

    place: list[str]
    title: list[str]
    body: list[str]
    rest: list[str]


@dataclass(frozen=True, slots=True)
class Hit:
    document: Document
    score: float  # larger is better; only comparable within one answer


@dataclass(frozen=True, slots=True)
class Matches:
    """One page of hits, and how many documents match in all."""

    hits: list[Hit]
    total: int
    total_exact: bool


NOTHING = Matches([], 0, True)


class SearchIndex(DerivedPages, Protocol):
    def search(self, query: Query, crawls: Sequence[int] | None, host: str | None, limit: int, offset: int) -> Matches:
        """Documents of these crawls (None: of all) and this host, the best first."""


# --- what both indexes do alike


def matches_of(total: int, rows: Iterable[Sequence[Any]]) -> Matches:
    """The answer made of rows with the columns of `document_row` and a score."""
    hits = [Hit(_document(*columns), score) for *columns, score in rows]
    return Matches(hits, min(total, MATCHES_MAX), total <= MATCHES_MAX)


def filter_words(crawls: Sequence[int] | None, host: str | None) -> list[list[str]]:
    """For each filter the words of which a document must have one."""
    filters = [] if crawls is None else [[_crawl_word(crawl) for crawl in crawls]]
    return filters if host is None else [*filters, [_host_word(host)]]


def entry_of(document: Document) -> Entry:
    title = words(document.title)[:TITLE_WORDS_MAX]
    text = words(document.text)
    placed = PLACED_WORDS_MAX - len(title)
    body, rest = text[:placed], text[placed:]
    if rest or sum(map(len, body)) > BYTES_MAX // UTF8_BYTES_MAX:
        left = _Room(BYTES_MAX)
        body = list(takewhile(left.takes, body))
        rest = [word for word in dict.fromkeys(rest) if word not in left.known and left.takes(word)]
    return Entry([_crawl_word(document.crawl), _host_word(document.host)], title, body, rest)


class _Room:
    """Room for so many bytes of different words."""

    def __init__(self, bytes_max: int) -> None:
        self.known: set[str] = set()
        self._left = bytes_max

    def takes(self, word: str) -> bool:
        if word not in self.known:
            self._left -= len(word.encode())
            self.known.add(word)
        return self._left >= 0


def _crawl_word(crawl: int) -> str:
    """A crawl and a host are words, too: a filter by them is one more list that is intersected, never a look at each
    match."""
    return f"c{crawl}"


def _host_word(host: str) -> str:
    return f"h{blake2b(host.encode(), digest_size=10).hexdigest()}"


def document_row(document: Document) -> tuple[Any, ...]:
    """The columns of both indexes."""
    text = zlib.compress(document.text.encode("utf-8", "replace"), TEXT_LEVEL)
    named = (document.url_id, document.crawl, document.host, document.url, document.title)
    return (*named, document.fetched_at, text)


def _document(url_id: int, crawl: int, host: str, url: str, title: str, fetched_at: int, text: bytes) -> Document:
    return Document(url_id, crawl, host, url, title, zlib.decompress(text).decode(), fetched_at)
