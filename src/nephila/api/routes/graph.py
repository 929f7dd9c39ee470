"""The graph of a crawl, in pages that go on where the last one ended."""

from typing import Annotated

from fastapi import APIRouter, Query

from nephila.api.access import guarded
from nephila.api.lookup import crawl_named
from nephila.api.query import After, CrawlRef
from nephila.api.schemas import GraphView
from nephila.api.services import Shared
from nephila.control.graph import GraphKind, graph_page
from nephila.frontier.operators import Access

NODES_DEFAULT, NODES_MAX = 1000, 5000

router = APIRouter(tags=["graph"])


@router.get("/crawls/{crawl}/graph", **guarded(Access.READ, 404))
def get_graph(
    shared: Shared,
    crawl: CrawlRef,
    kind: GraphKind = GraphKind.DISCOVERY,
    after: After = 0,
    limit: Annotated[
        int, Query(ge=1, le=NODES_MAX, description="pages whose nodes or links are answered")
    ] = NODES_DEFAULT,
) -> GraphView:
    """Discovery: nodes and the page each was found on. Links: every edge between nodes of the crawl."""
    with shared.pool.use() as store:
        page = graph_page(store.catalog, crawl_named(store, crawl).id, kind, after, limit)
    return GraphView.model_validate(page)
