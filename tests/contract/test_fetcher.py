"""The contract of a fetcher (fetch/fetcher.py): every test here holds for every kind."""

import asyncio
import re
import socket
import struct
from collections.abc import AsyncIterator, Callable

import pytest
import uvloop

from nephila.clock import SystemClock
from nephila.fetch.body import decode_body
from nephila.fetch.curl import CurlFetcher
from nephila.fetch.fetcher import Fetcher, FetchRequest, FetchResult
from nephila.fetch.resolver import Resolver
from nephila.models import Reason, UrlState
from nephila.profiles import FetchSettings
from nephila.worker.visit import verdict_of
from tests.patience import PATIENCE_MS, PATIENCE_SECONDS
from tests.site.evil.answers import BROKEN
from tests.site.raw import OK, RawSite, answer, drip, raw_site, silence

pytestmark = pytest.mark.filterwarnings("ignore:Overriding the .event_loop_policy")

Kind = Callable[[Resolver], Fetcher]
FETCHERS: dict[str, Kind] = {"curl": lambda resolver: CurlFetcher(SystemClock(), resolver)}

AGENT = "Nephila/test (+https://example.com/bot)"
NAMES = {"site.test": "127.0.0.1", "dead.test": "127.0.0.9"}
SETTINGS = FetchSettings(allow_private=True, total_timeout_ms=PATIENCE_MS)
GUARDED = FetchSettings(total_timeout_ms=PATIENCE_MS)


@pytest.fixture
def event_loop_policy() -> asyncio.AbstractEventLoopPolicy:
    return uvloop.EventLoopPolicy()


@pytest.fixture
async def site() -> AsyncIterator[RawSite]:
    async with raw_site() as site:
        yield site


@pytest.fixture(params=FETCHERS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return FETCHERS[request.param]


@pytest.fixture
async def fetcher(kind: Kind) -> AsyncIterator[Fetcher]:
    resolver = Resolver(SystemClock(), fixed=NAMES)
    fetcher = kind(resolver)
    yield fetcher
    await fetcher.close()
    await resolver.close()


async def get(fetcher: Fetcher, url: str, settings: FetchSettings = SETTINGS, **more: object) -> FetchResult:
    return await fetcher.fetch(FetchRequest(url, settings, AGENT, **more))  # type: ignore[arg-type]


async def test_a_page_arrives_as_it_was_sent(site: RawSite, fetcher: Fetcher) -> None:
    result = await get(fetcher, site.url("/a?b=c#frag", "site.test"))
    assert (result.status, result.error, result.truncated, result.protocol) == (200, Reason.NONE, None, "http/1.1")
    assert result.header_bytes + result.body == OK
    assert result.header("content-length") == "2"
    assert result.headers().pairs == [("Content-Type", "text/html"), ("Content-Length", "2")]
    assert result.ip == "127.0.0.1"
    assert result.started_at > 1_600_000_000_000
    assert 0 < result.timing.connect_ms <= result.timing.total_ms
    assert 0 < result.timing.first_byte_ms <= result.timing.total_ms


async def test_further_headers_of_one_request_do_not_stay(site: RawSite, fetcher: Fetcher) -> None:
    first = await get(fetcher, site.url(), headers=(("If-Modified-Since", "x"),))
    second = await get(fetcher, site.url())
    assert [first.request_bytes, second.request_bytes] == site.heads
    assert b"If-Modified-Since" not in site.heads[1]


async def test_credentials_are_never_sent(site: RawSite, fetcher: Fetcher) -> None:
    result = await get(fetcher, f"http://user:secret@127.0.0.1:{site.port}/")
    assert result.status == 200
    assert b"Authorization" not in site.heads[0]


async def test_many_at_once(site: RawSite, fetcher: Fetcher) -> None:
    results = await asyncio.gather(*(get(fetcher, site.url(f"/{number}")) for number in range(100)))
    assert {result.status for result in results} == {200}
    assert sorted(result.request_bytes for result in results) == sorted(site.heads)


async def test_redirects_and_cookies_are_left_to_us(site: RawSite, fetcher: Fetcher) -> None:
    site.answers[b"/from"] = answer(b"HTTP/1.1 302 Found", b"Location: /to", b"Set-Cookie: a=b", b"Content-Length: 0")
    result = await get(fetcher, site.url("/from"))
    assert (result.status, result.header("location")) == (302, "/to")
    await get(fetcher, site.url("/again"))
    assert len(site.heads) == 2
    assert b"Cookie" not in site.heads[1]


@pytest.mark.requirement("R-11", "R-22")
@pytest.mark.parametrize("name", BROKEN)
async def test_broken_answers(site: RawSite, fetcher: Fetcher, name: str) -> None:
    case = BROKEN[name]
    site.answers[b"/odd"] = (b"CLOSE" if case.close else b"") + case.sent
    result = await get(fetcher, site.url("/odd"))
    assert (result.status or result.error, result.truncated) == (case.outcome, case.truncated), result
    verdict = verdict_of(result)
    assert verdict.reason is not Reason.POISON and (result.status or verdict.state is UrlState.FAILED)
    if result.status is None:
        assert result.detail and not result.body
    else:
        assert result.error is Reason.NONE
        sent = re.sub(rb"\r\n[ \t]+", b" ", case.sent) if "folded" in name else case.sent
        assert result.header_bytes + result.body in sent, "archived as it was sent, but for folded lines"
        decoded = decode_body(result.headers(), result.body, 1_000_000)
        assert (decoded.body, bool(decoded.problem)) == (case.body, bool(case.problem)), decoded.problem
        assert decoded.problem.startswith(case.problem)
    good = await get(fetcher, site.url("/good"))
    assert (good.status, good.body) == (200, b"hi"), "one bad answer harms no other"


def test_kinds_of_broken_answers() -> None:
    assert len({(case.sent, case.close) for case in BROKEN.values()}) == len(BROKEN) >= 80


async def test_chunked_bodies_arrive_raw(site: RawSite, fetcher: Fetcher) -> None:
    wire = b"2;ext=1\r\nhi\r\n3\r\n yo\r\n0\r\nTrailer: x\r\n\r\n"
    site.answers[b"/"] = answer(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", body=wire)
    result = await get(fetcher, site.url())
    assert result.body == wire
    assert decode_body(result.headers(), result.body, 99).body == b"hi yo"
    assert (await get(fetcher, site.url())).status == 200
    assert site.connections == 1, "the end of a chunked body is seen, so the connection is reused"


async def reset_in_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def drip_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def test_a_reset_in_the_body_keeps_what_came(site: RawSite, fetcher: Fetcher) -> None:
    site.answers[b"/"] = reset_in_body
    result = await get(fetcher, site.url())
    assert (result.status, result.body, result.truncated, result.error) == (200, b"half", "disconnect", Reason.NONE)


@pytest.mark.requirement("W-04", "W-05", "W-21", "K33")
async def test_the_total_deadline_keeps_what_came(site: RawSite, fetcher: Fetcher) -> None:
    site.answers[b"/"] = drip
    result = await get(fetcher, site.url(), total_timeout_ms=3000)  # a busy machine may take a second for the head
    assert (result.status, result.truncated, result.error) == (200, "time", Reason.NONE)
    assert 0 < len(result.body) < 1000
    assert result.timing.total_ms >= 2990


@pytest.mark.requirement("W-05")
async def test_a_head_that_never_ends_is_a_timeout(site: RawSite, fetcher: Fetcher) -> None:
    site.answers[b"/"] = drip_headers
    result = await get(fetcher, site.url(), total_timeout_ms=150)
    assert (result.status, result.error) == (None, Reason.TIMEOUT)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://dead.test:1/", "http://255.255.255.255/"])
async def test_no_connection(fetcher: Fetcher, url: str) -> None:
    result = await get(fetcher, url)
    assert (result.error, result.status) == (Reason.CONNECT, None)
    assert result.ip


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "nonsense", "http://\ud800/", "http://[::1", "http://a b/", ""])
async def test_what_is_no_url(fetcher: Fetcher, url: str) -> None:
    assert (await get(fetcher, url)).error is Reason.PROTOCOL


