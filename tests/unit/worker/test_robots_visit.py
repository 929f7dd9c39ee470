"""The visit of a robots.txt as a value: one line per answer, without an event loop and without a network."""

from typing import Any

import pytest

from nephila.fetch.fetcher import FetchRequest, FetchResult
from nephila.frontier.store import Row
from nephila.models import Kind, Reason, UrlState
from nephila.policy.politeness import Pace
from nephila.policy.robots_gate import PENDING_MS_MAX, RobotsGate
from nephila.robots.access import ROBOTS_HOPS_MAX
from nephila.worker.robots_visit import ask_robots, refuse_robots, robots_child, visit_robots
from tests.unit.worker.test_scheduler import live_crawl
from tests.unit.worker.test_visit import NOW_MS, answered, driven, failed, held, steps_of

ORIGIN = "https://a.test"
URL = ORIGIN + "/robots.txt"
BODY = b"User-agent: *\nCrawl-delay: 3\nDisallow: /private\n"
COPY = RobotsGate.of(ORIGIN, "rules", 200, b"User-agent: *\nDisallow: /old\n", 0, 1e9)
ELSEWHERE = Row(9, "https://b.test/robots.txt", 0, Kind.ROBOTS, 1, 0, 0, ORIGIN)


def robots(status: int | None = 200, **more: Any) -> FetchResult:
    return answered(status, url=URL, body=BODY, **more)


@pytest.mark.requirement("RB-02")
@pytest.mark.parametrize(
    ("answer", "before", "settings", "access", "failures", "rest", "reason"),
    [
        (robots(200), None, {}, "rules", 0, 3000, None),  # by the delay that it has told
        (robots(404), None, {}, "allow_all", 0, 1000, None),
        (robots(403), None, {}, "allow_all", 0, 1000, None),
        (robots(500), None, {}, "hold", 1, 10_000, "robots_unreachable"),
        (robots(500), None, {"robots__on_error": "allow"}, "hold", 1, 1000, None),  # what was answered, without a rest
        (robots(429), None, {}, "hold", 1, 10_000, "robots_unreachable"),
        (failed(Reason.TIMEOUT), None, {}, "hold", 1, 10_000, "robots_unreachable"),
        (failed(Reason.NXDOMAIN), None, {}, "hold", 1, 10_000, "robots_unreachable"),
        (robots(200, truncated="disconnect"), None, {}, "hold", 1, 10_000, "robots_unreachable"),
        (robots(200, truncated="length"), None, {}, "rules", 0, 3000, None),
        (robots(500), RobotsGate(ORIGIN, "hold", 1e9, 3), {}, "hold", 4, 80_000, "robots_unreachable"),
        (robots(500), RobotsGate(ORIGIN, "hold", 1e9, 4), {}, "hold", 5, 1000, None),  # it gave up: no rest is owed
        (robots(200), RobotsGate(ORIGIN, "hold", 1e9, 4), {}, "rules", 0, 3000, None),
    ],
)
def test_answers(
    answer: FetchResult,
    before: RobotsGate | None,
    settings: dict[str, object],
    access: str,
    failures: int,
    rest: float,
    reason: str | None,
) -> None:
    crawl = live_crawl(**settings)
    host = held(crawl)
    host.gates = {ORIGIN: before} if before else {}
    visit = driven(ask_robots(host, crawl, ORIGIN), answer)
    assert visit.robots is not None and visit.gate is not None and visit.host is not None
    assert (visit.robots.access, visit.robots.failures, visit.robots.host) == (access, failures, "a.test")
    assert (visit.gate.access, visit.gate.failures) == (access, failures)
    assert (visit.host.rest_ms, visit.host.rest_reason) == (rest, reason)
    assert visit.host.pace.crawl_delay_ms == (3000 if access == "rules" else None)
    assert visit.ending is None and visit.retry is None
    assert host.gates == ({ORIGIN: before} if before else {}), "a visit changes nothing"


