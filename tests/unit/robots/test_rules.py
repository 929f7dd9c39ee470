"""robots.txt: parsing, matching, delays, sitemaps and bounds."""

import gc
import re
import sys
import time
from collections.abc import Iterator
from types import FunctionType, ModuleType
from unittest import mock

import pytest

from nephila.models import Reason
from nephila.robots.rules import CRAWL_DELAY_MS_MAX, ROBOTS_BYTES_MAX, SITEMAPS_MAX, parse_robots, product_token_of

SITE = "https://example.com"


def allowed(robots: str | bytes, path: str, agent: str = "Nephila") -> bool:
    body = robots.encode() if isinstance(robots, str) else robots
    return parse_robots(body).rules_for(agent).judge(SITE + path).ok


@pytest.mark.requirement("RB-01")
@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/", "/", True),
        ("/fish", "/fish", True),
        ("/fish", "/fisheads?x", True),
        ("/fish", "/Fish", False),
        ("/fish", "/catfish", False),
        ("/fish*", "/fishing", True),
        ("/fish/", "/fish", False),
        ("/*.php", "/a/b.php?x", True),
        ("/*.php$", "/a/b.php", True),
        ("/*.php$", "/a/b.php?x", False),
        ("/fish*.php", "/fishheads/cat.php5", True),
        ("/fish*.php", "/Fish.php", False),
        ("/a$", "/a", True),
        ("/a$", "/ab", False),
        ("/a$b", "/a$b", True),
        ("/*a*b*c", "/xaxbxc", True),
        ("/*a*b*c", "/xaxcxb", False),
        ("/*a*b$", "/ab", True),
        ("/*ab*b$", "/ab", False),
        ("*", "/x", True),
        ("$", "/", False),
        ("fish", "/fish", False),
        ("", "/x", False),
        # RFC 9309 2.2.2: one octet, many spellings
        ("/%7ejoe", "/~joe", True),
        ("/~joe", "/%7Ejoe", True),
        ("/a%3cd", "/a%3Cd", True),
        ("/a%2fb", "/a/b", False),
        ("/a%2fb", "/a%2Fb", True),
        ("/ツ", "/%E3%83%84", True),
        ("/%E3%83%84", "/ツ", True),
        ("/a b", "/a%20b", True),
        ("/%62%61%7A", "/baz", True),
        ("/100%", "/100%", True),
        ("/file-%2A.html", "/file-*.html", True),
        ("/file-%2A.html", "/file-x.html", False),
        ("/file-%24", "/file-$", True),
        ("/?x=1", "?x=1", True),
    ],
)
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert allowed(f"user-agent: *\ndisallow: {pattern}\n", path) is not matches


@pytest.mark.parametrize(
    ("rules", "path", "ok"),
    [
        ("Disallow: /\nAllow: /p", "/page", True),
        ("Allow: /folder\nDisallow: /folder", "/folder/page", True),
        ("Disallow: /folder\nAllow: /folder", "/folder/page", True),
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /$\nDisallow: /", "/page.htm", False),
        ("Allow: /ab*\nDisallow: /abc", "/abcd", True),
        ("Disallow: /ab*\nAllow: /abc", "/abcd", True),
        ("Disallow: /abc*\nAllow: /abc", "/abcd", False),
        ("Allow: /x/index.html\nDisallow: /", "/x/", True),
        ("Allow: /x/index.html\nDisallow: /", "/x/y", False),
        ("Disallow: /x/index.html", "/x/", True),
    ],
)
def test_the_longest_pattern_wins_and_allow_wins_ties(rules: str, path: str, ok: bool) -> None:
    assert allowed(f"User-agent: *\n{rules}\n", path) is ok


