"""The seam between the follower and what it feeds: a derivation has a name, a version and a mark for each archive file.

Values and mark move in one transaction, and only if the mark is where the follower thought: so a death at any moment,
or two followers, leave every page derived once.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from nephila.control.derivers import SEARCH
from nephila.derived.ledger import Derived, Ledger
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import ArchivedPage
from nephila.models import UrlState
from nephila.search.index import VERSION, Document, SearchIndex

Values = Sequence[tuple[ArchivedPage, Any]]  # rows, and what their function in control/derivers.py made of their pages


class Derivation(Protocol):
    """Not shared between threads. Reading never makes anything: what is not there is empty."""

    @property
    def what(self) -> Derived: ...

    def wants(self, row: ArchivedPage) -> bool:
        """Whether anything is derived of this row. Cheap: asked of every row."""

    def turn(self) -> AbstractContextManager[bool]:
        """Whether this process may derive until the context ends; of several one may."""

    def marks(self) -> dict[str, int]:
        """The mark of each archive file: its rows up to this offset are derived."""

    def crawls(self) -> dict[int, str]:
        """The uuid of each crawl of which there are pages here."""

    def count(self) -> int:
        """Number of pages."""

    def add(self, file: str, start: int, end: int, values: Values, uuids: Mapping[int, str]) -> bool:
        """Put values in, in the place of older ones, and move the file's mark from start to end. False, and nothing
        done: the mark was elsewhere. `uuids`: of the crawls."""

    def forget_crawl(self, crawl: int, pages_max: int) -> int:
        """Remove up to `pages_max` pages of a crawl; 0 when none was left and the crawl is forgotten."""

    def forget_files(self, files: Sequence[str]) -> None:
        """Remove the marks of files that are gone."""


class SearchDerivation:
    """The full-text index."""

    def __init__(self, index: SearchIndex) -> None:
        self.index = index
        self.what = Derived(SEARCH, VERSION)
        self.turn = index.turn
        self.marks = index.marks
        self.crawls = index.crawls
        self.count = index.count
        self.forget_crawl = index.forget_crawl
        self.forget_files = index.forget_files

    def wants(self, row: ArchivedPage) -> bool:
        """It is a page, and does not ask not to be found."""
        return row.state is UrlState.VISITED and row.kind.traits.page and not row.noindex

    def add(self, file: str, start: int, end: int, values: Values, uuids: Mapping[int, str]) -> bool:
        documents = [
            Document(row.url_id, row.crawl, row.host, row.url, row.title or "", text, row.fetched_at)
            for row, text in values
        ]
        return self.index.add(file, start, end, documents, uuids)


def derivations_of(index: SearchIndex) -> list[Derivation]:
    """All derivations of a store."""
    return [SearchDerivation(index)]


# --- how far they are


@dataclass(frozen=True, slots=True)
class DerivationProgress:
    """How far a derivation is, and its lag."""

    name: str
    version: int
    pages: int
    pending_bytes: int  # of the archive
    skipped: int  # records that could not be derived


class Marked(Protocol):
    """What has marks: a derivation, or the index of search."""

    def marks(self) -> dict[str, int]: ...


def pending_bytes(catalog: Catalog, derived: Marked) -> int:
    """Bytes of the archive that are behind the marks."""
    marks = derived.marks()
    return sum(max(0, size - marks.get(file, 0)) for file, size in catalog.archive_sizes())


def progress_of(catalog: Catalog, ledger: Ledger, derivations: Sequence[Derivation]) -> list[DerivationProgress]:
    return [_progress(catalog, ledger, each) for each in derivations]


def _progress(catalog: Catalog, ledger: Ledger, derivation: Derivation) -> DerivationProgress:
    what = derivation.what
    pending = pending_bytes(catalog, derivation)
    return DerivationProgress(what.name, what.version, derivation.count(), pending, ledger.count_skipped(what))
