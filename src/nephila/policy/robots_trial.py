"""What a robots.txt says of URLs, with the rule and its line: by the parser and the matcher of the crawler. Pure."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nephila.errors import UsageError
from nephila.policy.politeness import crawl_delay_verdict
from nephila.profiles import PoliteSettings
from nephila.robots.rules import ANY_AGENT, ROBOTS_BYTES_MAX, parse_robots, product_token_of

AGENT_CHARS_MAX = 500


@dataclass(frozen=True, slots=True)
class UrlTrial:
    url: str
    allowed: bool
    rule: str  # that decides, as it is read: `Disallow: /private/`; empty: none matches
    line: int | None  # of that rule
    detail: str  # both in words


@dataclass(frozen=True, slots=True)
class RobotsTrial:
    agent: str  # product token of the crawler that is asked about
    group: str  # name that its groups are found by: its own or `*`; empty: no group is for it
    group_lines: tuple[int, ...]  # where these groups begin; several are merged
    crawl_delay_ms: int | None
    parked: str  # why a crawl with these settings asks the host for nothing, whatever the rules say; empty: it does
    sitemaps: tuple[str, ...]
    cut: bool  # the text goes on after what is read of a robots.txt
    urls: tuple[UrlTrial, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def try_robots(body: bytes, urls: Sequence[str], agent: str, polite: PoliteSettings | None = None) -> RobotsTrial:
    """`agent`: a product token (`Nephila`), a whole User-Agent, or `*`: any crawler that no group names. `polite`: of
    the crawl; None: the usual ones."""
    token = agent_token(agent)
    file = parse_robots(body)
    group, groups = file.groups_for(token)
    rules = file.rules_for(token)
    parked = crawl_delay_verdict(rules.crawl_delay_ms, polite or PoliteSettings())
    tried = []
    for url in urls:
        decision, rule = rules.judge(url), rules.match(url)
        if rule is None or rule.decision() != decision:  # /robots.txt is allowed whatever the rules say
            tried.append(UrlTrial(url, decision.ok, "", None, decision.detail))
        else:
            tried.append(UrlTrial(url, decision.ok, rule.spelled, rule.line, decision.detail))
    return RobotsTrial(
        agent=token,
        group=group if groups else "",
        group_lines=tuple(each.line for each in groups),
        crawl_delay_ms=rules.crawl_delay_ms,
        parked=parked.detail,
        sitemaps=file.sitemaps,
        cut=len(body) > ROBOTS_BYTES_MAX,
        urls=tuple(tried),
    )


def agent_token(agent: str) -> str:
    agent = agent.strip()
    token = ANY_AGENT if agent == ANY_AGENT else product_token_of(agent)
    if not token or len(agent) > AGENT_CHARS_MAX:
        raise UsageError(f"{agent[:80]!r} names no crawler: give a name like Googlebot, a User-Agent, or *")
    return token
