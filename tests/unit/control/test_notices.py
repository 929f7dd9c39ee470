from dataclasses import replace
from typing import Any

import pytest

from nephila.control.notices import notices_of
from nephila.fetch.manners import mannered
from nephila.frontier.store import Crawl
from nephila.models import CrawlState
from nephila.profiles import crawl_settings
from nephila.settings import process_settings

PUBLIC, PRIVATE = "https://example.com/", "http://127.0.0.1:8080/"
CRAWL = Crawl(1, "u", (PUBLIC,), crawl_settings(), CrawlState.RUNNING, "", "", False, (), 0, None, 0)


def events(seed: str, profile: str = "default", chosen: dict[str, Any] | None = None, **process: Any) -> dict[str, str]:
    settings = process_settings(process)
    kept = mannered(crawl_settings(profile, chosen), [seed], settings.own_hosts, chosen or {}).settings
    return dict(notices_of(replace(CRAWL, seeds=(seed,), settings=kept), settings))


@pytest.mark.requirement("K34")
@pytest.mark.parametrize(
    ("seed", "chosen", "process", "warned"),
    [
        (PUBLIC, {}, {}, True),
        (PUBLIC, {}, {"contact": "https://me.test/bot"}, False),
        (PUBLIC, {}, {"contact": "me@example.net"}, False),
        (PUBLIC, {}, {"user_agent": "Bot/2 (+https://me.test/)"}, False),
        (PUBLIC, {}, {"user_agent": "Bot/2"}, True),
        (PUBLIC, {"fetch.user_agent": "Bot/2 me@example.net"}, {}, False),
        (PUBLIC, {"fetch.user_agent": "Mozilla/5.0"}, {"contact": "https://me.test/"}, True),
        (PUBLIC, {}, {"own_hosts": "example.com"}, False),
        (PRIVATE, {}, {}, False),
        (PRIVATE, {"scope.mode": "any"}, {}, True),
    ],
)
def test_foreign_hosts_need_a_contact(seed: str, chosen: dict[str, Any], process: dict[str, Any], warned: bool) -> None:
    found = events(seed, chosen=chosen, **process)
    assert ("no_contact" in found) is warned
    assert not warned or "NEPHILA_CONTACT" in found["no_contact"]


@pytest.mark.requirement("K06")
def test_what_a_profile_may_not_do_is_said() -> None:
    said = events(PUBLIC, "strict", contact="me@example.net")
    assert said == {
        "restrained": "example.com is not your own, so unlike profile strict says: at least 1 s between two requests "
        "and robots.txt is obeyed; NEPHILA_OWN_HOSTS names hosts of your own"
    }
    assert events(PRIVATE, "strict") == events(PUBLIC, "strict", own_hosts="example.com") == {}
    assert events(PUBLIC, "broad", contact="me@example.net") == {}


@pytest.mark.requirement("K06")
def test_what_a_person_loosened_is_said() -> None:
    said = events(PUBLIC, chosen={"polite.floor_ms": 50, "robots.mode": "ignore"}, contact="me@example.net")
    assert list(said) == ["loosened"]
    assert said["loosened"].startswith(
        "50 ms between two requests and robots.txt is ignored also on hosts that are not"
    )


@pytest.mark.requirement("K10")
def test_a_forced_crawl_delay_is_said() -> None:
    said = events(PRIVATE, chosen={"robots.force": True})
    assert said == {"robots_forced": "hosts that ask for a longer crawl-delay are asked every 300 s (robots.force)"}