@pytest.mark.parametrize("size", [102_400, 9_437_184])
async def test_the_body_limit_cuts_exactly(site: RawSite, fetcher: Fetcher, size: int) -> None:
    body = bytes(range(251)) * (size // 251)  # no piece of it begins as another does
    site.answers[b"/"] = answer(b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), body=body)
    cut = await get(fetcher, site.url(), body_bytes_max=size // 2 + 1)
    assert (cut.status, cut.truncated, cut.error) == (200, "length", Reason.NONE)
    assert cut.body == body[: size // 2 + 1]
    whole = await get(fetcher, site.url(), body_bytes_max=len(body))
    assert (whole.truncated, whole.body) == (None, body)


@pytest.mark.parametrize("path", ["/", "/dripping"])
async def test_the_guard_refuses_before_a_connection(site: RawSite, fetcher: Fetcher, path: str) -> None:
    for host in ("127.0.0.1", "site.test", "localhost", "2130706433", "[::ffff:127.0.0.1]"):
        result = await get(fetcher, site.url(path, host), GUARDED)
        assert (result.error, result.status) == (Reason.PRIVATE_ADDRESS, None), host
        assert "loopback" in result.detail or "mapped" in result.detail
    assert site.connections == 0


async def test_abort_ends_everything_in_flight(site: RawSite, fetcher: Fetcher) -> None:
    site.answers[b"/"] = silence
    site.answers[b"/drip"] = drip
    tasks = [asyncio.create_task(get(fetcher, site.url(path))) for path in ("/", "/drip", "/")]
    await site.received(3)
    fetcher.abort()
    for result in await asyncio.gather(*tasks):
        assert result.aborted
        assert (result.error, result.detail, result.status) == (Reason.RESET, "aborted", None)
    after = await get(fetcher, site.url("/good"))
    assert (after.status, after.aborted) == (200, False)


async def test_abort_ends_a_name_look_up(kind: Kind) -> None:
    mute = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    mute.bind(("127.0.0.1", 0))
    resolver = Resolver(SystemClock(), servers=[f"127.0.0.1:{mute.getsockname()[1]}"])
    fetcher = kind(resolver)
    task = asyncio.create_task(get(fetcher, "http://slow.test/"))
    late = await get(fetcher, "http://slow.test/", total_timeout_ms=50)
    assert (late.error, late.detail, late.aborted) == (Reason.TIMEOUT, "dns deadline passed", False)
    assert late.timing.dns_ms >= 40
    fetcher.abort()
    result = await task
    assert (result.aborted, result.detail) == (True, "aborted")
    await fetcher.close()
    await resolver.close()
    mute.close()


async def test_close_ends_everything(site: RawSite, kind: Kind) -> None:
    closed = asyncio.Event()

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await reader.read()  # until the other side closes the connection
        closed.set()

    site.answers |= {b"/silent": silence, b"/idle": answer_once}
    fetcher = kind(Resolver(SystemClock(), fixed=NAMES))
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert (await get(fetcher, site.url("/idle", "site.test"))).status == 200
        task = asyncio.create_task(get(fetcher, site.url("/silent")))
        await site.received(2)
        await fetcher.close()
        assert (await task).aborted
        await closed.wait()
