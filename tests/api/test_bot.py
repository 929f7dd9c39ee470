"""The page for owners of sites: what the crawler is, whom to ask, how to block it."""

from html.parser import HTMLParser
from typing import Any

import pytest

from nephila import __version__
from nephila.api.bot import bot_page
from nephila.frontier.tokens import Access
from nephila.robots.rules import parse_robots
from nephila.settings import process_settings
from tests.api.served import Served


class Blocks(HTMLParser):
    """Collects the examples of a page, and where its links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.examples: list[str] = []
        self.links: list[str] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "pre"
        if self._inside:
            self.examples.append("")
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.examples[-1] += data


@pytest.mark.requirement("K34", "W-03")
def test_the_page_is_there_for_everybody(api: Served) -> None:
    api.token("someone", Access.READ)  # from now on nothing else is answered without one
    with api.client() as client:
        answer = client.get("/bot")
    assert answer.status_code == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert f"User-Agent: Nephila/{__version__}" in answer.text
    assert "has not said how to reach them" in answer.text


@pytest.mark.requirement("K34")
@pytest.mark.parametrize("settings", [{}, {"user_agent": "Spider-Bot/2 (+https://me.test/)"}])
def test_what_it_says_blocks_and_slows_this_crawler(settings: dict[str, Any]) -> None:
    agent, block, slow = Blocks(bot_page(process_settings(settings))).examples
    token = agent.removeprefix("User-Agent: ").partition("/")[0]
    assert not parse_robots(block.encode()).rules_for(token).judge("https://a.test/x").ok
    assert parse_robots(block.encode()).rules_for("another").judge("https://a.test/x").ok
    assert parse_robots(slow.encode()).rules_for(token).crawl_delay_ms == 10_000


@pytest.mark.requirement("K34")
@pytest.mark.parametrize(
    ("settings", "links", "said"),
    [
        ({"contact": "https://me.test/bot?a=1&b=2"}, ["https://me.test/bot?a=1&b=2"], "Reach its operator"),
        ({"contact": "me@example.net"}, ["mailto:me@example.net"], "Reach its operator"),
        ({"contact": "mailto:me@example.net"}, ["mailto:me@example.net"], "Reach its operator"),
        ({"user_agent": "Bot/2 (+https://me.test/)"}, [], "See the address in the User-Agent"),
        ({}, [], "has not said"),
        ({"contact": '"><script>alert(1)</script>@x'}, ['mailto:"><script>alert(1)</script>@x'], "Reach its operator"),
    ],
)
def test_it_says_whom_to_ask(settings: dict[str, Any], links: list[str], said: str) -> None:
    page = bot_page(process_settings(settings))
    assert Blocks(page).links == links and said in page
    assert "<script>" not in page
