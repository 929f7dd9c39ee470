"""The contract of a reader of pages (extract/reader.py): every test here holds on the event loop and in a helper."""

import asyncio
import gzip
import hashlib
import os
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard

from nephila.clock import SystemClock
from nephila.extract.html_reader import HtmlReader
from nephila.extract.parse_pool import ParsePool
from nephila.extract.reader import PageReader, PageReading, PageRules, ParseFailure, ReadRequest
from nephila.fetch.body import RATIO_BYTES_MIN, RATIO_MAX
from nephila.fetch.headers import Headers
from nephila.models import Refusal
from nephila.profiles import crawl_settings
from nephila.urls.admission import Admission

SEED = "https://a.example/"
SETTINGS = crawl_settings("default")
RULES = PageRules(1, SETTINGS.model_dump_json(), (SEED,))
HTML = [("Content-Type", "text/html; charset=utf-8")]
PAGE = (
    "<html lang=en><title>Grüße</title><meta name=description content=D><link rel=canonical href=/c>"
    "<a href=/1>a</a><a href=https://b.example/1>b</a><a href=x rel=nofollow>c</a><a href=mailto:x@y>d</a>"
).encode()
POISON = b"deadly"

PAGES: dict[str, tuple[list[tuple[str, str]], bytes]] = {
    "plain": (HTML, PAGE),
    "empty": (HTML, b""),
    "no tags": (HTML, b"words only"),
    "cut inside a tag": (HTML, PAGE[:-4]),
    "another charset": ([("content-type", "text/html")], "<meta charset=koi8-r><title>Привет</title>".encode("koi8-r")),
    "utf-16": (HTML, b"\xff\xfe" + "<title>x</title><a href=/1>".encode("utf-16-le")),
    "headers against links": ([*HTML, ("X-Robots-Tag", "noindex"), ("x-robots-tag", "nofollow")], PAGE),
    "first type counts": ([*HTML, ("Content-Type", "text/plain")], PAGE),
    "no type": ([], b"<!doctype html>" + PAGE),
    "base": (HTML, b"<base href=/deep/>" + PAGE),
    "gzip": ([*HTML, ("Content-Encoding", "gzip")], gzip.compress(PAGE)),
    "br": ([*HTML, ("Content-Encoding", "br")], brotli.compress(PAGE)),
    "zstd": ([*HTML, ("Content-Encoding", "zstd")], zstandard.compress(PAGE)),
    "chunked": ([*HTML, ("Transfer-Encoding", "chunked")], b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE)),
    "gzip cut short": ([*HTML, ("Content-Encoding", "gzip")], gzip.compress(PAGE)[:-20]),
    "large": (HTML, b"<p>" * 50_000 + PAGE),
    "many links": (HTML, b"".join(b"<a href=/%d>" % n for n in range(2_000))),
}


def request(headers: list[tuple[str, str]], body: bytes, **more: Any) -> ReadRequest:
    asked = ReadRequest(
        7, "a.example", f"{SEED}page", Headers(headers), body, 1 << 20, 1, RULES, Admission(SETTINGS, [SEED])
    )
    return replace(asked, **more)


@pytest.fixture
async def reader() -> AsyncIterator[PageReader]:
    reader = HtmlReader(SystemClock(), ParsePool(1), core_is_free=False)
    yield reader
    await reader.close()


async def read(reader: PageReader, asked: ReadRequest) -> PageReading:
    reading = await reader.read(asked)
    assert isinstance(reading, PageReading), reading
    return reading


def hash_of(reading: PageReading, received: bytes) -> bytes:
    """Of the decoded body, of which a helper answers nothing else."""
    content = received if reading.content is None else reading.content
    return reading.content_hash or hashlib.sha256(content).digest()


async def test_readings_are_equal_wherever_they_are_made(reader: PageReader) -> None:
    for name, (headers, body) in PAGES.items():
        here, there = [await read(reader, request(headers, body, alone=alone)) for alone in (False, True)]
        # Each process gives some examples of its own.
        apart: dict[str, Any] = {"content": None, "content_hash": None, "examples": []}
        assert replace(here, **apart) == replace(there, **apart), name
        assert hash_of(here, body) == hash_of(there, body), name


anywhere = pytest.mark.parametrize("alone", [False, True], ids=["on the loop", "in a helper"])


