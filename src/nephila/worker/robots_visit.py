"""robots.txt: asked for by the owner of its host, on that host's clock, before the first page of an origin.

Both functions here are visits as in `worker/visit.py`: generators that answer a `Visit` and change nothing.
"""

from dataclasses import replace

from nephila.fetch.fetcher import FetchResult
from nephila.fetch.robots import FETCH_BYTES_MAX, answer_of, robots_target
from nephila.frontier.store import RobotsRecord, Row
from nephila.models import Child, Kind, Reason
from nephila.policy.politeness import RETRY_AFTER, on_success
from nephila.policy.priority import priority_of
from nephila.policy.retry import backoff_ms, retry_after_of
from nephila.policy.robots_gate import PENDING_MS_MAX, RobotsGate, hold_ms
from nephila.robots.access import ROBOTS_HOPS_MAX, RobotsAccess, access_for
from nephila.urls.identity import host_of, origin_of, url_key
from nephila.worker.crawls import LiveCrawl
from nephila.worker.scheduler import Host
from nephila.worker.visit import (
    Answer,
    HostChange,
    Steps,
    Visit,
    cause_of,
    ended,
    host_change,
    refuse_page,
    retried,
    verdict_of,
)

# So many requests fit in before a copy expires: a host with a long delay would else be asked for robots.txt alone.
REQUESTS_PER_COPY = 10


def ask_robots(host: Host, crawl: LiveCrawl, origin: str, *, seed: bool = False) -> Steps:
    """Ask for robots.txt of an origin of this host. A hop to another host becomes a row there and is waited for.

    `seed`: it is asked for a seed's sake.
    """
    url, timeout_ms = origin + "/robots.txt", crawl.settings.robots.timeout_ms
    for hop in range(ROBOTS_HOPS_MAX + 1):
        answer: Answer = yield crawl.request(url, timeout_ms, FETCH_BYTES_MAX)
        target = robots_target(answer.result)
        if target is None or hop == ROBOTS_HOPS_MAX:
            break
        if host_of(target) != host.key:
            return _asked_elsewhere(host, crawl, origin, target, hop + 1, answer)
        url = target
    return robots_answered(host, crawl, origin, answer, seed=seed)


def visit_robots(host: Host, crawl: LiveCrawl, row: Row) -> Steps:
    """A robots.txt that another origin (`row.raw`) redirects to: its answer is stored for that origin.

    One that cannot be had is tried again here. The origin, which would ask anew, must not: it is redirected again.
    """
    origin, settings = row.raw or origin_of(row.url), crawl.settings.robots
    answer: Answer = yield crawl.request(row.url, settings.timeout_ms, FETCH_BYTES_MAX)
    visit, children, result = Visit(), [], answer.result
    target, verdict, asked_rest_ms = robots_target(result), verdict_of(result), _asked_rest_ms(crawl, answer)
    if asked_rest_ms:
        visit.host = HostChange(host.pace.copy(), asked_rest_ms, RETRY_AFTER)
    if target is not None and row.hops < ROBOTS_HOPS_MAX:
        children = [robots_child(crawl.id, origin, target, row.hops + 1, answer.now_ms)]
    else:
        visit.robots = record_of(crawl, origin, answer, failures=settings.attempts_max)
        visit.robots_failure, visit.error = failure_of(result, visit.robots)
        if visit.robots_failure and verdict.retryable and row.tries + 1 < settings.attempts_max:
            visit.robots, in_ms = None, hold_ms(settings, row.tries + 1)
            visit.retry = retried(crawl, row, in_ms, verdict.reason)
            return visit
    visit.ending = ended(crawl, row, result, verdict.state, verdict.reason, children=children, redirect_to=target)
    return visit


def refuse_robots(crawl: LiveCrawl, row: Row, reason: str, now_ms: int) -> Visit:
    """The robots.txt that an origin redirects to lies on a blocked host: for that origin it cannot be had."""
    visit = refuse_page(crawl, row, reason, now_ms)
    visit.robots = given_up(crawl, row, f"redirected to the blocked {row.url}", now_ms)
    return visit


def given_up(crawl: LiveCrawl, row: Row, detail: str, now_ms: int) -> RobotsRecord:
    """What the origin hears that was redirected to the row: its robots.txt cannot be had."""
    return _not_had(crawl, row.raw or origin_of(row.url), crawl.settings.robots.attempts_max, detail, now_ms)


def _not_had(crawl: LiveCrawl, origin: str, failures: int, detail: str, now_ms: int) -> RobotsRecord:
    """The record of a robots.txt that nobody answered. After `attempts_max` failures none asks before it expires."""
    known = (RobotsAccess.HOLD, None, b"", crawl.settings.robots.cache_seconds * 1000, failures, detail)
    return RobotsRecord(origin, host_of(origin + "/"), *known, now_ms)


def _asked_elsewhere(host: Host, crawl: LiveCrawl, origin: str, target: str, hops: int, answer: Answer) -> Visit:
    """The owner of another host answers. Waiting for it in vain is a failure: that host may have been given up."""
    before, children = host.gates.get(origin), [robots_child(crawl.id, origin, target, hops, answer.now_ms)]
    failures = before.failures + 1 if before is not None and before.access == RobotsAccess.PENDING else 0
    known = (RobotsAccess.PENDING, None, b"", PENDING_MS_MAX, failures, f"redirected to {target}")
    record = RobotsRecord(origin, host_of(origin + "/"), *known, answer.now_ms)
    if failures >= crawl.settings.robots.attempts_max:
        record, children = _not_had(crawl, origin, failures, f"no answer from {target}", answer.now_ms), []
    return Visit(robots=record, gate=RobotsGate.of_answer(record, answer.tick), children=children)


