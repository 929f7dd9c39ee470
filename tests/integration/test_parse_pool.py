"""Helper processes that parse: what they answer, how they fail, and that nothing else fails with them."""

import asyncio
import errno
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephila import wiring
from nephila.clock import SystemClock
from nephila.extract import parse_pool
from nephila.extract.frames import RULES_CACHED, job_frames
from nephila.extract.page import PageJob
from nephila.extract.parse_pool import JOB_BYTES, PIPELINED_MAX, ParsePool
from nephila.extract.parse_worker import JobReader, answer_next
from nephila.extract.reader import PageReading, PageRules, ParseFailure, ReadRequest
from nephila.fetch.headers import Headers
from nephila.frontier.store import WorkerInfo
from nephila.profiles import crawl_settings
from nephila.settings import process_settings
from nephila.urls.admission import Admission
from tests.command import children_of
from tests.patience import PATIENCE_MS, PATIENCE_SECONDS

HOST = "a.example"
SEED = "https://a.example/"
SETTINGS = crawl_settings("default")
RULES = PageRules(1, SETTINGS.model_dump_json(), (SEED,))
HEAVY = PageJob(b"<b>" * 4_000_000, SEED, "text/html", 1)  # a second and more

# Prints the pid of its helper once that is busy, then waits to be killed.
PARENT = """
import asyncio, sys
from tests.integration.test_parse_pool import HEAVY, HOST, RULES, helper_pid, page
from nephila.extract.parse_pool import ParsePool

async def main():
    pool = ParsePool(1)
    await pool.read(HOST, RULES, page(1))
    task = asyncio.create_task(pool.read(HOST, RULES, HEAVY))
    await asyncio.sleep(0)
    print(helper_pid(pool), flush=True)
    await task

asyncio.run(main())
"""


def page(n: int) -> PageJob:
    body = f"<title>{n}</title><a href=/{n}>a</a><a href=https://b.example/{n}>b</a><a href=x rel=nofollow>c</a>"
    return PageJob(body.encode(), f"{SEED}{n}", "text/html; charset=utf-8", 1)


def helper_pid(pool: ParsePool) -> int:
    process = pool._helpers[0]._process
    assert process is not None
    return process.pid


def has_ended(pid: int) -> bool:
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], PATIENCE_SECONDS)[0])
    finally:
        os.close(fd)


@pytest.fixture
async def pool() -> AsyncIterator[ParsePool]:
    pool = ParsePool(1, deadline_ms=PATIENCE_MS)
    yield pool
    await pool.close()


async def test_rules_of_many_crawls(pool: ParsePool) -> None:
    for round_trip in range(2):
        for n in range(RULES_CACHED + 2):
            rules = PageRules(n, RULES.settings_json, (f"https://{n}.example/",))
            job = PageJob(b"<a href=/x>", f"https://{n}.example/", "text/html", 1)
            answer = await pool.read(HOST, rules, job)
            assert isinstance(answer, PageReading), (round_trip, answer)
            assert [found.url for found in answer.found] == [f"https://{n}.example/x"]


async def test_hosts_that_join_while_a_crawl_runs(pool: ParsePool) -> None:
    """Only they are sent to a helper that has the rules; a page that was asked for before them may come after them."""
    job = PageJob(b"<a href=https://b.example/><a href=https://c.example/>", SEED, "text/html", 1)
    for joined, found in (((), 0), (("b.example",), 1), (("b.example", "c.example"), 2), (("b.example",), 2)):
        answer = await pool.read(HOST, replace(RULES, joined_hosts=joined), job)
        assert isinstance(answer, PageReading)
        assert len(answer.found) == found
    grown = replace(RULES, joined_hosts=("b.example", "c.example", "d.example"))
    assert [pool._helpers[0]._learned(grown) for _ in range(2)] == [("d.example",), ()]


async def test_pages_ahead(pool: ParsePool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse_pool, "PIPELINED_SECONDS", PATIENCE_SECONDS)  # however late the look comes
    assert pool.pages_ahead(HOST) == 0
    await pool.read(HOST, RULES, page(0))
    tasks = [asyncio.create_task(pool.read(HOST, RULES, page(n))) for n in (1, 2)]
    await asyncio.sleep(0)
    assert pool.pages_ahead(HOST) == 2
    await asyncio.gather(*tasks)
    assert pool.pages_ahead(HOST) == 0


