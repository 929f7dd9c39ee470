"""What a page costs with the code of another checkout and with this one, counted instead of timed.

    python -m bench.instructions --against ../old [--functions 40]

Seconds on a shared machine differ by a quarter from run to run; the instructions of the worker's process, which
valgrind counts, by less than half a percent. With --functions it is bytecodes, by the function that executes them, the
largest differences first: that takes a few minutes and says where. One that was moved stands there twice.

Two crawls of each code, whose difference is pages and nothing of the start. Not counted: the kernel, and helper
processes (they read the same pages for both). Neither is libcrypto: under valgrind it does without the processor's
instructions for SHA.

Needs valgrind and the sites of bench.crawl (../shared/bench/docs-site.sh).
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parents[1]
FEW, MANY = (3,), (2, 3)  # sites: 218 and 1,388 pages
COUNTED = [sys.executable, "-P", str(HERE / "bench" / "counted.py")]
# A program under valgrind takes some fifty times as long: no deadline may strike, and a flush is due by its results, of
# which there are as many as at full speed.
ENVIRONMENT = {"NEPHILA_FLUSH_MS": "60000", "NEPHILA_FLUSH_RESULTS": "250", "PYTHONHASHSEED": "0"}
PATIENT = {"fetch.first_byte_timeout_ms": 600_000, "fetch.total_timeout_ms": 3_600_000, "robots.timeout_ms": 600_000}
# Neither may pages be read by helpers because they are slow: that all of them are, here.
WORKER = """
from nephila.extract import html_reader
from nephila.wiring import main
html_reader.SLOW_SECONDS = 3600.0
main()
"""
RUN = """
import json, sys
from bench import crawl
from nephila import wiring
patient, command, replaces, worker, *seeds = map(json.loads, sys.argv[1:])
crawl.WORK.mkdir(exist_ok=True)
crawl.SETTLE_SECONDS = 3600.0
crawl.OWN_SITE |= patient
wiring.WORKER_COMMAND = command if replaces else [*command, sys.executable, "-P", "-c", worker]
print(crawl.nephila(seeds, 1, cores=1).pages)
"""


def crawl(checkout: Path, sites: tuple[int, ...], command: list[str], *, replaces: bool) -> int:
    """Crawl these sites with `command` before, or in the place of, that of the worker; answers the number of pages."""
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
    seeds = [f"http://127.1.0.{site}:8090/" for site in sites]
    given = [json.dumps(value) for value in (PATIENT, command, replaces, WORKER, *seeds)]
    run = [sys.executable, "-c", RUN, *given]
    done = subprocess.run(run, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the crawl with the code of {checkout} failed:\n{done.stderr}")
    return int(done.stdout.split()[-1])


def instructions(checkout: Path, sites: tuple[int, ...]) -> tuple[int, Counter[str]]:
    """The pages of a crawl, and the instructions of its worker by library."""
    with tempfile.TemporaryDirectory() as folder:
        valgrind = ["valgrind", "--tool=callgrind", "-q", f"--callgrind-out-file={folder}/%p"]
        pages = crawl(checkout, sites, valgrind, replaces=False)
        profile = max(Path(folder).iterdir(), key=lambda path: path.stat().st_size)  # those of forks are small
        found = by_library(profile.read_text())
        return pages, Counter({name: count for name, count in found.items() if "libcrypto" not in name})


def by_library(profile: str) -> Counter[str]:
    """The cost of all lines of a callgrind profile, without what they call, by the object file that they are of."""
    costs: Counter[str] = Counter()
    names: dict[str, str] = {}
    library, called = "", False
    for line in profile.splitlines():
        if named := re.match(r"(c?)ob=(\(\d+\))(?: (.*))?", line):
            names.setdefault(named[2], Path(named[3] or "").name)
            library = library if named[1] else names[named[2]]
        elif line.startswith("calls="):
            called = True  # the next line is the cost of the function that is called
        elif line and line[0] in "+-*0123456789":
            costs[library] += 0 if called else int(line.split()[1])
            called = False
    return costs


def bytecodes(checkout: Path, sites: tuple[int, ...]) -> tuple[int, Counter[str]]:
    """The pages of a crawl, and the bytecodes of its worker by function."""
    with tempfile.NamedTemporaryFile() as file:
        pages = crawl(checkout, sites, [*COUNTED, file.name], replaces=True)
        return pages, Counter(json.load(file))


def a_page(checkout: Path, *, functions: bool) -> dict[str, float]:
    count = bytecodes if functions else instructions
    few, before = count(checkout, FEW)
    many, costs = count(checkout, MANY)
    costs.subtract(before)
    found = {name: cost / (many - few) for name, cost in costs.items()}
    largest = ", ".join(f"{name} {found[name]:,.0f}" for name in sorted(found, key=lambda name: -found[name])[:3])
    print(f"  {checkout}: {sum(found.values()):,.0f} a page of {many - few} ({largest})", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, required=True, help="the other checkout of this repository")
    parser.add_argument("--functions", type=int, default=0, help="bytecodes instead: how many functions to show")
    chosen = parser.parse_args()
    shown, what = chosen.functions, "bytecodes" if chosen.functions else "instructions"
    other, here = (a_page(path, functions=shown > 0) for path in (chosen.against.resolve(), HERE))
    more = {name: here.get(name, 0) - other.get(name, 0) for name in here | other}
    for name in sorted(more, key=lambda name: -abs(more[name]))[:shown]:
        print(f"  {more[name]:+8.1f}  {other.get(name, 0):8.1f} -> {here.get(name, 0):8.1f}  {name}")
    ratio = sum(other.values()) / sum(here.values())
    print(f"| {what} a page of the other checkout over those of this one | **{ratio:.3f} x** |")


if __name__ == "__main__":
    main()