def robots_answered(host: Host, crawl: LiveCrawl, origin: str, answer: Answer, *, seed: bool = False) -> Visit:
    """What the last answer means for the origin and its host."""
    settings, result = crawl.settings.robots, answer.result
    change, asked_rest_ms = HostChange(host.pace.copy()), _asked_rest_ms(crawl, answer)
    if asked_rest_ms:
        change.rest_ms, change.rest_reason = asked_rest_ms, RETRY_AFTER
    if result.error is Reason.NXDOMAIN:
        change = host_change(host, crawl, answer, verdict_of(result), None)
        if change.dead:
            return Visit(host=change, robots_failure=result.error, error=result.detail)
    before = host.gates.get(origin)
    failures = (before.failures if before else 0) + 1
    record = record_of(crawl, origin, answer, failures)
    failure, error = failure_of(result, record)
    if access_for(record.access, record.status, settings.on_error) != RobotsAccess.HOLD:
        on_success(change.pace, result.timing.total_ms)
    elif before is not None and before.access == RobotsAccess.RULES and failures < settings.attempts_max:
        # The copy from before stays in force while a new one cannot be had.
        kept = replace(before, failures=failures, expires_tick=answer.tick + hold_ms(settings, failures))
        return Visit(host=change, gate=kept, robots_failure=failure, error=error)
    elif failures < settings.attempts_max:
        hurried = seed and result.status is None and not crawl.host.wait_for_seeds and failures <= crawl.retry.max
        hold = backoff_ms(crawl.retry, failures) if hurried else hold_ms(settings, failures)
        if hold > asked_rest_ms:
            change.rest_ms, change.rest_reason = max(change.rest_ms, hold), Reason.ROBOTS_UNREACHABLE
    gate = RobotsGate.of_answer(record, answer.tick)
    gates = (host.gates | {origin: gate}).values()
    asked = [wanted for each in gates if (wanted := each.crawl_delay_ms(crawl.product_token)) is not None]
    change.pace.crawl_delay_ms = max(asked, default=None)
    # The request for robots.txt counts, too, by the delay that it has told.
    delay = host.delay_ms(change.pace)
    change.rest_ms = max(change.rest_ms, delay)
    record = replace(record, expires_in_ms=max(record.expires_in_ms, int(REQUESTS_PER_COPY * delay)))
    gate.expires_tick = answer.tick + record.expires_in_ms
    return Visit(host=change, robots=record, gate=gate, robots_failure=failure, error=error)


def robots_broke(host: Host, crawl: LiveCrawl, origin: str, detail: str, now_ms: int, tick: float) -> Visit:
    """A fault of ours in asking: one more attempt that failed. As little code as can be, for what raised may again."""
    settings, before, pace = crawl.settings.robots, host.gates.get(origin), host.pace.copy()
    failures = (before.failures if before else 0) + 1
    record = _not_had(crawl, origin, failures, detail, now_ms)
    rest_ms = hold_ms(settings, failures) if failures < settings.attempts_max else 0
    change = HostChange(pace, max(rest_ms, host.delay_ms(pace)), Reason.ROBOTS_UNREACHABLE if rest_ms else None)
    gate = RobotsGate.of_answer(record, tick)
    return Visit(host=change, robots=record, gate=gate, robots_failure=Reason.POISON, error=detail)


def _asked_rest_ms(crawl: LiveCrawl, answer: Answer) -> int:
    """How long the server asks us to wait, up to the cap; 0: it does not."""
    result = answer.result
    if result.status is None:
        return 0
    hint = retry_after_of(result.status, result.header("retry-after"), answer.now_ms)
    return min(hint or 0, crawl.retry.retry_after_cap_ms)


def record_of(crawl: LiveCrawl, origin: str, answer: Answer, failures: int) -> RobotsRecord:
    settings, had = crawl.settings.robots, answer_of(answer.result)
    failures = failures if had.access is RobotsAccess.HOLD else 0
    known = (had.access, had.status, had.body, settings.cache_seconds * 1000, failures, had.detail)
    return RobotsRecord(origin, host_of(origin + "/"), *known, answer.now_ms)


def failure_of(result: FetchResult, record: RobotsRecord) -> tuple[str, str]:
    """Why a robots.txt could not be had, as a reason and in a few words; both empty where it was answered."""
    if record.access != RobotsAccess.HOLD:
        return "", ""
    return verdict_of(result).reason, cause_of(result)


def robots_child(crawl: int, origin: str, target: str, hops: int, now_ms: int) -> Child:
    """A row for each time that the origin may ask: an ended one would never be visited again, and the origin wait."""
    asked = f"robots of {origin}: {target} ({now_ms // PENDING_MS_MAX})"
    key, priority = url_key(asked), priority_of(0, Kind.ROBOTS)
    return Child(crawl, host_of(target), key, target, 0, priority, None, origin, None, Kind.ROBOTS, hops)
