"""What becomes of a due row: one line per case."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from nephila.models import CrawlState, Kind, Reason
from nephila.policy.dispatch import Awaited, Dispatch, Step, Waits, dispatch, terms_of
from nephila.policy.robots_gate import RobotsGate
from nephila.profiles import crawl_settings
from nephila.urls.blocks import Blocks

AGENT = "Nephila/1.0 (+https://example.com)"
DAY = 86_400_000.0
STATUS = {"rules": 200, "allow_all": 404, "hold": 500, "pending": None}


@dataclass(frozen=True)
class Due:
    url: str = "https://a.test/x"
    depth: int = 1
    kind: Kind = Kind.PAGE
    spelling: str = ""

    @property
    def address(self) -> str:
        return self.spelling or self.url


def gates(access: str, body: bytes = b"", failures: int = 0, expires: float = DAY) -> dict[str, RobotsGate]:
    return {"https://a.test": RobotsGate.of("https://a.test", access, STATUS[access], body, failures, expires)}


OPEN = gates("allow_all")
RULES = gates("rules", b"User-agent: *\nDisallow: /private")
BLOCKS = Blocks([("a.test", "spam")])


def decided(
    row: Due = Due(),
    *,
    state: CrawlState = CrawlState.RUNNING,
    reason: str = "",
    overrides: dict[str, Any] | None = None,
    fetched: int = 0,
    dead: str = "",
    blocks: Blocks = Blocks(),
    robots: dict[str, RobotsGate] | None = None,
    now: float = 0.0,
    waits: Waits = Waits(),
    pages_over: bool = False,
) -> Dispatch:
    terms = terms_of(state, reason, crawl_settings("default", overrides or {}), AGENT, 0, pages_over)
    return dispatch(row, terms, fetched, dead, blocks, OPEN if robots is None else robots, now, waits)


@pytest.mark.requirement("RB-02")
@pytest.mark.parametrize(
    ("given", "step", "reason"),
    [
        ({}, Step.SEND, ""),
        # robots.txt
        ({"robots": {}}, Step.ASK_ROBOTS, ""),
        ({"robots": {}, "overrides": {"robots.mode": "ignore"}}, Step.SEND, ""),
        ({"robots": OPEN, "now": DAY + 1}, Step.ASK_ROBOTS, ""),
        ({"robots": RULES}, Step.SEND, ""),
        ({"robots": RULES, "row": Due("https://a.test/private")}, Step.REFUSE, Reason.ROBOTS),
        ({"robots": RULES, "row": Due("http://a.test/private")}, Step.ASK_ROBOTS, ""),  # another origin
        # the spelling that is asked for decides, not the URL that identifies the row
        ({"robots": RULES, "row": Due(spelling="https://a.test/private/")}, Step.REFUSE, Reason.ROBOTS),
        ({"robots": RULES, "row": Due(spelling="https://www.a.test/x")}, Step.ASK_ROBOTS, ""),
        ({"robots": gates("hold", failures=1)}, Step.ASK_ROBOTS, ""),
        ({"robots": gates("hold", failures=5)}, Step.REFUSE, Reason.ROBOTS_UNREACHABLE),
        ({"robots": gates("hold", failures=5), "now": DAY + 1}, Step.ASK_ROBOTS, ""),
        ({"robots": gates("pending", expires=600_000.0)}, Step.WAIT, Awaited.ROBOTS),
        ({"robots": gates("pending", expires=600_000.0), "now": 600_001.0}, Step.ASK_ROBOTS, ""),
        ({"robots": gates("rules", b"User-agent: *\nCrawl-delay: 9999")}, Step.REFUSE, Reason.CRAWL_DELAY),
        # rules of the crawl and of operators
        ({"blocks": BLOCKS}, Step.REFUSE, Reason.RULE),
        (
            {"blocks": Blocks(patterns=[("*/x/", "")]), "row": Due(spelling="https://a.test/x/")},
            Step.REFUSE,
            Reason.RULE,
        ),
        ({"row": Due(depth=3), "overrides": {"scope.max_depth": 3}}, Step.SEND, ""),
        (
            {"row": Due(depth=3), "overrides": {"scope.max_depth": 3, "scope.at_max_depth": "record_only"}},
            Step.REFUSE,
            Reason.DEPTH,
        ),
        ({"fetched": 5, "overrides": {"limits.max_urls_per_host": 5}}, Step.GIVE_UP, Reason.LIMIT_HOST),
        ({"fetched": 4, "overrides": {"limits.max_urls_per_host": 5}}, Step.SEND, ""),
        ({"dead": Reason.HOST_DEAD}, Step.GIVE_UP, Reason.HOST_DEAD),
        ({"state": CrawlState.ENDING, "reason": "limit_time"}, Step.GIVE_UP, "limit_time"),
        ({"state": CrawlState.PAUSED, "reason": "interrupted"}, Step.WAIT, Awaited.RESUME),
        ({"state": CrawlState.PAUSED, "blocks": BLOCKS}, Step.WAIT, Awaited.RESUME),
        ({"state": CrawlState.PAUSED, "dead": Reason.HOST_DEAD}, Step.GIVE_UP, Reason.HOST_DEAD),
        # a robots.txt that another host redirects to has no rules but those of operators
        ({"row": Due(kind=Kind.ROBOTS), "robots": {}}, Step.SEND, ""),
        ({"row": Due(kind=Kind.ROBOTS), "fetched": 5, "overrides": {"limits.max_urls_per_host": 5}}, Step.SEND, ""),
        ({"row": Due(kind=Kind.ROBOTS), "blocks": BLOCKS}, Step.REFUSE, Reason.RULE),
        # waits: endings come before them, robots.txt after them
        ({"waits": Waits(host_ms=5.0, host_reason="backoff")}, Step.WAIT, Awaited.HOST),
        ({"waits": Waits(host_ms=5.0, retry_ms=1.0)}, Step.WAIT, Awaited.RETRY),
        ({"waits": Waits(host_ms=5.0, retry_ms=1.0, unblock_ms=2.0)}, Step.WAIT, Awaited.UNBLOCK),
        ({"waits": Waits(unblock_ms=2.0), "blocks": BLOCKS}, Step.REFUSE, Reason.RULE),
        ({"waits": Waits(unblock_ms=2.0), "robots": {}}, Step.WAIT, Awaited.UNBLOCK),
        ({"waits": Waits(), "robots": {}}, Step.ASK_ROBOTS, ""),
    ],
)
def test_dispatch(given: dict[str, Any], step: Step, reason: str) -> None:
    found = decided(**given)
    assert (found.step, found.reason) == (step, reason)


def test_a_wait_says_how_long_and_why() -> None:
    waits = Waits(host_ms=1500.0, host_reason="backoff")
    resting, retried = decided(waits=waits), decided(waits=replace(waits, retry_ms=20.0, retry_reason="timeout"))
    assert (resting.detail, resting.wait_ms) == ("backoff", 1500.0)
    assert (retried.detail, retried.wait_ms) == ("timeout", 20.0)


def test_the_floor_of_all_crawls_raises_the_floor_of_each() -> None:
    settings = crawl_settings("default", {"polite.floor_ms": 500})
    floors = [terms_of(CrawlState.RUNNING, "", settings, AGENT, floor).polite.floor_ms for floor in (0, 400, 700)]
    assert floors == [500, 500, 700]


REQUISITE = Due(kind=Kind.REQUISITE)


@pytest.mark.parametrize(
    ("given", "step", "reason"),
    [
        ({"row": Due(), "pages_over": True}, Step.REFUSE, Reason.LIMIT_PAGES),
        ({"row": REQUISITE, "pages_over": True}, Step.SEND, ""),
        ({"row": REQUISITE, "pages_over": True, "state": CrawlState.PAUSED}, Step.WAIT, Awaited.RESUME),
        ({"row": REQUISITE, "state": CrawlState.ENDING, "reason": "limit_time"}, Step.GIVE_UP, "limit_time"),
        ({"row": REQUISITE, "blocks": BLOCKS}, Step.REFUSE, Reason.RULE),
        ({"row": REQUISITE, "robots": {}}, Step.ASK_ROBOTS, ""),
        ({"row": replace(REQUISITE, url="https://a.test/private/x"), "robots": RULES}, Step.REFUSE, Reason.ROBOTS),
        ({"row": REQUISITE, "fetched": 10**6}, Step.GIVE_UP, Reason.LIMIT_HOST),
    ],
)
def test_a_requisite_is_ruled_as_a_page_is_but_for_the_limit_on_pages(
    given: dict[str, Any], step: Step, reason: str
) -> None:
    decision = decided(given.pop("row"), **({"overrides": {"limits.max_pages": 7}} | given))
    assert (decision.step, decision.reason) == (step, reason)
