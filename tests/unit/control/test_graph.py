from nephila.control.graph import GraphKind, graph_page
from nephila.models import UrlState
from tests.unit.control.filled import SEED, Filled


def test_the_discovery_graph_is_a_tree_of_all_urls(filled: Filled) -> None:
    page = graph_page(filled.catalog, filled.crawl.id, GraphKind.DISCOVERY, 0, 100)
    seed, *others = page.nodes
    assert (seed.url, seed.parent, seed.domain, seed.state) == (SEED, None, "a.test", UrlState.VISITED)
    assert page.edges == [(seed.id, other.id) for other in others] and len(others) == 5
    assert page.next is not None
    assert graph_page(filled.catalog, filled.crawl.id, GraphKind.DISCOVERY, page.next, 100).next is None


def test_pages_of_the_graph_follow_each_other(filled: Filled) -> None:
    first = graph_page(filled.catalog, filled.crawl.id, GraphKind.DISCOVERY, 0, 2)
    assert first.next is not None
    second = graph_page(filled.catalog, filled.crawl.id, GraphKind.DISCOVERY, first.next, 2)
    whole = graph_page(filled.catalog, filled.crawl.id, GraphKind.DISCOVERY, 0, 100)
    assert first.nodes + second.nodes == whole.nodes[:4]


def test_the_graph_of_links_has_only_edges(filled: Filled) -> None:
    page = graph_page(filled.catalog, filled.crawl.id, GraphKind.LINKS, 0, 100)
    assert page.nodes == []
    ids = {node.id for node in graph_page(filled.catalog, filled.crawl.id, GraphKind.DISCOVERY, 0, 100).nodes}
    assert {end for edge in page.edges for end in edge} <= ids
