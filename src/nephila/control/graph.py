"""The graph of a crawl in pages that follow its changes: which page discovered which URL, and which links to which."""

from dataclasses import dataclass
from enum import StrEnum

from nephila.frontier.catalog import Catalog
from nephila.frontier.records import UrlFilter, UrlRow
from nephila.models import ERRORS, Kind, UrlState
from nephila.urls.identity import name_and_type


class StatusWord(StrEnum):
    """The states of a URL in the words of document 001."""

    PENDING = "PENDING"
    IN_PROGRESS = "IN-PROGRESS"
    COMPLETED = "COMPLETED"  # ended without an error, also URLs at the depth limit, which are only recorded
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


def status_word(state: UrlState) -> StatusWord:
    match state:
        case UrlState.QUEUED:
            return StatusWord.PENDING
        case UrlState.IN_PROGRESS:
            return StatusWord.IN_PROGRESS
        case UrlState.CANCELLED:
            return StatusWord.CANCELLED
    return StatusWord.FAILED if state in ERRORS else StatusWord.COMPLETED


class GraphKind(StrEnum):
    DISCOVERY = "discovery"  # a tree: the page each URL was found on first
    LINKS = "links"  # every link between URLs of the crawl


@dataclass(frozen=True, slots=True)
class GraphNode:
    id: int
    url: str
    domain: str  # politeness key
    depth: int
    state: UrlState
    status: int | None
    title: str | None
    parent: int | None
    ip: str | None  # of its host, once the name is resolved, even if this URL was never fetched

    @property
    def name(self) -> str:
        return name_and_type(self.url)[0]

    @property
    def http_type(self) -> str:
        return name_and_type(self.url)[1]

    @property
    def job_status(self) -> StatusWord:
        return status_word(self.state)


@dataclass(frozen=True, slots=True)
class GraphPage:
    nodes: list[GraphNode]
    edges: list[tuple[int, int]]
    next: int | None  # `after` of the next page; None: nothing more is known now


def graph_page(catalog: Catalog, crawl_id: int, kind: GraphKind, after: int, limit: int) -> GraphPage:
    return (discovery if kind is GraphKind.DISCOVERY else links)(catalog, crawl_id, after, limit)


def discovery(catalog: Catalog, crawl_id: int, after: int, limit: int) -> GraphPage:
    changed = changed_pages(catalog, crawl_id, after, limit)
    addresses = catalog.addresses({row.host for row in changed.rows})
    edges = [(row.discovered_from, row.id) for row in changed.rows if row.discovered_from is not None]
    nodes = [_node(row, addresses.get(row.host, "")) for row in changed.rows]
    return GraphPage(nodes, edges, changed.next if changed.next > after else None)


def links(catalog: Catalog, crawl_id: int, after: int, limit: int) -> GraphPage:
    """Only edges: their ends are nodes of the discovery tree."""
    found = catalog.links(crawl_id, after, limit)
    edges = [(source, target) for source, targets in found.pages for target in targets]
    return GraphPage([], edges, found.next if found.next > after else None)


@dataclass(frozen=True, slots=True)
class ChangedPages:
    rows: list[UrlRow]
    next: int
    more: bool  # whether there is more now


def changed_pages(catalog: Catalog, crawl_id: int, after: int, limit: int) -> ChangedPages:
    """Pages that were found, tried again or ended since; at the end also those that are being fetched.

    Who is being fetched is no change that is committed, so these come with every answer that reaches the end.
    """
    changed = catalog.changes(crawl_id, after, limit)
    rows = catalog.changed_urls(changed)
    if not changed.more and len(rows) < limit:
        known = {row.id for row in rows}
        in_flight = catalog.urls(crawl_id, 0, limit - len(rows), UrlFilter((UrlState.IN_PROGRESS,), kind=Kind.PAGE))
        rows += [row for row in in_flight if row.id not in known]
    return ChangedPages([row for row in rows if row.kind.traits.page], changed.next, changed.more)


def _node(row: UrlRow, addresses: str) -> GraphNode:
    ip = addresses.partition(" ")[0] or None
    return GraphNode(row.id, row.url, row.host, row.depth, row.state, row.status, row.title, row.discovered_from, ip)
