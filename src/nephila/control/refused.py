"""What a crawl has refused: counts by reason, host and rule, each with examples and with what decides.

Links are refused before they are stored: they are counted exactly by reason, host and rule, and workers keep a few of
each. URLs are refused by a worker before their request, and end `excluded`: by reason they are counted exactly, by host
and rule among the first URLS_LOOKED_AT of them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from nephila.frontier.catalog import Catalog
from nephila.frontier.operators import Rulings, blocks_of
from nephila.frontier.records import UrlFilter, UrlRow
from nephila.frontier.store import Crawl
from nephila.models import TALLY_PREFIXES, Reason, Refusal, UrlState, reason_tally
from nephila.policy.robots_gate import RobotsGate
from nephila.profiles import CrawlSettings
from nephila.robots.rules import product_token_of
from nephila.urls.identity import origin_of

HOSTS_SHOWN = 20  # of one reason
RULES_SHOWN = 50
EXAMPLES_SHOWN = 5  # of one reason, host or rule
URLS_LOOKED_AT = 500  # of one reason

# The setting that decides. The others: what is a web URL at all, and the block rules of operators.
LINK_SETTINGS = {
    Refusal.LENGTH: "scope.url_length_max",
    Refusal.SCOPE: "scope.mode",
    Refusal.INCLUDE: "scope.include",
    Refusal.EXCLUDE: "scope.exclude",
    Refusal.DEPTH: "scope.max_depth",
    Refusal.EXTENSION: "scope.skip_extensions",
    Refusal.PATH_SEGMENTS: "scope.path_segments_max",
    Refusal.PATH_REPEATS: "scope.path_repeats_max",
    Refusal.NOFOLLOW: "scope.follow_nofollow",
    Refusal.LIMIT: "limits.max_urls",
    Refusal.FRONTIER: "limits.max_frontier",
    Refusal.HOPS: "redirects.max_hops",
    Refusal.REQUISITE: "scope.requisites",
    Refusal.FOREIGN_SITEMAP: "sitemaps.mode",
    Refusal.SITEMAPS_ONLY: "sitemaps.mode",
}
URL_SETTINGS = {
    Reason.ROBOTS: "robots.mode",
    Reason.ROBOTS_UNREACHABLE: "robots.on_error",
    Reason.CRAWL_DELAY: "polite.crawl_delay_cap_ms",
    Reason.DEPTH: "scope.at_max_depth",
    Reason.RULE: "",
}
BY_ROBOTS = (Reason.ROBOTS, Reason.ROBOTS_UNREACHABLE, Reason.CRAWL_DELAY)


class RefusedWhat(StrEnum):
    LINK = "link"  # not taken up: it has no row
    URL = "url"  # taken up, and ended `excluded` without a request


class DecidedBy(StrEnum):
    STANDARD = "standard"  # it is no URL of the web
    SETTING = "setting"
    ROBOTS = "robots"  # robots.txt of its host, which the setting obeys
    BLOCK = "block"  # a block rule of an operator


@dataclass(frozen=True, slots=True)
class RefusedExample:
    url: str
    host: str
    rule: str
    url_id: int | None = None  # of a URL with a row
    found_on: int | None = None  # url id of the page that linked to it


@dataclass(slots=True)
class RefusedGroup:
    """The refused ones of a host or of a rule."""

    name: str
    count: int
    examples: list[RefusedExample] = field(default_factory=list)


@dataclass(slots=True)
class RefusedReason:
    what: RefusedWhat
    reason: str
    count: int
    decided_by: DecidedBy
    setting: str  # its name; empty: none
    value: Any  # of that setting, in this crawl
    examples: list[RefusedExample]
    hosts: list[RefusedGroup]
    hosts_more: int  # hosts that are not among these
    rules: list[RefusedGroup]  # where one of several rules decides
    sampled: bool = False  # hosts and rules are those of the first URLs only

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def refused_of(
    catalog: Catalog, rulings: Rulings, crawl: Crawl, user_agent: str, hosts_max: int = HOSTS_SHOWN
) -> list[RefusedReason]:
    """The most frequent reason first."""
    found = _links(catalog, crawl, hosts_max) + _urls(catalog, rulings, crawl, user_agent, hosts_max)
    return sorted(found, key=lambda reason: (-reason.count, reason.what, reason.reason))


def _links(catalog: Catalog, crawl: Crawl, hosts_max: int) -> list[RefusedReason]:
    hosts: dict[str, Counter[str]] = {}
    for host, reason, n in catalog.refusals(crawl.id):
        hosts.setdefault(reason, Counter())[host] += n
    rules: dict[str, Counter[str]] = {}
    for reason, rule, n in catalog.refused_rules(crawl.id):
        rules.setdefault(reason, Counter())[rule] += n
    examples: dict[str, list[RefusedExample]] = {}
    for link in catalog.refused_links(crawl.id):
        kept = RefusedExample(link.url, link.host, link.rule, found_on=link.found_on)
        examples.setdefault(link.reason, []).append(kept)
    found = []
    for reason, counted in hosts.items():
        setting = LINK_SETTINGS.get(Refusal(reason), "")
        decided_by = DecidedBy.SETTING if setting else DecidedBy.STANDARD
        decided_by = DecidedBy.BLOCK if reason == Refusal.RULE else decided_by
        known, ruled = examples.get(reason, []), rules.get(reason, Counter())
        about = (RefusedWhat.LINK, reason, counted.total(), decided_by, setting, _value(crawl.settings, setting))
        found.append(_reason(about, counted, ruled, known, hosts_max))
    return found


def _urls(catalog: Catalog, rulings: Rulings, crawl: Crawl, user_agent: str, hosts_max: int) -> list[RefusedReason]:
    tallies, found = catalog.tallies(crawl.id), []
    judge = _Judge(catalog, rulings, crawl, user_agent)
    for reason, setting in URL_SETTINGS.items():
        name = reason_tally(reason)
        count = sum(tallies.get(prefix + name, 0) for prefix in TALLY_PREFIXES)
        if not count:
            continue
        where = UrlFilter(states=(UrlState.EXCLUDED,), reason=reason)
        rows = catalog.urls_page(crawl.id, 0, URLS_LOOKED_AT, where).rows
        known = [
            RefusedExample(row.url, row.host, judge.rule(reason, row), row.id, row.discovered_from) for row in rows
        ]
        decided_by = DecidedBy.BLOCK if reason is Reason.RULE else DecidedBy.SETTING
        decided_by = DecidedBy.ROBOTS if reason in BY_ROBOTS else decided_by
        about = (RefusedWhat.URL, reason, count, decided_by, setting, _value(crawl.settings, setting))
        hosts, rules = Counter(each.host for each in known), Counter(each.rule for each in known if each.rule)
        made = _reason(about, hosts, rules, known, hosts_max)
        made.sampled = count > len(rows)
        found.append(made)
    return found


def _value(settings: CrawlSettings, name: str) -> Any:
    return settings.value(name) if name else None


def _reason(
    about: tuple[RefusedWhat, str, int, DecidedBy, str, Any],
    hosts: Counter[str],
    rules: Counter[str],
    examples: Sequence[RefusedExample],
    hosts_max: int,
) -> RefusedReason:
    named, ruled = hosts.most_common(hosts_max), rules.most_common(RULES_SHOWN)
    return RefusedReason(
        *about,
        examples=_varied(examples),
        hosts=[RefusedGroup(name, n, _first(each for each in examples if each.host == name)) for name, n in named],
        hosts_more=max(0, len(hosts) - hosts_max),
        rules=[RefusedGroup(name, n, _first(each for each in examples if each.rule == name)) for name, n in ruled],
    )


def _first(examples: Iterable[RefusedExample]) -> list[RefusedExample]:
    return [example for example, _ in zip(examples, range(EXAMPLES_SHOWN), strict=False)]


def _varied(examples: Sequence[RefusedExample]) -> list[RefusedExample]:
    """One of each host and rule before a second of any."""
    first = {(example.host, example.rule): example for example in reversed(examples)}
    kinds = list(reversed(first.values()))
    return _first([*kinds, *(example for example in examples if first[example.host, example.rule] is not example)])


class _Judge:
    """Which rule refuses a URL, by what is known now: robots.txt or the block rules may have changed since."""

    def __init__(self, catalog: Catalog, rulings: Rulings, crawl: Crawl, user_agent: str) -> None:
        self._catalog, self._blocks = catalog, blocks_of(rulings)
        self._settings, self._token = crawl.settings, product_token_of(user_agent)
        self._gates: dict[str, RobotsGate | None] = {}

    def rule(self, reason: Reason, row: UrlRow) -> str:
        """In words; empty where nothing refuses it any more."""
        if reason is Reason.RULE:
            decision = self._blocks.judge(row.url, row.spelling)
        elif reason in BY_ROBOTS and (gate := self._gate(origin_of(row.address))) is not None:
            decision = gate.judge(row.address, self._token, self._settings.polite, self._settings.robots)
        else:
            return ""
        return "" if decision.ok else decision.detail

    def _gate(self, origin: str) -> RobotsGate | None:
        if origin not in self._gates:
            record = self._catalog.robots(origin)
            self._gates[origin] = None if record is None else RobotsGate.of_answer(record, 0.0)
        return self._gates[origin]
