"""CPU a MB of pages that the code was not tuned with: python -m bench.heldout [--pages 3000] [--rounds 3 | --count]

Three documentation sites (openjdk-17-doc, rust-doc, debian-handbook of Debian) that bench.crawl does not have, and of
each a random sample of its pages in random order: what happens to be remembered of the page before helps as little as
on a foreign site. One worker on one core with everything on, in turns with the bare loop (bench/bare.py) on the same
core: CPU of each in ms a MB of pages, and their ratio. With --count it is instructions, which other load does not
change (valgrind; a quarter of an hour): two runs of each, whose difference is pages and nothing of the start. Large
pages are then read on the loop, too, not by a helper.

The packages are looked for in --root (default /, as apt-get installs them; `dpkg -x` unpacks them elsewhere). Needs
nginx, which serves them on 127.2.0.1 to 127.2.0.3, port 8091.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.bare import WAYS
from bench.instructions import ENVIRONMENT, PATIENT, by_library
from bench.processes import below, cpu_seconds
from nephila import wiring
from nephila.control import crawls
from nephila.control.supervisor import Supervisor
from nephila.profiles import crawl_settings
from nephila.settings import process_settings

WORK = Path(__file__).parent / ".work"
PORT = 8091
SITES = {
    "openjdk-17-doc": "usr/share/doc/openjdk-17-jre-headless/api",
    "rust-doc": "usr/share/doc/rust-doc/html",
    "debian-handbook": "usr/share/doc/debian-handbook/html",
}
SEED = 20261117
TARGET = 1.6  # times the bare loop
YARDSTICK = "lexbor"  # does not change with our code
COUNTED_PAGES = (60, 360)
# A worker under valgrind: pages are read on the loop however large they are and however long that takes.
WORKER = """
from nephila.extract import html_reader
from nephila.wiring import main
html_reader.SLOW_SECONDS, html_reader.BYTES_INLINE_MAX, html_reader.LINKS_INLINE_MAX = 3600.0, 1 << 30, 1 << 30
main()
"""
LOOK_SECONDS, SETTLE_SECONDS = 0.05, 3600.0
OWN_SITES = {"fetch.allow_private": True, "polite.floor_ms": 0, "polite.adaptive": False, "polite.max_inflight": 16}
ONE_CORE = ["taskset", "-c", "0"]
CONF = """worker_processes 1;
pid {dir}/nginx.pid;
error_log {dir}/error.log;
daemon off;
events {{ worker_connections 4096; }}
http {{
  include /etc/nginx/mime.types;
  access_log off;
  sendfile on;
  keepalive_requests 1000000;
  open_file_cache max=8000 inactive=60s;
  map $host $site {{
{map}    default /nonexistent;
  }}
  server {{ listen {port}; root $site; index index.html; }}
}}
"""


@dataclass(frozen=True, slots=True)
class Cost:
    spent: float  # ms of CPU after the start, or millions of instructions
    mb: float  # of bodies, 10^6 bytes

    @property
    def a_mb(self) -> float:
        return self.spent / self.mb


def sample(root: Path, pages: int) -> tuple[list[str], dict[str, Path]]:
    """URLs of pages of all sites that are there, in random order but the same in every run; the folder of each site."""
    chosen, folders = list[str](), dict[str, Path]()
    for number, (package, path) in enumerate(SITES.items(), 1):
        folder = root / path
        found = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.html") if file.is_file())
        if not found:
            print(f"{package} is not there (no pages in {folder}): apt-get install {package}", file=sys.stderr)
            continue
        address = f"127.2.0.{number}"
        folders[address] = folder
        picked = random.Random(SEED).sample(found, min(pages // len(SITES), len(found)))
        chosen += [f"http://{address}:{PORT}/{file}" for file in picked]
    random.Random(SEED).shuffle(chosen)
    return chosen, folders


@contextmanager
def served(folders: dict[str, Path]) -> Iterator[None]:
    with tempfile.TemporaryDirectory(dir=WORK) as directory:
        sites = "".join(f"    {address} {folder.resolve()};\n" for address, folder in folders.items())
        conf = Path(directory) / "nginx.conf"
        conf.write_text(CONF.format(dir=directory, map=sites, port=PORT))
        Path(directory).chmod(0o755)
        server = subprocess.Popen(["taskset", "-c", "1", "nginx", "-c", str(conf), "-g", "user root;"])
        try:
            while subprocess.run(["curl", "-so", "/dev/null", f"http://127.2.0.1:{PORT}/"], check=False).returncode:
                assert server.poll() is None, "nginx did not start"
                time.sleep(LOOK_SECONDS)
            yield
        finally:
            server.terminate()
            server.wait()


def bare(urls: list[str], before: list[str], way: str) -> Cost:
    with tempfile.NamedTemporaryFile("w", dir=WORK) as file:
        file.write("\n".join(urls))
        file.flush()
        command = [*ONE_CORE, *before, sys.executable, "-m", "bench.bare", file.name, way]
        said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert said["pages"] == len(urls), f"{said['pages']} of {len(urls)} pages"
    return Cost(said["seconds"] * 1000, said["bytes"] / 1e6)


def nephila(urls: list[str], before: list[str]) -> Cost:
    """Everything on: robots, exact dedup, durable commits, WARC, the links of every page. All its links are admitted,
    but the seeds come first, so these are the pages."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        settings = process_settings({"data": Path(folder), "workers": 1, "log_level": "error"})
        store = wiring.open_store(settings, create=True)
        patient = PATIENT if before else {}
        rules = crawl_settings("default", OWN_SITES | patient | {"limits.max_pages": len(urls)})
        crawl, _ = crawls.start(store.catalog, urls, rules)
        worker = [sys.executable, "-P", "-c", WORKER] if before else wiring.WORKER_COMMAND
        environment = wiring.worker_environment(settings) | (ENVIRONMENT if before else {})
        command = [*ONE_CORE, *before, *worker]
        supervisor = Supervisor(command, environment, 1, store.catalog.mark_suspect)
        supervisor.start()
        while not any(worker.alive for worker in store.catalog.workers()):
            time.sleep(0.01)
        spent, began, tallies = _cpu(supervisor), time.monotonic(), dict[str, int]()
        while tallies.get("visited", 0) < len(urls):
            assert time.monotonic() - began < SETTLE_SECONDS, f"the crawl does not end: {tallies}"
            time.sleep(LOOK_SECONDS)
            tallies = store.catalog.tallies(crawl.id)
        spent = _cpu(supervisor) - spent
        supervisor.close()
        return Cost(spent * 1000, tallies["bytes"] / 1e6)


