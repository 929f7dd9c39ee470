import json
from dataclasses import replace
from typing import Any

import pytest

from nephila.control.explain import Explanation, explain, robots_verdict, rule_verdicts, verdict_of
from nephila.frontier.operators import BlockKind, BlockRule, HostRule, Rulings
from nephila.frontier.store import RobotsRecord
from nephila.models import CrawlState, Refusal, UrlState
from nephila.policy.dispatch import terms_of
from nephila.profiles import crawl_settings
from nephila.urls.admission import Admission
from tests.unit.control.filled import SEED, Filled

AGENT = "Nephila/1.0 (+https://example.com)"


NOW, HOUR_MS = 0, 3_600_000


def explained(filled: Filled, url: str, rulings: Rulings = Rulings()) -> Explanation:
    return explain(filled.catalog, rulings, filled.catalog.crawl(filled.crawl.id), url, AGENT)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("x", "It ended visited with status 200."),
        ("gone", "It ended not_found with status 404."),
        ("moved", "It ended redirected with status 301; it leads to http://a.test/x."),
        ("later", "It is queued and will be tried again in"),
        ("never", "Every rule admits it, but no page seen so far links to it."),
        ("private/x", "Every rule admits it, and robots.txt would then exclude it, but no page seen so far"),
        ("a.pdf", "It is not part of this crawl and would be refused (extension): paths that end in .pdf are skipped."),
    ],
)
def test_verdict(filled: Filled, name: str, verdict: str) -> None:
    assert explained(filled, SEED + name).verdict.startswith(verdict)


@pytest.mark.requirement("F-16", "F-23")
def test_the_cap_on_open_urls_is_told(filled: Filled) -> None:
    limits = filled.crawl.settings.limits.model_copy(update={"max_frontier": 5000})
    filled.catalog.change_settings(filled.crawl.id, filled.crawl.settings.model_copy(update={"limits": limits}))
    assert "no page seen so far" in explained(filled, SEED + "never").verdict, "nothing was refused yet"
    full = replace(filled.catalog.crawl(filled.crawl.id), limited_by="max_frontier")
    assert explain(filled.catalog, Rulings(), full, SEED + "never", AGENT).verdict == (
        "Every rule admits it, but it is not part of this crawl: limits.max_frontier (5,000) URLs were open when links "
        "were refused; it is taken in if a page links to it while fewer are."
    )
    row = replace(explained(filled, SEED + "gone").row, state=UrlState.EVICTED, depth=3)  # type: ignore[type-var]
    judged = Admission(full.settings, full.seeds).judge(SEED + "gone", None, 0)
    assert verdict_of(full, judged, row, None, None, None) == (
        "It was evicted before it was fetched: limits.max_frontier (5,000) URLs were open, and it was among the least "
        "important ones (depth 3)."
    )


def test_a_block_rule_is_named(filled: Filled) -> None:
    rulings = Rulings(blocks=(BlockRule(1, BlockKind.DOMAIN, "a.test", "spam", "me", NOW),))
    queued, unknown = (explained(filled, SEED + name, rulings) for name in ("later", "never"))
    assert queued.verdict == "It is queued and will end without a request: domain a.test is blocked: spam."
    assert "would be refused (rule): domain a.test is blocked: spam" in unknown.verdict
    assert unknown.rules[-1] == ("block rules", False, "domain a.test is blocked: spam")


def test_an_operators_word_about_a_host_is_told(filled: Filled) -> None:
    rule = HostRule("a.test", 7000, HOUR_MS, "it fell over", "me", NOW)
    found = explained(filled, SEED + "later", Rulings(hosts={"a.test": rule}, floor_ms=2000))
    assert found.verdict == "It is queued; an operator has blocked its host for 3600.0 s more (it fell over)."
    assert found.delays[0] == ("override", 7000.0)
    assert ("floor", 2000.0) in found.delays
    assert found.host_rule == rule


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ("http://b.test/", "scope"),
        ("mailto:x@y.test", "scheme"),
        ("http://[", "invalid"),
        (SEED + "a/" * 40, "path_segments"),
    ],
)
def test_refused(filled: Filled, asked: str, refusal: str) -> None:
    found = explained(filled, asked)
    assert found.row is None and f"({refusal})" in found.verdict
    assert [rule.passed for rule in found.rules].count(False) == 1


def test_trail_of_a_known_url(filled: Filled) -> None:
    found = explained(filled, "http://A.test:80/moved#x")
    assert found.url == SEED + "moved" and found.row is not None and found.row.raw_url == SEED + "moved#top"
    assert [(parent.url, parent.depth) for parent in found.parents] == [(SEED, 0)]
    assert [target.url for target in found.redirects] == [SEED + "x"]
    assert found.queue is not None and found.queue.open == 1
    assert found.host is not None and found.host.rest_reason == "backoff"
    assert found.delays[0] == ("adaptive", 1500.0) and ("floor", 1000.0) in found.delays
    assert found.robots is not None and found.robots.allowed
    assert found.refusals == (("extension", 2),)
    json.dumps(found.as_json())


def test_robots_names_rule_and_line(filled: Filled) -> None:
    robots = explained(filled, SEED + "private").robots
    assert robots is not None and robots.allowed is False
    assert robots.detail == "Disallow: /private (line 2)"


def test_without_a_scheme_the_known_one_is_meant(filled: Filled) -> None:
    row = explained(filled, "a.test/x").row
    assert row is not None and row.url == SEED + "x"


def test_a_host_of_another_site_has_its_refusals(filled: Filled) -> None:
    assert explained(filled, "http://b.test/any").refusals == (("scope", 3),)


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        (CrawlState.PAUSED, "interrupted", "the crawl is paused (interrupted)"),
        (CrawlState.ENDING, "limit_time", "will end without a request: the crawl is ending (limit_time)"),
    ],
)
def test_why_a_queued_url_waits(filled: Filled, state: CrawlState, reason: str, words: str) -> None:
    filled.catalog.steer(filled.crawl.id, state, reason)
    assert words in explained(filled, SEED + "later").verdict


def test_rules_are_asked_in_the_order_of_admission(filled: Filled) -> None:
    settings = crawl_settings("default", {"scope.max_depth": 1, "scope.exclude": ["*/no"]})
    judgement = Admission(settings, [SEED]).judge(SEED + "no", None, 5)
    row = replace(explained(filled, SEED + "gone").row, depth=5)  # type: ignore[type-var]
    verdicts = rule_verdicts(judgement, row, settings)
    assert judgement.refusal is Refusal.DEPTH
    assert verdicts[3].detail == "deeper than 1"
    assert [verdict.passed for verdict in verdicts] == [True, True, True, False, *[None] * 5]


RECORD = RobotsRecord("http://a.test", "a.test", "rules", 200, b"User-agent: *\nCrawl-delay: 1000\n", 1, 0, "")


@pytest.mark.parametrize(
    ("record", "overrides", "allowed", "detail"),
    [
        (None, {}, None, "not been asked"),
        (None, {"robots.mode": "ignore"}, True, "ignores"),
        (RECORD, {}, False, "1000 s between requests"),
        (replace(RECORD, access="allow_all", status=404, detail="status 404"), {}, True, "status 404"),
        (replace(RECORD, access="hold", detail="timed out"), {}, None, "timed out"),
    ],
)
def test_robots_verdict(
    record: RobotsRecord | None, overrides: dict[str, Any], allowed: bool | None, detail: str
) -> None:
    found = robots_verdict(record, SEED, terms_of(CrawlState.RUNNING, "", crawl_settings("default", overrides), AGENT))
    assert found.allowed is allowed and detail in found.detail
