"""One URL's life as a value. A visit is a generator: it yields what it wants done (`FetchRequest`, `Read`), is sent
the answer, and returns what happened (`Visit`). It decides and changes nothing: `Dispatcher` fetches, reads, applies.

row -> FetchRequest -> classify -> retry | redirect | Read -> children -> outcome
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from nephila.archive.archive import Exchange
from nephila.extract.reader import PageReading, ParseFailure, ReadAs, ReadRequest
from nephila.fetch.fetcher import FetchRequest, FetchResult
from nephila.frontier.store import Outcome, Retry, RobotsRecord, Row, SitemapEntry
from nephila.models import Child, Kind, PageRecord, Reason, Refusal, UrlState
from nephila.policy.classify import Verdict, accepts, classify_error, classify_http
from nephila.policy.dispatch import Step, dispatch
from nephila.policy.politeness import Pace, blames_host, on_failure, on_success
from nephila.policy.priority import priority_of
from nephila.policy.retry import next_try, retry_after_of
from nephila.policy.robots_gate import RobotsGate
from nephila.profiles import RedirectMode, ScopeMode
from nephila.urls.admission import RULE_CHARS_MAX, Example, Found, Judgement, RefusalKind, example_of, rule_of
from nephila.urls.blocks import Blocks
from nephila.urls.identity import host_of, hostname_of, url_key
from nephila.worker.crawls import LiveCrawl
from nephila.worker.scheduler import Host

CRASHES_ALONE = 3  # a page that killed so many workers is read alone, in a helper
CRASHES_MAX = 6  # a page that killed so many workers and helpers ends as failed/poison
DEADLINES_MAX = 2  # a page that took a helper so often too long ends as failed/too_costly
CRASH_RETRY_MS = 1000
SPELLINGS_MAX = 10  # of one URL that a visit asks for: a server may make up ever new ones
JOINING = (ScopeMode.SAME_HOST, ScopeMode.SAME_DOMAIN)
# A page whose body ends early is a transport error: it is tried again. After the last try what came is kept and read.
TORN: dict[str | None, Verdict] = {
    "time": Verdict(UrlState.VISITED, Reason.TIMEOUT, retryable=True, host_error=True),
    "disconnect": Verdict(UrlState.VISITED, Reason.RESET, retryable=True, host_error=True),
}

_host, _key = itemgetter(1), itemgetter(2)  # of a Found


# --- what a visit asks for and answers


class Answer(NamedTuple):
    """The end of a request (`FetchRequest`), and the moment it came."""

    result: FetchResult
    now_ms: int  # since 1970
    tick: float
    blocks: Blocks


@dataclass(slots=True)
class HostChange:
    """What an answer means for its host: `pace` replaces the host's."""

    pace: Pace
    rest_ms: float = 0.0
    rest_reason: str | None = None  # None: the host keeps the one it has
    dead: bool = False  # the crawl gives the host up
    stale_name: str = ""  # this hostname is looked up anew: a second answer must confirm that it does not exist


class Read(NamedTuple):
    """Read a page. The answer is a `PageReading` or a `ParseFailure`; `host` is applied before."""

    request: ReadRequest
    host: HostChange


class Deliver(NamedTuple):
    """Commit a part of what a row lists while the row stays open. The visit goes on when it is committed."""

    children: list[Child]
    entries: list[SitemapEntry]
    body_bytes: int = 0  # that the visit holds meanwhile


@dataclass(slots=True)
class Ending:
    """The end of a row on its way to the store, with what the archive record and the content hash are made from."""

    outcome: Outcome
    exchange: Exchange | None = None
    content: bytes | None = None  # the decoded body, where it differs from the exchange's


