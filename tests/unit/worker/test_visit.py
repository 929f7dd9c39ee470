"""A visit as a value: one line per answer of a host, without an event loop and without a network."""

from collections.abc import Iterable
from typing import Any

import pytest

from nephila.extract.reader import PageReading, ParseFailure
from nephila.fetch.fetcher import FetchRequest, FetchResult
from nephila.frontier.store import Row
from nephila.models import Kind, Reason, Refusal, Timing, UrlState
from nephila.policy.politeness import Pace
from nephila.policy.robots_gate import RobotsGate
from nephila.urls.admission import Found
from nephila.urls.blocks import Blocks
from nephila.urls.identity import url_key
from nephila.worker.crawls import LiveCrawl
from nephila.worker.scheduler import Host, Queue
from nephila.worker.visit import (
    CRASH_RETRY_MS,
    Answer,
    Read,
    Steps,
    Visit,
    packed_links,
    refuse_page,
    visit_page,
)
from tests.unit.worker.test_scheduler import live_crawl

ZIPS = "paths that end in .zip are skipped"
URL = "https://a.test/x"
NOW_MS = 1_700_000_000_000
ROW = Row(7, URL, 1, Kind.PAGE, 0, 0, 0, None)
SEED = ROW._replace(depth=0)
NEXT = "https://a.test/next"


def held(crawl: LiveCrawl, pace: Pace | None = None) -> Host:
    host = Host("a.test", 0, 0.0, pace or Pace(), 0, "")
    host.add(Queue(1, crawl, host, 0))
    return host


