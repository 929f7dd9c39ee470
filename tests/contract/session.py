"""A worker without a network: it holds what the store hands it, and reports the outcomes that the test gives it."""

from collections.abc import Iterable
from typing import Protocol

from nephila.frontier.catalog import Catalog
from nephila.frontier.records import UrlFilter, UrlRow
from nephila.frontier.store import Batch, Crawl, Flushed, Frontier, Outcome, Refill, Release, Row, Window, WorkerInfo
from nephila.models import PARTITIONS, Child, Kind, PageRecord, UrlState
from nephila.policy.balance import Lease
from nephila.profiles import crawl_settings
from nephila.urls.identity import host_of, partition_of, requisite_key, url_key

DRAIN_FLUSHES_MAX = 500
EVERYTHING = 100_000


def child(
    crawl: Crawl, url: str, *, depth: int = 0, priority: int = 0, parent: int | None = None, kind: Kind = Kind.PAGE
) -> Child:
    key = requisite_key(url) if kind is Kind.REQUISITE else url_key(url)
    return Child(crawl.id, host_of(url), key, url, depth, priority, parent, raw=url, kind=kind)


def seeded(catalog: Catalog, *urls: str, finished: bool = True, mark: str = "", **settings: object) -> Crawl:
    """A crawl with these seeds; settings by names like limits__max_pages."""
    overrides = {name.replace("__", "."): value for name, value in settings.items()}
    crawl = catalog.create_crawl(urls, crawl_settings("default", overrides), mark or " ".join(urls))
    catalog.add_seeds(crawl.id, [child(crawl, url) for url in urls])
    if finished:
        catalog.seeded(crawl.id)
    return catalog.crawl(crawl.id)


def ended(
    row: Row | int, crawl: Crawl, *children: str, state: UrlState = UrlState.VISITED, reason: str = ""
) -> Outcome:
    url_id = row if isinstance(row, int) else row.id
    page = PageRecord(status=200, content_type="text/html", body_bytes=10, fetched_at=1, title=f"page {url_id}")
    found = [child(crawl, url, depth=1, parent=url_id) for url in children]
    return Outcome(url_id, crawl.id, state, reason, 1, page, found)


def hosts_in(parts: Iterable[int], count: int = 1) -> list[str]:
    """Names of `count` hosts whose partition is one of these."""
    wanted = set(parts)
    names = (f"h{number}.test" for number in range(100 * PARTITIONS))
    found = [name for name in names if partition_of(name) in wanted]
    return found[:count]


def all_urls(catalog: Catalog, crawl: Crawl) -> dict[str, UrlRow]:
    rows = catalog.urls(crawl.id, 0, EVERYTHING, UrlFilter())
    assert len({row.url for row in rows}) == len(rows), "a URL has two rows"
    return {row.url: row for row in rows}


def states(catalog: Catalog, crawl: Crawl) -> dict[str, UrlState]:
    return {url: row.state for url, row in all_urls(catalog, crawl).items()}


class Frontiers(Protocol):
    def frontier(self) -> Frontier: ...


class Session:
    def __init__(self, backend: Frontiers, name: str = "worker", *, lease: bool = True) -> None:
        self.frontier = backend.frontier()
        self.id = self.frontier.join(WorkerInfo(name, 1, "test"))
        self.seq = 0
        self.control = 0
        self.parts: set[int] = set()
        self.held: dict[int, Window] = {}
        if lease:
            self.lease()

    def lease(self, loads: dict[int, float] | None = None) -> Lease:
        lease = self.frontier.lease(loads or {})
        self.parts = set(lease.partitions)
        return lease

    def batch(self, **content: object) -> Batch:
        self.seq += 1
        return Batch(self.seq, **{"control_seen": self.control, **content})  # type: ignore[arg-type]

    def flush(self, **content: object) -> Flushed:
        return self.send(self.batch(**content))

    def send(self, batch: Batch) -> Flushed:
        answer = self.frontier.flush(batch)
        self.control = answer.control
        for release in batch.released:
            self.held.pop(release.queue, None)
        done = {outcome.url_id for outcome in batch.outcomes} | {retry.url_id for retry in batch.retries}
        for window in [*self.held.values(), *answer.windows]:
            window.rows = [row for row in window.rows if row.id not in done]
        for window in answer.refills:
            self.held[window.queue].rows = window.rows
        self.held |= {window.queue: window for window in answer.windows}
        self.parts -= set(batch.hand_back)
        return answer

    def load(self, queues: int = 1000, window: int = 100, **content: object) -> list[Row]:
        """Load queues that are due and not held yet; their rows."""
        answer = self.flush(new_queues=queues, window=window, **content)
        return [row for window in answer.windows for row in window.rows]

    def urls(self) -> list[str]:
        return [row.url for window in self.held.values() for row in window.rows]

    def row(self, url: str) -> Row:
        return next(row for window in self.held.values() for row in window.rows if row.url == url)

    def queue_of(self, host: str) -> int:
        return next(window.queue for window in self.held.values() if window.host == host)

    def releases(self, in_ms: int = 0) -> list[Release]:
        return [Release(queue, in_ms, 0) for queue in self.held]

    def drain(self, crawl: Crawl, state: UrlState = UrlState.VISITED) -> int:
        """Visit all rows that are due; how many they were."""
        count = 0
        for _ in range(DRAIN_FLUSHES_MAX):
            refills = [Refill(window.queue, 100) for window in self.held.values()]
            answer = self.flush(new_queues=1000, window=100, refills=refills, next_due=True)
            rows = [row for window in self.held.values() for row in window.rows if window.crawl == crawl.id]
            count += len(rows)
            outcomes = [ended(row, crawl, state=state) for row in rows]
            self.flush(outcomes=outcomes, released=self.releases())
            if not rows and not answer.windows and answer.next_due_in_ms != 0:
                return count
        raise AssertionError("the frontier does not become empty")
