"""Runs seeds, in several processes, and tells what came of them."""

import gc
import sys
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from nephila import log
from nephila.settings import LogFormat, LogLevel
from tests.simulator.scenario import arrange_process
from tests.simulator.simulation import Report, simulate

CHUNK = 10  # seeds between two collections of garbage
SAID_EVERY = 100
TRACE_LINES = 60  # of a seed that fails, without --seed


def prepare() -> None:
    log.configure(LogLevel.ERROR, LogFormat.CONSOLE, sys.stderr)
    arrange_process()


def run_chunk(seeds: range) -> list[Report]:
    gc.collect()
    return [report if report.broken else report.without_trace() for report in map(simulate, seeds)]


def reports(seeds: range, jobs: int) -> Iterator[Report]:
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    if jobs == 1:
        prepare()
        for chunk in chunks:
            yield from run_chunk(chunk)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), prepare) as pool:
        for done in pool.map(run_chunk, chunks):
            yield from done


def tell(report: Report, lines: int) -> None:
    """Everything about one seed."""
    for at, text in report.trace[-lines:]:
        print(f"{at:12.3f} {text}")
    digest = zlib.crc32(repr(report.trace).encode())
    print(f"seed {report.seed}: {report.virtual_ms / 1000:.1f} s, {report.summary}, trace {digest:08x}")
    for line in report.broken:
        print(f"BROKEN {line}")


def run_all(seeds: range, jobs: int) -> int:
    began, failed, urls, requests, virtual = time.monotonic(), list[int](), 0, 0, 0.0
    for count, report in enumerate(reports(seeds, jobs), 1):
        urls, requests, virtual = urls + report.urls, requests + report.requests, virtual + report.virtual_ms
        if report.broken:
            failed.append(report.seed)
            tell(report, TRACE_LINES)
        if count % SAID_EVERY == 0 or count == len(seeds):
            took, hours = time.monotonic() - began, virtual / 3_600_000
            told = f"{urls:,} URLs, {requests:,} requests, {hours:.1f} hours in {took:.0f} s"
            print(f"{count:,} seeds: {told}, {len(failed)} failed", flush=True)
    if failed:
        print(f"failed: {' '.join(map(str, failed))}; with every call of the store: make simulate ARGS='--seed N'")
    return bool(failed)