def answered(
    status: int | None = 200,
    *,
    url: str = URL,
    error: Reason = Reason.NONE,
    truncated: str | None = None,
    body: bytes = b"body",
    **headers: str,
) -> FetchResult:
    lines = [f"HTTP/1.1 {status} X", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    head = "\r\n".join([*lines, "", ""]).encode() if status is not None else b""
    result = FetchResult(url, NOW_MS, status, "http/1.1", head, body if status is not None else b"")
    result.error, result.truncated, result.timing = error, truncated, Timing(total_ms=100.0)
    return result


def failed(error: Reason) -> FetchResult:
    return answered(None, error=error)


def driven(steps: Steps, *answers: FetchResult | PageReading | ParseFailure, blocks: Blocks = Blocks()) -> Visit:
    """The visit after these answers, one for each step."""
    return steps_of(steps, answers, blocks)[0]


def steps_of(
    steps: Steps, answers: Iterable[Any], blocks: Blocks = Blocks()
) -> tuple[Visit, list[FetchRequest | Read]]:
    asked = [next(steps)]
    try:
        for answer in answers:
            fetched = isinstance(asked[-1], FetchRequest)
            asked.append(steps.send(Answer(answer, NOW_MS, 0.0, blocks) if fetched else answer))
    except StopIteration as returned:
        return returned.value, asked
    raise AssertionError(f"it wants more: {asked[-1]}")


def kept(visit: Visit) -> tuple[str, str]:
    """The state that the row ends in, or `retry`, and the reason."""
    if visit.retry is not None:
        assert visit.ending is None
        return "retry", visit.retry.reason
    assert visit.ending is not None
    return visit.ending.outcome.state, visit.ending.outcome.reason


def last_try(row: Row, crawl: LiveCrawl) -> Row:
    return row._replace(tries=crawl.retry.max)


# --- status and error: what becomes of the row, and of its host


@pytest.mark.parametrize(
    ("answer", "tries_left", "errors", "expected", "rest", "dead"),
    [
        # final answers
        (answered(404), True, 0, (UrlState.NOT_FOUND, ""), "", False),
        (answered(403), True, 0, (UrlState.FORBIDDEN, ""), "cooldown", False),
        (answered(410), True, 0, (UrlState.HTTP_ERROR, Reason.HTTP_4XX), "", False),
        (answered(600), True, 0, (UrlState.HTTP_ERROR, ""), "", False),
        # tried again while tries are left
        (answered(500), True, 0, ("retry", Reason.HTTP_5XX), "cooldown", False),
        (answered(500), False, 0, (UrlState.HTTP_ERROR, Reason.HTTP_5XX), "cooldown", False),
        (answered(408), True, 0, ("retry", Reason.HTTP_4XX), "", False),
        (answered(408), False, 0, (UrlState.HTTP_ERROR, Reason.HTTP_4XX), "", False),
        (answered(429), True, 0, ("retry", Reason.RATE_LIMITED), "rate_limited", False),
        (answered(429, Retry_After="30"), True, 0, ("retry", Reason.RATE_LIMITED), "retry_after", False),
        (answered(503, Retry_After="90"), True, 0, ("retry", Reason.HTTP_5XX), "retry_after", False),
        (answered(500, Retry_After="90"), True, 0, ("retry", Reason.HTTP_5XX), "cooldown", False),  # no hint
        # transport errors
        (failed(Reason.TIMEOUT), True, 0, ("retry", Reason.TIMEOUT), "cooldown", False),
        (failed(Reason.TIMEOUT), False, 0, (UrlState.FAILED, Reason.TIMEOUT), "cooldown", False),
        (failed(Reason.CONNECT), True, 0, ("retry", Reason.CONNECT), "cooldown", False),
        (failed(Reason.RESET), True, 0, ("retry", Reason.RESET), "cooldown", False),
        (failed(Reason.DNS), True, 0, ("retry", Reason.DNS), "cooldown", False),
        (failed(Reason.NXDOMAIN), True, 0, ("retry", Reason.NXDOMAIN), "nxdomain", False),
        (failed(Reason.TLS), True, 0, (UrlState.FAILED, Reason.TLS), None, False),
        (failed(Reason.PROXY), True, 0, ("retry", Reason.PROXY), None, False),
        (failed(Reason.HEADERS_TOO_LONG), True, 0, (UrlState.FAILED, Reason.HEADERS_TOO_LONG), None, False),
        (failed(Reason.PRIVATE_ADDRESS), True, 0, (UrlState.FAILED, Reason.PRIVATE_ADDRESS), None, False),
        # the host's state: the fifth error in a row backs it off, the tenth kills it, whatever tries are left
        (failed(Reason.TIMEOUT), True, 4, ("retry", Reason.TIMEOUT), "backoff", False),
        (failed(Reason.TIMEOUT), True, 9, (UrlState.FAILED, Reason.TIMEOUT), None, True),
        (answered(500), True, 9, (UrlState.HTTP_ERROR, Reason.HTTP_5XX), None, True),
        (answered(404), True, 9, (UrlState.NOT_FOUND, ""), "", False),  # an answer ends the row of errors
    ],
)
def test_answers(
    answer: FetchResult, tries_left: bool, errors: int, expected: tuple[str, str], rest: str | None, dead: bool
) -> None:
    overrides: dict[str, object] = {"host__cooldown_base_ms": 900, "host__death_errors": 10}
    crawl = live_crawl(**overrides)
    host = held(crawl, Pace(errors=errors))
    row = ROW if tries_left else last_try(ROW, crawl)
    visit = driven(visit_page(host, crawl, row), answer)
    assert kept(visit) == expected
    assert visit.host is not None
    assert (visit.host.rest_reason, visit.host.dead) == (rest, dead)
    assert host.pace == Pace(errors=errors), "a visit changes nothing"


def test_a_hint_sets_the_time_of_the_next_try_and_of_the_host() -> None:
    crawl = live_crawl()
    visit = driven(visit_page(held(crawl), crawl, ROW), answered(503, Retry_After="90"))
    assert visit.retry is not None and visit.retry.in_ms == 90_000 and visit.retry.tries == 1
    assert visit.error == "status 503", "the cause is kept"
    assert visit.host is not None and visit.host.rest_ms == 90_000


@pytest.mark.parametrize(
    ("answers", "ended"),
    [
        ([429, 429, 503, 503], (UrlState.HTTP_ERROR, Reason.HTTP_5XX)),  # the 503 has the retry that it is owed
        ([503, 429, 429, 503], (UrlState.HTTP_ERROR, Reason.HTTP_5XX)),
        ([429] * 50, (UrlState.HTTP_ERROR, Reason.RATE_LIMITED)),  # retry.rate_limit_max
    ],
)
def test_rate_limits_use_up_no_try_in_broad(answers: list[int], ended: tuple[str, str]) -> None:
    """retry.max = 1: two tries that count."""
    crawl = live_crawl(retry__max=1, retry__rate_limit_counts=False)
    row, host = ROW, held(crawl)
    for number, status in enumerate(answers):
        visit = driven(visit_page(host, crawl, row), answered(status))
        assert visit.host is not None and not visit.host.dead
        host.pace = visit.host.pace
        if number < len(answers) - 1:
            assert visit.retry is not None, f"{status} is answered {number + 1} times"
            row = row._replace(tries=visit.retry.tries, limited=visit.retry.limited)
    assert kept(visit) == ended


def test_a_name_that_does_not_exist_is_asked_again() -> None:
    crawl = live_crawl()
    visit = driven(visit_page(held(crawl), crawl, ROW), failed(Reason.NXDOMAIN))
    assert visit.host is not None and visit.host.stale_name == "a.test" and visit.host.pace.nxdomain == 1
    again = driven(visit_page(held(crawl, visit.host.pace), crawl, ROW), failed(Reason.NXDOMAIN))
    assert again.host is not None and again.host.dead
    assert kept(again) == (UrlState.FAILED, Reason.NXDOMAIN)


# --- redirects


@pytest.mark.requirement("K06")
@pytest.mark.parametrize(
    ("location", "row", "settings", "reason", "children", "refusals", "joined"),
    [
        ("/next", ROW, {}, "", [NEXT], {}, ""),
        ("/next", ROW, {"redirects__mode": "record"}, "", [], {}, ""),
        ("/next", ROW._replace(hops=99), {}, Reason.REDIRECT_LOOP, [], {("a.test", Refusal.HOPS, ""): 1}, ""),
        ("/x#there", ROW, {}, Reason.REDIRECT_LOOP, [], {("a.test", Refusal.HOPS, ""): 1}, ""),
        ("", ROW, {}, Reason.REDIRECT_INVALID, [], {}, ""),
        ("http://[", ROW, {}, Reason.REDIRECT_INVALID, [], {("", Refusal.INVALID, ""): 1}, ""),
        ("mailto:x@y.test", ROW, {}, Reason.REDIRECT_INVALID, [], {("", Refusal.SCHEME, ""): 1}, ""),
        ("https://b.test/", ROW, {}, Reason.REDIRECT_OUT_OF_SCOPE, [], {("b.test", Refusal.SCOPE, ""): 1}, ""),
        (
            "/a.zip",
            ROW,
            {},
            Reason.REDIRECT_OUT_OF_SCOPE,
            [],
            {("a.test", Refusal.EXTENSION, ZIPS): 1},
            "",
        ),
        # a seed's target joins the scope, where the scope is of hosts and the target is to be visited
        (
            "https://b.test/",
            SEED,
            {"redirects__mode": "record"},
            Reason.REDIRECT_OUT_OF_SCOPE,
            [],
            {("b.test", Refusal.SCOPE, ""): 1},
            "",
        ),
        ("https://b.test/", SEED, {}, "", ["https://b.test/"], {}, "b.test"),
        # but no stranger joins a crawl that is loose, which its own hosts and private ones permit
        *(
            ("https://b.test/", SEED, loose, Reason.REDIRECT_OUT_OF_SCOPE, [], {("b.test", Refusal.SCOPE, ""): 1}, "")
            for loose in ({"polite__floor_ms": 40}, {"robots__mode": "ignore"}, {"robots__force": True})
        ),
        ("http://127.0.0.9/", SEED, {"polite__floor_ms": 40}, "", ["http://127.0.0.9/"], {}, "127.0.0.9"),
        (
            "https://b.test/",
            SEED,
            {"scope__mode": "list", "scope__hosts": ["a.test"]},
            Reason.REDIRECT_OUT_OF_SCOPE,
            [],
            {("b.test", Refusal.SCOPE, ""): 1},
            "",
        ),
    ],
)
def test_redirects(
    location: str,
    row: Row,
    settings: dict[str, object],
    reason: str,
    children: list[str],
    refusals: dict[tuple[str, Refusal, str], int],
    joined: str,
) -> None:
    crawl = live_crawl(**settings)
    headers = {"Location": location} if location else {}
    visit = driven(visit_page(held(crawl), crawl, row), answered(301, **headers))
    assert kept(visit) == (UrlState.REDIRECTED, reason)
    assert visit.ending is not None
    found = visit.ending.outcome.children
    assert [child.url for child in found] == children
    assert all((child.depth, child.hops, child.parent) == (row.depth, row.hops + 1, row.id) for child in found)
    assert (visit.refusals, visit.joined) == (refusals, joined)
    assert crawl.crawl.joined_hosts == (), "a visit changes nothing"


def test_a_blocked_target_is_refused() -> None:
    crawl = live_crawl()
    blocks = Blocks(patterns=[("*/next", "spam")])
    visit = driven(visit_page(held(crawl), crawl, ROW), answered(302, Location="/next"), blocks=blocks)
    assert visit.ending is not None and visit.ending.outcome.children == []
    assert visit.refusals == {("a.test", Refusal.RULE, "pattern */next is blocked: spam"): 1}


# --- hops inside the visit


FOLLOW = {"redirects__mode": "follow", "redirects__max_hops": 2, "scope__mode": "same_domain"}
GATE = RobotsGate.of("https://a.test", "rules", 200, b"User-agent: *\nDisallow: /private", 0, 1e9)


@pytest.mark.parametrize(
    ("locations", "settings", "blocks", "asked"),
    [
        (["/next"], {}, Blocks(), [URL, NEXT]),
        (["/next", "/next2"], {}, Blocks(), [URL, NEXT, "https://a.test/next2"]),
        (["/next", "/next2", "/next3"], {}, Blocks(), [URL, NEXT, "https://a.test/next2"]),  # max_hops
        (["/private"], {}, Blocks(), [URL]),  # robots.txt forbids it
        (["/private"], {"robots__mode": "ignore"}, Blocks(), [URL, "https://a.test/private"]),
        (["https://www.a.test/"], {}, Blocks(), [URL]),  # robots.txt of that origin is not known
        (["https://www.a.test/"], {"robots__mode": "ignore"}, Blocks(), [URL, "https://www.a.test/"]),
        (["https://b.test/"], {}, Blocks(), [URL]),
        (["/next"], {}, Blocks(patterns=[("*/next", "spam")]), [URL]),
        (["/next"], {"redirects__mode": "enqueue"}, Blocks(), [URL]),
    ],
)
def test_hops_inside_the_visit(
    locations: list[str], settings: dict[str, object], blocks: Blocks, asked: list[str]
) -> None:
    crawl = live_crawl(**FOLLOW | settings)
    host = held(crawl)
    host.gates = {GATE.origin: GATE}
    answers = [answered(301, url=url, Location=place) for url, place in zip(asked, locations, strict=False)]
    if len(asked) > len(locations):
        answers.append(answered(404, url=asked[-1]))
    visit, steps = steps_of(visit_page(host, crawl, ROW), answers, blocks)
    assert [step.url for step in steps if isinstance(step, FetchRequest)] == asked
    assert visit.ending is not None and visit.ending.outcome.page is not None
    if len(asked) > len(locations):
        assert visit.ending.outcome.page.redirect_to == asked[-1], "the page says where it was found"


# --- other spellings of the same URL


SLASH = {"norm__trailing_slash": "strip_except_root"}
FOLD = {"norm__fold_www": True, "norm__fold_scheme": True, "scope__mode": "any"}


@pytest.mark.requirement("N-10")
@pytest.mark.parametrize(
    ("locations", "settings", "asked", "end"),
    [
        (["/x/"], SLASH, [URL, URL + "/"], UrlState.NOT_FOUND),
        (["/x/"], SLASH | {"redirects__mode": "record"}, [URL, URL + "/"], UrlState.NOT_FOUND),
        (["/x/"], SLASH | {"redirects__mode": "follow"}, [URL, URL + "/"], UrlState.NOT_FOUND),
        (["/x/"], SLASH | {"redirects__max_hops": 0}, [URL, URL + "/"], UrlState.NOT_FOUND),  # it is the same URL
        (["/x/", "/x"], SLASH, [URL, URL + "/"], Reason.REDIRECT_LOOP),  # once for each spelling
        ([f"/x{'/' * n}" for n in range(1, 12)], SLASH, [URL + "/" * n for n in range(10)], Reason.REDIRECT_LOOP),
        (["/x/"], {}, [URL], UrlState.REDIRECTED),  # kept apart: another URL, with a row of its own
        # another origin: once its robots.txt is known
        (["https://www.a.test/x"], FOLD, [URL], "https://www.a.test/x"),
        (["http://a.test/x"], FOLD, [URL], "http://a.test/x"),
        (
            ["https://www.a.test/x"],
            FOLD | {"robots__mode": "ignore"},
            [URL, "https://www.a.test/x"],
            UrlState.NOT_FOUND,
        ),
    ],
)
def test_a_redirect_to_another_spelling_is_followed(
    locations: list[str], settings: dict[str, object], asked: list[str], end: str
) -> None:
    crawl = live_crawl(**settings)
    host = held(crawl)
    host.gates = {GATE.origin: GATE}
    answers = [answered(301, url=url, Location=place) for url, place in zip(asked, locations, strict=False)]
    answers += [answered(404, url=asked[-1])] * (len(asked) > len(locations))
    visit, steps = steps_of(visit_page(host, crawl, ROW), answers)
    assert [step.url for step in steps if isinstance(step, FetchRequest)] == asked
    if visit.ending is None:
        assert visit.respelled == end and visit.retry is None
    else:
        assert end in kept(visit) and not visit.respelled
        assert visit.ending.outcome.children == [] or end == UrlState.REDIRECTED


def test_the_first_spelling_is_asked_for_and_links_are_relative_to_the_last() -> None:
    crawl = live_crawl(**SLASH)
    row = ROW._replace(spelling="https://a.test/x/")
    _, steps = steps_of(visit_page(held(crawl), crawl, row), [answered(url=row.address), PageReading()])
    request, read = steps
    assert isinstance(request, FetchRequest) and request.url == "https://a.test/x/"
    assert isinstance(read, Read) and read.request.url == "https://a.test/x/"


# --- the page


def link(url: str) -> Found:
    return Found(url, "a.test", url_key(url), url)


@pytest.mark.requirement("K31")
@pytest.mark.parametrize("edges", [True, False])
def test_a_page_that_was_read(edges: bool) -> None:
    crawl = live_crawl(content__edges=edges)
    known, new = link("https://a.test/known"), link("https://a.test/new")
    crawl.known.update([known.key])
    refused = {("b.test", Refusal.SCOPE, ""): 3}
    reading = PageReading("utf-8", "Title", {"language": "en"}, [known, new], refused, ["https://b.test/"])
    reading.content, reading.body_bytes = b"decoded", 7
    visit, steps = steps_of(visit_page(held(crawl), crawl, ROW), [answered(200), reading])
    assert isinstance(steps[1], Read) and steps[1].host.pace.latency_ms == 100.0, (
        "the host need not wait for the reader"
    )
    assert kept(visit) == (UrlState.VISITED, "") and visit.host is None
    assert visit.ending is not None
    outcome, page = visit.ending.outcome, visit.ending.outcome.page
    assert page is not None and (page.title, page.charset, page.body_bytes, page.wire_bytes) == ("Title", "utf-8", 7, 4)
    assert [(child.url, child.depth, child.parent) for child in outcome.children] == [(new.url, 2, ROW.id)]
    assert page.links == (packed_links([known, new]) if edges else {})
    assert (visit.refusals, visit.links, page.refused) == (refused, 2, ["https://b.test/"])
    assert visit.ending.content == b"decoded" and visit.ending.exchange is not None
    assert visit.ending.exchange.body == b"body" and outcome.tries == 1 and outcome.counts


@pytest.mark.parametrize(("truncated", "reason"), [("time", Reason.TIMEOUT), ("disconnect", Reason.RESET)])
def test_a_body_that_ends_early_is_tried_again(truncated: str, reason: Reason) -> None:
    crawl = live_crawl()
    visit = driven(visit_page(held(crawl), crawl, ROW), answered(200, truncated=truncated))
    assert kept(visit) == ("retry", reason) and visit.error == f"the body ended early: {truncated}"
    assert visit.host is not None and visit.host.pace.errors == 1


@pytest.mark.parametrize("truncated", [None, "length", "time", "disconnect"])
def test_what_was_cut_off_is_said(truncated: str | None) -> None:
    crawl = live_crawl()
    answers = answered(200, truncated=truncated), PageReading()
    visit = driven(visit_page(held(crawl), crawl, last_try(ROW, crawl)), *answers)
    assert kept(visit) == (UrlState.VISITED, "")
    assert visit.ending is not None and visit.ending.outcome.page is not None and visit.ending.exchange is not None
    assert (visit.ending.outcome.page.truncated, visit.ending.exchange.truncated) == (truncated, truncated)


def test_a_coding_that_broke_off_is_said_of_the_page_and_not_of_the_archive() -> None:
    crawl, reading = live_crawl(), PageReading(truncated="coding", problem="gzip: cut short")
    visit = driven(visit_page(held(crawl), crawl, ROW), answered(200), reading)
    assert visit.ending is not None and visit.ending.outcome.page is not None and visit.ending.exchange is not None
    page = visit.ending.outcome.page
    assert (page.truncated, page.error, visit.ending.exchange.truncated) == ("coding", "gzip: cut short", None)


def test_blocked_links_are_refused() -> None:
    crawl = live_crawl()
    reading = PageReading(found=[link("https://a.test/spam"), link("https://a.test/ham")])
    blocks = Blocks(patterns=[("*/spam", "")])
    visit = driven(visit_page(held(crawl), crawl, ROW), answered(200), reading, blocks=blocks)
    assert visit.ending is not None
    assert [child.url for child in visit.ending.outcome.children] == ["https://a.test/ham"]
    assert visit.refusals == {("a.test", Refusal.RULE, "pattern */spam is blocked"): 1}
    assert [example.url for example in visit.examples] == ["https://a.test/spam"]


@pytest.mark.parametrize(
    ("crashes", "expected", "crashes_after"),
    [(0, "retry", 4), (2, "retry", 4), (3, "retry", 4), (4, "retry", 5), (5, UrlState.FAILED, None)],
)
def test_a_page_that_kills_its_reader(crashes: int, expected: str, crashes_after: int | None) -> None:
    crawl, failure = live_crawl(), ParseFailure("died", "signal 6")
    visit = driven(visit_page(held(crawl), crawl, ROW._replace(crashes=crashes)), answered(200), failure)
    assert kept(visit) == (expected, Reason.POISON)
    if visit.retry is not None:
        assert (visit.retry.crashes, visit.retry.in_ms) == (crashes_after, CRASH_RETRY_MS)
    else:
        assert visit.ending is not None and visit.ending.outcome.page is not None
        assert visit.ending.outcome.page.error == "its parser died: signal 6"


@pytest.mark.parametrize(
    ("crashes", "expected", "crashes_after"),
    [(0, "retry", 5), (4, "retry", 5), (5, UrlState.FAILED, None)],
)
def test_a_page_that_takes_its_reader_too_long_is_tried_once_more(
    crashes: int, expected: str, crashes_after: int | None
) -> None:
    crawl, failure = live_crawl(), ParseFailure("deadline", "not read within 10 s")
    visit = driven(visit_page(held(crawl), crawl, ROW._replace(crashes=crashes)), answered(200), failure)
    assert kept(visit) == (expected, Reason.TOO_COSTLY)
    if visit.retry is not None:
        assert visit.retry.crashes == crashes_after
    else:
        assert visit.ending is not None and visit.ending.outcome.page is not None
        assert visit.ending.outcome.page.error == "its parser deadline: not read within 10 s"


def test_a_refused_row_was_not_tried() -> None:
    row = ROW._replace(tries=2)
    visit = refuse_page(live_crawl(), row, Reason.ROBOTS, NOW_MS)
    assert kept(visit) == (UrlState.EXCLUDED, Reason.ROBOTS)
    assert visit.ending is not None and visit.ending.outcome.tries == 2 and visit.ending.exchange is None


def test_packed_links_by_host() -> None:
    one, two, other = (
        link("https://a.test/1"),
        link("https://a.test/2"),
        link("https://b.test/")._replace(host="b.test"),
    )
    assert packed_links([one, other, two]) == {"a.test": one.key[:8] + two.key[:8], "b.test": other.key[:8]}
