"""Crawls real documentation sites on loopback: python -m bench.crawl [--only scrapy,workers,host,store,stages]

Every figure is a ratio of runs that stand side by side: the speed of a shared machine changes by half within minutes.
Needs root once (nginx and Debian's documentation packages, by ../shared/bench/docs-site.sh) and Scrapy, which it
installs into a virtual environment of its own.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from bench.places import Place, postgres
from bench.processes import peak_rss_mib
from nephila import wiring
from nephila.control import crawls
from nephila.control.supervisor import Supervisor
from nephila.control.upkeep import Duty
from nephila.profiles import crawl_settings
from nephila.settings import process_settings

HERE = Path(__file__).parent
WORK = HERE / ".work"
SHARED = HERE.parent.parent / "shared" / "bench"
SITES = [f"http://127.1.0.{site}:8090/" for site in range(1, 6)]
ALL_SITES = [f"http://127.1.{copy}.{site}:8090/" for copy in range(4) for site in range(1, 6)]
ONE_HOST = ["http://127.1.0.5:8090/"]
SCRAPY_PAGES = 1500
ROUNDS = 3
LEXBOR_PAGES = 1000
LEXBOR_TIMES = 1000 / 300  # the budget of a page over what parsing took of it on the machine of the design
OF_SQLITE = 0.85
SERVER_CPU_US_MAX = 150
DUTY_SECONDS, LOOK_SECONDS = 0.5, 0.1
LEASE_SECONDS = 2  # PostgreSQL looks twice, so far apart, before a crawl is over; the figures do not contain it
OWN_SITE = {"fetch.allow_private": True, "polite.floor_ms": 0, "polite.adaptive": False, "polite.max_inflight": 16}
SETTLE_SECONDS = 300.0

# Which frames of a sampled stack belong to which stage; the first that matches counts.
STAGES = (
    ("store", re.compile(r"nephila/frontier/")),
    ("archive", re.compile(r"nephila/archive/|worker/pending\.py")),
    ("links", re.compile(r"nephila/urls/")),
    ("parse", re.compile(r"nephila/extract/")),
    ("fetch", re.compile(r"nephila/fetch/")),
)


@dataclass(frozen=True, slots=True)
class Result:
    pages: int
    seconds: float  # until the last page was committed
    cpu_us: float  # of all worker processes, per URL
    rss_mib: int
    server_us: float = 0.0  # CPU of the database server, per URL

    @property
    def rate(self) -> float:
        return self.pages / self.seconds


def strangers() -> Path:
    """The programs of a virtual environment for Scrapy and py-spy, which are no dependencies of ours."""
    folder = WORK / "scrapy"
    if not (folder / "bin" / "py-spy").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "-q", "scrapy", "py-spy"], check=True)
    return folder / "bin"


def scrapy(seeds: list[str]) -> float:
    command = [str(strangers() / "python"), str(SHARED / "scrapy_baseline.py"), str(SCRAPY_PAGES), *seeds]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    print(f"  {printed.strip()}", file=sys.stderr, flush=True)  # between the rows of a table
    return float(printed.rsplit("=", 1)[1].split()[0])


def nephila(
    seeds: list[str],
    workers: int,
    *,
    cores: int = 2,
    samples: Path | None = None,
    place: Place | None = None,
    overrides: dict[str, int] | None = None,
) -> Result:
    """One complete crawl in a fresh store, everything on: robots, exact dedup, durable commits, WARC."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        given = {"data": Path(folder), "workers": workers, "log_level": "error", "lease_seconds": LEASE_SECONDS}
        if place is not None:
            given |= {"store": place.settings.store, "allow_private": True}
        settings = process_settings(given)
        store = wiring.open_store(settings, create=True)
        crawl, _ = crawls.start(store.catalog, seeds, crawl_settings("default", OWN_SITE | (overrides or {})))
        command = ["taskset", "-c", "0", *wiring.WORKER_COMMAND] if cores == 1 else wiring.WORKER_COMMAND
        supervisor = Supervisor(command, wiring.worker_environment(settings), workers, store.catalog.mark_suspect)
        before, server_before = os.times(), place.server_cpu() if place else 0.0
        supervisor.start()
        while not any(worker.alive for worker in store.catalog.workers()):
            time.sleep(0.01)  # Scrapy's clock starts after its imports, too
        sampler = _sample(supervisor.pids[0], samples) if samples else None
        seconds = _until_over(store, crawl.id, supervisor)
        rss = sum(map(peak_rss_mib, supervisor.pids))
        supervisor.close()
        after = os.times()
        server = place.server_cpu() - server_before if place else 0.0
        tallies = store.catalog.tallies(crawl.id)
        if sampler is not None:
            sampler.wait()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        urls_us = 1e6 / tallies["urls"]
        return Result(tallies["visited"], seconds, cpu * urls_us, rss, server * urls_us)