@pytest.mark.requirement("RB-04")
@pytest.mark.parametrize(
    ("robots", "agent", "ok"),
    [
        ("User-agent: nephila\nDisallow: /", "Nephila", False),
        ("User-agent: NEPHILA/2.0 (x)\nDisallow: /", "Nephila", False),
        ("User-agent: nephilabot\nDisallow: /", "Nephila", True),
        ("User-agent: neph\nDisallow: /", "Nephila", True),
        ("User-agent: *\nDisallow: /\nUser-agent: nephila\nDisallow:", "Nephila", True),
        ("User-agent: *\nDisallow: /\nUser-agent: nephila\n", "Nephila", True),
        ("User-agent: a\nUser-agent: nephila\n\nDisallow: /", "Nephila", False),
        (
            "User-agent: nephila\nDisallow: /y\nUser-agent: b\nAllow: /\nUser-agent: nephila\nDisallow: /x",
            "Nephila",
            False,
        ),
        ("User-agent: nephila\nSitemap: http://s/\nUser-agent: b\nDisallow: /", "Nephila", False),
        ("User-agent: nephila\nCrawl-delay: 1\nUser-agent: b\nDisallow: /", "Nephila", False),
        ("User-agent: nephila\nDisallow:\nUser-agent: b\nDisallow: /", "Nephila", True),
        ("User-agent: * x\nDisallow: /", "Nephila", False),
        ("User-agent: *x\nDisallow: /", "Nephila", True),
        ("Disallow: /", "Nephila", True),
        ("", "Nephila", True),
    ],
)
def test_groups(robots: str, agent: str, ok: bool) -> None:
    assert allowed(robots, "/x", agent) is ok


@pytest.mark.parametrize(
    "robots",
    [
        b"\xef\xbb\xbfuser-agent: *\ndisallow: /x",
        b"\xef\xbbuser-agent: *\ndisallow: /x",
        b"user-agent: *\rdisallow: /x\r",
        b"user-agent: *\r\ndisallow: /x\r\n",
        b"user-agent *\ndisallow /x",
        b"  User-Agent :\t* # all\n Disallow : /x # why",
        b"useragent: *\ndisalow: /x",
        b"user agent: *\ndissallow: /x",
        b"<html>\n\xff\xfe\x00binary: \xfa\nuser-agent: *\n{}\n\ndisallow: /x\n\xde\xad",
        b"user-agent: *\n" + b"z" * 100_000 + b"\ndisallow: /x",
    ],
)
def test_every_line_that_can_be_read_counts(robots: bytes) -> None:
    assert not allowed(robots, "/x")


def test_octets_that_are_no_utf8_match_themselves() -> None:
    assert not allowed(b"user-agent: *\ndisallow: /\xe9", "/%E9")


def test_robots_txt_itself_is_always_allowed() -> None:
    rules = parse_robots(b"user-agent: *\ndisallow: /").rules_for("x")
    assert rules.judge(f"{SITE}/robots.txt").ok
    assert not rules.judge(f"{SITE}/robots.txt?x").ok
    rule = rules.match(f"{SITE}/robots.txt")
    assert rule is not None and not rule.allow


@pytest.mark.requirement("RB-05")
def test_a_decision_names_the_rule_and_its_line() -> None:
    rules = parse_robots(b"# hi\n\nuser-agent: *\nDisallow: /a%7e*z\nAllow: /b").rules_for("x")
    refused = rules.judge(SITE + "/a~yz")
    assert (refused.ok, refused.reason, refused.detail) == (False, Reason.ROBOTS, "Disallow: /a%7e*z (line 4)")
    assert rules.judge(SITE + "/b").detail == "Allow: /b (line 5)"
    assert rules.judge(SITE + "/c").detail == "no rule matches"


