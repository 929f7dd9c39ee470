"""Lists of hosts: those of a crawl and those of all crawls, by name or by what is known of them, page by page.

By name a page is a range of an index. By anything else all hosts are read and sorted, so that is for HOSTS_SORTED_MAX
at most: an index would have to be written with every flush, for each host that was asked.
"""

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from nephila.errors import UsageError
from nephila.frontier.listings import Listings
from nephila.frontier.records import (
    HOSTS_OPEN_COUNT_MAX,
    HOSTS_SORTED_MAX,
    OPEN_COUNT_MAX,
    SCAN_ROWS_MAX,
    SORTED_URLS_MAX,
    CrawlHostPage,
    CrawlHostSort,
    HostPage,
    HostSort,
    HostView,
)
from nephila.frontier.rows import host_view, known_host, open_of, queue_row
from nephila.models import Tally

NEVER = 2**63 - 1
# The place of a host `h`, and of its queue `q` in a crawl, where nothing may be known of the host yet.
PLACES = {sort: f"h.{sort}" for sort in HostSort} | {
    HostSort.NEXT_IN_MS: "h.next_at",
    HostSort.LATENCY_MS: "coalesce(h.latency_ms, -1)",
}
PLACES_IN_CRAWL: dict[CrawlHostSort, str] = {
    CrawlHostSort.HOST: "q.host",
    CrawlHostSort.FETCHED: "q.fetched",
    CrawlHostSort.DELAY_MS: "coalesce(h.delay_ms, 0)",
    CrawlHostSort.NEXT_IN_MS: f"CASE WHEN q.due IS NULL OR q.dead <> '' THEN {NEVER} "
    "WHEN coalesce(h.next_at, 0) > q.due THEN h.next_at ELSE q.due END",
    CrawlHostSort.HELD_BY: "q.held",
    CrawlHostSort.ERRORS: "coalesce(h.errors, 0)",
}


