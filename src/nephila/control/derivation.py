"""The seam between the follower and what it feeds: a derivation has a name, a version, and pages with a mark for each
archive file.

Pages and mark move in one transaction, and only if the mark is where the follower thought: so a death at any moment, or
two followers, leave every page derived once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nephila.control.derivers import LINKS, SEARCH
from nephila.derived.ledger import Derived, Ledger
from nephila.derived.pages import DerivedPages
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import ArchivedPage
from nephila.links.index import VERSION as LINKS_VERSION
from nephila.links.index import LinkIndex, PageLinks
from nephila.models import UrlState
from nephila.search.index import VERSION as SEARCH_VERSION
from nephila.search.index import Document, SearchIndex


class Derivation(Protocol):
    """Rows and what was derived of them go in; `pages` is where it is kept."""

    @property
    def what(self) -> Derived: ...

    @property
    def pages(self) -> DerivedPages: ...

    def wants(self, row: ArchivedPage) -> bool:
        """Whether anything is derived of this row. Cheap: asked of every row."""

    def page(self, row: ArchivedPage, value: Any) -> Any:
        """What is kept: of a row and what its function in control/derivers.py made of its page."""


class SearchDerivation:
    """The full-text index."""

    what = Derived(SEARCH, SEARCH_VERSION)

    def __init__(self, pages: SearchIndex) -> None:
        self.pages: DerivedPages = pages

    def wants(self, row: ArchivedPage) -> bool:
        """It is a page, and does not ask not to be found."""
        return row.state is UrlState.VISITED and row.kind.traits.page and not row.noindex

    def page(self, row: ArchivedPage, value: str) -> Document:
        return Document(row.url_id, row.crawl, row.host, row.url, row.title or "", value, row.fetched_at)


class LinksDerivation:
    """The links of each page with their anchors, and where redirects lead to."""

    what = Derived(LINKS, LINKS_VERSION)

    def __init__(self, pages: LinkIndex) -> None:
        self.pages: DerivedPages = pages

    def wants(self, row: ArchivedPage) -> bool:
        return row.state in (UrlState.VISITED, UrlState.REDIRECTED) and row.kind.traits.page

    def page(self, row: ArchivedPage, value: tuple[list[int], bytes]) -> PageLinks:
        return PageLinks(row.url_id, row.crawl, *value)


class DerivedStore(Protocol):
    """What derivations need of a store (`wiring.Store`)."""

    @property
    def index(self) -> SearchIndex: ...

    @property
    def links(self) -> LinkIndex: ...


def derivations_of(store: DerivedStore) -> list[Derivation]:
    """All derivations of a store."""
    return [SearchDerivation(store.index), LinksDerivation(store.links)]


# --- how far they are


@dataclass(frozen=True, slots=True)
class DerivationProgress:
    """How far a derivation is, and its lag."""

    name: str
    version: int
    pages: int
    pending_bytes: int  # of the archive
    skipped: int  # records that could not be derived


def pending_bytes(catalog: Catalog, pages: DerivedPages) -> int:
    """Bytes of the archive that are behind the marks."""
    marks = pages.marks()
    return sum(max(0, size - marks.get(file, 0)) for file, size in catalog.archive_sizes())


def progress_of(catalog: Catalog, ledger: Ledger, derivations: Sequence[Derivation]) -> list[DerivationProgress]:
    return [_progress(catalog, ledger, each) for each in derivations]


def _progress(catalog: Catalog, ledger: Ledger, derivation: Derivation) -> DerivationProgress:
    what, pages = derivation.what, derivation.pages
    pending = pending_bytes(catalog, pages)
    return DerivationProgress(what.name, what.version, pages.count(), pending, ledger.count_skipped(what))
