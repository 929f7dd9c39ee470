"""The evil web (tests/site/evil/web.py) by a whole crawl: the outcome of each case, and that nothing is left of it.

How long each takes and what it costs is measured by `python -m bench.evil`.
"""

import asyncio
import re
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvloop

from nephila import wiring
from nephila.clock import SystemClock
from nephila.frontier.store import WorkerInfo
from nephila.models import Reason
from tests.e2e.harness import Place, Places, close, look_after, run_here
from tests.patience import PATIENCE_MS, PATIENCE_SECONDS, until
from tests.site.evil.addresses import NO_HOSTS, PRIVATE_HOSTS
from tests.site.evil.process import EvilProcess
from tests.site.evil.web import BODY_BYTES_MAX, EVIL, RESOLVE, url_of
from tests.site.fixtures import FAST, html, moved
from tests.site.server import TestWeb

# Whatever lies between a server that floods and a client that has stopped to read.
BUFFERS_BYTES_MAX = 16_000_000
ONCE: dict[str, Any] = {
    **FAST,
    "retry.max": 0,
    "robots.attempts_max": 2,
    "robots.retry_ms": 1,
    "robots.timeout_ms": PATIENCE_MS,
    "fetch.connect_timeout_ms": PATIENCE_MS,
    "fetch.tls_timeout_ms": PATIENCE_MS,
}


@pytest.fixture
def web(tmp_path: Path) -> Iterator[EvilProcess]:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl: install the package openssl")
    with EvilProcess(tmp_path / "certificates") as web:
        yield web


def start(place: Place, port: int, *, hurried: bool) -> dict[int, list[str]]:
    """Crawls of these cases, one for all that have the same settings: their ids, and the cases of each."""
    groups: dict[str, list[str]] = {}
    for case, evil in EVIL.items():
        if evil.hurried is hurried:
            groups.setdefault(repr(evil.overrides()), []).append(case)
    started = {}
    for cases in groups.values():
        settings = ONCE | EVIL[cases[0]].overrides()
        started[place.start([url_of(case, port) for case in cases], settings).id] = cases
    return started


async def crawl(place: Place, ids: set[int]) -> set[str]:
    """One worker here until the crawls are over. Answers the tasks that are left."""
    settings, store = place.settings(), place.store()
    frontier = wiring.open_frontier(settings)
    worker = wiring.new_worker(frontier, settings, SystemClock(), WorkerInfo("test", 0, "test"))
    duty, running = place.duty(store), asyncio.ensure_future(worker.run())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not all(store.catalog.crawl(crawl_id).state.over for crawl_id in ids):
                if running.done():
                    running.result()
                look_after(duty)
                await asyncio.sleep(0.01)
    finally:
        if not running.done():
            worker.stop()
        await running
        close(frontier)
    return {repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()}


def held() -> Counter[str]:
    """What this process has open: files and sockets by their kind, threads, children.

    Without the locks of crawls that it has started: they are not the worker's.
    """
    found = Counter(threads=threading.active_count())
    for file in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the folder itself, or closed meanwhile
            name = re.sub(r"\[\d+\]", "", str(file.readlink()))
            found[name] += not re.search("^/proc|/crawl-", name)
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found["children"] += len((task / "children").read_text().split())
    return found


def test_every_case_ends_as_the_table_says_and_leaves_nothing(places: Places, web: EvilProcess) -> None:
    place = places(resolve=RESOLVE, more={"concurrency": 200, "ca_file": web.ca_file})
    uvloop.run(crawl(place, {place.start([url_of("charset-unknown", web.port)], ONCE).id}))  # opens what stays open
    before, counted = held(), web.report()["requests"]

    started: dict[int, list[str]] = {}
    left: set[str] = set()
    for hurried in (False, True):  # those with a deadline alone: the others keep the server busy
        started |= start(place, web.port, hurried=hurried)
        left |= uvloop.run(crawl(place, set(started)))

    catalog = place.store().catalog
    found, wanted = {}, {}
    for crawl_id, cases in started.items():
        rows = {row.url: row for row in place.rows(crawl_id)}
        for case in cases:
            evil, row = EVIL[case], rows[url_of(case, web.port)]
            facts = catalog.page_facts(row.id) or {}
            found[case] = (row.state, row.reason, facts.get("truncated"))
            wanted[case] = (evil.state, evil.reason, evil.truncated)
    assert {case: got for case, got in found.items() if got != wanted[case]} == {}
    assert Reason.POISON not in {reason for _, reason, _ in found.values()}

    until(lambda: web.report()["open"] == 0, "every connection is closed")
    report = web.report()
    asked = {case: report["requests"].get(case, 0) - counted.get(case, 0) for case in EVIL}
    assert {case: asked[case] for case, evil in EVIL.items() if evil.requests not in (None, asked[case])} == {}
    assert max(report["robots"].values()) <= 6, "five redirects, or two attempts"
    limit = BODY_BYTES_MAX + BUFFERS_BYTES_MAX
    assert {case: sent for case, sent in report["sent"].items() if sent > limit} == {}, "no flood is read to its end"
    assert left == set()
    until(lambda: not held() - before, "files, threads and processes are as before")


@pytest.mark.parametrize("mode", ["enqueue", "follow"])
def test_no_hop_leads_through_a_proxy_to_a_private_address(places: Places, mode: str) -> None:
    """The crawler's proxy sees every request: links, redirects at each hop and robots.txt lead to private places."""
    names = ["far.test", "rules.test"]
    far, rules, outside = (f"http://{name}" for name in (*names, "inside.test"))
    private = [f"http://{host}/" for host in (*PRIVATE_HOSTS.values(), *NO_HOSTS.values())] + [outside]
    hops = {f"{far}/{turn}/{hop}": moved(f"/{turn}/{hop + 1}") for turn in range(5) for hop in range(turn)}
    hops |= {f"{far}/{turn}/{turn}": moved(private[turn]) for turn in range(5)}
    pages = {f"{far}/": html(*private, f"{rules}/", *(f"/{turn}/0" for turn in range(5))), **hops}
    sites = {"far.test": pages, "rules.test": {f"{rules}/robots.txt": moved("http://169.254.169.254/robots.txt")}}
    resolve = {**dict.fromkeys(names, "93.184.215.14"), "inside.test": "10.0.0.7"}
    with TestWeb(sites) as proxy:
        place = places(resolve=resolve)
        through = {"fetch.proxy": f"http://127.0.0.1:{proxy.port}", "fetch.allow_private": False}
        crawl = place.start([f"{far}/"], ONCE | through | {"scope.mode": "any", "redirects.mode": mode})
        run_here(place, crawl.id)
        asked = {hit.path for hit in proxy.hits()}
    assert {hop for hop in hops if hop not in asked} == set(), "every hop was taken"
    assert {urlsplit(url).hostname for url in asked} == set(names)
    reasons = {row.url: row.reason for row in place.rows(crawl.id)}
    assert reasons[f"{outside}/"] in (Reason.PRIVATE_ADDRESS, Reason.ROBOTS_UNREACHABLE)
    assert reasons[f"{rules}/"] == Reason.ROBOTS_UNREACHABLE
