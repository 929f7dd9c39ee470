"""What visits have brought and the next flush will commit. The event loop fills it; a cut goes to the flush thread."""

import asyncio
import hashlib
from collections import Counter
from dataclasses import dataclass, field

from nephila.archive.archive import ArchiveWriter, Exchange
from nephila.archive.record import unframed
from nephila.errors import ArchiveFileGone, NephilaError
from nephila.fetch.transfer import one_line
from nephila.frontier.store import (
    ERRORS_PER_FLUSH,
    EXAMPLES_EACH,
    Batch,
    ErrorNote,
    Flushed,
    HostClock,
    RefusedLink,
    Release,
    Retry,
    RobotsRecord,
    Row,
    SitemapEntry,
)
from nephila.log import component_log
from nephila.models import (
    ERRORS_WITH_REASON,
    ArchivePlace,
    Child,
    Kind,
    PageRecord,
    Reason,
    Tally,
    UrlState,
)
from nephila.urls.admission import Example
from nephila.worker.crawls import LiveCrawl
from nephila.worker.scheduler import Host, Queue
from nephila.worker.visit import Deliver, Ending, Visit

EXAMPLED_MAX = 1000  # hosts, reasons and rules of which a session stores refused links, of each crawl


@dataclass(slots=True)
class Cut:
    """One flush: the batch, and what only this worker must remember of it."""

    batch: Batch
    finished: list[tuple[Queue, Ending]]
    retried: list[tuple[Queue, int]]  # url ids
    released: list[Queue]
    archived: bool = False  # the exchanges are in the archive: a repeated flush does not write them again
    delivered: list["asyncio.Future[None]"] = field(default_factory=list)  # chunks whose visits wait for the commit


@dataclass(slots=True)
class Pending:
    finished: list[tuple[Queue, Ending]] = field(default_factory=list)
    retries: list[tuple[Queue, Retry]] = field(default_factory=list)
    children: list[Child] = field(default_factory=list)  # that no outcome brings
    entries: list[SitemapEntry] = field(default_factory=list)
    delivered: list["asyncio.Future[None]"] = field(default_factory=list)  # as Cut.delivered
    resolved: dict[Host, tuple[str, str]] = field(default_factory=dict)  # without a request: addresses, CNAME chain
    robots: dict[str, RobotsRecord] = field(default_factory=dict)
    deaths: dict[int, str] = field(default_factory=dict)  # queue -> why it is given up
    joined: list[tuple[int, str]] = field(default_factory=list)  # crawl, hostname
    errors: list[ErrorNote] = field(default_factory=list)  # up to ERRORS_PER_FLUSH
    errors_more: int = 0
    tallies: Counter[tuple[int, str]] = field(default_factory=Counter)
    refusals: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    rules: Counter[tuple[int, str, str]] = field(default_factory=Counter)  # of them, by crawl, reason and rule
    refused_links: list[RefusedLink] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.finished) + len(self.retries)

    def url_ids(self) -> set[int]:
        return {ending.outcome.url_id for _, ending in self.finished} | {retry.url_id for _, retry in self.retries}

    def add(self, queue: Queue, row: Row | None, visit: Visit) -> None:
        """Add what a visit of `row` answered; a row of None stands for the robots.txt of an origin."""
        crawl = queue.crawl.id
        if row is not None and visit.ending is not None:
            self._end(queue, row, visit.ending)
        if row is not None and visit.retry is not None:
            self.tallies[crawl, Tally.RETRIES] += 1
            self._note(crawl, row, visit.retry.reason, visit.error)
            self.retries.append((queue, visit.retry))
        for (host, refusal, rule), count in visit.refusals.items():
            self.refusals[crawl, host, refusal] += count
            if rule:
                self.rules[crawl, refusal, rule] += count
        if visit.examples:
            self._keep(queue.crawl, row, visit.examples)
        if visit.joined:
            self.joined.append((crawl, visit.joined))
        if visit.robots is not None:
            self.robots[visit.robots.origin] = visit.robots
        if visit.robots_failure and row is None and queue.rows:
            self._note(crawl, queue.rows[0], visit.robots_failure, visit.error)  # the row that waits for robots.txt
        if visit.children:
            self.children += visit.children
        if visit.entries:
            self.entries += visit.entries

    def deliver(self, chunk: Deliver, committed: "asyncio.Future[None]") -> None:
        """Add a part of what a row lists that stays open; `committed` is told when it is."""
        self.children += chunk.children
        self.entries += chunk.entries
        self.delivered.append(committed)

    def _keep(self, crawl: LiveCrawl, row: Row | None, examples: list[Example]) -> None:
        """Keep the first refused links of each host, reason and rule."""
        known = crawl.examples
        for example in examples:
            kept = known.get(example[:3])
            if kept is None:
                if len(known) >= EXAMPLED_MAX:
                    continue
                kept = known[example[:3]] = []
            if len(kept) < EXAMPLES_EACH and example.url not in kept and example.url.isprintable():
                kept.append(example.url)
                host, reason, rule, url = example
                self.refused_links.append(RefusedLink(crawl.id, reason, rule, host, url, row.id if row else None))

    def _end(self, queue: Queue, row: Row, ending: Ending) -> None:
        outcome = ending.outcome
        guessed = row.kind is Kind.SITEMAP and row.raw is None  # nobody has said that there is one
        if outcome.state in ERRORS_WITH_REASON and not guessed:
            page = outcome.page or PageRecord()
            detail = page.error or (f"status {page.status}" if page.status else "")
            self._note(outcome.crawl, row, outcome.reason or outcome.state, detail)
        self.finished.append((queue, ending))

    def _note(self, crawl: int, row: Row, reason: str, detail: str) -> None:
        if len(self.errors) < ERRORS_PER_FLUSH:
            self.errors.append(ErrorNote(crawl, row.id, reason, detail, row.tries))
        else:
            self.errors_more += 1

    def cut(self, batch: Batch, hosts: list[Host], released: list[tuple[Queue, Release]], now: float) -> Cut:
        """Everything that has gathered; another Pending collects what comes meanwhile."""
        batch.outcomes = [ending.outcome for _, ending in self.finished]
        batch.retries = [retry for _, retry in self.retries]
        batch.children, batch.entries = self.children, self.entries
        batch.robots = list(self.robots.values())
        batch.deaths = list(self.deaths.items())
        batch.joined_hosts = self.joined
        batch.errors, batch.errors_more = self.errors, self.errors_more
        batch.tallies = dict(self.tallies)
        batch.refusals = dict(self.refusals)
        batch.refused_rules, batch.refused_links = dict(self.rules), self.refused_links
        batch.released = [release for _, release in released]
        batch.clocks = [clock_of(host, now, host.addresses) for host in hosts]
        batch.resolved = [clock_of(host, now, found) for host, found in self.resolved.items()]
        retried = [(queue, retry.url_id) for queue, retry in self.retries]
        return Cut(batch, self.finished, retried, [queue for queue, _ in released], delivered=self.delivered)


