import math

import pytest

from tests.site.politeness import TOLERANCE_MS, politeness_key, violations
from tests.site.server import Hit


def hit(start_ms: float, end_ms: float, host: str = "a.test", path: str = "/") -> Hit:
    return Hit(host, path, start_ms / 1000, end_ms / 1000, 200)


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("example.test", "example.test"),
        ("www.example.test", "example.test"),
        ("www.www.example.test", "www.example.test"),
        ("cdn.example.test", "cdn.example.test"),
        ("www.test", "www.test"),
        ("127.0.0.1", "127.0.0.1"),
        ("wwwx.example.test", "wwwx.example.test"),
    ],
)
def test_hosts_that_share_a_key(host: str, key: str) -> None:
    assert politeness_key(host) == key


@pytest.mark.parametrize(
    ("hits", "max_inflight", "broken"),
    [
        pytest.param([], 1, 0, id="nothing"),
        pytest.param([hit(0, 10)], 1, 0, id="one"),
        pytest.param([hit(0, 10), hit(110, 120)], 1, 0, id="exactly the delay after the end"),
        pytest.param([hit(0, 10), hit(110 - TOLERANCE_MS, 120)], 1, 0, id="within the tolerance"),
        pytest.param([hit(0, 10), hit(109 - TOLERANCE_MS, 120)], 1, 1, id="too soon after the end"),
        pytest.param([hit(0, 50), hit(105, 120)], 1, 1, id="far enough from the start only"),
        pytest.param([hit(110, 120), hit(0, 10)], 1, 0, id="in any order"),
        pytest.param([hit(0, 10), hit(5, 20, "b.test")], 1, 0, id="other hosts do not matter"),
        pytest.param([hit(0, 10), hit(50, 60, "www.a.test")], 1, 1, id="the www twin does"),
        pytest.param([hit(0, 10, path="/robots.txt"), hit(50, 60)], 1, 1, id="so does robots.txt"),
        pytest.param([hit(0, 10), hit(50, 60), hit(100, 110)], 1, 2, id="each gap is told"),
        pytest.param([hit(0, 300), hit(110, 120), hit(350, 360)], 1, 3, id="a long one counts behind a short one"),
        pytest.param([hit(0, math.inf), hit(500, 510)], 1, 2, id="one that never ended"),
        pytest.param([hit(0, 500), hit(100, 600)], 2, 0, id="two in flight, starts apart"),
        pytest.param([hit(0, 500), hit(80, 600)], 2, 1, id="two in flight, starts too close"),
        pytest.param([hit(0, 500), hit(100, 500), hit(200, 500)], 2, 1, id="three in flight of two"),
        pytest.param([hit(0, 150), hit(100, 500), hit(200, 500)], 2, 0, id="never three at once"),
    ],
)
def test_violations(hits: list[Hit], max_inflight: int, broken: int) -> None:
    found = violations(hits, delay_ms=100, max_inflight=max_inflight)
    assert len(found) == broken, found


def test_no_delay_still_bounds_what_is_in_flight() -> None:
    assert violations([hit(0, 100), hit(0, 100), hit(0, 100)], delay_ms=0, max_inflight=3) == []
    assert len(violations([hit(0, 100), hit(0, 100), hit(0, 100)], delay_ms=0, max_inflight=2)) == 1


def test_a_violation_names_both_requests() -> None:
    (line,) = violations([hit(0, 10, path="/1"), hit(50, 60, "www.a.test", "/2")], delay_ms=100)
    assert line == "a.test: 40.0 ms, not 100, from a.test/1 to www.a.test/2"