@pytest.mark.requirement("P-16")
@pytest.mark.parametrize(
    ("robots", "delay_ms"),
    [
        ("user-agent: *\ncrawl-delay: 2", 2000),
        ("user-agent: *\nCrawl-Delay: 0.5", 500),
        ("user-agent: *\ncrawl-delay: 1\ncrawl-delay: 3\ncrawl-delay: 2", 3000),
        ("user-agent: *\ncrawl-delay: 9\nuser-agent: nephila\ndisallow:", None),
        ("user-agent: nephila\ncrawl-delay: 4\nuser-agent: *\ncrawl-delay: 9", 9000),
        ("user-agent: nephila\ncrawl-delay: 4\ndisallow:\nuser-agent: *\ncrawl-delay: 9", 4000),
        ("user-agent: *\ncrawl-delay: -1", None),
        ("user-agent: *\ncrawl-delay: nan", None),
        ("user-agent: *\ncrawl-delay: inf", CRAWL_DELAY_MS_MAX),
        ("user-agent: *\ncrawl-delay: 1e300", CRAWL_DELAY_MS_MAX),
        ("user-agent: *\ncrawl-delay: soon", None),
        ("crawl-delay: 5\nuser-agent: *\n", None),
    ],
)
def test_crawl_delay(robots: str, delay_ms: int | None) -> None:
    assert parse_robots(robots.encode()).rules_for("Nephila").crawl_delay_ms == delay_ms


def test_sitemaps_belong_to_the_file() -> None:
    robots = b"Sitemap: http://a/1.xml\nuser-agent: x\ndisallow: /\nsite-map:http://a/2.xml\nSITEMAP: http://a/1.xml\n"
    assert parse_robots(robots).rules_for("y").sitemaps == ("http://a/1.xml", "http://a/2.xml")
    many = b"".join(b"sitemap: http://a/%d\n" % n for n in range(SITEMAPS_MAX + 5))
    assert len(parse_robots(many).sitemaps) == SITEMAPS_MAX


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [("Nephila/1.0 (+https://x)", "Nephila"), ("Foo_Bar-Baz", "Foo_Bar-Baz"), ("Foo Bar", "Foo"), ("", ""), ("ツ", "")],
)
def test_product_tokens(user_agent: str, token: str) -> None:
    assert product_token_of(user_agent) == token


CPU_SECONDS_MAX = 20
HEAD = b"user-agent: *\n"
HOSTILE = {
    "many rules": HEAD + b"".join(b"disallow: /%d\n" % n for n in range(40_000)),
    "many stars": HEAD + (b"disallow: " + b"*a" * 8000 + b"\n") * 40,
    "many wild rules": HEAD + b"".join(b"disallow: /*%d\n" % n for n in range(40_000)),
    "escapes": HEAD + (b"disallow: " + b"/%41" * 4000 + b"\n") * 40,
    "empty lines": b"\n" * ROBOTS_BYTES_MAX,
}


TYPICAL_RULES = 60  # with stars and ends, as large shops have them
DOMAIN_BYTES_MAX = 30_000


def parts_of(thing: object) -> Iterator[object]:
    """Everything that a value is made of, its types and modules apart."""
    seen: set[int] = set()
    waiting = [thing]
    while waiting:
        part = waiting.pop()
        if id(part) not in seen and not isinstance(part, type | ModuleType | FunctionType):
            seen.add(id(part))
            yield part
            waiting += gc.get_referents(part)


@pytest.mark.requirement("RB-06")
def test_rules_are_plain_pieces_of_text_and_small() -> None:
    lines = [f"disallow: /shop/*/section-{number}$\nallow: /shop/{number}/" for number in range(TYPICAL_RULES // 2)]
    body = ("user-agent: *\n" + "\n".join(lines)).encode()
    with mock.patch.object(re, "compile", side_effect=AssertionError("a regular expression for a rule")):
        rules = parse_robots(body).rules_for("Nephila")
        assert not rules.judge(f"{SITE}/shop/x/section-7").ok
        assert rules.judge(f"{SITE}/shop/7/x").ok
    parts = list(parts_of(rules))
    assert not [part for part in parts if isinstance(part, re.Pattern)]
    assert sum(map(sys.getsizeof, parts)) < DOMAIN_BYTES_MAX


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_file_stalls_the_loop(body: bytes) -> None:
    """In CPU time, which a busy machine does not change: each takes 0.2 s, what backtracks would take minutes."""
    began = time.thread_time()
    rules = parse_robots(body).rules_for("x")
    assert rules.judge(SITE + "/" + "a" * 2000) is not None
    assert time.thread_time() - began < CPU_SECONDS_MAX
