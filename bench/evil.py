"""What each host of the evil web (tests/site/evil/web.py) costs a worker: python -m bench.evil [--only drip-body,...]

One worker meets one case after the other, with the default limits and short deadlines. Printed by case: the longest
request as a share of its deadline, growth of the worker's memory (both on uvloop, as workers run), and CPU of the
longest callback (in a second round on asyncio's loop, whose callbacks can be seen; the work inside them is the same).
Tests have the outcomes; these figures depend on the machine. Ends with code 1 where a limit is passed.
"""

import argparse
import asyncio
import ctypes
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvloop
from tests.site.evil.process import EvilProcess
from tests.site.evil.web import EVIL, RESOLVE, url_of
from tests.site.fixtures import FAST

from nephila import log, wiring
from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.control.upkeep import Duty
from nephila.fetch.fetcher import Fetcher, FetchRequest, FetchResult
from nephila.frontier.store import WorkerInfo
from nephila.profiles import crawl_settings
from nephila.settings import process_settings

LIBC = ctypes.CDLL(None)
DEADLINE_MS = 3000
LATE_MAX = 1.1  # of the deadline
GROWTH_MIB_MAX = 50.0
CALLBACK_MS_MAX = 250.0
LOOK_SECONDS = 0.01
SETTLE_SECONDS = 1.0
SETTINGS: dict[str, Any] = {
    **FAST,
    "retry.max": 0,
    "robots.attempts_max": 2,
    "robots.retry_ms": 1,
    **dict.fromkeys(
        ("fetch.total_timeout_ms", "fetch.first_byte_timeout_ms", "fetch.tls_timeout_ms", "robots.timeout_ms"),
        DEADLINE_MS,
    ),
}
CASE_SETTINGS = ("robots.mode", "limits.max_urls")  # of a case; its other settings are for tests


@dataclass(slots=True)
class Gauge:
    """What was the most since `reset`."""

    late: float = 0.0  # of a request, as a share of its deadline
    callback_ms: float = 0.0
    callback: str = ""
    before_kib: int = 0
    aside_seconds: float = 0.0  # CPU of the bench itself in the callback that runs
    fetch: Callable[[FetchRequest], Any] = field(default=lambda request: None)

    def reset(self) -> None:
        gc.collect()
        LIBC.malloc_trim(0)  # what the case before has left would hide what this one takes
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self.late, self.callback_ms, self.callback, self.before_kib = 0.0, 0.0, "", memory_kib("VmRSS")

    @property
    def growth_mib(self) -> float:
        return (memory_kib("VmHWM") - self.before_kib) / 1024

    @contextmanager
    def aside(self) -> Iterator[None]:
        started = time.thread_time()
        yield
        self.aside_seconds += time.thread_time() - started

    async def timed(self, request: FetchRequest) -> FetchResult:
        started = time.perf_counter()
        result: FetchResult = await self.fetch(request)
        deadline_ms = request.total_timeout_ms or request.settings.total_timeout_ms
        self.late = max(self.late, (time.perf_counter() - started) * 1000 / deadline_ms)
        return result

    def watch_callbacks(self) -> None:
        run = asyncio.Handle._run

        def measured(handle: asyncio.Handle) -> None:
            started, self.aside_seconds = time.thread_time(), 0.0
            run(handle)
            spent = (time.thread_time() - started - self.aside_seconds) * 1000
            if spent > self.callback_ms:
                self.callback_ms, self.callback = spent, repr(handle)

        asyncio.Handle._run = measured  # type: ignore[method-assign]

    def watch_fetches(self, fetcher: Fetcher) -> None:
        self.fetch = fetcher.fetch
        fetcher.fetch = self.timed  # type: ignore[method-assign]


def memory_kib(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


@dataclass(frozen=True, slots=True)
class Cost:
    seconds: float
    late: float
    growth_mib: float
    callback_ms: float


async def measure(folder: Path, web: EvilProcess, cases: list[str], gauge: Gauge) -> dict[str, Cost]:
    given = {"data": folder, "resolve": RESOLVE, "ca_file": web.ca_file, "log_level": "error"}
    settings = process_settings(given)
    store = wiring.open_store(settings, create=True)
    worker = wiring.new_worker(wiring.open_frontier(settings), settings, SystemClock(), WorkerInfo("evil", 0, "0"))
    gauge.watch_fetches(worker.parts.fetcher)
    duty, running = Duty(store.upkeep, store.archive, shared=False), asyncio.ensure_future(worker.run())
    costs = {}
    for case in ("tls-well", *cases):  # the first is not counted: it loads what stays loaded
        evil = EVIL[case]
        own = {name: value for name, value in evil.overrides().items() if name in CASE_SETTINGS}
        with gauge.aside():
            gauge.reset()
            crawl, _ = crawls.start(store.catalog, [url_of(case, web.port)], crawl_settings("default", SETTINGS | own))
        started, over = time.perf_counter(), False
        while not over:
            await asyncio.sleep(LOOK_SECONDS)
            with gauge.aside():
                duty.run_once()
                over = store.catalog.crawl(crawl.id).state.over
        seconds = time.perf_counter() - started
        costs[case] = Cost(seconds, gauge.late, gauge.growth_mib, gauge.callback_ms)
        if gauge.callback_ms > CALLBACK_MS_MAX:
            print(f"{case}: {gauge.callback[:300]}", file=sys.stderr)
    worker.stop()
    await running
    await asyncio.sleep(SETTLE_SECONDS)
    print(f"left: {len(asyncio.all_tasks()) - 1} tasks, {web.report()['open']} connections")
    return costs


def show(case: str, cost: Cost, callback_ms: float) -> bool:
    """Print a line; true: a limit is passed."""
    bad = cost.late > LATE_MAX, cost.growth_mib > GROWTH_MIB_MAX, callback_ms > CALLBACK_MS_MAX
    late, growth, callback = (" **too much**" if wrong else "" for wrong in bad)
    figures = f"{cost.late:.0%}{late} | {cost.growth_mib:.0f} MiB{growth} | {callback_ms:.0f} ms{callback}"
    print(f"| {case} | {cost.seconds:.1f} s | {figures} |")
    return any(bad)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.evil")
    parser.add_argument("--only", default="", help="cases, comma separated; default: all")
    cases = [case for case in parser.parse_args().only.split(",") if case] or list(EVIL)
    log.configure("error", "console", sys.stderr, None)
    gauge = Gauge()
    with tempfile.TemporaryDirectory(prefix="nephila-evil-") as folder, EvilProcess(Path(folder) / "tls") as web:
        costs = uvloop.run(measure(Path(folder) / "first", web, cases, gauge))
        gauge.watch_callbacks()
        seen = asyncio.run(measure(Path(folder) / "second", web, cases, gauge))
    print("\n| case | ended | request / deadline | memory | longest callback |\n|---|---|---|---|---|")
    failed = [case for case in cases if show(case, costs[case], seen[case].callback_ms)]
    limits = f"{LATE_MAX:.0%} of the deadline, {GROWTH_MIB_MAX:.0f} MiB, {CALLBACK_MS_MAX:.0f} ms of CPU"
    print(f"limits: {limits}; passed by: {', '.join(failed) or 'none'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
