"""Requests through a proxy: what it is told, how it fails, and that it is no way around the guard."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import uvloop

from nephila.clock import SystemClock
from nephila.fetch.curl import CurlFetcher
from nephila.fetch.fetcher import FetchRequest, FetchResult
from nephila.fetch.resolver import DnsAnswer, Resolver
from nephila.models import Reason
from nephila.profiles import FetchSettings
from tests.patience import PATIENCE_MS
from tests.site.evil.addresses import NO_HOSTS, PRIVATE_HOSTS
from tests.site.raw import RawSite, answer, raw_site

pytestmark = pytest.mark.filterwarnings("ignore:Overriding the .event_loop_policy")

AGENT = "Nephila/test (+https://example.com/bot)"
PUBLIC, PRIVATE = "93.184.215.14", "10.0.0.7"
NAMES = {"far.test": PUBLIC, "inside.test": PRIVATE, "mapped.test": "::ffff:10.0.0.7", "proxy.test": "127.0.0.1"}


@pytest.fixture
def event_loop_policy() -> asyncio.AbstractEventLoopPolicy:
    return uvloop.EventLoopPolicy()


@pytest.fixture
async def site() -> AsyncIterator[RawSite]:
    """The proxy."""
    async with raw_site() as site:
        yield site


@pytest.fixture
async def resolver() -> AsyncIterator[Resolver]:
    resolver = Resolver(SystemClock(), fixed=NAMES)
    yield resolver
    await resolver.close()


@pytest.fixture
async def fetcher(resolver: Resolver) -> AsyncIterator[CurlFetcher]:
    fetcher = CurlFetcher(SystemClock(), resolver)
    yield fetcher
    await fetcher.close()


def through(proxy: str, **more: bool) -> FetchSettings:
    return FetchSettings(proxy=proxy, total_timeout_ms=PATIENCE_MS, **more)  # type: ignore[arg-type]


async def get(fetcher: CurlFetcher, url: str, settings: FetchSettings) -> FetchResult:
    return await fetcher.fetch(FetchRequest(url, settings, AGENT))


async def test_an_http_proxy_sees_the_absolute_url(site: RawSite, fetcher: CurlFetcher) -> None:
    settings = through(f"http://user:secret@127.0.0.1:{site.port}")
    result = await get(fetcher, "http://far.test/%7ea?b", settings)
    assert (result.status, result.ip) == (200, None)
    assert site.heads[0].startswith(b"GET http://far.test/%7ea?b HTTP/1.1\r\nHost: far.test\r\n")
    assert b"secret" not in result.request_bytes


async def test_a_proxy_that_fails(site: RawSite, fetcher: CurlFetcher) -> None:
    dead = await get(fetcher, "http://far.test/", through("http://127.0.0.1:1"))
    assert dead.error is Reason.PROXY
    site.answers[b"far.test:443"] = answer(b"HTTP/1.1 403 No", b"Content-Length: 0", close=True)
    refusing = await get(fetcher, "https://far.test/", through(f"http://127.0.0.1:{site.port}"))
    assert (refusing.error, refusing.status) == (Reason.PROXY, None)


@pytest.mark.parametrize("scheme", ["http", "socks5"])
@pytest.mark.parametrize("host", PRIVATE_HOSTS.values(), ids=PRIVATE_HOSTS)
async def test_a_private_target_is_not_told_to_the_proxy(
    site: RawSite, fetcher: CurlFetcher, host: str, scheme: str
) -> None:
    settings = through(f"{scheme}://127.0.0.1:{site.port}")
    for url in (f"http://{host}/", f"https://{host}/robots.txt", f"http://user@{host}:8080/x"):
        result = await get(fetcher, url, settings)
        assert (result.error, result.status) == (Reason.PRIVATE_ADDRESS, None), result.detail
    assert site.connections == 0


@pytest.mark.parametrize("host", NO_HOSTS.values(), ids=NO_HOSTS)
async def test_what_is_no_host_is_not_told_to_the_proxy(site: RawSite, fetcher: CurlFetcher, host: str) -> None:
    result = await get(fetcher, f"http://{host}/", through(f"http://127.0.0.1:{site.port}"))
    assert (result.error, site.connections) == (Reason.PROTOCOL, 0), result.detail


async def test_a_name_with_a_private_address_is_not_told_to_the_proxy(
    site: RawSite, fetcher: CurlFetcher, resolver: Resolver
) -> None:
    settings = through(f"http://127.0.0.1:{site.port}")
    for name in ("inside.test", "mapped.test"):
        inside = await get(fetcher, f"http://{name}/", settings)
        assert (inside.error, site.connections) == (Reason.PRIVATE_ADDRESS, 0)
    resolver._keep("both.test", DnsAnswer((PUBLIC, PRIVATE)))
    both = await get(fetcher, "http://both.test/", settings)
    assert (both.error, both.detail) == (Reason.PRIVATE_ADDRESS, f"{PRIVATE} is private"), "the proxy may take either"
    assert site.connections == 0


async def test_a_name_that_cannot_be_judged_is_not_told_to_the_proxy(
    site: RawSite, fetcher: CurlFetcher, resolver: Resolver
) -> None:
    """The proxy may know names of its own network: a guard that lets unknown names pass would be none."""
    resolver._keep("intranet.test", DnsAnswer(error=Reason.NXDOMAIN, detail="Domain name not found"))
    settings = through(f"http://127.0.0.1:{site.port}")
    unknown = await get(fetcher, "http://intranet.test/", settings)
    assert (unknown.error, site.connections) == (Reason.NXDOMAIN, 0)
    assert "fetch.allow_private" in unknown.detail


async def test_without_the_guard_names_are_left_to_the_proxy(site: RawSite, fetcher: CurlFetcher) -> None:
    settings = through(f"http://127.0.0.1:{site.port}", allow_private=True)
    for host in ("never-looked-up.test", "inside.test", "127.0.0.1"):
        assert (await get(fetcher, f"http://{host}/", settings)).status == 200
    assert site.heads[0].startswith(b"GET http://never-looked-up.test/ HTTP/1.1\r\n")


@pytest.mark.parametrize("proxy", ["http://127.0.0.1", "http://2130706433", "http://localhost", "socks5://127.1"])
async def test_a_private_proxy_needs_an_operator_who_permits_it(site: RawSite, resolver: Resolver, proxy: str) -> None:
    fetcher = CurlFetcher(SystemClock(), resolver, private_proxies=False)
    for url in ("http://far.test/", "https://far.test/"):
        refused = await get(fetcher, url, through(f"{proxy}:{site.port}"))
        assert (refused.error, site.connections) == (Reason.PROXY, 0)
        assert "--allow-private" in refused.detail and ("loopback" in refused.detail)
    await fetcher.close()
