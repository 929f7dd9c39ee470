"""`explain` tells why a URL is where it is: by the pure decisions that workers ask, and by what the store remembers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from nephila.control.export import iso_time
from nephila.control.progress import failure_cause
from nephila.control.sitemaps import how_found
from nephila.frontier.catalog import Catalog
from nephila.frontier.operators import HostRule, Rulings, blocks_of
from nephila.frontier.records import QueueRow, UrlRow, WorkerRow
from nephila.frontier.sitemaps import SitemapNote
from nephila.frontier.store import Crawl, HostClock, RobotsRecord
from nephila.models import CrawlState, Kind, Reason, Refusal, UrlState
from nephila.policy.dispatch import Awaited, CrawlTerms, Dispatch, Step, Waits, dispatch, terms_of
from nephila.policy.politeness import RETRY_AFTER, delay_reasons
from nephila.policy.robots_gate import RobotsGate
from nephila.profiles import CrawlSettings, Requisites, RobotsMode, SitemapMode
from nephila.robots.access import RobotsAccess
from nephila.urls.admission import Admission, Judgement
from nephila.urls.blocks import Blocks
from nephila.urls.identity import host_of, origin_of, requisite_key, sitemap_key, url_key

PARENTS_MAX = 100
REDIRECTS_MAX = 20
NO_WEB_ADDRESS = ("mailto:", "javascript:", "data:", "tel:")

# In the order in which Admission.judge asks them; the first refusal ends the questions.
RULES: tuple[tuple[str, frozenset[Refusal]], ...] = (
    ("a web address", frozenset((Refusal.INVALID, Refusal.SCHEME))),
    ("length", frozenset((Refusal.LENGTH,))),
    ("scope", frozenset((Refusal.SCOPE,))),
    ("depth", frozenset((Refusal.DEPTH,))),
    ("exclude patterns", frozenset((Refusal.EXCLUDE,))),
    ("include patterns", frozenset((Refusal.INCLUDE,))),
    ("extension", frozenset((Refusal.EXTENSION,))),
    ("traps", frozenset((Refusal.PATH_SEGMENTS, Refusal.PATH_REPEATS))),
    ("block rules", frozenset((Refusal.RULE,))),
)
# The same for Admission.judge_sitemap.
SITEMAP_RULES: tuple[tuple[str, frozenset[Refusal]], ...] = (
    ("a web address", frozenset((Refusal.INVALID, Refusal.SCHEME))),
    ("length", frozenset((Refusal.LENGTH,))),
    ("scope", frozenset((Refusal.SCOPE,))),
    ("exclude patterns", frozenset((Refusal.EXCLUDE,))),
    ("traps", frozenset((Refusal.PATH_SEGMENTS, Refusal.PATH_REPEATS))),
    ("block rules", frozenset((Refusal.RULE,))),
)
# The same for Admission.judge_requisite.
REQUISITE_RULES: tuple[tuple[str, frozenset[Refusal]], ...] = (
    ("a web address", frozenset((Refusal.INVALID, Refusal.SCHEME))),
    ("length", frozenset((Refusal.LENGTH,))),
    ("exclude patterns", frozenset((Refusal.EXCLUDE,))),
    ("traps", frozenset((Refusal.PATH_SEGMENTS, Refusal.PATH_REPEATS))),
    ("requisites", frozenset((Refusal.REQUISITE,))),
    ("block rules", frozenset((Refusal.RULE,))),
)
RULES_OF = {Kind.REQUISITE: REQUISITE_RULES, Kind.SITEMAP: SITEMAP_RULES}


class RuleVerdict(NamedTuple):
    rule: str
    passed: bool | None  # None: not asked, an earlier rule refused
    detail: str


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    origin: str
    access: str  # of robots.RobotsAccess; "": never asked; "ignored": the crawl does not obey
    allowed: bool | None
    detail: str  # which rule, on which line
    status: int | None = None
    fetched_at: int | None = None
    expires_in_ms: int | None = None
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Ancestor:
    id: int
    url: str
    depth: int
    state: UrlState


@dataclass(frozen=True, slots=True)
class Explanation:
    crawl: int
    crawl_state: CrawlState
    asked: str
    url: str | None  # normalised
    verdict: str  # one sentence
    dispatch: Dispatch | None  # what a worker does with it; None: it is not queued
    rules: tuple[RuleVerdict, ...]
    row: UrlRow | None
    facts: dict[str, object]
    parents: tuple[Ancestor, ...]  # from the page that linked to it up to the seed
    redirects: tuple[Ancestor, ...]  # what its answer led to
    queue: QueueRow | None
    held_by: WorkerRow | None
    host: HostClock | None
    host_rule: HostRule | None  # an operator's word about the host
    delays: tuple[tuple[str, float], ...]  # parts of the host's delay, the longest decides
    robots: RobotsVerdict | None
    refusals: tuple[tuple[str, int], ...]  # of this host, in this crawl
    requisite: UrlRow | None = None  # the row of the same URL as a requisite, where `row` is that of a page
    sitemap: SitemapNote | None = None  # what the first sitemap that lists it says of it

    def as_json(self) -> dict[str, Any]:
        sitemap = self.sitemap._asdict() if self.sitemap else None
        return asdict(self) | {"rules": [rule._asdict() for rule in self.rules], "sitemap": sitemap}


def explain(catalog: Catalog, rulings: Rulings, crawl: Crawl, asked: str, user_agent: str) -> Explanation:
    blocks = blocks_of(rulings)
    judgement, row = _judged(catalog, crawl, asked)
    judgement = _unless_blocked(judgement, blocks)
    url = judgement.url
    host = host_of(url) if url else ""
    queue = catalog.queue(crawl.id, host) if host else None
    rule = rulings.hosts.get(host)
    clock = catalog.host(host) if host else None
    terms = _terms(crawl, rulings, user_agent)
    address = row.address if row else url
    record = catalog.robots(origin_of(address)) if address else None
    robots = robots_verdict(record, address, terms) if address else None
    decision = None
    if row is not None and row.state is UrlState.QUEUED:
        decision = _dispatched(row, terms, queue, blocks, record, _waits(row, clock, rule))
    verdict = verdict_of(crawl, judgement, row, decision, queue, robots)
    if row is not None and row.reason in (Reason.UNREACHABLE, Reason.HOST_DEAD):
        verdict = f"{verdict} What went wrong last: {failure_cause(catalog, crawl) or 'its host did not answer'}."
    requisite = _needed_row(catalog, crawl.id, url) if row is not None and row.kind is Kind.PAGE else None
    verdict += _needed(crawl, row, requisite)
    note = catalog.sitemap_note(crawl.id, row.id) if row is not None else None
    verdict += _listed(crawl, row, note)
    pace = replace(clock.pace, override_ms=rule.delay_ms if rule else None) if clock else None
    workers = catalog.workers() if queue and queue.held_by else []
    return Explanation(
        crawl=crawl.id,
        crawl_state=crawl.state,
        asked=asked,
        url=url,
        verdict=verdict,
        dispatch=decision,
        rules=rule_verdicts(judgement, row, crawl.settings),
        row=row,
        facts=catalog.page_facts(row.id) if row else {},
        parents=_parents(catalog, row),
        redirects=_redirects(catalog, crawl.id, row),
        queue=queue,
        held_by=next((worker for worker in workers if queue and worker.id == queue.held_by), None),
        host=clock,
        host_rule=rule,
        delays=tuple(delay_reasons(pace, terms.polite)) if pace else (),
        robots=robots,
        refusals=tuple((reason, n) for _, reason, n in catalog.refusals(crawl.id, host)) if host else (),
        requisite=requisite,
        sitemap=note,
    )


def _terms(crawl: Crawl, rulings: Rulings, user_agent: str) -> CrawlTerms:
    return terms_of(crawl.state, crawl.reason, crawl.settings, user_agent, rulings.floor_ms, crawl.pages_over)


def _dispatched(
    row: UrlRow,
    terms: CrawlTerms,
    queue: QueueRow | None,
    blocks: Blocks,
    record: RobotsRecord | None,
    waits: Waits,
) -> Dispatch:
    gates = {record.origin: RobotsGate.of_answer(record, 0.0)} if record else {}
    fetched, dead = (queue.fetched, queue.dead) if queue else (0, "")
    return dispatch(row, terms, fetched, dead, blocks, gates, 0.0, waits)


@dataclass(frozen=True, slots=True)
class Standing:
    """What a queued URL waits for."""

    wait_ms: float  # until it may be asked for, as far as that is known
    reason: str  # of the host's rest, `blocked`, `delay`, or why it is tried again; empty: nothing keeps it
    hinted: bool  # the site itself said until when
    nameless: bool  # as far as is known, its host's name does not exist
    verdict: str


def standing(catalog: Catalog, rulings: Rulings, crawl: Crawl, row: UrlRow, user_agent: str) -> Standing:
    """The part of `explain` about waiting, by a few short looks: whoever waits for a URL asks often."""
    queue, clock, rule = catalog.queue(crawl.id, row.host), catalog.host(row.host), rulings.hosts.get(row.host)
    terms = _terms(crawl, rulings, user_agent)
    waits = _waits(row, clock, rule)
    record = catalog.robots(origin_of(row.address))
    decision = _dispatched(row, terms, queue, blocks_of(rulings), record, waits)
    wait_ms = max(waits.unblock_ms, waits.retry_ms, waits.host_ms) if decision.step is Step.WAIT else 0.0
    reason = ""
    if wait_ms == waits.unblock_ms > 0:
        reason = "blocked"
    elif wait_ms > 0:
        reason = waits.host_reason or waits.retry_reason or "delay"
    hinted, nameless = waits.host_reason == RETRY_AFTER, clock is not None and clock.pace.nxdomain > 0
    return Standing(wait_ms, reason, hinted, nameless, _queued(row, decision, queue))


def _waits(row: UrlRow, host: HostClock | None, rule: HostRule | None) -> Waits:
    return Waits(
        unblock_ms=(rule.blocked_in_ms or 0) if rule else 0,
        unblock_reason=rule.reason if rule else "",
        retry_ms=row.not_before_in_ms,
        retry_reason=row.reason,
        host_ms=host.next_in_ms if host else 0,
        host_reason=host.rest_reason if host else "",
    )


def known_url(catalog: Catalog, crawl: Crawl, asked: str) -> UrlRow | None:
    return _judged(catalog, crawl, asked)[1]


def _judged(catalog: Catalog, crawl: Crawl, asked: str) -> tuple[Judgement, UrlRow | None]:
    """Of a text without a scheme both are tried: the one that is known is meant."""
    admission = Admission(crawl.settings, crawl.seeds, crawl.joined_hosts)
    text = asked.strip()
    whole = "://" in text or text.lower().startswith(NO_WEB_ADDRESS)
    candidates = [text] if whole else [f"https://{text}", f"http://{text}"]
    judgements = [admission.judge(candidate, None, 0) for candidate in candidates]
    for judgement in judgements:
        row = _known_row(catalog, crawl.id, judgement.url)
        if row is not None:
            # The depth it was found at may be one that the rules refuse.
            return admission.judge(row.url, None, row.depth), row
    for judgement in judgements:
        row = _needed_row(catalog, crawl.id, judgement.url)
        if row is not None:
            return admission.judge_requisite(row.url, None, row.host), row
    for judgement in judgements:
        row = _sitemap_row(catalog, crawl.id, judgement.url)
        if row is not None:
            return admission.judge_sitemap(row.url, None, row.host), row
    return judgements[0], None


def _unless_blocked(judgement: Judgement, blocks: Blocks) -> Judgement:
    if judgement.found is None:
        return judgement
    decision = blocks.judge(judgement.found.url, judgement.found.spelling)
    return judgement if decision.ok else Judgement(None, Refusal.RULE, decision.detail, judgement.url)


def _known_row(catalog: Catalog, crawl_id: int, url: str | None) -> UrlRow | None:
    return catalog.url(crawl_id, host_of(url), url_key(url)) if url else None


def _needed_row(catalog: Catalog, crawl_id: int, url: str | None) -> UrlRow | None:
    return catalog.url(crawl_id, host_of(url), requisite_key(url)) if url else None


def _sitemap_row(catalog: Catalog, crawl_id: int, url: str | None) -> UrlRow | None:
    return catalog.url(crawl_id, host_of(url), sitemap_key(url)) if url else None


def rule_verdicts(judgement: Judgement, row: UrlRow | None, settings: CrawlSettings) -> tuple[RuleVerdict, ...]:
    """What every rule says, by those that the row was admitted by; of a URL without a row by those of links."""
    verdicts, refused, depth = [], False, row.depth if row else None
    for rule, refusals in RULES_OF.get(row.kind, RULES) if row is not None else RULES:
        if refused:
            verdicts.append(RuleVerdict(rule, None, "not asked"))
        elif judgement.refusal in refusals:
            verdicts.append(RuleVerdict(rule, False, judgement.detail))
            refused = True
        else:
            verdicts.append(RuleVerdict(rule, True, _passing(rule, depth, settings)))
    return tuple(verdicts)


def _passing(rule: str, depth: int | None, settings: CrawlSettings) -> str:
    scope = settings.scope
    match rule:
        case "scope":
            return scope.mode.value
        case "depth":
            return f"{'not known yet' if depth is None else depth}, at most {scope.max_depth}"
        case "exclude patterns":
            return "none matches" if scope.exclude else "there are none"
        case "requisites":
            return scope.requisites.value
        case "include patterns":
            return "one matches" if scope.include else "there are none"
    return ""


def robots_verdict(record: RobotsRecord | None, url: str, terms: CrawlTerms) -> RobotsVerdict:
    origin = origin_of(url)
    if terms.settings.robots.mode is RobotsMode.IGNORE:
        return RobotsVerdict(origin, "ignored", True, "this crawl ignores robots.txt")
    if record is None:
        return RobotsVerdict(origin, "", None, "robots.txt has not been asked for yet")
    allowed, detail = None, record.detail or record.access
    robots, gate = terms.settings.robots, RobotsGate.of_answer(record, 0.0)
    access = gate.access_for(robots)
    if access == RobotsAccess.ALLOW_ALL:
        allowed, detail = True, f"there is no robots.txt ({record.detail})"
    elif access == RobotsAccess.RULES:
        decision = gate.judge(url, terms.product_token, terms.polite, robots)
        allowed, detail = decision.ok, decision.detail + _forced(gate, terms)
    known = (record.status, record.fetched_at or None, record.expires_in_ms, record.failures)
    return RobotsVerdict(origin, access, allowed, detail, *known)


def _forced(gate: RobotsGate, terms: CrawlTerms) -> str:
    """What `robots.force` makes of a crawl-delay above the cap, in words; empty where there is none."""
    asked, cap = gate.crawl_delay_ms(terms.product_token) or 0, terms.polite.crawl_delay_cap_ms
    if not terms.settings.robots.force or asked <= cap:
        return ""
    return f"; it asks for {asked / 1000:g} s between requests, robots.force makes that {cap / 1000:g} s"


def _parents(catalog: Catalog, row: UrlRow | None) -> tuple[Ancestor, ...]:
    rows = catalog.ancestors(row.id, PARENTS_MAX) if row is not None else []
    return tuple(Ancestor(parent.id, parent.url, parent.depth, parent.state) for parent in rows)


def _redirects(catalog: Catalog, crawl_id: int, row: UrlRow | None) -> tuple[Ancestor, ...]:
    chain: list[Ancestor] = []
    while row is not None and row.redirect_to and len(chain) < REDIRECTS_MAX:
        find = {Kind.REQUISITE: _needed_row, Kind.SITEMAP: _sitemap_row}.get(row.kind, _known_row)
        row = find(catalog, crawl_id, row.redirect_to)
        if row is not None:
            chain.append(Ancestor(row.id, row.url, row.depth, row.state))
    return tuple(chain)


# --- one sentence


def verdict_of(
    crawl: Crawl,
    judgement: Judgement,
    row: UrlRow | None,
    decision: Dispatch | None,
    queue: QueueRow | None,
    robots: RobotsVerdict | None,
) -> str:
    if row is None:
        return _unknown(crawl, judgement, robots)
    if decision is not None:
        return _queued(row, decision, queue)
    if row.state is UrlState.IN_PROGRESS:
        return f"It is being fetched now, by worker {row.claimed_by}."
    if row.state is UrlState.EVICTED:
        why = f"{_full(crawl)}, and it was among the least important ones (depth {row.depth})"
        return f"It was evicted before it was fetched: {why}."
    return _ended(row)


def _full(crawl: Crawl) -> str:
    return f"limits.max_frontier ({crawl.settings.limits.max_frontier:,}) URLs were open"


def _unknown(crawl: Crawl, judgement: Judgement, robots: RobotsVerdict | None) -> str:
    if judgement.refusal is not None:
        return f"It is not part of this crawl and would be refused ({judgement.refusal}): {judgement.detail}."
    if crawl.settings.limits.max_urls is not None and crawl.limited_by not in ("", "max_frontier"):
        return "Every rule admits it, but it is not part of this crawl, which met its limits."
    if crawl.limited_by == "max_frontier" and not crawl.settings.limits.evict:
        again = "" if crawl.state.over else "; it is taken in if a page links to it while fewer are"
        return f"Every rule admits it, but it is not part of this crawl: {_full(crawl)} when links were refused{again}."
    would = ", and robots.txt would then exclude it" if robots is not None and robots.allowed is False else ""
    if crawl.state.over:
        return f"Every rule admits it{would}, but no page of this crawl linked to it."
    return f"Every rule admits it{would}, but no page seen so far links to it."


def _needed(crawl: Crawl, row: UrlRow | None, requisite: UrlRow | None) -> str:
    """What is to be said of a URL as a requisite, beside what is said of it as a page."""
    wanted = crawl.settings.scope.requisites
    if row is not None and row.kind is Kind.REQUISITE:
        return " It is a requisite: a page needs it, and none links to it as a page."
    if requisite is not None:
        return f" A page embeds it, too: as a requisite (id {requisite.id}) it is {requisite.state}."
    if row is not None or wanted is Requisites.NONE:
        return ""
    who = "A page that needs it" if wanted is Requisites.ALL else "A page of its own host that needs it"
    return f" {who} would bring it as a requisite, unless an exclude pattern, a trap or a block rule refuses it."


def _listed(crawl: Crawl, row: UrlRow | None, note: SitemapNote | None) -> str:
    """What is to be said of sitemaps."""
    said = ""
    if row is not None and row.kind is Kind.SITEMAP:
        said = f" It is a sitemap, {how_found(row.raw_url, listed=row.discovered_from is not None)}."
    elif row is None and crawl.settings.sitemaps.mode is SitemapMode.ONLY:
        said = " Links are not followed (sitemaps.mode is only): a sitemap would have to list it."
    if note is not None:
        changed = f", lastmod {iso_time(note.lastmod)}" if note.lastmod is not None else ""
        said += f" It is listed in the sitemap {note.sitemap}{changed}."
    return said


def _ended(row: UrlRow) -> str:
    parts: Sequence[str] = [
        f"It ended {row.state}",
        f" with status {row.status}" if row.status is not None else "",
        f", reason {row.reason}" if row.reason else "",
        f": {row.error}" if row.error else "",
        f"; it leads to {row.redirect_to}" if row.redirect_to else "",
    ]
    return "".join(parts) + "."


def _queued(row: UrlRow, decision: Dispatch, queue: QueueRow | None) -> str:
    if decision.step in (Step.REFUSE, Step.GIVE_UP):
        return f"It is queued and will end without a request: {decision.detail}."
    why, wait = f" ({decision.detail})" if decision.detail else "", seconds(decision.wait_ms)
    match decision.reason:
        case Awaited.RESUME:
            return f"It is queued; the crawl is paused{why}."
        case Awaited.UNBLOCK:
            return f"It is queued; an operator has blocked its host for {wait} more{why}."
        case Awaited.RETRY:
            return f"It is queued and will be tried again in {wait} (last time: {decision.detail})."
        case Awaited.HOST if decision.detail:
            return f"It is queued; its host rests for {wait} more{why}."
        case Awaited.ROBOTS:
            return "It is queued; robots.txt of its site redirects to another host, whose answer it waits for."
    ahead = f", one of {queue.open:,}{'+' * queue.open_more} open URLs" if queue is not None and queue.open else ""
    next_in = f"; the host's next request is allowed in {wait}" if decision.wait_ms else ""
    return f"It is queued at {row.host}{ahead}{next_in}."


def seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s"
