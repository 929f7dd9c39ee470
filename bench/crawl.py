"""Crawls real documentation sites on loopback, beside Scrapy, in one run: python -m bench.crawl

Needs root once (nginx and Debian's documentation packages, by ../shared/bench/docs-site.sh) and Scrapy, which it
installs into a virtual environment of its own.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

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
LEXBOR_PAGES = 500
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


@dataclass
class Result:
    pages: int
    seconds: float
    cpu_us: float  # of all worker processes, per URL
    rss_mib: int

    @property
    def rate(self) -> float:
        return self.pages / self.seconds


def scrapy(seeds: list[str]) -> float:
    folder = WORK / "scrapy"
    if not (folder / "bin" / "py-spy").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "-q", "scrapy", "py-spy"], check=True)
    command = [str(folder / "bin" / "python"), str(SHARED / "scrapy_baseline.py"), str(SCRAPY_PAGES), *seeds]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    print(f"  {printed.strip()}", flush=True)
    return float(printed.rsplit("=", 1)[1].split()[0])


def nephila(seeds: list[str], workers: int, *, cores: int = 2, samples: Path | None = None) -> Result:
    """One complete crawl in a fresh store, everything on: robots, exact dedup, synchronous=FULL, WARC."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        settings = process_settings({"data": Path(folder), "workers": workers, "log_level": "error"})
        store = wiring.open_store(settings, create=True)
        crawl, _ = crawls.start(store.catalog, seeds, crawl_settings("default", OWN_SITE))
        command = ["taskset", "-c", "0", *wiring.WORKER_COMMAND] if cores == 1 else wiring.WORKER_COMMAND
        supervisor = Supervisor(command, wiring.worker_environment(settings), workers, store.catalog.suspect)
        duty = Duty(store.upkeep, settings.archive_folder)
        before = os.times()
        supervisor.start()
        while not any(worker.alive for worker in store.catalog.workers()):
            time.sleep(0.01)  # Scrapy's clock starts after its imports, too
        began = time.perf_counter()
        sampler = _sample(supervisor.pids[0], samples) if samples else None
        while not store.catalog.crawl(crawl.id).state.over:
            supervisor.poll()
            duty.run_once()
            time.sleep(0.05)
            assert time.perf_counter() - began < SETTLE_SECONDS, "the crawl does not end"
        seconds = time.perf_counter() - began
        rss = sum(_rss_mib(pid) for pid in supervisor.pids)
        supervisor.close()
        after = os.times()
        tallies = store.catalog.tallies(crawl.id)
        if sampler is not None:
            sampler.wait()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return Result(tallies["visited"], seconds, cpu / tallies["urls"] * 1e6, rss)


def interleaved(seeds: list[str]) -> tuple[float, float]:
    """Pages a second on one core and on two: medians of rounds that take turns, because the machine's speed changes."""
    rates = [(nephila(seeds, 1, cores=1).rate, nephila(seeds, 1).rate) for _ in range(ROUNDS)]
    return statistics.median(one for one, _ in rates), statistics.median(two for _, two in rates)


def lexbor_us() -> float:
    """CPU of building the trees of some of these pages and nothing else: how fast this machine is just now."""
    folder = next(path for path in (WORK / "web", Path("/var/tmp/web")) if path.exists())
    pages = [path.read_bytes() for path in sorted(folder.glob("cppreference*/**/*.html"))[:LEXBOR_PAGES]]
    began = time.process_time()
    for page in pages:
        LexborHTMLParser(page)
    return (time.process_time() - began) / len(pages) * 1e6


def _sample(pid: int, samples: Path) -> "subprocess.Popen[bytes]":
    command = [
        str(WORK / "scrapy" / "bin" / "py-spy"),
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


def _rss_mib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    text = status.read_text() if status.exists() else ""
    found = re.search(r"VmHWM:\s+(\d+)", text)
    return int(found[1]) // 1024 if found else 0


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


def main() -> None:
    if os.geteuid() != 0 or not SHARED.exists():
        sys.exit("bench.crawl needs root and ../shared/bench (it installs nginx and serves real sites on loopback)")
    WORK.mkdir(exist_ok=True)
    serving = subprocess.run(["pgrep", "-f", "nginx.*docs"], capture_output=True, check=False).returncode == 0
    if not serving and subprocess.run(["curl", "-sfo", "/dev/null", SITES[0]], check=False).returncode:
        subprocess.run(["bash", str(SHARED / "docs-site.sh"), str(WORK / "web")], check=True, stdout=sys.stderr)
    samples = WORK / "samples.txt"
    peer = scrapy(SITES)
    one = nephila(SITES, 1)
    print(f"  nephila, one worker: {one.pages} pages in {one.seconds:.1f} s = {one.rate:.0f} pages/s", flush=True)
    again = scrapy(SITES)
    peer = (peer + again) / 2
    one_core = nephila(ALL_SITES, 1, cores=1)
    one_free = nephila(ALL_SITES, 1)
    two = nephila(ALL_SITES, 2)
    host_one, host_two = interleaved(ONE_HOST)
    lexbor = lexbor_us()
    sampled = nephila(ALL_SITES, 1, samples=samples)
    print("\n| what | target | result |\n|---|---|---|")
    row(
        "one worker against Scrapy (5 sites)",
        "12 x",
        f"**{one.rate / peer:.1f} x** ({one.rate:.0f} against {peer:.0f} pages/s)",
    )
    row(
        "two workers on two cores against one on one (20 hosts)",
        "1.5 x",
        f"**{two.rate / one_core.rate:.2f} x** ({two.rate:.0f} against {one_core.rate:.0f})",
    )
    row(
        "two workers against one that may use both cores (20 hosts)",
        "-",
        f"{two.rate / one_free.rate:.2f} x ({two.rate:.0f} against {one_free.rate:.0f})",
    )
    row(
        "one host, two cores against one",
        "1.3 x",
        f"**{host_two / host_one:.2f} x** ({host_two:.0f} against {host_one:.0f})",
    )
    row("CPU per URL, everything on, one core", "1,000 us", f"**{one_core.cpu_us:.0f} us**")
    row("of that, lexbor building trees (the same pages alone)", "-", f"{lexbor:.0f} us")
    row("peak memory of a worker", "400 MB", f"{one_core.rss_mib} MiB")
    print("\nCPU per URL by stage (share of samples x CPU per URL):\n\n| stage | us |\n|---|---|")
    for name, us in stages(samples, sampled.cpu_us).items():
        print(f"| {name} | {us:.0f} |")
    shutil.rmtree(WORK / "samples.txt", ignore_errors=True)


if __name__ == "__main__":
    main()