@anywhere
@pytest.mark.parametrize("name", ["plain", "gzip", "br", "zstd", "chunked", "first type counts"])
async def test_what_a_page_says(reader: PageReader, name: str, alone: bool) -> None:
    headers, body = PAGES[name]
    reading = await read(reader, request(headers, body, alone=alone))
    assert (reading.charset, reading.title) == ("utf-8", "Grüße")
    assert reading.facts == {"description": "D", "language": "en", "canonical": "/c"}
    assert [(found.url, found.host, found.raw) for found in reading.found] == [
        (f"{SEED}c", "a.example", "/c"),
        (f"{SEED}1", "a.example", "/1"),
    ]
    assert reading.refused == {
        ("b.example", Refusal.SCOPE, ""): 1,
        ("a.example", Refusal.NOFOLLOW, ""): 1,
        ("", Refusal.SCHEME, ""): 1,
    }
    assert reading.refused_urls == ["https://b.example/1", f"{SEED}x"]
    assert hash_of(reading, body) == hashlib.sha256(PAGE).digest()
    assert reading.body_bytes == len(PAGE)


@anywhere
async def test_directives_of_headers_and_depth(reader: PageReader, alone: bool) -> None:
    headers, body = PAGES["headers against links"]
    reading = await read(reader, request(headers, body, alone=alone))
    assert (reading.nofollow, reading.found, reading.facts["noindex"]) == (True, [], True)
    ignoring = PageRules("careless", RULES.settings_json, RULES.seeds, obey_robots_meta=False)
    reading = await read(reader, request(headers, body, alone=alone, rules=ignoring))
    assert (reading.nofollow, len(reading.found)) == (False, 2)
    too_deep = SETTINGS.scope.max_depth + 1
    reading = await read(reader, request(HTML, PAGE, alone=alone, depth_of_children=too_deep))
    assert (reading.found, reading.refused["a.example", Refusal.DEPTH, ""]) == ([], 3)


@anywhere
@pytest.mark.parametrize(
    ("headers", "body", "decoded"),
    [
        ([("Content-Type", "application/pdf")], b"%PDF", b"%PDF"),
        ([("Content-Type", "text/plain"), ("Content-Encoding", "gzip")], gzip.compress(b"x" * 99), b"x" * 99),
        ([], b"neither", b"neither"),
    ],
    ids=["pdf", "compressed text", "no type"],
)
async def test_what_is_no_html(
    reader: PageReader, headers: list[tuple[str, str]], body: bytes, decoded: bytes, alone: bool
) -> None:
    reading = await read(reader, request(headers, body, alone=alone))
    assert hash_of(reading, body) == hashlib.sha256(decoded).digest()
    assert replace(reading, content=None, content_hash=None) == PageReading(body_bytes=len(decoded))


@anywhere
async def test_bodies_are_bounded_when_decoded(reader: PageReader, alone: bool) -> None:
    page = b"<a href=/1>" + b" " * 100_000 + b"<a href=/2>"
    headers, body = PAGES["gzip"][0], gzip.compress(page)
    reading = await read(reader, request(headers, body, alone=alone, body_bytes_max=5_000))
    assert reading.body_bytes == 5_000 and hash_of(reading, body) == hashlib.sha256(page[:5_000]).digest()
    assert [found.url for found in reading.found] == [f"{SEED}1"]
    assert reading.truncated == "length"


async def test_what_grows_too_much_is_cut_and_says_so(reader: PageReader) -> None:
    body = gzip.compress(b"<a href=/1>" + b"<" * 16_700_000, 9)
    reading = await read(reader, request([*HTML, ("Content-Encoding", "gzip")], body, body_bytes_max=1 << 24))
    assert reading.body_bytes == max(RATIO_MAX * len(body), RATIO_BYTES_MIN)
    assert (reading.truncated, reading.problem) == ("length", "cut at 100 times its compressed size")
    assert [found.url for found in reading.found] == [f"{SEED}1"]


@anywhere
async def test_a_coding_that_ends_short_is_said(reader: PageReader, alone: bool) -> None:
    headers, body = [*HTML, ("Content-Encoding", "gzip")], gzip.compress(b"<a href=/1>" + random.randbytes(9000))
    reading = await read(reader, request(headers, body[:-9], alone=alone))
    assert (reading.truncated, reading.problem) == ("coding", "gzip: cut short")
    whole = await read(reader, request(headers, body, alone=alone))
    assert (whole.truncated, whole.problem) == (None, "")


