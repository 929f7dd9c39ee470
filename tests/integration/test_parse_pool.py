"""Helper processes that parse: what they answer, how they fail, and that nothing else fails with them."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from nephila.extract.frames import RULES_CACHED
from nephila.extract.page import PageJob, PageReading, read_page
from nephila.extract.parse_pool import PIPELINED_MAX, PageRules, ParseFailure, ParsePool
from nephila.profiles import crawl_settings
from nephila.urls.admission import Admission

SEED = "https://a.example/"
SETTINGS = crawl_settings("default")
RULES = PageRules(1, SETTINGS.model_dump_json(), (SEED,))
HEAVY = PageJob(b"<b>" * 4_000_000, SEED, "text/html", 1)  # a second and more
EXIT_SECONDS_MAX = 10

# Prints the pid of its helper once that is busy, then waits to be killed.
PARENT = """
import asyncio, sys
from tests.integration.test_parse_pool import HEAVY, RULES, helper_pid, page
from nephila.extract.parse_pool import ParsePool

async def main():
    pool = ParsePool(1)
    await pool.read(RULES, page(1))
    task = asyncio.create_task(pool.read(RULES, HEAVY))
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
        return bool(select.select([fd], [], [], EXIT_SECONDS_MAX)[0])
    finally:
        os.close(fd)


@pytest.fixture
async def pool() -> AsyncIterator[ParsePool]:
    pool = ParsePool(1)
    yield pool
    await pool.close()


async def test_equals_inline() -> None:
    admission = Admission(SETTINGS, [SEED], [])
    pool = ParsePool(2)
    jobs = [page(n) for n in range(50)]
    answers = await asyncio.gather(*(pool.read(RULES, job) for job in jobs))
    await pool.close()
    assert answers == [read_page(job, admission, obey_robots_meta=True) for job in jobs]


async def test_rules_of_many_crawls(pool: ParsePool) -> None:
    for round_trip in range(2):
        for n in range(RULES_CACHED + 2):
            rules = PageRules(n, RULES.settings_json, (f"https://{n}.example/",))
            job = PageJob(b"<a href=/x>", f"https://{n}.example/", "text/html", 1)
            answer = await pool.read(rules, job)
            assert isinstance(answer, PageReading), (round_trip, answer)
            assert [found.url for found in answer.found] == [f"https://{n}.example/x"]


async def test_waiting(pool: ParsePool) -> None:
    assert pool.waiting == 0
    task = asyncio.create_task(pool.read(RULES, page(1)))
    await asyncio.sleep(0)
    assert pool.waiting == 1
    await task
    assert pool.waiting == 0


async def test_more_jobs_than_room(pool: ParsePool) -> None:
    answers = await asyncio.gather(*(pool.read(RULES, page(n)) for n in range(10 * PIPELINED_MAX)))
    assert [answer.title for answer in answers if isinstance(answer, PageReading)] == [
        str(n) for n in range(10 * PIPELINED_MAX)
    ]


@pytest.mark.parametrize("fatal", [signal.SIGKILL, signal.SIGSEGV])
async def test_a_crash_costs_one_page(pool: ParsePool, fatal: signal.Signals) -> None:
    await pool.read(RULES, page(0))
    pid = helper_pid(pool)
    tasks = [asyncio.create_task(pool.read(RULES, job)) for job in (HEAVY, page(1), page(2))]
    await asyncio.sleep(0)
    os.kill(pid, fatal)
    died, *rest = await asyncio.gather(*tasks)
    assert isinstance(died, ParseFailure) and died.kind == "died"
    assert [answer.title for answer in rest if isinstance(answer, PageReading)] == ["1", "2"]
    assert helper_pid(pool) != pid


async def test_an_idle_helper_that_dies_costs_nothing(pool: ParsePool) -> None:
    await pool.read(RULES, page(0))
    pid = helper_pid(pool)
    os.kill(pid, signal.SIGKILL)
    assert await asyncio.to_thread(has_ended, pid)
    await asyncio.to_thread(has_ended, pid)  # a turn of the loop, in which it learns of the end
    assert isinstance(await pool.read(RULES, page(1)), PageReading)


@pytest.mark.requirement("R-11")
async def test_deadline() -> None:
    pool = ParsePool(1, deadline_ms=300)
    answers = await asyncio.gather(*(pool.read(RULES, job) for job in (page(1), HEAVY, page(2), HEAVY, page(3))))
    await pool.close()
    kinds = [answer.kind if isinstance(answer, ParseFailure) else answer.title for answer in answers]
    assert kinds == ["1", "deadline", "2", "deadline", "3"]


async def test_memory_is_bounded() -> None:
    pool = ParsePool(1, memory_bytes_max=128 << 20)
    answer = await pool.read(RULES, PageJob(b"<a>" * 3_000_000, SEED, "text/html", 1))
    after = await pool.read(RULES, page(1))
    await pool.close()
    assert isinstance(answer, ParseFailure) and answer.kind in ("died", "error")
    assert isinstance(after, PageReading)


async def test_a_fault_of_ours_is_an_answer(pool: ParsePool) -> None:
    answer = await pool.read(PageRules(2, "{", ()), page(1))
    assert isinstance(answer, ParseFailure) and answer.kind == "error" and "JSON" in answer.detail
    assert isinstance(await pool.read(RULES, page(1)), PageReading)


async def test_a_caller_may_go_away(pool: ParsePool) -> None:
    await pool.read(RULES, page(0))
    tasks = [asyncio.create_task(pool.read(RULES, page(n))) for n in (1, 2)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    second = await tasks[1]
    assert isinstance(second, PageReading) and second.title == "2"
    assert isinstance(await pool.read(RULES, page(3)), PageReading)


async def test_closing_ends_helpers_and_answers_everyone() -> None:
    pool = ParsePool(1)
    await pool.read(RULES, page(0))
    pid = helper_pid(pool)
    task = asyncio.create_task(pool.read(RULES, HEAVY))
    await asyncio.sleep(0)
    await pool.close()
    assert isinstance(await task, ParseFailure)
    assert isinstance(await pool.read(RULES, page(1)), ParseFailure)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_ctrl_c_is_for_the_parent(pool: ParsePool) -> None:
    await pool.read(RULES, page(0))
    pid = helper_pid(pool)
    os.kill(pid, signal.SIGINT)
    assert isinstance(await pool.read(RULES, page(1)), PageReading)
    assert helper_pid(pool) == pid


def test_a_helper_ends_with_its_parent_even_while_it_parses() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent, parent.stdout:
        pid = int(parent.stdout.readline())
        parent.kill()
    assert has_ended(pid)
