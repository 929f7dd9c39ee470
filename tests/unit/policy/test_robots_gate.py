"""What the owner of a host knows of an origin's robots.txt. When it must be asked for is in test_dispatch.py."""

import pytest

from nephila.models import Reason
from nephila.policy.politeness import Pace, delay_ms
from nephila.policy.robots_gate import RobotsGate, hold_ms
from nephila.profiles import PoliteSettings, RobotsOnError, RobotsSettings

POLITE, ROBOTS = PoliteSettings(), RobotsSettings()
DAY = 86_400_000.0
STATUS = {"rules": 200, "allow_all": 404, "hold": 500, "pending": None}


def gate(access: str, body: bytes = b"", failures: int = 0) -> RobotsGate:
    return RobotsGate.of("https://a.test", access, STATUS[access], body, failures, DAY)


@pytest.mark.requirement("RB-01", "RB-04", "P-16")
def test_rules_are_for_the_product_token() -> None:
    body = b"User-agent: nephila\nCrawl-delay: 2\nDisallow: /private\n\nUser-agent: *\nDisallow: /"
    held = gate("rules", body)
    assert held.judge("https://a.test/open", "nephila", POLITE, ROBOTS).ok
    refused = held.judge("https://a.test/private/x", "nephila", POLITE, ROBOTS)
    assert (refused.ok, refused.reason) == (False, Reason.ROBOTS)
    assert "/private" in refused.detail
    assert not held.judge("https://a.test/open", "otherbot", POLITE, ROBOTS).ok
    assert held.crawl_delay_ms("nephila") == 2000


@pytest.mark.requirement("K10")
def test_a_delay_beyond_the_cap_parks_the_host_unless_it_is_forced() -> None:
    held = gate("rules", b"User-agent: *\nCrawl-delay: 100000\nDisallow: /shut")
    assert held.judge("https://a.test/", "nephila", POLITE, ROBOTS).reason == Reason.CRAWL_DELAY
    forced = RobotsSettings(force=True)
    assert held.judge("https://a.test/", "nephila", POLITE, forced).ok
    assert held.judge("https://a.test/shut", "nephila", POLITE, forced).reason == Reason.ROBOTS, "rules hold"
    assert delay_ms(Pace(crawl_delay_ms=held.crawl_delay_ms("nephila")), POLITE) == POLITE.crawl_delay_cap_ms


def test_unreachable_robots_refuse_everything() -> None:
    held = gate("hold", failures=5)
    assert held.judge("https://a.test/", "nephila", POLITE, ROBOTS).reason == Reason.ROBOTS_UNREACHABLE


def test_waits_between_attempts_double() -> None:
    assert [hold_ms(RobotsSettings(), failures) for failures in (1, 2, 3)] == [10_000, 20_000, 40_000]


@pytest.mark.requirement("K16")
@pytest.mark.parametrize(
    ("access", "status", "body", "by_rfc", "by_allow"),
    [
        ("rules", 200, b"User-agent: *\nDisallow: /", "rules", "rules"),
        ("rules", 204, b"", "rules", "allow_all"),
        ("allow_all", 404, b"", "allow_all", "allow_all"),
        ("hold", 500, b"", "hold", "allow_all"),
        ("hold", None, b"", "hold", "allow_all"),
        ("hold", 200, b"User-agent: *\nDisallow: /", "hold", "rules"),  # torn
        ("pending", None, b"", "pending", "pending"),
        ("allow_all", 500, b"", "hold", "allow_all"),  # stored by an earlier version for a crawl that allows
    ],
)
def test_each_crawl_judges_the_same_answer_by_its_own_policy(
    access: str, status: int | None, body: bytes, by_rfc: str, by_allow: str
) -> None:
    held = RobotsGate.of("https://a.test", access, status, body, 0, DAY)
    allow = RobotsSettings(on_error=RobotsOnError.ALLOW)
    assert (held.access_for(ROBOTS), held.access_for(allow)) == (by_rfc, by_allow)
    if by_allow != "pending":
        assert held.judge("https://a.test/", "nephila", POLITE, allow).ok is (by_allow == "allow_all")
