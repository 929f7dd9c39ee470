"""The graph of a crawl in keyset pages: who discovered whom, and who links to whom."""

from dataclasses import dataclass
from enum import StrEnum

from nephila.frontier.store import Catalog, UrlFilter, UrlRow
from nephila.models import Kind, UrlState


class GraphKind(StrEnum):
    DISCOVERY = "discovery"  # a tree: the page each URL was found on first
    LINKS = "links"  # every link between URLs of the crawl


@dataclass(frozen=True, slots=True)
class Node:
    id: int
    url: str
    domain: str  # politeness key
    depth: int
    state: UrlState
    status: int | None
    title: str | None
    parent: int | None
    ip: str | None  # of its host, once the name was resolved: whether or not this URL was asked for


@dataclass(frozen=True, slots=True)
class GraphPage:
    nodes: list[Node]
    edges: list[tuple[int, int]]
    next: int | None  # ask for what is after it; None: nothing more is known now


def graph_page(catalog: Catalog, crawl_id: int, kind: GraphKind, after: int, limit: int) -> GraphPage:
    return (discovery if kind is GraphKind.DISCOVERY else links)(catalog, crawl_id, after, limit)


def discovery(catalog: Catalog, crawl_id: int, after: int, limit: int) -> GraphPage:
    rows = catalog.urls(crawl_id, after, limit, UrlFilter())
    pages = [row for row in rows if row.kind is Kind.PAGE]
    addresses = catalog.addresses({row.host for row in pages})
    edges = [(row.discovered_from, row.id) for row in pages if row.discovered_from is not None]
    nodes = [_node(row, addresses.get(row.host, "")) for row in pages]
    return GraphPage(nodes, edges, rows[-1].id if rows else None)


def links(catalog: Catalog, crawl_id: int, after: int, limit: int) -> GraphPage:
    """Only edges: their ends are nodes of the discovery tree."""
    found = catalog.links(crawl_id, after, limit)
    edges = [(source, target) for source, targets in found for target in targets]
    return GraphPage([], edges, found[-1][0] if found else None)


def _node(row: UrlRow, addresses: str) -> Node:
    ip = addresses.partition(" ")[0] or None
    return Node(row.id, row.url, row.host, row.depth, row.state, row.status, row.title, row.discovered_from, ip)
