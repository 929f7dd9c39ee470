"""The graph of a crawl, in pages that go on where the last one ended."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from nephila.api.access import guarded
from nephila.api.lookup import crawl_named
from nephila.api.query import After, CrawlRef
from nephila.api.routers import noun_router
from nephila.api.schemas import View, view_of
from nephila.api.services import Shared
from nephila.control.graph import GraphKind, GraphNode, StatusWord, graph_page
from nephila.frontier.tokens import Access

NODES_DEFAULT, NODES_MAX = 1000, 5000

router = noun_router("graph")


@view_of(
    GraphNode,
    id=Field(description="number of the URL", examples=[815]),
    url=Field(description="as it was normalised", examples=["https://example.com/docs/"]),
    domain=Field(description="politeness key of the host: its name without a leading `www.`", examples=["example.com"]),
    depth=Field(description="links away from a seed", examples=[2]),
    state=Field(description="where it is in its life", examples=["visited"]),
    status=Field(description="HTTP status of its last answer; null: none came", examples=[200]),
    title=Field(description="title of the page; null: it has none", examples=["Documentation"]),
    parent=Field(description="number of the URL that it was found on; null: a seed", examples=[1]),
    ip=Field(
        description="address of its host, once the name is resolved, even if this URL was never asked for",
        examples=["192.0.2.10"],
    ),
)
class NodeView(View):
    name: str = Field(description="host in upper case, and path", examples=["EXAMPLE.COM/docs/"])
    http_type: str = Field(examples=["HTTPS://"], description="scheme in upper case")
    job_status: StatusWord = Field(description="its state in the words of document 001", examples=["COMPLETED"])


class GraphView(View):
    nodes: list[NodeView] = Field(
        description="URLs; of kind `links` there are none: the ends of links are among the nodes of kind `discovery`"
    )
    edges: list[tuple[int, int]] = Field(description="pairs of numbers of URLs: from, to", examples=[[[1, 815]]])
    next: int | None = Field(description="give it as `after`; null: nothing more is known now", examples=[4711])


@router.get("/crawls/{crawl}/graph", **guarded(Access.READ, 404))
def get_graph(
    shared: Shared,
    crawl: CrawlRef,
    kind: Annotated[GraphKind, Query(description="who found whom, or every link")] = GraphKind.DISCOVERY,
    after: After = 0,
    limit: Annotated[
        int, Query(ge=1, le=NODES_MAX, description="pages whose nodes or links are answered")
    ] = NODES_DEFAULT,
) -> GraphView:
    """Draw the graph of a crawl.

    Kind `discovery`: nodes and the page that each was found on. Kind `links`: every edge between nodes of the crawl.
    Whoever asks again with `next` hears of every node, and again of each node that changed its state.
    """
    with shared.pool.use() as store:
        page = graph_page(store.catalog, crawl_named(store, crawl).id, kind, after, limit)
    return GraphView.model_validate(page)