@pytest.mark.parametrize(("failures", "access"), [(0, None), (3, None), (4, "hold")])
def test_a_copy_from_before_stays_in_force_while_a_new_one_cannot_be_had(failures: int, access: str | None) -> None:
    crawl = live_crawl()
    host = held(crawl)
    host.gates = {ORIGIN: RobotsGate(ORIGIN, "rules", 0.0, failures, COPY.file)}
    visit = driven(ask_robots(host, crawl, ORIGIN), failed(Reason.TIMEOUT))
    assert visit.gate is not None and (visit.robots.access if visit.robots else None) == access
    if access is None:
        assert visit.gate.file is COPY.file and visit.gate.failures == failures + 1
        assert visit.gate.expires_tick == 10_000 * 2**failures


def test_a_host_that_does_not_exist_is_given_up_without_a_record() -> None:
    crawl = live_crawl()
    visit = driven(ask_robots(held(crawl, Pace(nxdomain=1)), crawl, ORIGIN), failed(Reason.NXDOMAIN))
    assert visit.host is not None and visit.host.dead and visit.robots is None and visit.gate is None


def test_hops_inside_the_host_are_followed_up_to_a_number() -> None:
    crawl = live_crawl()
    answers = [answered(301, url=URL, Location=f"/{hop}") for hop in range(ROBOTS_HOPS_MAX + 1)]
    visit, steps = steps_of(ask_robots(held(crawl), crawl, ORIGIN), answers)
    asked = [step.url for step in steps if isinstance(step, FetchRequest)]
    assert asked == [URL, *(f"{ORIGIN}/{hop}" for hop in range(ROBOTS_HOPS_MAX))]
    assert visit.robots is not None and visit.robots.access == "allow_all", "RFC 9309 2.3.1.2: as if there were none"


def test_a_hop_to_another_host_becomes_a_row_there() -> None:
    crawl = live_crawl()
    visit = driven(ask_robots(held(crawl), crawl, ORIGIN), answered(301, url=URL, Location=ELSEWHERE.url))
    (child,) = visit.children
    assert (child.host, child.url, child.kind, child.raw, child.hops) == (
        "b.test",
        ELSEWHERE.url,
        Kind.ROBOTS,
        ORIGIN,
        1,
    )
    assert child.priority < 0, "whole hosts wait for it"
    assert visit.robots is not None and visit.robots.access == "pending"
    assert visit.gate is not None and visit.gate.pending(PENDING_MS_MAX - 1.0)


@pytest.mark.parametrize(
    ("answer", "hops", "state", "access", "children"),
    [
        (answered(200, url=ELSEWHERE.url, body=BODY), 1, UrlState.VISITED, "rules", []),
        (answered(404, url=ELSEWHERE.url), 1, UrlState.NOT_FOUND, "allow_all", []),
        (failed(Reason.PRIVATE_ADDRESS), 1, UrlState.FAILED, "hold", []),
        (
            answered(302, url=ELSEWHERE.url, Location="https://c.test/r"),
            1,
            UrlState.REDIRECTED,
            None,
            ["https://c.test/r"],
        ),
        (
            answered(302, url=ELSEWHERE.url, Location="https://c.test/r"),
            ROBOTS_HOPS_MAX,
            UrlState.REDIRECTED,
            "allow_all",
            [],
        ),
    ],
)
def test_the_row_on_the_other_host(
    answer: FetchResult, hops: int, state: UrlState, access: str | None, children: list[str]
) -> None:
    crawl = live_crawl()
    visit = driven(visit_robots(held(crawl), crawl, ELSEWHERE._replace(hops=hops)), answer)
    assert visit.ending is not None
    outcome = visit.ending.outcome
    assert (outcome.state, outcome.counts) == (state, False), "a robots.txt is no page"
    assert [child.url for child in outcome.children] == children
    assert (visit.robots.access if visit.robots else None) == access
    assert visit.robots is None or visit.robots.origin == ORIGIN, "it is the asking origin's"


