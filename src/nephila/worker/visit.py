"""One URL's life: fetch, classify, extract, decide. Whoever calls has the host's permission: clock, robots, grant.

row -> fetch -> classify -> retry | redirect | read the page -> children -> outcome
"""

from typing import Protocol

from nephila.archive.writer import Exchange
from nephila.clock import Clock
from nephila.extract.page import PageJob, PageReading, is_html, judged, page_of
from nephila.extract.parse_pool import ParseFailure, ParsePool
from nephila.fetch.body import decode_body
from nephila.fetch.fetcher import Fetcher, FetchRequest, FetchResult
from nephila.frontier.store import Row
from nephila.log import VisitLog
from nephila.models import Child, Kind, PageRecord, Reason, Refusal, UrlState
from nephila.policy.classify import Verdict, classify_error, classify_http
from nephila.policy.politeness import blames_host, on_failure, on_success
from nephila.policy.priority import priority_of
from nephila.policy.retry import next_try, retry_after_of
from nephila.profiles import RedirectMode, ScopeMode
from nephila.urls.admission import Found
from nephila.urls.blocks import Blocks
from nephila.urls.identity import host_of, hostname_of, origin_of
from nephila.worker.crawls import LiveCrawl
from nephila.worker.metering import Metering
from nephila.worker.pending import Pending
from nephila.worker.scheduler import Host, Queue

CRASHES_ALONE = 3  # after so many a page is parsed alone in a helper
CRASHES_MAX = 6  # after so many it ends as failed/poison
CRASH_RETRY_MS = 1000
BYTES_INLINE_MAX = 65_536  # half a millisecond of the loop's time; the worst page found takes 30
LINKS_INLINE_MAX = 1_000  # the worst take 75 ms
JOINING = (ScopeMode.SAME_HOST, ScopeMode.SAME_DOMAIN)


ABORTED = "aborted"  # the fetcher's word for a request that we ended ourselves


class Aborted(Exception):
    """We ended the visit, or stopped before its next hop: the row stays open, and nobody is blamed."""


class Site(Protocol):
    """What a visit needs of the worker that runs it."""

    pending: Pending
    clock: Clock
    blocks: Blocks
    metering: Metering

    def request_ended(self, host: Host) -> None: ...
    async def next_turn(self, host: Host, crawl: LiveCrawl) -> bool: ...
    def addresses_of(self, url: str) -> tuple[str, str]: ...
    def ask_name_again(self, url: str) -> None: ...
    def rest(self, host: Host, ms: float, reason: str) -> None: ...
    def give_up(self, queue: Queue, reason: str) -> None: ...
    def join_host(self, crawl: LiveCrawl, hostname: str) -> None: ...
    def offloads(self, page_bytes: int) -> bool: ...
    def parsing(self, url_id: int) -> None: ...


