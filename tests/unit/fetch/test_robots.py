"""A robots.txt that is asked for outside of any crawl: what is followed, and what an answer means."""

import asyncio

from nephila.fetch.fetcher import FetchRequest, FetchResult
from nephila.fetch.robots import FETCH_BYTES_MAX, RobotsAnswer, fetch_robots
from nephila.models import Reason
from nephila.profiles import crawl_settings
from nephila.robots.access import ROBOTS_HOPS_MAX
from tests.unit.worker.test_visit import NOW_MS, answered, failed

ORIGIN, URL = "https://a.test", "https://a.test/robots.txt"
ELSEWHERE = "https://b.test/r.txt"
TEXT = b"User-agent: *\nDisallow: /x"


class FixedAnswers:
    def __init__(self, answers: dict[str, FetchResult]) -> None:
        self.answers, self.asked = answers, list[FetchRequest]()

    async def fetch(self, request: FetchRequest) -> FetchResult:
        self.asked.append(request)
        return self.answers[request.url]

    def body_bytes(self) -> int:
        return 0

    def abort(self) -> None:
        pass

    async def close(self) -> None:
        pass


def asked(answers: dict[str, FetchResult]) -> tuple[RobotsAnswer, list[str], list[float]]:
    fetcher, rests = FixedAnswers(answers), list[float]()

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    found = asyncio.run(fetch_robots(fetcher, crawl_settings(), "Bot/1", ORIGIN, rest))
    assert {request.body_bytes_max for request in fetcher.asked} == {FETCH_BYTES_MAX}
    return found, [request.url for request in fetcher.asked], rests


def test_a_redirect_is_followed_after_a_rest() -> None:
    moved, there = answered(301, url=URL, location=ELSEWHERE), answered(200, url=ELSEWHERE, body=TEXT)
    found, urls, rests = asked({URL: moved, ELSEWHERE: there})
    assert (found.access, found.status, found.body, found.fetched_at) == ("rules", 200, TEXT, NOW_MS)
    assert (urls, rests) == ([URL, ELSEWHERE], [1.0])


def test_none_is_everything_allowed_and_no_answer_is_not() -> None:
    assert asked({URL: answered(404, url=URL, body=TEXT)})[0] == RobotsAnswer(
        "allow_all", 404, b"", NOW_MS, "status 404"
    )
    assert asked({URL: answered(503, url=URL)})[0].access == "hold"
    assert asked({URL: failed(Reason.TIMEOUT)})[0].access == "hold"


def test_redirects_in_a_circle_end_and_are_no_robots_txt() -> None:
    found, urls, rests = asked({URL: answered(302, url=URL, location=URL)})
    assert found.access == "allow_all"
    assert (len(urls), len(rests)) == (ROBOTS_HOPS_MAX + 1, ROBOTS_HOPS_MAX)