@dataclass(slots=True)
class Visit:
    """What happened. A row has an ending or is tried again; a robots.txt that no row asked for has neither."""

    ending: Ending | None = None
    retry: Retry | None = None
    error: str = ""  # what went wrong, where the row is tried again or a robots.txt could not be had
    host: HostChange | None = None
    refusals: dict[RefusalKind, int] = field(default_factory=dict)  # of links and redirects
    examples: list[Example] = field(default_factory=list)  # of these refusals
    links: int = 0  # admitted links of the page
    joined: str = ""  # the hostname that joins the crawl's scope
    respelled: str = ""  # the row stays open and is asked for so, once `dispatch` permits it
    robots: RobotsRecord | None = None  # to be stored
    robots_failure: str = ""  # the reason why a robots.txt could not be had
    gate: RobotsGate | None = None  # what the owner of the host knows of an origin from now on
    children: list[Child] = field(default_factory=list)  # that no outcome brings
    entries: list[SitemapEntry] = field(default_factory=list)  # of the children of the ending

    def refuse(self, host: str, refusal: Refusal, url: str, rule: str = "") -> None:
        kind = host, refusal, rule
        self.refusals[kind] = self.refusals.get(kind, 0) + 1
        self.examples.append(example_of(kind, url))


Steps = Generator[FetchRequest | Read | Deliver, Any, Visit]


# --- a page


class Content(NamedTuple):
    """An answer with something to read, and what it means for the host."""

    answer: Answer
    host: HostChange


def visit_page(host: Host, crawl: LiveCrawl, row: Row) -> Steps:
    asked = yield from ask(host, crawl, row)
    if isinstance(asked, Visit):
        return asked
    answer, change = asked
    result, accept = answer.result, crawl.settings.content.accept
    if accept and not accepts(accept, result.header("content-type")):
        return Visit(_unaccepted(crawl, row, result), host=change)
    reading: PageReading | ParseFailure = yield Read(read_request(host, crawl, row, result), change)
    if isinstance(reading, ParseFailure):
        return crashed(crawl, row, result, reading)
    visit = Visit(refusals=reading.refused, examples=reading.examples, links=len(reading.found))
    links = unblocked(reading.found, answer.blocks, visit) if answer.blocks else reading.found
    if crawl.sitemaps_only:
        refuse_links(crawl, links, visit)
        links = []
    depth = row.depth + 1
    priority = priority_of(depth, Kind.PAGE)
    children = [
        Child(crawl.id, found.host, found.key, found.url, depth, priority, row.id, found.raw, found.spelling)
        for found in crawl.known.missing(links)
    ]
    if reading.requisites:
        children += requisites_of(crawl, row, reading, answer.blocks, visit)
    visit.ending = ended(crawl, row, result, UrlState.VISITED, reading=reading, children=children)
    return visit


def refuse_links(crawl: LiveCrawl, links: list[Found], visit: Visit) -> None:
    """Count the links that a sitemap must list to be followed, without those that the store is known to have."""
    for found in crawl.known.missing(links):
        kind = found.host, Refusal.SITEMAPS_ONLY, ""
        visit.refusals[kind] = visit.refusals.get(kind, 0) + 1


def ask(
    host: Host, crawl: LiveCrawl, row: Row, bytes_max: int | None = None
) -> Generator[FetchRequest, Any, Visit | Content]:
    """Ask for a row of whatever kind: answers what is to be read, or the visit where there is nothing. `bytes_max`:
    of its body, where it is not the setting's."""
    answer: Answer = yield crawl.request(row.address, bytes_max=bytes_max)
    verdict, trail = verdict_of(answer.result), [row]
    while verdict.state is UrlState.REDIRECTED and (hop := _inline_hop(host, crawl, trail, answer)):
        place, permitted = hop
        if not permitted:
            return Visit(respelled=place.address, host=success(host, answer))
        trail.append(place)
        answer = yield crawl.request(place.address, bytes_max=bytes_max)
        verdict = verdict_of(answer.result)
    result, hint = answer.result, None
    if verdict.host_error and result.status is not None:
        hint = retry_after_of(result.status, result.header("retry-after"), answer.now_ms)
    change = host_change(host, crawl, answer, verdict, hint)
    if verdict.retryable and not change.dead:
        decision = next_try(crawl.retry, row.tries + 1, verdict, hint, answer.now_ms, row.limited)
        if decision.retry:
            again = retried(crawl, row, decision.at_ms - answer.now_ms, verdict.reason, counts=decision.counts)
            return Visit(retry=again, error=cause_of(result), host=change)
    if verdict.state is UrlState.REDIRECTED:
        return _redirected(crawl, row, answer, hops_of(trail), change)
    if verdict.state is not UrlState.VISITED:
        return Visit(ended(crawl, row, result, verdict.state, verdict.reason), host=change)
    return Content(answer, change)