def test_the_row_on_the_other_host_is_tried_again_and_has_an_end() -> None:
    """Else the origin, which hears of a failure, would ask anew, be redirected to an ended row, and wait for ever."""
    crawl = live_crawl(robots__attempts_max=3)
    for tries, rest_ms in ((0, 10_000), (1, 20_000)):
        visit = driven(visit_robots(held(crawl), crawl, ELSEWHERE._replace(tries=tries)), failed(Reason.CONNECT))
        assert visit.ending is None and visit.robots is None and visit.robots_failure == Reason.CONNECT
        assert visit.retry is not None and (visit.retry.in_ms, visit.retry.tries) == (rest_ms, tries + 1)
    visit = driven(visit_robots(held(crawl), crawl, ELSEWHERE._replace(tries=2)), failed(Reason.CONNECT))
    assert visit.retry is None and visit.ending is not None and visit.ending.outcome.state is UrlState.FAILED
    assert visit.robots is not None and (visit.robots.access, visit.robots.failures) == ("hold", 3), "it gave up"


def test_waiting_for_another_host_in_vain_has_an_end() -> None:
    crawl = live_crawl(robots__attempts_max=3)
    host, redirect = held(crawl), answered(301, url=URL, Location=ELSEWHERE.url)
    found = []
    for _ in range(4):
        visit = driven(ask_robots(host, crawl, ORIGIN), redirect)
        assert visit.robots is not None and visit.gate is not None
        host.gates = {ORIGIN: visit.gate}
        found.append((visit.robots.access, visit.robots.failures, len(visit.children)))
    assert found == [("pending", 0, 1), ("pending", 1, 1), ("pending", 2, 1), ("hold", 3, 0)]
    assert driven(ask_robots(host, crawl, ORIGIN), redirect).children, "once it has expired it is asked for again"


def test_each_time_that_an_origin_asks_is_a_row_of_its_own() -> None:
    first, same, later = (robots_child(1, ORIGIN, ELSEWHERE.url, 1, ms) for ms in (0, 1, PENDING_MS_MAX))
    assert first.key == same.key != later.key


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_asks_for_rest_gets_it_before_the_next_robots_txt(status: int) -> None:
    crawl = live_crawl(retry__retry_after_cap_ms=90_000)
    answer = {"60": (60_000, "retry_after"), "9": (10_000, "robots_unreachable"), "999": (90_000, "retry_after")}
    for asked, rest in answer.items():
        visit = driven(ask_robots(held(crawl), crawl, ORIGIN), robots(status, **{"Retry-After": asked}))
        assert visit.host is not None and (visit.host.rest_ms, visit.host.rest_reason) == rest
    row = driven(visit_robots(held(crawl), crawl, ELSEWHERE), robots(status, **{"Retry-After": "60"}))
    assert row.host is not None and (row.host.rest_ms, row.host.rest_reason) == (60_000, "retry_after")


def test_a_copy_lasts_for_some_requests_however_long_the_delay_is() -> None:
    """Else the host would be asked for robots.txt alone: each copy would expire before the next request may start."""
    crawl = live_crawl(robots__cache_seconds=60, polite__crawl_delay_cap_ms=300_000)
    answer = answered(200, url=URL, body=b"User-agent: *\nCrawl-delay: 120")
    visit = driven(ask_robots(held(crawl), crawl, ORIGIN), answer)
    assert visit.robots is not None and visit.gate is not None and visit.host is not None
    assert visit.host.rest_ms == 120_000 and visit.robots.expires_in_ms == visit.gate.expires_tick == 1_200_000


def test_a_blocked_row_cannot_be_had_for_the_asking_origin() -> None:
    crawl = live_crawl()
    visit = refuse_robots(crawl, ELSEWHERE, Reason.RULE, NOW_MS)
    assert visit.ending is not None and visit.ending.outcome.state is UrlState.EXCLUDED
    assert visit.robots is not None
    known = visit.robots
    assert (known.origin, known.access, known.failures) == (ORIGIN, "hold", crawl.settings.robots.attempts_max)
