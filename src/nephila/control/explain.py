"""Why a URL is where it is: the same pure decisions once more, and what the store remembers of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from nephila.frontier.operators import HostRule, Rulings, blocks_of
from nephila.frontier.store import Catalog, Crawl, HostRow, QueueRow, RobotsRecord, UrlRow, WorkerRow
from nephila.models import CrawlState, Refusal, UrlState
from nephila.policy.politeness import crawl_delay_verdict, delay_reasons
from nephila.profiles import CrawlSettings, PoliteSettings, RobotsMode
from nephila.robots.access import RobotsAccess
from nephila.robots.rules import parse_robots, product_token_of
from nephila.urls.admission import Admission, Judgement
from nephila.urls.identity import host_of, origin_of, url_key

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
    rules: tuple[RuleVerdict, ...]
    row: UrlRow | None
    facts: dict[str, object]
    parents: tuple[Ancestor, ...]  # from the page that linked to it up to the seed
    redirects: tuple[Ancestor, ...]  # what its answer led to
    queue: QueueRow | None
    held_by: WorkerRow | None
    host: HostRow | None
    host_rule: HostRule | None  # an operator's word about the host
    delays: tuple[tuple[str, float], ...]  # parts of the host's delay, the longest decides
    robots: RobotsVerdict | None
    refusals: tuple[tuple[str, int], ...]  # of this host, in this crawl

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"rules": [rule._asdict() for rule in self.rules]}


def explain(catalog: Catalog, rulings: Rulings, crawl: Crawl, asked: str, user_agent: str) -> Explanation:
    judgement, row = _judged(catalog, crawl, asked)
    judgement = _unless_blocked(judgement, rulings)
    url = judgement.url
    host = host_of(url) if url else ""
    queue = catalog.queue(crawl.id, host) if host else None
    rule = rulings.hosts.get(host)
    clock = catalog.host(host) if host else None
    pace = replace(clock.pace, override_ms=rule.delay_ms if rule else None) if clock else None
    robots = robots_verdict(catalog.robots(origin_of(url)), url, user_agent, crawl.settings) if url else None
    rules = rule_verdicts(judgement, row.depth if row else None, crawl.settings)
    workers = catalog.workers() if queue and queue.held_by else []
    return Explanation(
        crawl=crawl.id,
        crawl_state=crawl.state,
        asked=asked,
        url=url,
        verdict=verdict_of(crawl, judgement, row, queue, clock, rule, robots),
        rules=rules,
        row=row,
        facts=catalog.page_facts(row.id) if row else {},
        parents=_parents(catalog, row),
        redirects=_redirects(catalog, crawl.id, row),
        queue=queue,
        held_by=next((worker for worker in workers if queue and worker.id == queue.held_by), None),
        host=clock,
        host_rule=rule,
        delays=tuple(delay_reasons(pace, polite_of(crawl.settings, rulings.floor_ms))) if pace else (),
        robots=robots,
        refusals=tuple((reason, n) for _, reason, n in catalog.refusals(crawl.id, host)) if host else (),
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
    return judgements[0], None


def _unless_blocked(judgement: Judgement, rulings: Rulings) -> Judgement:
    if judgement.found is None:
        return judgement
    decision = blocks_of(rulings).judge(judgement.found.url)
    return judgement if decision.ok else Judgement(None, Refusal.RULE, decision.detail, judgement.url)


def polite_of(settings: CrawlSettings, floor_ms: int) -> PoliteSettings:
    """As the workers see it: the floor of all crawls wins upwards."""
    polite = settings.polite
    return polite.model_copy(update={"floor_ms": max(polite.floor_ms, floor_ms)})


def _known_row(catalog: Catalog, crawl_id: int, url: str | None) -> UrlRow | None:
    return catalog.url(crawl_id, host_of(url), url_key(url)) if url else None


def rule_verdicts(judgement: Judgement, depth: int | None, settings: CrawlSettings) -> tuple[RuleVerdict, ...]:
    verdicts, refused = [], False
    for rule, refusals in RULES:
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
        case "include patterns":
            return "one matches" if scope.include else "there are none"
    return ""


def robots_verdict(record: RobotsRecord | None, url: str, user_agent: str, settings: CrawlSettings) -> RobotsVerdict:
    origin = origin_of(url)
    if settings.robots.mode is RobotsMode.IGNORE:
        return RobotsVerdict(origin, "ignored", True, "this crawl ignores robots.txt")
    if record is None:
        return RobotsVerdict(origin, "", None, "robots.txt has not been asked for yet")
    allowed, detail = _judged_by_robots(record, url, user_agent, settings)
    known = (record.status, record.fetched_at or None, record.expires_in_ms, record.failures)
    return RobotsVerdict(origin, record.access, allowed, detail, *known)


def _judged_by_robots(
    record: RobotsRecord, url: str, user_agent: str, settings: CrawlSettings
) -> tuple[bool | None, str]:
    if record.access == RobotsAccess.ALLOW_ALL:
        return True, f"there is no robots.txt ({record.detail})"
    if record.access != RobotsAccess.RULES:
        return None, record.detail or record.access
    rules = parse_robots(record.body).rules_for(product_token_of(user_agent))
    parked = crawl_delay_verdict(rules.crawl_delay_ms, settings.polite)
    if not parked.ok:
        return False, parked.detail
    decision = rules.judge(url)
    return decision.ok, decision.detail


def _parents(catalog: Catalog, row: UrlRow | None) -> tuple[Ancestor, ...]:
    rows = catalog.ancestors(row.id, PARENTS_MAX) if row is not None else []
    return tuple(Ancestor(parent.id, parent.url, parent.depth, parent.state) for parent in rows)


def _redirects(catalog: Catalog, crawl_id: int, row: UrlRow | None) -> tuple[Ancestor, ...]:
    chain: list[Ancestor] = []
    while row is not None and row.redirect_to and len(chain) < REDIRECTS_MAX:
        row = _known_row(catalog, crawl_id, row.redirect_to)
        if row is not None:
            chain.append(Ancestor(row.id, row.url, row.depth, row.state))
    return tuple(chain)


# --- one sentence


def verdict_of(
    crawl: Crawl,
    judgement: Judgement,
    row: UrlRow | None,
    queue: QueueRow | None,
    host: HostRow | None,
    rule: HostRule | None,
    robots: RobotsVerdict | None,
) -> str:
    if row is None:
        return _unknown(crawl, judgement, robots)
    if row.state.terminal:
        return _ended(row)
    if row.state is UrlState.IN_PROGRESS:
        return f"It is being fetched now, by worker {row.claimed_by}."
    if judgement.refusal is Refusal.RULE:
        return f"It is queued and will end without a request: {judgement.detail}."
    if rule is not None and rule.blocked_in_ms:
        why = f" ({rule.reason})" if rule.reason else ""
        return f"It is queued; an operator has blocked its host for {seconds(rule.blocked_in_ms)} more{why}."
    return _waiting(crawl, row, queue, host)


def _unknown(crawl: Crawl, judgement: Judgement, robots: RobotsVerdict | None) -> str:
    if judgement.refusal is not None:
        return f"It is not part of this crawl and would be refused ({judgement.refusal}): {judgement.detail}."
    if crawl.settings.limits.max_urls is not None and crawl.limited_by:
        return "Every rule admits it, but it is not part of this crawl, which met its limits."
    would = ", and robots.txt would then exclude it" if robots is not None and robots.allowed is False else ""
    if crawl.state.over:
        return f"Every rule admits it{would}, but no page of this crawl linked to it."
    return f"Every rule admits it{would}, but no page seen so far links to it."


def _ended(row: UrlRow) -> str:
    parts: Sequence[str] = [
        f"It ended {row.state}",
        f" with status {row.status}" if row.status is not None else "",
        f", reason {row.reason}" if row.reason else "",
        f": {row.error}" if row.error else "",
        f"; it leads to {row.redirect_to}" if row.redirect_to else "",
    ]
    return "".join(parts) + "."


def _waiting(crawl: Crawl, row: UrlRow, queue: QueueRow | None, host: HostRow | None) -> str:
    if crawl.state is CrawlState.PAUSED:
        return f"It is queued; the crawl is paused{f' ({crawl.reason})' if crawl.reason else ''}."
    if crawl.state is CrawlState.ENDING:
        return f"It is queued and will end without a request: the crawl is ending ({crawl.reason})."
    if queue is not None and queue.dead:
        return f"It is queued and will end without a request: its host is given up ({queue.dead})."
    if row.not_before_in_ms:
        return f"It is queued and will be tried again in {seconds(row.not_before_in_ms)} (last time: {row.reason})."
    if host is not None and host.rest_reason and host.next_in_ms:
        return f"It is queued; its host rests for {seconds(host.next_in_ms)} more ({host.rest_reason})."
    ahead = f", one of {queue.open:,} open URLs" if queue is not None and queue.open else ""
    next_in = f"; the host's next request is allowed in {seconds(host.next_in_ms)}" if host and host.next_in_ms else ""
    return f"It is queued at {row.host}{ahead}{next_in}."


def seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s"