def requisites_of(crawl: LiveCrawl, row: Row, reading: PageReading, blocks: Blocks, visit: Visit) -> Iterator[Child]:
    """What the page or stylesheet of this row needs, without what the store is known to have, as a requisite or as a
    page. Each has the depth of the page: it is no link away from it."""
    needed = unblocked(reading.requisites, blocks, visit) if blocks else reading.requisites
    priority = priority_of(row.depth, Kind.REQUISITE)
    for found in crawl.known.missing(needed):
        if url_key(found.url) not in crawl.known:
            place = (crawl.id, found.host, found.key, found.url, row.depth, priority, row.id)
            yield Child(*place, found.raw, found.spelling, Kind.REQUISITE)


def _unaccepted(crawl: LiveCrawl, row: Row, result: FetchResult) -> Ending:
    """The row ends visited, but as no page: it is not read and uses up nothing of max_pages."""
    ending = ended(crawl, row, result, UrlState.VISITED, Reason.CONTENT_TYPE)
    ending.outcome.counts = False
    return ending


def refuse_page(crawl: LiveCrawl, row: Row, reason: str, now_ms: int) -> Visit:
    """The row ends without a request."""
    counts = row.kind.traits.page
    outcome = Outcome(row.id, crawl.id, UrlState.EXCLUDED, reason, row.tries, counts=counts, kind=row.kind)
    return Visit(Ending(outcome))


def read_request(host: Host, crawl: LiveCrawl, row: Row, result: FetchResult, read_as: ReadAs = "page") -> ReadRequest:
    return ReadRequest(
        row.id,
        host.key,
        result.url,
        result.headers(),
        result.body,
        crawl.fetch.body_bytes_max,
        row.depth + 1,
        crawl.rules,
        crawl.admission,
        row.crashes >= CRASHES_ALONE,
        read_as,
    )


def verdict_of(result: FetchResult) -> Verdict:
    if result.status is None:
        return classify_error(result.error)
    verdict = classify_http(result.status)
    torn = TORN.get(result.truncated) if verdict.state is UrlState.VISITED else None
    return torn or verdict


def cause_of(result: FetchResult) -> str:
    """Why a row is tried again, in a few words."""
    if result.truncated:
        return f"the body ended early: {result.truncated}"
    return result.detail or f"status {result.status}"


def host_change(host: Host, crawl: LiveCrawl, answer: Answer, verdict: Verdict, hint: int | None) -> HostChange:
    """Pace, rest and death of the host; `hint` is the answer's Retry-After."""
    result = answer.result
    if not blames_host(verdict):
        return success(host, answer)
    pace = host.pace.copy()
    change = HostChange(pace)
    if verdict.reason is Reason.NXDOMAIN:
        change.stale_name = hostname_of(result.url)
    rest, change.dead = on_failure(pace, verdict, crawl.host, crawl.polite, crawl.retry, hint, answer.now_ms)
    if rest is not None:
        change.rest_ms, change.rest_reason = rest.until_ms - answer.now_ms, rest.reason
    return change


def success(host: Host, answer: Answer) -> HostChange:
    """The host has answered, with whatever status."""
    pace = host.pace.copy()
    on_success(pace, answer.result.timing.total_ms)
    return HostChange(pace, rest_reason="")


def retried(
    crawl: LiveCrawl, row: Row, in_ms: int, reason: Reason, crashes: int | None = None, *, counts: bool = True
) -> Retry:
    crashes = row.crashes if crashes is None else crashes
    return Retry(row.id, crawl.id, in_ms, row.tries + 1, crashes, reason, row.limited + (not counts))