async def test_a_page_that_kills_its_helper_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    poison = Path(__file__).parents[1] / "e2e" / "poison"
    monkeypatch.setenv("PYTHONPATH", f"{poison}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("NEPHILA_TEST_POISON", POISON.decode())
    reader = HtmlReader(SystemClock(), ParsePool(1), core_is_free=False)
    deadly, well = request(HTML, PAGE + POISON, alone=True), request(HTML, PAGE, alone=True)
    died, after = await asyncio.gather(reader.read(deadly), reader.read(well))
    await reader.close()
    assert isinstance(died, ParseFailure) and died.kind == "died"
    assert isinstance(after, PageReading)


async def test_abort_leaves_pages_unread_and_the_next_read_works(reader: PageReader) -> None:
    asked = request(HTML, PAGE, alone=True)
    for _ in range(2):  # once while its helper starts, once while that is at work
        tasks = [asyncio.create_task(reader.read(asked)) for _ in range(3)]
        await asyncio.sleep(0)
        reader.abort()
        answers = await asyncio.gather(*tasks)
        assert [isinstance(answer, ParseFailure) and answer.unread for answer in answers] == [True] * 3
        assert (await read(reader, asked)).title == "Grüße"


async def test_close_answers_everyone(reader: PageReader) -> None:
    task = asyncio.create_task(reader.read(request(HTML, PAGE, alone=True)))
    await asyncio.sleep(0)
    await reader.close()
    assert isinstance(await task, ParseFailure)


# --- what pages need


NEEDING = crawl_settings("default", {"scope.requisites": "same_host"})
NEEDING_RULES = PageRules("needing", NEEDING.model_dump_json(), (SEED,))
PICTURED = (
    b"<base href=/deep/><a href=/1><img src=a.png srcset='b.png 2x'></a><style>@import '/c.css'</style>"
    b"<img src=//cdn.example/d.png>"
)
STYLE = b"@import url(more.css); a { background: url('../x.png') } b { background: url(//cdn.example/y.png) }"


def needing(headers: list[tuple[str, str]], body: bytes, **more: Any) -> ReadRequest:
    return request(headers, body, rules=NEEDING_RULES, admission=Admission(NEEDING, [SEED]), **more)


@anywhere
async def test_what_a_page_needs(reader: PageReader, alone: bool) -> None:
    reading = await read(reader, needing(HTML, PICTURED, alone=alone))
    assert [found.url for found in reading.found] == [f"{SEED}1"]
    assert [found.url for found in reading.requisites] == [f"{SEED}deep/a.png", f"{SEED}deep/b.png", f"{SEED}c.css"]
    assert reading.refused == {("cdn.example", Refusal.REQUISITE, ""): 1}
    assert reading.refused_urls == ["https://cdn.example/d.png"]
    assert (await read(reader, request(HTML, PICTURED, alone=alone))).requisites == ()


@anywhere
@pytest.mark.parametrize("coding", ["", "gzip"])
async def test_what_a_stylesheet_needs(reader: PageReader, alone: bool, coding: str) -> None:
    headers = [("Content-Type", "text/css"), *([("Content-Encoding", coding)] if coding else [])]
    body = gzip.compress(STYLE) if coding else STYLE
    asked = needing(headers, body, alone=alone, url=f"{SEED}look/site.css", read_as="stylesheet")
    reading = await read(reader, asked)
    assert [found.url for found in reading.requisites] == [f"{SEED}look/more.css", f"{SEED}x.png"]
    assert (reading.found, reading.title) == ([], None)
    assert reading.refused == {("cdn.example", Refusal.REQUISITE, ""): 1}
    assert hash_of(reading, body) == hashlib.sha256(STYLE).digest()


@anywhere
async def test_of_bytes_nothing_is_read(reader: PageReader, alone: bool) -> None:
    """An image that answers with a page: neither its links nor what it needs are followed."""
    reading = await read(reader, needing(HTML, PICTURED, alone=alone, read_as="bytes"))
    assert (reading.found, reading.requisites, reading.refused) == ([], (), {})
    assert hash_of(reading, PICTURED) == hashlib.sha256(PICTURED).digest()


async def test_needed_links_are_sent_once_by_a_helper_and_known_from_then_on(reader: PageReader) -> None:
    asked = needing(HTML, PICTURED, alone=True)
    assert (await read(reader, asked)).requisites == (await read(reader, asked)).requisites
