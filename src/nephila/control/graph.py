"""The graph of a crawl in keyset pages: who discovered whom, and who links to whom."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from nephila.frontier.store import Catalog, UrlFilter, UrlRow
from nephila.models import Kind, UrlState

HOSTS_LOOKED_MAX = 100  # per page, for their addresses: each is a read


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
    ip: str | None


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
    addresses = _addresses(catalog, pages)
    edges = [(row.discovered_from, row.id) for row in pages if row.discovered_from is not None]
    nodes = [_node(row, addresses.get(row.host)) for row in pages]
    return GraphPage(nodes, edges, rows[-1].id if rows else None)


def links(catalog: Catalog, crawl_id: int, after: int, limit: int) -> GraphPage:
    """Only edges: their ends are nodes of the discovery tree."""
    found = catalog.links(crawl_id, after, limit)
    edges = [(source, target) for source, targets in found for target in targets]
    return GraphPage([], edges, found[-1][0] if found else None)


def _addresses(catalog: Catalog, rows: Iterable[UrlRow]) -> dict[str, str]:
    hosts = list(dict.fromkeys(row.host for row in rows))[:HOSTS_LOOKED_MAX]
    clocks = (catalog.host(host) for host in hosts)
    return {clock.host: clock.addresses.split()[0] for clock in clocks if clock is not None and clock.addresses}


def _node(row: UrlRow, ip: str | None) -> Node:
    return Node(row.id, row.url, row.host, row.depth, row.state, row.status, row.title, row.discovered_from, ip)
