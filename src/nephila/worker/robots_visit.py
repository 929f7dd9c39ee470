"""robots.txt: asked by the owner of its host, on that host's clock, before the first page of an origin."""

from nephila.fetch.body import decode_body
from nephila.fetch.fetcher import FetchResult
from nephila.frontier.store import RobotsRecord, Row
from nephila.models import Child, Kind, Reason, UrlState
from nephila.policy.classify import classify_error, classify_http
from nephila.policy.politeness import on_success
from nephila.policy.priority import priority_of
from nephila.profiles import RobotsOnError
from nephila.robots.access import ROBOTS_HOPS_MAX, RobotsAccess, access_of
from nephila.robots.rules import ROBOTS_BYTES_MAX
from nephila.urls.identity import host_of, origin_of, url_key
from nephila.urls.normalize import parse
from nephila.worker.crawls import LiveCrawl
from nephila.worker.robots_gate import PENDING, PENDING_MS_MAX, RobotsGate, hold_ms
from nephila.worker.scheduler import Host, Queue
from nephila.worker.visit import Visitor, verdict_of

FETCH_BYTES_MAX = ROBOTS_BYTES_MAX + 1  # one more than the parser reads, so that it knows of a cut


class RobotsVisitor:
    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor

    async def fetch(self, host: Host, queue: Queue, origin: str) -> None:
        """Before the first page of an origin, on its host's clock. A hop to another host becomes a row there."""
        crawl, url = queue.crawl, origin + "/robots.txt"
        for hop in range(ROBOTS_HOPS_MAX + 1):
            result = await self.visitor.fetch(host, queue, url, crawl.settings.robots.timeout_ms, FETCH_BYTES_MAX)
            target = robots_target(result)
            if target is None or hop == ROBOTS_HOPS_MAX:
                break
            if host_of(target) != host.key:
                return self._ask_elsewhere(host, queue, origin, target, hop + 1)
            if not await self.visitor.site.next_turn(host, queue.crawl):
                return None
            url = target
        return self._answer_robots(host, queue, origin, result)

    async def visit(self, host: Host, queue: Queue, row: Row) -> None:
        """A robots.txt that another origin (row.raw) redirected to: its answer is stored for that origin."""
        crawl, origin = queue.crawl, row.raw or origin_of(row.url)
        result = await self.visitor.fetch(host, queue, row.url, crawl.settings.robots.timeout_ms, FETCH_BYTES_MAX)
        target = robots_target(result)
        children: list[Child] = []
        if target is not None and row.hops < ROBOTS_HOPS_MAX:
            children = [robots_child(crawl.id, origin, target, row.hops + 1)]
        else:
            self.visitor.site.pending.robots[origin] = self._robots_record(crawl, origin, result, failures=0)
        verdict = verdict_of(result)
        self.visitor.end(queue, row, result, verdict.state, verdict.reason, children=children, redirect_to=target)

    def blocked(self, crawl: LiveCrawl, row: Row) -> None:
        """The robots.txt that an origin redirected to lies on a blocked host: for that origin it cannot be had."""
        origin, settings, now = row.raw or origin_of(row.url), crawl.settings.robots, self.visitor.site.clock.now_ms()
        host, wait = host_of(origin + "/"), settings.cache_seconds * 1000
        detail = f"redirected to the blocked {row.url}"
        record = RobotsRecord(origin, host, RobotsAccess.HOLD, None, b"", wait, settings.attempts_max, detail, now)
        self.visitor.site.pending.robots[origin] = record

    def _ask_elsewhere(self, host: Host, queue: Queue, origin: str, target: str, hops: int) -> None:
        gate = RobotsGate(origin, PENDING, self.visitor.site.clock.tick_ms() + PENDING_MS_MAX)
        host.gates[origin] = gate
        record = RobotsRecord(
            origin,
            host.key,
            PENDING,
            None,
            b"",
            PENDING_MS_MAX,
            0,
            f"redirected to {target}",
            self.visitor.site.clock.now_ms(),
        )
        self.visitor.site.pending.robots[origin] = record
        self.visitor.site.pending.children.append(robots_child(queue.crawl.id, origin, target, hops))

    def _answer_robots(self, host: Host, queue: Queue, origin: str, result: FetchResult) -> None:
        crawl, settings = queue.crawl, queue.crawl.settings.robots
        if result.error is Reason.NXDOMAIN and self.visitor.judge_host(
            host, queue, result, classify_error(result.error), None
        ):
            return  # there is no such host
        before = host.gates.get(origin)
        failures = (before.failures if before else 0) + 1
        record = self._robots_record(crawl, origin, result, failures)
        now = self.visitor.site.clock.tick_ms()
        if record.access != RobotsAccess.HOLD:
            on_success(host.pace, result.timing.total_ms)
        elif before is not None and before.file is not None and failures < settings.attempts_max:
            # A copy from before stays in force while the new one cannot be had.
            before.failures, before.expires_tick = failures, now + hold_ms(settings, failures)
            return
        elif failures < settings.attempts_max:
            self.visitor.site.rest(host, hold_ms(settings, failures), "robots_unreachable")
        self.visitor.site.pending.robots[origin] = record
        host.gates[origin] = RobotsGate.of(record, now)
        delays = [
            delay for other in host.gates.values() if (delay := other.crawl_delay_ms(crawl.product_token)) is not None
        ]
        host.pace.crawl_delay_ms = max(delays, default=None)
        # The request for robots.txt counts, too, by the delay that it has told.
        self.visitor.site.rest(host, host.delay_ms(), host.rest_reason)

    def _robots_record(self, crawl: LiveCrawl, origin: str, result: FetchResult, failures: int) -> RobotsRecord:
        settings = crawl.settings.robots
        torn = result.truncated in ("time", "disconnect") and settings.on_error is RobotsOnError.RFC9309
        access = access_of(None if torn else result.status, settings.on_error)
        body = decode_body(result.headers(), result.body, FETCH_BYTES_MAX).body if access is RobotsAccess.RULES else b""
        failures = failures if access is RobotsAccess.HOLD else 0
        detail = result.detail or f"status {result.status}"
        expires = settings.cache_seconds * 1000
        return RobotsRecord(
            origin,
            host_of(origin + "/"),
            access,
            result.status,
            body,
            expires,
            failures,
            detail,
            self.visitor.site.clock.now_ms(),
        )


def robots_target(result: FetchResult) -> str | None:
    """Where a robots.txt was redirected to, as an absolute http(s) URL."""
    if result.status is None or classify_http(result.status).state is not UrlState.REDIRECTED:
        return None
    target = parse(result.header("location") or "", result.url)
    return target.partition("#")[0] if target and target.startswith(("http://", "https://")) else None


def robots_child(crawl: int, origin: str, target: str, hops: int) -> Child:
    key = url_key(f"robots of {origin}: {target}")
    return Child(crawl, host_of(target), key, target, 0, priority_of(0, Kind.ROBOTS), None, origin, Kind.ROBOTS, hops)
