"""The numbers of a crawl, as the store keeps them and as its rows say."""

from collections import Counter

from nephila.frontier.catalog import Catalog
from nephila.frontier.records import UrlFilter
from nephila.frontier.store import Crawl
from nephila.models import TERMINAL, counted_type, depth_tally, reason_tally, status_tally, type_tally
from tests.contract.session import EVERYTHING

COUNTED = ("status:", "type:", "depth:")


def breakdown(catalog: Catalog, crawl: Crawl) -> dict[str, int]:
    """The tallies by state, reason, status, type and depth."""
    wanted = (*TERMINAL, "urls")
    tallies = catalog.tallies(crawl.id)
    return {name: n for name, n in tallies.items() if n and (name in wanted or name.startswith(("reason:", *COUNTED)))}


def counted_rows(catalog: Catalog, crawl: Crawl) -> dict[str, int]:
    """The same, of the rows. A robots.txt that several origins are redirected to has a row for each of them."""
    counts: Counter[str] = Counter()
    for row in catalog.urls(crawl.id, 0, EVERYTHING, UrlFilter()):
        counts["urls"] += 1
        if row.kind.traits.page:
            counts[depth_tally(row.depth)] += 1
        if row.state.terminal:
            counts[row.state] += 1
            if row.reason:
                counts[reason_tally(row.reason)] += 1
        if row.status is not None:
            counts[status_tally(row.status)] += 1
            counts[type_tally(counted_type(row.content_type))] += 1
    return dict(counts)