def _until_over(store: wiring.Store, crawl_id: int, supervisor: Supervisor) -> float:
    """Seconds until the last page, without the time it took to notice that it was the last."""
    duty = Duty(store.upkeep, store.archive, shared=False)
    began = last = duty_at = time.perf_counter()
    visited = 0
    while not store.catalog.crawl(crawl_id).state.over:
        supervisor.poll()
        now = time.perf_counter()
        assert now - began < SETTLE_SECONDS, "the crawl does not end"
        if now >= duty_at:
            duty.run_once()
            duty_at = now + DUTY_SECONDS
        found = store.catalog.tallies(crawl_id).get("visited", 0)
        if found != visited:
            visited, last = found, now
        time.sleep(LOOK_SECONDS)
    return last - began


def lexbor_us() -> float:
    """CPU of building the trees of some of these pages and nothing else: how fast this machine is just now."""
    folder = next(path for path in (WORK / "web", Path("/var/tmp/web")) if path.exists())
    paths = sorted(folder.glob("*/**/*.html"))
    pages = [path.read_bytes() for path in paths[:: max(1, len(paths) // LEXBOR_PAGES)] if path.is_file()]
    began = time.process_time()
    for page in pages:
        LexborHTMLParser(page)
    return (time.process_time() - began) / len(pages) * 1e6


def _sample(pid: int, samples: Path) -> "subprocess.Popen[bytes]":
    command = [
        str(strangers() / "py-spy"),
        "record",
        "-r",
        "200",
        "-d",
        "600",
        "-f",
        "raw",
        "-o",
        str(samples),
        "-p",
        str(pid),
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def stages(samples: Path, cpu_us: float) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for line in samples.read_text().splitlines():
        stack, count = line.rsplit(" ", 1)
        if "_watch_parent" in stack or stack.endswith(("_worker (concurrent/futures/thread.py:81)", "get")):
            continue
        counts[next((name for name, pattern in STAGES if pattern.search(stack)), "rest")] += int(count)
    return {name: count / sum(counts.values()) * cpu_us for name, count in counts.most_common()}


def row(what: str, target: str, result: str) -> None:
    print(f"| {what} | {target} | {result} |", flush=True)


def ratio(what: str, target: str, one: float, other: float) -> None:
    """Print a row with the ratio of two rates in pages a second."""
    row(what, target, f"**{one / other:.2f} x** ({one:.0f} against {other:.0f} pages/s)")


# --- what is measured -----------------------------------------------------------------------------------------------


def against_scrapy() -> None:
    before, one, after = scrapy(SITES), nephila(SITES, 1), scrapy(SITES)
    ratio("one worker against Scrapy (5 sites)", "12 x", one.rate, (before + after) / 2)


def more_workers() -> None:
    yardstick, ones, twos = [lexbor_us()], [], []
    for _ in range(ROUNDS):
        ones.append(nephila(ALL_SITES, 1, cores=1))
        yardstick.append(lexbor_us())
        twos.append(nephila(ALL_SITES, 2))
    one, two = (statistics.median(result.rate for result in results) for results in (ones, twos))
    ratio(f"two workers on two cores against one on one (20 hosts, {ROUNDS} rounds each, medians)", "1.5 x", two, one)
    cpu, lexbor = statistics.median(result.cpu_us for result in ones), statistics.median(yardstick)
    each = ", ".join(f"{result.cpu_us:.0f}" for result in ones)
    row("CPU per URL, everything on, one core", "1,000 us", f"**{cpu:.0f} us** ({each})")
    row("a yardstick of this machine: lexbor building trees of these pages", "-", f"{lexbor:.0f} us")
    row("CPU per URL over the yardstick", f"{LEXBOR_TIMES:.2f} x", f"**{cpu / lexbor:.2f} x**")
    row("peak memory of a worker", "400 MB", f"{max(result.rss_mib for result in ones)} MiB")


def one_host() -> None:
    rounds = [(nephila(ONE_HOST, 1, cores=1).rate, nephila(ONE_HOST, 1).rate) for _ in range(ROUNDS)]
    one, two = (statistics.median(rates) for rates in zip(*rounds, strict=True))
    ratio(f"one host, two cores against one ({ROUNDS} rounds each, medians)", "1.3 x", two, one)


def limits() -> None:
    """Without limits and with all three far from their end, in turns: one worker and ten, on both stores."""
    far = {"limits.max_pages": 10**6, "limits.max_urls": 10**7, "limits.max_bytes": 10**12}
    for workers in (1, 10):
        for store, crawled in (("SQLite", nephila), ("PostgreSQL", _on_postgres)):
            rounds = [[crawled(ALL_SITES, workers, overrides=each).rate for each in ({}, far)] for _ in range(ROUNDS)]
            free, limited = (statistics.median(rates) for rates in zip(*rounds, strict=True))
            what = f"{workers} worker{'s' * (workers > 1)} on {store}: limits far from their end against none"
            ratio(f"{what} ({ROUNDS} rounds each, medians)", "0.95 x", limited, free)


def stores() -> None:
    """One worker on the store of a cluster against one on the embedded store, in turns."""
    rounds = [(nephila(SITES, 1), _on_postgres(SITES, 1)) for _ in range(ROUNDS)]
    embedded, shared = ([results[side] for results in rounds] for side in (0, 1))
    rates = [statistics.median(result.rate for result in results) for results in (shared, embedded)]
    ratio(f"one worker on PostgreSQL against SQLite ({ROUNDS} rounds each, medians)", f"{OF_SQLITE} x", *rates)
    each = ", ".join(f"{ours.rate / theirs.rate:.2f}" for theirs, ours in rounds)
    row("the same, round by round", "-", each)
    server = statistics.median(result.server_us for result in shared)
    row("CPU of the database server per URL", f"{SERVER_CPU_US_MAX} us", f"**{server:.0f} us**")
    ours, theirs = (statistics.median(result.cpu_us for result in results) for results in (shared, embedded))
    row("CPU of the worker per URL, PostgreSQL and SQLite", "-", f"{ours:.0f} us, {theirs:.0f} us")
    pages = {result.pages for results in (shared, embedded) for result in results}
    row("pages of each run", "all the same", ", ".join(str(count) for count in sorted(pages)))


def _on_postgres(seeds: list[str], workers: int, *, overrides: dict[str, int] | None = None) -> Result:
    with postgres(WORK) as place:
        return nephila(seeds, workers, place=place, overrides=overrides)


def by_stage() -> None:
    strangers()  # not while a crawl is timed
    samples = WORK / "samples.txt"
    sampled = nephila(ALL_SITES, 1, samples=samples)
    print("\nCPU per URL by stage (share of samples x CPU per URL):\n\n| stage | us |\n|---|---|")
    for name, us in stages(samples, sampled.cpu_us).items():
        print(f"| {name} | {us:.0f} |")
    samples.unlink()


SECTIONS: dict[str, Callable[[], None]] = {
    "scrapy": against_scrapy,
    "workers": more_workers,
    "host": one_host,
    "limits": limits,
    "store": stores,
    "stages": by_stage,
}


def main() -> None:
    options = argparse.ArgumentParser(description="crawls of real sites on loopback")
    options.add_argument("--only", default=",".join(SECTIONS), help=f"of {','.join(SECTIONS)}")
    wanted = options.parse_args().only.split(",")
    if os.geteuid() != 0 or not SHARED.exists():
        sys.exit("bench.crawl needs root and ../shared/bench (it installs nginx and serves real sites on loopback)")
    WORK.mkdir(exist_ok=True)
    serving = subprocess.run(["pgrep", "-f", "nginx.*docs"], capture_output=True, check=False).returncode == 0
    if not serving and subprocess.run(["curl", "-sfo", "/dev/null", SITES[0]], check=False).returncode:
        subprocess.run(["bash", str(SHARED / "docs-site.sh"), str(WORK / "web")], check=True, stdout=sys.stderr)
    print("| what | target | result |\n|---|---|---|")
    for name, section in SECTIONS.items():
        if name in wanted:
            section()


if __name__ == "__main__":
    main()
