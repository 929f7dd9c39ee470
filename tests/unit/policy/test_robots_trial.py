"""A robots.txt is tried: the rule that decides and its line, the group, the delay, the sitemaps."""

import pytest

from nephila.errors import UsageError
from nephila.policy.robots_trial import UrlTrial, try_robots
from nephila.robots.rules import ROBOTS_BYTES_MAX

SITE = "https://a.test"
TEXT = b"""# for all
User-agent: *
Disallow: /private/
Allow: /private/open
Crawl-delay: 2

User-agent: Slow
User-agent: Other
Crawl-delay: 1000
Disallow: /*.pdf$

Sitemap: https://a.test/map.xml
User-agent: slow
Disallow: /x
"""


def test_the_rule_that_decides_is_named_with_its_line() -> None:
    urls = [f"{SITE}/private/x", f"{SITE}/private/open/y", f"{SITE}/", f"{SITE}/robots.txt"]
    found = try_robots(TEXT, urls, "Nephila/1.0 (+https://b.test/)")
    assert (found.agent, found.group, found.group_lines) == ("Nephila", "*", (2,))
    assert (found.crawl_delay_ms, found.parked, found.sitemaps) == (2000, "", ("https://a.test/map.xml",))
    assert found.urls == (
        UrlTrial(urls[0], False, "Disallow: /private/", 3, "Disallow: /private/ (line 3)"),
        UrlTrial(urls[1], True, "Allow: /private/open", 4, "Allow: /private/open (line 4)"),
        UrlTrial(urls[2], True, "", None, "no rule matches"),
        UrlTrial(urls[3], True, "", None, "/robots.txt is always allowed"),
    )


def test_all_groups_of_a_crawler_are_merged_and_a_delay_above_the_cap_is_told() -> None:
    found = try_robots(TEXT, [f"{SITE}/a.pdf", f"{SITE}/xyz", f"{SITE}/private/"], "SLOW")
    assert (found.group, found.group_lines, found.crawl_delay_ms) == ("slow", (7, 13), 1_000_000)
    assert "asks for 1000 s between requests" in found.parked
    assert [(url.allowed, url.line) for url in found.urls] == [(False, 10), (False, 14), (True, None)]


def test_robots_txt_is_allowed_where_everything_is_refused_and_no_rule_is_named_for_it() -> None:
    found = try_robots(b"User-agent: *\nDisallow: /", [f"{SITE}/robots.txt"], "*")
    assert (found.urls[0].allowed, found.urls[0].rule, found.urls[0].line) == (True, "", None)


def test_without_a_group_everything_is_allowed() -> None:
    found = try_robots(b"User-agent: other\nDisallow: /", [f"{SITE}/x"], "*")
    assert (found.agent, found.group, found.group_lines, found.urls[0].allowed) == ("*", "", (), True)


def test_a_text_that_is_too_long_is_cut_and_says_so() -> None:
    body = b"User-agent: *\n" + b"#" * ROBOTS_BYTES_MAX + b"\nDisallow: /"
    found = try_robots(body, [f"{SITE}/x"], "a")
    assert (found.cut, found.urls[0].allowed) == (True, True)


@pytest.mark.parametrize("agent", ["", " ", "123", "(x)", "a" * 501])
def test_what_names_no_crawler_is_refused(agent: str) -> None:
    with pytest.raises(UsageError, match="names no crawler"):
        try_robots(TEXT, [], agent)
