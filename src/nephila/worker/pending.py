"""What visits have brought and the next flush will commit. The event loop fills it; a cut goes to the flush thread."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field

from nephila.archive.writer import ArchiveWriter, Exchange
from nephila.frontier.store import (
    ERRORS_PER_FLUSH,
    Batch,
    ErrorNote,
    HostClock,
    Outcome,
    Release,
    Retry,
    RobotsRecord,
    Row,
)
from nephila.models import Child, PageRecord, Reason, UrlState
from nephila.worker.crawls import LiveCrawl
from nephila.worker.scheduler import Host, Queue

TROUBLE = frozenset({UrlState.FAILED, UrlState.HTTP_ERROR})  # what those who look after a crawl want to see


@dataclass(slots=True)
class Finished:
    """An outcome on its way to the store, with what the archive and the content hash are made from."""

    queue: Queue
    outcome: Outcome
    exchange: Exchange | None = None
    content: bytes | None = None  # the decoded body, where it differs from the exchange's


@dataclass(slots=True)
class Cut:
    """One flush: the batch, and what only this worker must remember of it."""

    batch: Batch
    finished: list[Finished]
    retried: list[tuple[Queue, int]]
    released: list[Queue]
    archived: bool = False  # the exchanges are in the archive: a repeated flush does not write them again


@dataclass(slots=True)
class Pending:
    finished: list[Finished] = field(default_factory=list)
    retries: list[tuple[Queue, Retry]] = field(default_factory=list)
    children: list[Child] = field(default_factory=list)
    resolved: dict[Host, tuple[str, str]] = field(default_factory=dict)  # without a request: addresses, CNAME chain
    robots: dict[str, RobotsRecord] = field(default_factory=dict)
    deaths: dict[int, str] = field(default_factory=dict)
    joined: list[tuple[int, str]] = field(default_factory=list)
    errors: list[ErrorNote] = field(default_factory=list)  # up to ERRORS_PER_FLUSH
    tallies: Counter[tuple[int, str]] = field(default_factory=Counter)
    refusals: Counter[tuple[int, str, str]] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.finished) + len(self.retries)

    def url_ids(self) -> set[int]:
        return {done.outcome.url_id for done in self.finished} | {retry.url_id for _, retry in self.retries}

    def end(
        self,
        queue: Queue,
        row: Row,
        state: UrlState,
        reason: str = Reason.NONE,
        page: PageRecord | None = None,
        children: list[Child] | None = None,
        exchange: Exchange | None = None,
        content: bytes | None = None,
        *,
        tried: int = 1,
        counts: bool = True,
    ) -> None:
        crawl = queue.crawl.id
        if reason:
            self.tallies[crawl, f"reason:{reason}"] += 1
        if state in TROUBLE:
            self._note(crawl, row, reason or state, page)
        outcome = Outcome(row.id, crawl, state, reason, row.tries + tried, page, children or [], counts)
        self.finished.append(Finished(queue, outcome, exchange, content))

    def retry(self, queue: Queue, row: Row, in_ms: int, reason: str, *, crashes: int | None = None) -> None:
        crawl = queue.crawl.id
        self.tallies[crawl, "retries"] += 1
        self._note(crawl, row, reason, None)
        crashes = row.crashes if crashes is None else crashes
        self.retries.append((queue, Retry(row.id, crawl, in_ms, row.tries + 1, crashes, reason)))

    def _note(self, crawl: int, row: Row, reason: str, page: PageRecord | None) -> None:
        if len(self.errors) < ERRORS_PER_FLUSH:
            detail = (page.error or (f"status {page.status}" if page.status else "")) if page else "tried again"
            self.errors.append(ErrorNote(crawl, row.id, reason, detail, row.tries))

    def cut(self, batch: Batch, hosts: list[Host], released: list[tuple[Queue, Release]], now: float) -> Cut:
        """Take everything; a new Pending collects what comes meanwhile."""
        batch.outcomes = [done.outcome for done in self.finished]
        batch.retries = [retry for _, retry in self.retries]
        batch.children = self.children
        batch.robots = list(self.robots.values())
        batch.deaths = list(self.deaths.items())
        batch.joined_hosts = self.joined
        batch.errors = self.errors
        batch.tallies = dict(self.tallies)
        batch.refusals = dict(self.refusals)
        batch.released = [release for _, release in released]
        batch.clocks = [clock_of(host, now, host.addresses) for host in hosts]
        batch.resolved = [clock_of(host, now, found) for host, found in self.resolved.items()]
        return Cut(
            batch,
            self.finished,
            [(queue, retry.url_id) for queue, retry in self.retries],
            [queue for queue, _ in released],
        )


def clock_of(host: Host, now: float, found: tuple[str, str]) -> HostClock:
    """A request in flight counts as one that ends now: after a crash its host still rests a full delay from then."""
    delay = int(host.delay_ms())
    next_in = max(host.next_tick - now, delay if host.in_flight else 0)
    addresses, cnames = found
    return HostClock(host.key, int(next_in) + 1, delay, host.pace, host.rest_reason, host.requests, addresses, cnames)


def archive(cut: Cut, writer: ArchiveWriter | None) -> None:
    """In the flush thread: hash, compress, write, and make durable, before any row names a record."""
    if cut.archived:
        return
    for done in cut.finished:
        exchange, page = done.exchange, done.outcome.page
        if exchange is None or page is None or page.archive is not None:
            continue
        page.content_hash = hashlib.sha256(exchange.body if done.content is None else done.content).digest()
        if writer is not None and done.queue.crawl.archives:
            if done.content is None:
                exchange.body_sha256 = page.content_hash
            page.archive = writer.append(exchange)
    if writer is not None:
        writer.sync()
        cut.batch.archive_files = list(writer.files.items())
    cut.archived = True


def learn_keys(cut: Cut, crawls: dict[int, LiveCrawl]) -> None:
    """After the commit: the keys of these children are in the store."""
    for done in cut.finished:
        if done.outcome.children and (crawl := crawls.get(done.outcome.crawl)):
            crawl.known.update(child.key for child in done.outcome.children)