def crashed(crawl: LiveCrawl, row: Row, result: FetchResult, failure: ParseFailure) -> Visit:
    """The row is tried again: a page that killed its helper a few times, one that took it too long once."""
    late = failure.kind == "deadline"
    reason, tries = (Reason.TOO_COSTLY, DEADLINES_MAX) if late else (Reason.POISON, CRASHES_MAX - CRASHES_ALONE)
    crashes, error = max(row.crashes, CRASHES_MAX - tries) + 1, f"its parser {failure.kind}: {failure.detail}"
    if crashes < CRASHES_MAX:
        return Visit(retry=retried(crawl, row, CRASH_RETRY_MS, reason, crashes), error=error)
    return Visit(ended(crawl, row, result, UrlState.FAILED, reason, error=error))


def unblocked(links: Sequence[Found], blocks: Blocks, visit: Visit) -> list[Found]:
    kept = []
    for found in links:
        decision = blocks.judge(found.url, found.spelling)
        if decision.ok:
            kept.append(found)
        else:
            visit.refuse(found.host, Refusal.RULE, found.url, decision.detail[:RULE_CHARS_MAX])
    return kept


# --- redirects


def _inline_hop(host: Host, crawl: LiveCrawl, trail: list[Row], answer: Answer) -> tuple[Row, bool] | None:
    """Where the redirect that was answered leads inside the visit, and whether it may be sent now.

    `trail` has the places that were asked for.

    A redirect to another spelling of the same URL (from `/dir` to `/dir/`, where slashes are stripped) is followed
    always, once for each spelling: the target has no row of its own. Others are followed inside the visit with
    redirects.mode = follow, if they stay on this host, in scope and may be sent now.
    """
    result, redirects, at = answer.result, crawl.settings.redirects, trail[-1]
    found = _judge_target(crawl, at, result.header("location") or "", result.url).found
    if found is None or found.host != host.key:
        return None
    hop = at._replace(url=found.url, spelling=found.spelling)
    if any(hop.address == place.address for place in trail):
        return None
    if sum(hop.url == place.url for place in trail) >= SPELLINGS_MAX:
        return None
    if hop.url != at.url and (redirects.mode is not RedirectMode.FOLLOW or hops_of(trail) >= redirects.max_hops):
        return None
    permitted = dispatch(hop, crawl.terms, 0, "", answer.blocks, host.gates, answer.tick).step is Step.SEND
    return (hop, permitted) if permitted or hop.url == trail[0].url else None


def _judge_target(crawl: LiveCrawl, row: Row, location: str, url: str) -> Judgement:
    """What a redirect leads to is of the kind of the row. A requisite that must be of its page's host must stay there:
    it is of that host, too."""
    if row.kind is Kind.REQUISITE:
        return crawl.admission.judge_requisite(location, url, host_of(row.url))
    if row.kind is Kind.SITEMAP:
        return crawl.admission.judge_sitemap(location, url, speaks_for(row))
    return crawl.admission.judge(location, url, row.depth)


def speaks_for(row: Row) -> str:
    """For which host a sitemap speaks beside its own: the one whose robots.txt names it, EVERY_HOST where the crawl was
    started with it, else its own, which may redirect to it from elsewhere."""
    return row.raw or host_of(row.url)


def hops_of(trail: list[Row]) -> int:
    """Redirects from URL to URL that led here; those between two spellings of one URL do not count."""
    return trail[0].hops + sum(place.url != before.url for before, place in pairwise(trail))