async def test_more_jobs_than_room(pool: ParsePool) -> None:
    answers = await asyncio.gather(*(pool.read(HOST, RULES, page(n)) for n in range(10 * PIPELINED_MAX)))
    assert [answer.title for answer in answers if isinstance(answer, PageReading)] == [
        str(n) for n in range(10 * PIPELINED_MAX)
    ]


async def test_helpers_are_shared_by_host(pool: ParsePool) -> None:
    """Whoever has pages that take seconds waits for itself, from the moment that this is known of it."""
    await pool.read("evil.example", RULES, HEAVY)
    ended: list[str] = []

    async def read(host: str, job: PageJob) -> None:
        assert isinstance(await pool.read(host, RULES, job), PageReading)
        ended.append(host)

    evil = [asyncio.create_task(read("evil.example", HEAVY)) for _ in range(3)]
    await asyncio.sleep(0)
    await asyncio.gather(*evil, *(read("good.example", page(n)) for n in range(40)))
    assert ended == ["evil.example"] + ["good.example"] * 40 + ["evil.example"] * 2
    assert pool.waiting_bytes == 0


async def test_no_page_lies_behind_one_that_takes_long(pool: ParsePool) -> None:
    await asyncio.gather(*(pool.read("evil.example", RULES, HEAVY) for _ in range(2)))
    task = asyncio.create_task(pool.read("evil.example", RULES, HEAVY))
    await asyncio.sleep(0)
    assert pool.pages_ahead("good.example") is None
    await task
    assert pool.pages_ahead("good.example") == 0


async def test_bodies_that_wait_are_bounded_and_the_largest_host_pays() -> None:
    pool, waited = ParsePool(1, PATIENCE_MS, waiting_bytes_max=8 * (JOB_BYTES + 1000)), 0
    await pool.read(HOST, RULES, page(0))
    os.kill(helper_pid(pool), signal.SIGSTOP)  # nothing gets on
    evil = [asyncio.create_task(pool.read("evil.example", RULES, page(n))) for n in range(100)]
    good = [asyncio.create_task(pool.read("good.example", RULES, page(n))) for n in range(3)]
    for _ in range(3):
        await asyncio.sleep(0)
        waited = max(waited, pool.waiting_bytes)
    assert 7 * JOB_BYTES < waited <= 8 * (JOB_BYTES + 1000)
    os.kill(helper_pid(pool), signal.SIGCONT)
    answers = await asyncio.gather(*evil, *good)
    await pool.close()
    crowded = [answer for answer in answers if isinstance(answer, ParseFailure)]
    assert {answer.kind for answer in crowded} == {"crowded"} and len(crowded) >= 100 - PIPELINED_MAX - 8
    assert all(isinstance(answer, PageReading) for answer in answers[-3:]), "the good host has all of its pages"


async def test_who_goes_away_does_not_wait_any_longer(pool: ParsePool) -> None:
    await pool.read(HOST, RULES, page(0))
    os.kill(helper_pid(pool), signal.SIGSTOP)
    tasks = [asyncio.create_task(pool.read(HOST, RULES, page(n))) for n in range(2 * PIPELINED_MAX)]
    await asyncio.sleep(0)
    assert pool.waiting_bytes > 0
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert pool.waiting_bytes == 0
    os.kill(helper_pid(pool), signal.SIGCONT)
    assert isinstance(await pool.read(HOST, RULES, page(1)), PageReading)


@pytest.mark.parametrize("fatal", [signal.SIGKILL, signal.SIGSEGV])
async def test_a_crash_costs_one_page(pool: ParsePool, fatal: signal.Signals) -> None:
    await pool.read(HOST, RULES, page(0))
    pid = helper_pid(pool)
    tasks = [asyncio.create_task(pool.read(HOST, RULES, job)) for job in (HEAVY, page(1), page(2))]
    await asyncio.sleep(0)
    os.kill(pid, fatal)
    died, *rest = await asyncio.gather(*tasks)
    assert isinstance(died, ParseFailure) and died.kind == "died"
    assert [answer.title for answer in rest if isinstance(answer, PageReading)] == ["1", "2"]
    assert helper_pid(pool) != pid