class HostLists(Listings, ABC):
    open_place: ClassVar[str]  # how many rows of the queue `q` are open

    # --- of a crawl

    def crawl_hosts(
        self,
        crawl_id: int,
        after: str,
        limit: int,
        text: str = "",
        sort: CrawlHostSort = CrawlHostSort.HOST,
        *,
        descending: bool = False,
    ) -> CrawlHostPage:
        """A page of the hosts of a crawl behind the host `after`; `text`: part of the name, looked for in SCAN_ROWS_MAX
        hosts at most where they are listed by name. UsageError where they are too many to be sorted.

        Open rows are counted up to HOSTS_OPEN_COUNT_MAX of each host; where few have more, these are counted again up
        to a share of OPEN_COUNT_MAX. `open_more` marks counts that stopped there.
        """
        asked = {"crawl": crawl_id, "after": after, "text": text, "limit": limit + 1}
        horizon = None
        if sort is CrawlHostSort.HOST and not descending:
            last = {"crawl": crawl_id, "after": after, "rows_max": SCAN_ROWS_MAX}
            horizon = self.tables.value("last_queue", **last) if text else None
            names = [host for (host,) in self.tables.rows("queue_names", **asked, last=horizon)]
        else:
            if why := self.unsortable_crawl_hosts(crawl_id, sort):
                raise UsageError(why)
            place = self.open_place if sort is CrawlHostSort.OPEN else PLACES_IN_CRAWL[sort]
            names = self._sorted_names(
                self.tables.sql["queues_in_order"], "q.host", place, asked, descending=descending
            )
        return CrawlHostPage(self._views(crawl_id, names[:limit]), _goes_on(names, limit, horizon))

    def _views(self, crawl_id: int, names: list[str]) -> list[HostView]:
        now, hosts = self.tables.now(), self.tables.texts(names)
        rows = self.tables.rows("hosts_of_crawl", crawl=crawl_id, hosts=hosts, open_max=HOSTS_OPEN_COUNT_MAX + 1)
        views = {row[0]: host_view(row, now, HOSTS_OPEN_COUNT_MAX) for row in rows}
        share = OPEN_COUNT_MAX // max(1, sum(view.queue.open_more for view in views.values()))
        return [self._counted(crawl_id, views[name], share, now) for name in names if name in views]

    def _counted(self, crawl_id: int, view: HostView, open_max: int, now: int) -> HostView:
        if not view.queue.open_more or open_max <= view.queue.open:
            return view
        row = self.tables.row("queue", crawl=crawl_id, host=view.queue.host, open_max=open_max + 1)
        return replace(view, queue=queue_row(row, now, open_max)) if row else view

    def unsortable_crawl_hosts(self, crawl_id: int, sort: CrawlHostSort | None = None) -> str:
        """Why the hosts of a crawl can be listed by name only (by `sort`: not so); empty: they can be sorted."""
        tallies = self.tallies(crawl_id)
        if tallies.get(Tally.HOSTS, 0) > HOSTS_SORTED_MAX:
            return f"crawl {crawl_id} has more than {HOSTS_SORTED_MAX:,} hosts: list them by name"
        if sort is CrawlHostSort.OPEN and open_of(tallies) > SORTED_URLS_MAX:
            return f"crawl {crawl_id} has more than {SORTED_URLS_MAX:,} open URLs: list its hosts by name"
        return ""

    def count_crawl_hosts(self, crawl_id: int, text: str = "") -> int | None:
        """How many hosts of a crawl have `text` in their name; None: more than HOSTS_SORTED_MAX are to be looked at."""
        if not text:
            return self.tallies(crawl_id).get(Tally.HOSTS, 0)
        ((seen, found),) = self.tables.rows("count_queues", crawl=crawl_id, text=text, rows_max=HOSTS_SORTED_MAX + 1)
        return int(found) if seen <= HOSTS_SORTED_MAX else None

    # --- of all crawls

    def all_hosts(
        self,
        after: str,
        limit: int,
        text: str = "",
        sort: HostSort = HostSort.HOST,
        *,
        descending: bool = False,
    ) -> HostPage:
        """As `HostLists.crawl_hosts`, the hosts of all crawls."""
        asked = {"after": after, "text": text, "limit": limit + 1}
        horizon = None
        if sort is HostSort.HOST and not descending:
            horizon = self.tables.value("last_host", after=after, rows_max=SCAN_ROWS_MAX) if text else None
            names = [host for (host,) in self.tables.rows("host_names", **asked, last=horizon)]
        else:
            if self.count_hosts() is None:
                raise UsageError(UNSORTABLE)
            names = self._sorted_names(
                self.tables.sql["hosts_in_order"], "h.host", PLACES[sort], asked, descending=descending
            )
        now = self.tables.now()
        rows = self.tables.rows("all_hosts", hosts=self.tables.texts(names[:limit]))
        hosts = {row[0]: known_host(row, now) for row in rows}
        return HostPage([hosts[name] for name in names[:limit] if name in hosts], _goes_on(names, limit, horizon))

    def count_hosts(self, text: str = "") -> int | None:
        """How many hosts have `text` in their name; None: more than HOSTS_SORTED_MAX are to be looked at."""
        ((seen, found),) = self.tables.rows("count_hosts", text=text, rows_max=HOSTS_SORTED_MAX + 1)
        return int(found) if seen <= HOSTS_SORTED_MAX else None

    def _sorted_names(
        self, sql: str, name: str, place: str, asked: Mapping[str, object], *, descending: bool
    ) -> list[str]:
        sql = sql.replace(f"{name} AS place", f"{place} AS place")
        if descending:
            sql = sql.replace("(place, host) >", "(place, host) <").replace(" ASC", " DESC")
        return [host for (host,) in self.tables.read(sql, asked)]


UNSORTABLE = f"there are more than {HOSTS_SORTED_MAX:,} hosts: list them by name"


def _goes_on(names: Sequence[str], limit: int, horizon: str | None) -> str | None:
    """The `after` of the next page. `horizon`: where the look for names ended."""
    return names[limit - 1] if len(names) > limit else horizon