def _redirected(crawl: LiveCrawl, row: Row, answer: Answer, hops: int, change: HostChange) -> Visit:
    """The row ends as redirected; its target is a URL of its own at the same depth."""
    visit, result = Visit(host=change), answer.result
    location = result.header("location")
    if not location:
        visit.ending = ended(crawl, row, result, UrlState.REDIRECTED, Reason.REDIRECT_INVALID)
        return visit
    judgement = _judge_target(crawl, row, location, result.url)
    if _joins(crawl, row, judgement):
        visit.joined = hostname_of(judgement.url or "")
        judgement = crawl.admission.with_hosts([visit.joined]).judge(location, result.url, row.depth)
    found, reason = judgement.found, Reason.NONE
    if found is None:
        refusal = judgement.refusal or Refusal.INVALID
        broken = refusal in (Refusal.INVALID, Refusal.SCHEME)
        reason = Reason.REDIRECT_INVALID if broken else Reason.REDIRECT_OUT_OF_SCOPE
        rule = rule_of(refusal, judgement.detail)
        visit.refuse(host_of(judgement.url) if judgement.url else "", refusal, judgement.url or location, rule)
    elif found.url == row.url or hops >= crawl.settings.redirects.max_hops:
        reason = Reason.REDIRECT_LOOP
        visit.refuse(found.host, Refusal.HOPS, found.url)
        found = None
    elif answer.blocks:
        found = next(iter(unblocked([found], answer.blocks, visit)), None)
    children = []
    if found is not None and crawl.settings.redirects.mode is not RedirectMode.RECORD:
        place = (crawl.id, found.host, found.key, found.url, row.depth, priority_of(row.depth, row.kind), row.id)
        raw = speaks_for(row) if row.kind is Kind.SITEMAP else found.raw
        children = [Child(*place, raw, found.spelling, row.kind, hops + 1)]
    target = judgement.url or location
    visit.ending = ended(crawl, row, result, UrlState.REDIRECTED, reason, redirect_to=target, children=children)
    return visit


def _joins(crawl: LiveCrawl, row: Row, judgement: Judgement) -> bool:
    """True: a seed redirects out of the scope and its target is to be visited, so the target's host joins the scope."""
    out_of_scope = judgement.refusal is Refusal.SCOPE and judgement.url is not None
    wanted = crawl.settings.redirects.mode is not RedirectMode.RECORD and crawl.settings.scope.mode in JOINING
    seed = row.depth == 0 and row.kind is Kind.PAGE
    return out_of_scope and seed and wanted and crawl.may_join(hostname_of(judgement.url or ""))


# --- the ending


def ended(
    crawl: LiveCrawl,
    row: Row,
    result: FetchResult,
    state: UrlState,
    reason: Reason = Reason.NONE,
    *,
    reading: PageReading | None = None,
    children: list[Child] | None = None,
    redirect_to: str | None = None,
    error: str | None = None,
) -> Ending:
    """The row ends with this answer."""
    read = PageReading(body_bytes=len(result.body)) if reading is None else reading
    page = PageRecord(
        status=result.status,
        content_type=result.header("content-type") if result.status else None,
        body_bytes=read.body_bytes,
        wire_bytes=len(result.body),
        fetched_at=result.started_at,
        timing=result.timing,
        ip=result.ip,
        protocol=result.protocol or None,
        charset=read.charset,
        title=read.title,
        facts=read.facts,
        truncated=result.truncated or read.truncated,
        content_hash=read.content_hash,
        redirect_to=redirect_to or (result.url if result.url != row.address else None),
        error=error or result.detail or read.problem or None,
        links=packed_links(read.found) if crawl.settings.content.edges else {},
        refused=read.refused_urls,
    )
    exchange = None
    if result.status is not None:
        head = (result.url, result.started_at, result.ip, result.protocol)
        exchange = Exchange(*head, result.request_bytes, result.header_bytes, result.body, result.truncated)
    counts = row.kind.traits.page
    outcome = Outcome(row.id, crawl.id, state, reason, row.tries + 1, page, children or [], counts, row.kind)
    return Ending(outcome, exchange, read.content)


def packed_links(found: list[Found]) -> dict[str, bytes]:
    """Politeness key -> the first 8 bytes of each link's key."""
    by_host: dict[str, list[bytes]] = {host: [] for host in dict.fromkeys(map(_host, found))}
    if len(by_host) == 1:  # as on most pages: no look-up for each link
        return dict.fromkeys(by_host, b"".join([key[:8] for key in map(_key, found)]))
    for link in found:
        by_host[link.host].append(link.key[:8])
    return {host: b"".join(keys) for host, keys in by_host.items()}