def clock_of(host: Host, now: float, found: tuple[str, str]) -> HostClock:
    """The clock to store. A request in flight counts as one that ends now: after a crash its host rests its delay."""
    delay = int(host.delay_ms(host.pace))
    next_in = max(host.next_tick - now, delay if host.in_flight else 0)
    addresses, cnames = found
    return HostClock(host.key, int(next_in) + 1, delay, host.pace, host.rest_reason, host.requests, addresses, cnames)


def archive(cut: Cut, writer: ArchiveWriter) -> None:
    """Hash, write and make durable every exchange, before a row names its record. Runs in the flush thread."""
    if cut.archived:
        return
    try:
        _append(cut, writer)
        writer.sync()
    except ArchiveFileGone:
        for _, ending in cut.finished:
            if ending.outcome.page is not None:
                ending.outcome.page.archive = None
        raise
    cut.batch.archive_files = list(writer.files.items())
    cut.archived = True


def _append(cut: Cut, writer: ArchiveWriter) -> None:
    for queue, ending in cut.finished:
        exchange, page = ending.exchange, ending.outcome.page
        if exchange is None or page is None or page.archive is not None:
            continue
        if page.content_hash is None:
            content = _undecoded(exchange) if ending.content is None else ending.content
            page.content_hash = hashlib.sha256(content).digest()
            exchange.hashed = content, page.content_hash
        if queue.crawl.archives:
            page.archive = _appended(writer, cut, ending, exchange)


def _undecoded(exchange: Exchange) -> bytes:
    """The body of an answer that nobody read: where its chunks lie says nothing about its content."""
    payload = unframed(exchange.header_bytes, exchange.body)
    return exchange.body if payload is None else payload


def _appended(writer: ArchiveWriter, cut: Cut, ending: Ending, exchange: Exchange) -> ArchivePlace | None:
    """The place of the record; None: it could not be made by a fault of ours, and that ends its URL, not the worker."""
    try:
        return writer.append(exchange)
    except (NephilaError, OSError):  # the disk: all records wait for it
        raise
    except Exception as error:
        outcome, ending.exchange = ending.outcome, None
        component_log("worker", crawl=outcome.crawl, url_id=outcome.url_id).error(
            "archive_broke", url=exchange.url, exc_info=error
        )
        outcome.state, outcome.reason, outcome.children = UrlState.FAILED, Reason.POISON, []
        if outcome.page is not None:
            outcome.page.error = one_line(f"a fault of ours: {error!r}")
        return None


def learn_keys(cut: Cut, crawls: dict[int, LiveCrawl], answer: Flushed) -> None:
    """Remember the keys of the committed children: they are in the store, but for those that max_frontier refused.
    What a sitemap has delivered before its last chunk is not learnt: 50,000 keys that few pages link to.

    Where the answer was lost nobody knows which these are.
    """
    if answer.repeated:
        return
    for _, ending in cut.finished:
        outcome = ending.outcome
        if outcome.children and (crawl := crawls.get(outcome.crawl)):
            crawl.known.update(child.key for child in outcome.children)
    for crawl_id, key in answer.crowded_out:
        if crawl := crawls.get(crawl_id):
            crawl.known.forget(key)
