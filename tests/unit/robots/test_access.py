"""The facts of RFC 9309 that pure code decides, under their ids in ../shared/conformance/robots_rfc9309.json."""

import pytest

from nephila.profiles import RobotsOnError, RobotsSettings
from nephila.robots.access import ROBOTS_HOPS_MAX, RobotsAccess, access_of
from nephila.robots.rules import ROBOTS_BYTES_MAX, parse_robots
from nephila.urls.identity import origin_of

RULES, ALLOW_ALL, HOLD = RobotsAccess.RULES, RobotsAccess.ALLOW_ALL, RobotsAccess.HOLD

ACCESS: list[tuple[str, int | None, RobotsAccess]] = [
    ("200-rules", 200, RULES),
    ("redirect-1..5", 200, RULES),
    ("redirect-6", 302, ALLOW_ALL),
    ("redirect-loop", 301, ALLOW_ALL),
    ("404", 404, ALLOW_ALL),
    ("403", 403, ALLOW_ALL),
    ("429", 429, HOLD),
    ("500", 500, HOLD),
    ("503", 503, HOLD),
    ("timeout", None, HOLD),
    ("conn-refused", None, HOLD),
    ("dns-fail", None, HOLD),
    ("tls-fail", None, HOLD),
    ("unreachable-long", 500, HOLD),
    ("was-ok-now-500", 500, HOLD),
    ("partial-body", None, HOLD),
    ("other 2xx", 204, RULES),
    ("no final answer", 103, HOLD),
    ("no such status", 999, HOLD),
]


@pytest.mark.requirement("K16")
@pytest.mark.parametrize(("status", "access"), [case[1:] for case in ACCESS], ids=[case[0] for case in ACCESS])
def test_access_by_rfc_9309(status: int | None, access: RobotsAccess) -> None:
    assert access_of(status, RobotsOnError.RFC9309) is access


@pytest.mark.requirement("RB-03", "K16")
@pytest.mark.parametrize("status", [None, 204, 302, 403, 404, 429, 500, 503])
def test_on_error_allow_obeys_nothing_but_a_200(status: int | None) -> None:
    assert access_of(status, RobotsOnError.ALLOW) is ALLOW_ALL
    assert access_of(200, RobotsOnError.ALLOW) is RULES


@pytest.mark.requirement("RB-02")
def test_limits_by_rfc_9309() -> None:
    assert ROBOTS_HOPS_MAX == 5
    assert RobotsSettings().cache_seconds == 24 * 3600


@pytest.mark.parametrize(
    ("end", "tail", "honoured"),
    [
        (512_000, b"", True),
        (512_000, b"\n" + b"y" * 1000, True),
        (512_000, b"y" * 1000, False),
        (512_001, b"\n", False),
        (512_005, b"\n" + b"y" * 1000, False),
    ],
)
def test_500_kib_are_read_and_no_more(end: int, tail: bytes, honoured: bool) -> None:
    head, rule = b"user-agent: *\n", b"disallow: /x"
    body = head + b"\n" * (end - len(head) - len(rule)) + rule + tail
    assert ROBOTS_BYTES_MAX == 512_000
    assert parse_robots(body).rules_for("a").judge("https://example.com/xyz").ok is (not honoured)


@pytest.mark.requirement("K07", "K16")
def test_robots_are_per_scheme_and_authority() -> None:
    origins = {origin_of(url) for url in ("http://h.example/", "https://h.example/", "http://h.example:8080/")}
    assert len(origins) == 3