@pytest.mark.parametrize("fault", [OSError(errno.EMFILE, "Too many open files"), RuntimeError("unexpected")])
async def test_a_helper_that_cannot_be_started_is_tried_again(
    pool: ParsePool, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """It is no fault of the page, and the next page must not meet it either."""
    spawned, faults = parse_pool.start_process, [fault] * 3

    def failing(*values: Any) -> Any:
        if faults:
            raise faults.pop()
        return spawned(*values)

    monkeypatch.setattr(parse_pool, "start_process", failing)
    assert isinstance(await pool.read(HOST, RULES, page(1)), PageReading) and faults == []
    assert pool._helpers[0]._part.trouble == ""


async def test_pages_do_not_wait_for_ever_for_a_helper(pool: ParsePool, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(parse_pool, "start_process", failing)
    monkeypatch.setattr(parse_pool, "START_SECONDS_MAX", 0.1)
    for n in range(2):
        answer = await pool.read(HOST, RULES, page(n))
        assert isinstance(answer, ParseFailure) and "no helper could be started" in answer.detail
    monkeypatch.setattr(parse_pool, "START_SECONDS_MAX", PATIENCE_SECONDS)
    waiting = asyncio.create_task(pool.read(HOST, RULES, page(3)))
    await asyncio.sleep(0)
    await pool.close()
    assert isinstance(await waiting, ParseFailure)


async def test_helpers_that_end_at_once_are_shown_and_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse_pool, "start_process", lambda _, fd, memory: subprocess.Popen(["true"], pass_fds=(fd,)))
    monkeypatch.setattr(parse_pool, "REST_MS", PATIENCE_MS)  # it still rests when the test looks
    pool = ParsePool(1)
    answer = await pool.read(HOST, RULES, page(1))
    assert isinstance(answer, ParseFailure)
    assert "a helper ended before it was ready" in pool._helpers[0]._part.trouble
    assert pool._helpers[0]._part.rest_seconds > 0
    await pool.close()


async def test_an_idle_helper_that_dies_costs_nothing(pool: ParsePool) -> None:
    await pool.read(HOST, RULES, page(0))
    pid = helper_pid(pool)
    os.kill(pid, signal.SIGKILL)
    assert await asyncio.to_thread(has_ended, pid)
    await asyncio.to_thread(has_ended, pid)  # a turn of the loop, in which it learns of the end
    assert isinstance(await pool.read(HOST, RULES, page(1)), PageReading)


@pytest.mark.requirement("R-11")
async def test_deadline() -> None:
    pool = ParsePool(1, deadline_ms=2000, starved_ms=2000)
    answers = [await pool.read(HOST, RULES, page(1))]
    for n in (2, 4):
        os.kill(helper_pid(pool), signal.SIGSTOP)  # takes longer than any deadline, on every machine
        answers += await asyncio.gather(pool.read(HOST, RULES, page(n)), pool.read(HOST, RULES, page(n + 1)))
    await pool.close()
    kinds = [answer.kind if isinstance(answer, ParseFailure) else answer.title for answer in answers]
    assert kinds == ["1", "deadline", "3", "deadline", "5"]


async def test_a_page_is_not_to_blame_for_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline is CPU time: a helper that gets none is late by the clock, and looked at again and again."""
    pool = ParsePool(1, deadline_ms=300, starved_ms=PATIENCE_MS)
    await pool.read(HOST, RULES, page(1))
    looks: asyncio.Queue[float] = asyncio.Queue()
    helper = pool._helpers[0]
    watch = helper._watch
    monkeypatch.setattr(helper, "_watch", lambda seconds: (looks.put_nowait(seconds), watch(seconds)))
    os.kill(helper_pid(pool), signal.SIGSTOP)
    reading = asyncio.create_task(pool.read(HOST, RULES, page(2)))
    for _ in range(5):  # as long as it is not given up
        await asyncio.wait((reading, looking := asyncio.create_task(looks.get())), return_when=asyncio.FIRST_COMPLETED)
        assert looking.done(), "the page was given up"
    os.kill(helper_pid(pool), signal.SIGCONT)
    answer = await reading
    await pool.close()
    assert isinstance(answer, PageReading)


async def test_a_page_that_computes_too_long_is_late() -> None:
    pool = ParsePool(1, deadline_ms=50, starved_ms=PATIENCE_MS)
    answer = await pool.read(HOST, RULES, HEAVY)
    await pool.close()
    assert isinstance(answer, ParseFailure) and answer.kind == "deadline"


def test_a_body_is_in_a_helper_once_and_gone_with_its_answer() -> None:
    ours, theirs = socket.socketpair()
    job, body = (1, RULES, (SEED, "application/pdf", 1, (), (), 1 << 30)), bytes(8 << 20)
    with ours, theirs:
        sending = threading.Thread(target=lambda: [ours.sendall(frame) for frame in job_frames(job, body)])
        sending.start()
        tracemalloc.start()
        try:
            assert answer_next(theirs, JobReader())
            left, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            sending.join(PATIENCE_SECONDS)
        assert len(body) < peak < 1.5 * len(body)
        assert left < len(body) / 2
        assert ours.recv(65_536)
        ours.close()
        assert not answer_next(theirs, JobReader())


async def test_memory_is_bounded() -> None:
    pool = ParsePool(1, memory_bytes_max=128 << 20)
    answer = await pool.read(HOST, RULES, PageJob(b"<a>" * 3_000_000, SEED, "text/html", 1))
    after = await pool.read(HOST, RULES, page(1))
    await pool.close()
    assert isinstance(answer, ParseFailure) and answer.kind in ("died", "error")
    assert isinstance(after, PageReading)


async def test_a_fault_of_ours_is_an_answer(pool: ParsePool) -> None:
    answer = await pool.read(HOST, PageRules(2, "{", ()), page(1))
    assert isinstance(answer, ParseFailure) and answer.kind == "error" and "JSON" in answer.detail
    assert isinstance(await pool.read(HOST, RULES, page(1)), PageReading)


async def test_a_caller_may_go_away(pool: ParsePool) -> None:
    await pool.read(HOST, RULES, page(0))
    tasks = [asyncio.create_task(pool.read(HOST, RULES, page(n))) for n in (1, 2)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    second = await tasks[1]
    assert isinstance(second, PageReading) and second.title == "2"
    assert isinstance(await pool.read(HOST, RULES, page(3)), PageReading)


async def test_closing_ends_helpers_and_answers_everyone() -> None:
    pool = ParsePool(1)
    await pool.read(HOST, RULES, page(0))
    pid = helper_pid(pool)
    task = asyncio.create_task(pool.read(HOST, RULES, HEAVY))
    await asyncio.sleep(0)
    await pool.close()
    assert isinstance(await task, ParseFailure)
    assert isinstance(await pool.read(HOST, RULES, page(1)), ParseFailure)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_ctrl_c_is_for_the_parent(pool: ParsePool) -> None:
    await pool.read(HOST, RULES, page(0))
    pid = helper_pid(pool)
    os.kill(pid, signal.SIGINT)
    assert isinstance(await pool.read(HOST, RULES, page(1)), PageReading)
    assert helper_pid(pool) == pid


def test_a_helper_ends_with_its_parent_even_while_it_parses() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent, parent.stdout:
        pid = int(parent.stdout.readline())
        parent.kill()
    assert has_ended(pid)


@pytest.mark.requirement("W-16")
async def test_helpers_of_a_worker_have_their_share_of_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nephila.extract.memory.memory_bytes", lambda: 4 << 30)
    settings = process_settings({"data": tmp_path, "workers": 2, "parsers": 2, "memory_percent": 50})
    wiring.open_store(settings, create=True)
    info = WorkerInfo("test", 0, "test")
    worker = wiring.new_worker(wiring.open_frontier(settings), settings, SystemClock(), info)
    before = set(children_of(os.getpid()))
    try:
        headers, admission = Headers([("Content-Type", "text/html")]), Admission(SETTINGS, [SEED])
        asked = ReadRequest(1, HOST, SEED, headers, b"<title>x</title>", 1 << 20, 1, RULES, admission, alone=True)
        assert isinstance(await worker.parts.reader.read(asked), PageReading)
        (helper,) = set(children_of(os.getpid())) - before
        limit, _ = resource.prlimit(helper, resource.RLIMIT_DATA)
    finally:
        await worker.parts.reader.close()
    assert limit == (4 << 30) // 2 // 4, "half of the memory for two helpers of each of two workers"