class Visitor:
    def __init__(self, site: Site, fetcher: Fetcher, pool: ParsePool, log: VisitLog) -> None:
        self.site = site
        self.fetcher = fetcher
        self.pool = pool
        self.log = log

    async def visit(self, host: Host, queue: Queue, row: Row) -> None:
        result = await self.fetch(host, queue, row.url)
        hops = row.hops
        while target := self._inline_target(queue.crawl, host, row, result, hops):
            hops += 1
            if not await self.site.next_turn(host, queue.crawl):
                raise Aborted
            result = await self.fetch(host, queue, target)
        verdict = verdict_of(result)
        retry_after = None
        if verdict.host_error and result.status is not None:
            retry_after = retry_after_of(result.status, result.header("retry-after"), self.site.clock.now_ms())
        dead = self.judge_host(host, queue, result, verdict, retry_after)
        if verdict.retryable and not dead:
            return self._retry_or_end(queue, row, result, verdict, retry_after)
        if verdict.state is UrlState.REDIRECTED:
            return self._redirect(queue, row, result, hops)
        if verdict.state is not UrlState.VISITED:
            return self.end(queue, row, result, verdict.state, verdict.reason)
        return await self._read(queue, row, result)

    # --- the request and what it says of the host

    async def fetch(
        self, host: Host, queue: Queue, url: str, timeout_ms: int | None = None, bytes_max: int | None = None
    ) -> FetchResult:
        crawl = queue.crawl
        try:
            result = await self.fetcher.fetch(FetchRequest(url, crawl.fetch, crawl.user_agent, timeout_ms, bytes_max))
        finally:
            self.site.request_ended(host)
        if result.detail == ABORTED:
            raise Aborted
        self.site.metering.fetched(result)
        if not host.addresses[0]:
            host.addresses = self.site.addresses_of(url)
        tallies = self.site.pending.tallies
        tallies[crawl.id, "requests"] += 1
        tallies[crawl.id, "bytes"] += len(result.body)
        return result

    def judge_host(
        self, host: Host, queue: Queue, result: FetchResult, verdict: Verdict, retry_after: int | None
    ) -> bool:
        """Pace, rest and death of the host; true: this crawl gives the host up."""
        crawl = queue.crawl
        if not blames_host(verdict):
            on_success(host.pace, result.timing.total_ms)
            host.rest_reason = ""
            return False
        if verdict.reason is Reason.NXDOMAIN:
            self.site.ask_name_again(result.url)  # what confirms it must not come from the cache
        now = self.site.clock.now_ms()
        rest, dead = on_failure(host.pace, verdict, crawl.host, crawl.polite, crawl.retry, retry_after, now)
        if dead:
            self.site.give_up(queue, Reason.HOST_DEAD)
        elif rest is not None:
            self.site.rest(host, rest.until_ms - now, rest.reason)
        return dead

    def _retry_or_end(
        self, queue: Queue, row: Row, result: FetchResult, verdict: Verdict, retry_after: int | None
    ) -> None:
        now = self.site.clock.now_ms()
        decision = next_try(queue.crawl.retry, row.tries + 1, verdict, retry_after, now)
        if decision.retry:
            self.site.pending.retry(queue, row, decision.at_ms - now, verdict.reason)
        else:
            self.end(queue, row, result, verdict.state, verdict.reason)

    # --- redirects

    def _inline_target(self, crawl: LiveCrawl, host: Host, row: Row, result: FetchResult, hops: int) -> str | None:
        """With redirects.mode = follow: the next hop, if it stays inside this host, in scope and allowed."""
        redirects = crawl.settings.redirects
        if redirects.mode is not RedirectMode.FOLLOW or hops >= redirects.max_hops or row.kind is not Kind.PAGE:
            return None
        if result.status is None or classify_http(result.status).state is not UrlState.REDIRECTED:
            return None
        found = crawl.admission.judge(result.header("location") or "", result.url, row.depth).found
        if found is None or found.host != host.key or found.url == result.url:
            return None
        if self.site.blocks and not self.site.blocks.judge(found.url).ok:
            return None
        gate = host.gates.get(origin_of(found.url))
        if gate is not None and gate.access and not gate.judge(found.url, crawl.product_token, crawl.polite).ok:
            return None
        return found.url if gate is not None or origin_of(found.url) == origin_of(row.url) else None

    def _redirect(self, queue: Queue, row: Row, result: FetchResult, hops: int) -> None:
        """The row ends as redirected; its target is a URL of its own at the same depth."""
        crawl, location = queue.crawl, result.header("location")
        settings = crawl.settings.redirects
        if not location:
            return self.end(queue, row, result, UrlState.REDIRECTED, Reason.REDIRECT_INVALID)
        judgement = crawl.admission.judge(location, result.url, row.depth)
        target, reason = judgement.url or location, Reason.NONE
        found = judgement.found
        if (
            found is None
            and judgement.refusal is Refusal.SCOPE
            and judgement.url
            and row.depth == 0
            and crawl.settings.scope.mode in JOINING
        ):
            self.site.join_host(crawl, hostname_of(judgement.url))
            found = crawl.admission.judge(location, result.url, row.depth).found
        if found is None:
            refusal = judgement.refusal or Refusal.INVALID
            reason = (
                Reason.REDIRECT_INVALID
                if refusal in (Refusal.INVALID, Refusal.SCHEME)
                else Reason.REDIRECT_OUT_OF_SCOPE
            )
            self.site.pending.refusals[crawl.id, host_of(judgement.url) if judgement.url else "", refusal] += 1
        elif found.url == result.url or hops >= settings.max_hops:
            reason = Reason.REDIRECT_LOOP
            self.site.pending.refusals[crawl.id, found.host, Refusal.HOPS] += 1
            found = None
        if found and self.site.blocks:
            found = next(iter(self._unblocked(crawl, [found])), None)
        children = (
            [self._child(queue, row, found, row.depth, hops + 1)]
            if found and settings.mode is not RedirectMode.RECORD
            else []
        )
        return self.end(queue, row, result, UrlState.REDIRECTED, reason, redirect_to=target, children=children)

    # --- the page

    async def _read(self, queue: Queue, row: Row, result: FetchResult) -> None:
        crawl = queue.crawl
        headers = result.headers()
        decoded = decode_body(headers, result.body, crawl.fetch.body_bytes_max)
        content = None if decoded.body is result.body else decoded.body
        content_type = result.header("content-type")
        if not is_html(content_type, decoded.body):
            return self.end(queue, row, result, UrlState.VISITED, content=content, body_bytes=len(decoded.body))
        tags = tuple(value for name, value in headers if name.lower() == "x-robots-tag")
        job = PageJob(decoded.body, result.url, content_type, row.depth + 1, True, tags)
        reading = await self._reading(crawl, row, job)
        if isinstance(reading, ParseFailure):
            return self._crashed(queue, row, result, reading)
        children = self._children(queue, row, reading)
        self.end(
            queue,
            row,
            result,
            UrlState.VISITED,
            reading=reading,
            children=children,
            content=content,
            body_bytes=len(decoded.body),
        )
        return None

    async def _reading(self, crawl: LiveCrawl, row: Row, job: PageJob) -> PageReading | ParseFailure:
        """Here and now, if that cannot take long; else where it can be ended: in a helper process."""
        size = len(job.body)
        if size > BYTES_INLINE_MAX or row.crashes >= CRASHES_ALONE or self.site.offloads(size):
            return await self.pool.read(crawl.rules, job)
        self.site.parsing(row.id)
        page = page_of(job)
        reading = None
        if len(page.links) <= LINKS_INLINE_MAX:
            reading = judged(page, job, crawl.admission, obey_robots_meta=crawl.rules.obey_robots_meta)
        self.site.parsing(0)
        return await self.pool.read(crawl.rules, job) if reading is None else reading

    def _children(self, queue: Queue, row: Row, reading: PageReading) -> list[Child]:
        """Admitted links that are not known to be stored."""
        crawl = queue.crawl
        refusals = self.site.pending.refusals
        for (host, refusal), count in reading.refused.items():
            refusals[crawl.id, host, refusal] += count
        links = self._unblocked(crawl, reading.found) if self.site.blocks else reading.found
        depth = row.depth + 1
        priority = priority_of(depth, Kind.PAGE)
        return [
            Child(crawl.id, found.host, found.key, found.url, depth, priority, row.id, found.raw)
            for found in crawl.known.missing(links)
        ]

    def _unblocked(self, crawl: LiveCrawl, links: list[Found]) -> list[Found]:
        judge, refusals = self.site.blocks.judge, self.site.pending.refusals
        kept = []
        for found in links:
            if judge(found.url).ok:
                kept.append(found)
            else:
                refusals[crawl.id, found.host, Refusal.RULE] += 1
        return kept

    def _child(self, queue: Queue, row: Row, found: Found, depth: int, hops: int) -> Child:
        return Child(
            queue.crawl.id,
            found.host,
            found.key,
            found.url,
            depth,
            priority_of(depth, Kind.PAGE),
            row.id,
            found.raw,
            Kind.PAGE,
            hops,
        )

    def _crashed(self, queue: Queue, row: Row, result: FetchResult, failure: ParseFailure) -> None:
        crashes = max(row.crashes, CRASHES_ALONE) + 1
        if crashes >= CRASHES_MAX:
            self.end(
                queue, row, result, UrlState.FAILED, Reason.POISON, error=f"its parser {failure.kind}: {failure.detail}"
            )
        else:
            self.site.pending.retry(queue, row, CRASH_RETRY_MS, Reason.POISON, crashes=crashes)

    # --- the outcome

    def end(
        self,
        queue: Queue,
        row: Row,
        result: FetchResult,
        state: UrlState,
        reason: Reason = Reason.NONE,
        *,
        reading: PageReading | None = None,
        children: list[Child] | None = None,
        redirect_to: str | None = None,
        content: bytes | None = None,
        body_bytes: int | None = None,
        error: str | None = None,
    ) -> None:
        page = PageRecord(
            status=result.status,
            content_type=result.header("content-type") if result.status else None,
            body_bytes=len(result.body) if body_bytes is None else body_bytes,
            wire_bytes=len(result.body),
            fetched_at=result.started_at,
            timing=result.timing,
            ip=result.ip,
            protocol=result.protocol or None,
            truncated=result.truncated,
            redirect_to=redirect_to or (result.url if result.url != row.url else None),
            error=error or result.detail or None,
        )
        if reading is not None:
            page.charset, page.title, page.facts, page.refused = (
                reading.charset,
                reading.title,
                reading.facts,
                reading.refused_urls,
            )
            if queue.crawl.settings.content.edges:
                page.links = packed_links(reading.found)
        exchange = None
        if result.status is not None:
            head = (result.url, result.started_at, result.ip, result.protocol)
            exchange = Exchange(*head, result.request_bytes, result.header_bytes, result.body, result.truncated)
        self.site.pending.end(
            queue, row, state, reason, page, children, exchange, content, counts=row.kind is Kind.PAGE
        )
        if state is UrlState.FAILED:
            self.log.crawl_failed(row.url, queue.crawl.id, row.id, reason, row.tries)
        else:
            links = len(reading.found) if reading else 0
            self.log.url_crawled(
                row.url, queue.crawl.id, row.id, result.status, state, result.timing.total_ms, links, len(result.body)
            )


def verdict_of(result: FetchResult) -> Verdict:
    return classify_error(result.error) if result.status is None else classify_http(result.status)


def packed_links(found: list[Found]) -> dict[str, bytes]:
    """Politeness key -> the first 8 bytes of each link's key."""
    by_host: dict[str, list[bytes]] = {}
    for link in found:
        keys = by_host.get(link.host)
        if keys is None:
            keys = by_host[link.host] = []
        keys.append(link.key[:8])
    return {host: b"".join(keys) for host, keys in by_host.items()}
