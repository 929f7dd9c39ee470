"""The seam to the full-text index: derived data beside the store, off the hot path, made anew from the archive at will.

An index follows archive files: of each it remembers a mark, up to where its rows are indexed. Documents and mark move
in one transaction, so a death at any moment loses nothing and repeats nothing. tests/contract/test_search.py is the
definition: every index gives the same documents for the same query; in which order is its own affair.
"""

import zlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile
from typing import NamedTuple, Protocol

from nephila.search.query import Query
from nephila.search.words import words

VERSION = 1  # of what is indexed and how: an index of an older version is dropped and made anew

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
class Found:
    hits: list[Hit]
    total: int
    total_exact: bool


NOTHING = Found([], 0, True)


class SearchIndex(Protocol):
    """Not shared between threads. Looking makes nothing: an index that is not there, or of another version, is
    empty."""

    def turn(self) -> AbstractContextManager[bool]:
        """Whether it is ours to change the index, until the context ends; of several processes one has it. Makes the
        index, or makes it anew."""

    def marks(self) -> dict[str, int]:
        """Of each archive file: its rows up to this offset are indexed."""

    def crawls(self) -> dict[int, str]:
        """The uuid of each crawl that has documents here."""

    def count(self) -> int:
        """Documents."""

    def add(self, file: str, start: int, end: int, documents: Sequence[Document], uuids: Mapping[int, str]) -> bool:
        """Puts documents in, in place of those with the same ids, and moves the file's mark from start to end. False,
        and nothing done: the mark was elsewhere. `uuids`: of the documents' crawls."""

    def forget_crawl(self, crawl: int, documents_max: int) -> int:
        """Takes up to so many documents of a crawl out; 0 when none is left and the crawl is forgotten."""

    def forget_files(self, files: Sequence[str]) -> None:
        """Their marks: the files are gone."""

    def search(self, query: Query, crawls: Sequence[int] | None, host: str | None, limit: int, offset: int) -> Found:
        """Documents of these crawls (None: of all) and this host, the best first."""

    def close(self) -> None: ...


# --- what both indexes are handed


def entry_of(document: Document) -> Entry:
    title = words(document.title)[:TITLE_WORDS_MAX]
    text = words(document.text)
    placed = PLACED_WORDS_MAX - len(title)
    body, rest = text[:placed], text[placed:]
    if rest or sum(map(len, body)) > BYTES_MAX // UTF8_BYTES_MAX:
        left = _Room(BYTES_MAX)
        body = list(takewhile(left.takes, body))
        rest = [word for word in dict.fromkeys(rest) if word not in left.known and left.takes(word)]
    return Entry([crawl_word(document.crawl), host_word(document.host)], title, body, rest)


class _Room:
    """For so many bytes of different words."""

    def __init__(self, bytes_max: int) -> None:
        self.known: set[str] = set()
        self._left = bytes_max

    def takes(self, word: str) -> bool:
        if word not in self.known:
            self._left -= len(word.encode())
            self.known.add(word)
        return self._left >= 0


def crawl_word(crawl: int) -> str:
    """A crawl and a host are words, too: a filter by them is one more list that is intersected, never a look at each
    match."""
    return f"c{crawl}"


def host_word(host: str) -> str:
    return f"h{blake2b(host.encode(), digest_size=10).hexdigest()}"


def packed_text(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "replace"), TEXT_LEVEL)


def hit_document(url_id: int, crawl: int, host: str, url: str, title: str, fetched_at: int, text: bytes) -> Document:
    """From the columns of both indexes; `text` as `packed_text` made it."""
    return Document(url_id, crawl, host, url, title, zlib.decompress(text).decode(), fetched_at)
