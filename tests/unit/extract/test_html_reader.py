"""Which pages are read on the event loop and which in a helper."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import brotli
import pytest

from nephila.blackbox import BlackBox, last_entries
from nephila.clock import VirtualClock
from nephila.extract import html_reader
from nephila.extract.html_reader import (
    BYTES_INLINE_MAX,
    LINKS_INLINE_MAX,
    LOAD_EVERY_MS,
    OFFLOAD_BYTES_MIN,
    PIPELINED_WANTED,
    SLOW_SECONDS,
    USUAL_RATIO,
    HtmlReader,
)
from nephila.extract.page import PageJob
from nephila.extract.reader import PageReading, PageRules, ReadRequest
from nephila.fetch.headers import Headers
from nephila.profiles import crawl_settings
from nephila.urls.admission import Admission

HOST = "a.example"
SEED = "https://a.example/"
SETTINGS = crawl_settings("default")
RULES = PageRules(1, SETTINGS.model_dump_json(), (SEED,))
IN_HELPER = PageReading(title="read in a helper")


class Pool:
    """Stands for the helpers: counts what it is given."""

    def __init__(self, ahead: int | None = 0, seconds: float = 1.0) -> None:
        self.ahead, self.seconds = ahead, seconds
        self.jobs: list[PageJob] = []

    def pages_ahead(self, host: str) -> int | None:
        return self.ahead

    def expected_seconds(self, host: str) -> float:
        return self.seconds

    async def read(self, host: str, rules: PageRules, job: PageJob) -> PageReading:
        self.jobs.append(job)
        return IN_HELPER

    async def close(self) -> None: ...


def request(body: bytes, alone: bool = False, coding: str = "", media_type: str = "text/html") -> ReadRequest:
    headers = Headers([("Content-Type", media_type), *([("Content-Encoding", coding)] if coding else [])])
    return ReadRequest(7, HOST, SEED, headers, body, 1 << 30, 1, RULES, Admission(SETTINGS, [SEED]), alone)


def links(count: int) -> bytes:
    return b"".join(b"<a href=%d>" % n for n in range(count))


# name: body, alone, busy, core_is_free, pages ahead, read in a helper
WHERE = {
    "small": (b"<p>", False, False, True, 0, False),
    "alone": (b"<p>", True, False, True, 0, True),
    "largest": (b" " * BYTES_INLINE_MAX, False, False, True, 0, False),
    "too large": (b" " * (BYTES_INLINE_MAX + 1), False, False, True, 0, True),
    "most links": (links(LINKS_INLINE_MAX), False, False, True, 0, False),
    "too many links": (links(LINKS_INLINE_MAX + 1), False, False, True, 0, True),
    "busy loop": (b" " * OFFLOAD_BYTES_MIN, False, True, True, 0, True),
    "busy helpers": (b" " * OFFLOAD_BYTES_MIN, False, True, True, PIPELINED_WANTED, False),
    "helpers with slow pages": (b" " * OFFLOAD_BYTES_MIN, False, True, True, None, False),
    "no core": (b" " * OFFLOAD_BYTES_MIN, False, True, False, 0, False),
    "too small": (b" " * (OFFLOAD_BYTES_MIN - 1), False, True, True, 0, False),
}


@pytest.mark.parametrize("name", WHERE)
async def test_where_a_page_is_read(name: str) -> None:
    body, alone, busy, core_is_free, ahead, helped = WHERE[name]
    pool: Any = Pool(ahead)
    reader = HtmlReader(VirtualClock(), pool, core_is_free=core_is_free)
    reader._busy = busy
    reading = await reader.read(request(body, alone))
    await reader.close()
    assert (reading is IN_HELPER) is helped
    assert len(pool.jobs) == helped


# name: body, its coding and its type, read in a helper
CODED: dict[str, tuple[bytes, str, str, bool]] = {
    "small when decoded": (gzip.compress(b" " * BYTES_INLINE_MAX), "gzip", "text/html", False),
    "large when decoded": (gzip.compress(b" " * (BYTES_INLINE_MAX + 1)), "gzip", "text/html", True),
    "brotli": (brotli.compress(b" " * (BYTES_INLINE_MAX + 1)), "br", "text/html", True),
    "no page": (gzip.compress(b" " * (BYTES_INLINE_MAX + 1)), "gzip", "text/plain", True),
    "no page and not compressed": (b" " * (BYTES_INLINE_MAX + 1), "", "text/plain", False),
}


@pytest.mark.parametrize("name", CODED)
async def test_large_bodies_are_decoded_in_a_helper(name: str) -> None:
    """What waits for a helper is as small as it came, and the loop decodes no more than it would read."""
    body, coding, media_type, helped = CODED[name]
    pool: Any = Pool()
    reader = HtmlReader(VirtualClock(), pool, core_is_free=False)
    reading = await reader.read(request(body, coding=coding, media_type=media_type))
    await reader.close()
    assert (reading is IN_HELPER) is helped
    assert [(job.body, job.codings) for job in pool.jobs] == ([(body, [coding])] if helped else [])


async def test_compressed_pages_are_offloaded_as_they_came() -> None:
    pool: Any = Pool()
    reader = HtmlReader(VirtualClock(), pool, core_is_free=True)
    reader._busy = True
    few, many = b" " * (OFFLOAD_BYTES_MIN // USUAL_RATIO - 1), b" " * (OFFLOAD_BYTES_MIN // USUAL_RATIO)
    for body in (few, many):
        await reader.read(request(body, coding="gzip"))
    await reader.close()
    assert [job.body for job in pool.jobs] == [many]


async def test_a_host_whose_page_took_the_loop_long_is_read_by_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = [0.0]
    monkeypatch.setattr(html_reader, "thread_time", lambda: worked[0])
    page_of = html_reader.page_of

    def slow(job: PageJob) -> Any:
        worked[0] += 2 * SLOW_SECONDS
        return page_of(job)

    pool: Any = Pool(seconds=SLOW_SECONDS)
    reader = HtmlReader(VirtualClock(), pool, core_is_free=False)
    monkeypatch.setattr(html_reader, "page_of", slow)
    assert await reader.read(request(b"<p>")) is not IN_HELPER
    monkeypatch.setattr(html_reader, "page_of", page_of)
    other = replace(request(b"<p>"), host="b.example")
    assert await reader.read(other) is not IN_HELPER, "another host has nothing to do with it"
    assert await reader.read(request(b"<p>")) is IN_HELPER
    pool.seconds = SLOW_SECONDS / 4
    assert await reader.read(request(b"<p>")) is IN_HELPER
    assert await reader.read(request(b"<p>")) is not IN_HELPER, "its pages are as cheap as others again"
    await reader.close()


async def test_the_black_box_names_the_page_on_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    page_of, box = html_reader.page_of, tmp_path / "box"

    def looked_at(job: PageJob) -> Any:
        seen.append(last_entries(box))
        return page_of(job)

    monkeypatch.setattr(html_reader, "page_of", looked_at)
    pool: Any = Pool()
    reader = HtmlReader(VirtualClock(), pool, core_is_free=False, blackbox=BlackBox(box))
    await reader.read(request(b"<p>"))
    await reader.close()
    assert (seen, last_entries(box)) == ([[7]], [])


@pytest.mark.parametrize(("worked_seconds", "busy"), [(0.0, False), (0.019, False), (0.021, True)])
async def test_a_loop_that_works_much_is_busy(
    monkeypatch: pytest.MonkeyPatch, worked_seconds: float, busy: bool
) -> None:
    clock, pool, worked = VirtualClock(), Pool(), [0.0]
    monkeypatch.setattr(html_reader, "thread_time", lambda: worked[0])
    reader = HtmlReader(clock, pool, core_is_free=True)  # type: ignore[arg-type]
    clock.advance(LOAD_EVERY_MS)
    worked[0] = worked_seconds
    reader._watch_load(clock.tick_ms() - LOAD_EVERY_MS, 0.0)
    assert reader._busy is busy
    await reader.close()
