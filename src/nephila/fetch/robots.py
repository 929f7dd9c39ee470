"""robots.txt over the network: what is asked for, what an answer holds, where it leads."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nephila.fetch.body import decode_body
from nephila.fetch.fetcher import Fetcher, FetchRequest, FetchResult
from nephila.models import UrlState
from nephila.policy.classify import classify_http
from nephila.profiles import CrawlSettings, RobotsOnError
from nephila.robots.access import ROBOTS_HOPS_MAX, RobotsAccess, access_of
from nephila.robots.rules import ROBOTS_BYTES_MAX
from nephila.urls.normalize import parse

FETCH_BYTES_MAX = ROBOTS_BYTES_MAX + 1  # one more than the parser reads, so that it knows of a cut


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """What an origin answered. `access` is by RFC 9309."""

    access: RobotsAccess
    status: int | None
    body: bytes
    fetched_at: int
    detail: str


async def fetch_robots(
    fetcher: Fetcher, settings: CrawlSettings, user_agent: str, origin: str, rest: Callable[[float], Awaitable[None]]
) -> RobotsAnswer:
    """Ask an origin once, outside of any crawl. Redirects are followed, also to other hosts; `rest` is called with the
    seconds between two requests."""
    url, wait = origin + "/robots.txt", settings.polite.floor_ms / 1000
    for hop in range(ROBOTS_HOPS_MAX + 1):
        request = FetchRequest(url, settings.fetch, user_agent, settings.robots.timeout_ms, FETCH_BYTES_MAX)
        result = await fetcher.fetch(request)
        target = robots_target(result)
        if target is None or hop == ROBOTS_HOPS_MAX:
            break
        url = target
        await rest(wait)
    return answer_of(result)


def answer_of(result: FetchResult) -> RobotsAnswer:
    """What was answered. What it permits is judged by the policy of each crawl (`access_for`), which this is not."""
    torn, status = result.truncated in ("time", "disconnect"), result.status
    access = access_of(None if torn else status, RobotsOnError.RFC9309)
    found = status is not None and 200 <= status < 300
    body = decode_body(result.headers(), result.body, FETCH_BYTES_MAX).body if found else b""
    return RobotsAnswer(access, status, body, result.started_at, result.detail or f"status {status}")


def robots_target(result: FetchResult) -> str | None:
    """Where a robots.txt was redirected to, as an absolute http(s) URL."""
    if result.status is None or classify_http(result.status).state is not UrlState.REDIRECTED:
        return None
    target = parse(result.header("location") or "", result.url)
    return target.partition("#")[0] if target and target.startswith(("http://", "https://")) else None
