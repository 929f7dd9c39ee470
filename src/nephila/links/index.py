"""The seam to the link index: the links of each page with their anchors, found by the page and by what it links to.

Derived data, as the search index is. Never a row for a link: a page has one row with all of its links, packed, and the
index of words of the database (FTS5, GIN) finds the pages that have a target among theirs. tests/contract/test_links.py
is the definition.
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, Protocol

from nephila.derived.pages import DerivedPages

VERSION = 1  # of what is kept and how: an index of an older version is dropped and made anew
LINKING_MAX = 1_000  # pages that link to a URL, counted; beyond that `total` is only a lower bound
REDIRECT = "redirect"  # the `rel` of where a redirect leads to
PACKED_LEVEL = 6  # of zlib

_FIELD, _LINK = "\t", "\n"  # neither can be in a field: URLs are normalised, texts are folded


class Link(NamedTuple):
    """A link of a page. `url` is normalised as its crawl does it."""

    url: str
    text: str  # the anchor; empty: none, or only a picture without a text
    rel: str  # words in lower case; REDIRECT for the target of a redirect


class PageLinks(NamedTuple):
    """What is kept of a page: the number of each target, and all links, packed."""

    url_id: int
    crawl: int
    targets: list[int]
    packed: bytes


@dataclass(frozen=True, slots=True)
class Linking:
    """Some of the pages that link to a URL, and how many there are in all."""

    ids: list[int]
    total: int
    total_exact: bool


NOBODY = Linking([], 0, True)


class LinkIndex(DerivedPages, Protocol):
    def linking(self, crawl: int, url: str, limit: int, offset: int) -> Linking:
        """Pages of a crawl that link to a URL, in the order in which they were crawled, roughly."""

    def links_of(self, ids: Iterable[int]) -> dict[int, list[Link]]:
        """The links of these pages; a page without any is missing."""


# --- what both indexes do alike


def target_number(crawl: int, url: str) -> int:
    """What a target is found by: 64 bits, signed, as both databases have it."""
    return int.from_bytes(blake2b(f"{crawl} {url}".encode(), digest_size=8).digest(), "little", signed=True)


def packed_links(links: Iterable[Link]) -> bytes:
    return zlib.compress(_LINK.join(map(_FIELD.join, links)).encode("utf-8", "replace"), PACKED_LEVEL)


def unpacked_links(packed: bytes) -> list[Link]:
    return [Link(*line.split(_FIELD)) for line in zlib.decompress(packed).decode().split(_LINK)]


def linking_of(ids: list[int], total: int) -> Linking:
    return Linking(ids, min(total, LINKING_MAX), total <= LINKING_MAX)
