"""What the owner of a host needs before it may ask for a page."""

import pytest

from nephila.frontier.store import RobotsRecord
from nephila.models import Reason
from nephila.profiles import PoliteSettings, RobotsSettings
from nephila.worker.robots_gate import PENDING, Need, RobotsGate, hold_ms

SETTINGS, POLITE = RobotsSettings(), PoliteSettings()
DAY = 86_400_000


def gate(access: str, body: bytes = b"", failures: int = 0, expires: int = DAY) -> RobotsGate:
    return RobotsGate.of(RobotsRecord("https://a.test", "a.test", access, 200, body, expires, failures), 0.0)


@pytest.mark.requirement("RB-02")
@pytest.mark.parametrize(
    ("held", "now", "need"),
    [
        (RobotsGate("https://a.test"), 0.0, Need.FETCH),
        (gate("allow_all"), 0.0, Need.NOTHING),
        (gate("allow_all"), DAY + 1.0, Need.FETCH),
        (gate("rules", b"User-agent: *\nDisallow: /"), 0.0, Need.NOTHING),
        (gate("hold", failures=1), 0.0, Need.FETCH),
        (gate("hold", failures=5), 0.0, Need.NOTHING),
        (gate("hold", failures=5), DAY + 1.0, Need.FETCH),
        (gate(PENDING, expires=600_000), 0.0, Need.WAIT),
        (gate(PENDING, expires=600_000), 600_001.0, Need.FETCH),
    ],
)
def test_what_is_needed(held: RobotsGate, now: float, need: Need) -> None:
    assert held.need(now, SETTINGS) is need


@pytest.mark.requirement("RB-01", "RB-04", "P-16")
def test_rules_are_for_the_product_token() -> None:
    body = b"User-agent: nephila\nCrawl-delay: 2\nDisallow: /private\n\nUser-agent: *\nDisallow: /"
    held = gate("rules", body)
    assert held.judge("https://a.test/open", "nephila", POLITE).ok
    refused = held.judge("https://a.test/private/x", "nephila", POLITE)
    assert (refused.ok, refused.reason) == (False, Reason.ROBOTS)
    assert "/private" in refused.detail
    assert not held.judge("https://a.test/open", "otherbot", POLITE).ok
    assert held.crawl_delay_ms("nephila") == 2000


def test_a_delay_beyond_the_cap_parks_the_host() -> None:
    held = gate("rules", b"User-agent: *\nCrawl-delay: 100000")
    assert held.judge("https://a.test/", "nephila", POLITE).reason == Reason.CRAWL_DELAY


def test_unreachable_robots_refuse_everything() -> None:
    held = gate("hold", failures=5)
    assert held.judge("https://a.test/", "nephila", POLITE).reason == Reason.ROBOTS_UNREACHABLE


def test_waits_between_attempts_double() -> None:
    assert [hold_ms(SETTINGS, failures) for failures in (1, 2, 3)] == [10_000, 20_000, 40_000]