def _cpu(supervisor: Supervisor) -> float:
    pids = [pid for worker in supervisor.pids for pid in (worker, *below(worker))]
    return sum(map(cpu_seconds, pids))


def counted(urls: list[str], run: Callable[[list[str], list[str]], Cost]) -> Cost:
    """Millions of instructions that the pages beyond the first few cost, and their size."""
    spent = []
    for pages in COUNTED_PAGES:
        with tempfile.TemporaryDirectory(dir=WORK) as folder:
            cost = run(urls[:pages], ["valgrind", "--tool=callgrind", "-q", f"--callgrind-out-file={folder}/%p"])
            found = by_library(max(Path(folder).iterdir(), key=lambda path: path.stat().st_size).read_text())
        spent.append(Cost(sum(count for name, count in found.items() if "libcrypto" not in name) / 1e6, cost.mb))
    few, many = spent
    return Cost(many.spent - few.spent, many.mb - few.mb)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path("/"), help="where the packages are unpacked")
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", action="store_true", help="instructions instead of time")
    chosen = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("nginx") is None:
        sys.exit("bench.heldout needs root and nginx (it serves sites on loopback)")
    WORK.mkdir(exist_ok=True)
    urls, folders = sample(chosen.root, chosen.pages)
    if not urls:
        sys.exit("none of the packages is there")
    ways: dict[str, Callable[[list[str], list[str]], Cost]] = {"nephila": nephila}
    ways |= {way: partial(bare, way=way) for way in WAYS}
    runs: dict[str, list[Cost]] = {name: [] for name in ways}
    with served(folders):
        for _ in range(1 if chosen.count else chosen.rounds):
            for name, run in ways.items():
                runs[name].append(counted(urls, run) if chosen.count else run(urls, []))
    report(runs, "million instructions" if chosen.count else "ms")


def report(runs: dict[str, list[Cost]], unit: str) -> None:
    costs = {name: statistics.median(cost.a_mb for cost in each) for name, each in runs.items()}
    print(f"{runs['nephila'][0].mb:.0f} MB of pages\n\n| what | target | result |\n|---|---|---|")
    for name, cost in costs.items():
        each = ", ".join(f"{cost.a_mb:.1f}" for cost in runs[name])
        what = "one worker, everything on" if name == "nephila" else f"the bare loop, links by {name}"
        print(f"| a MB of held-out pages: {what} | - | {cost:.1f} {unit} ({each}) |")
    for way in WAYS:
        target = f"{TARGET} x" if way == YARDSTICK else "-"
        print(f"| everything on over the bare loop with {way} | {target} | **{costs['nephila'] / costs[way]:.2f} x** |")


if __name__ == "__main__":
    main()
