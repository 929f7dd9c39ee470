"""Two checkouts in turns: whole crawls by one worker on one core, the code of another checkout against this one.

    python -m bench.turns --against ../old [--rounds 5]

Each run is a process of its own that imports `bench.crawl` of its checkout, so both use the same Python and packages.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

HERE = Path(__file__).parents[1]
RUN = (
    "import json; from bench.crawl import SITES, WORK, nephila; WORK.mkdir(exist_ok=True); "
    "result = nephila(SITES, 1, cores=1); "
    "print(json.dumps([result.rate, result.cpu_us, result.rss_mib]))"
)


def run(checkout: Path) -> list[float]:
    """Pages a second, CPU us per URL, and MiB of memory."""
    environment = os.environ | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
    command = [sys.executable, "-c", RUN]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the crawl with the code of {checkout} failed:\n{done.stderr}")
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, required=True, help="the other checkout of this repository")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    other, here = chosen.against.resolve(), HERE
    results: dict[Path, list[list[float]]] = {other: [], here: []}
    for number in range(chosen.rounds):
        for checkout in (other, here) if number % 2 == 0 else (here, other):
            found = run(checkout)
            results[checkout].append(found)
            print(f"  {checkout}: {found[0]:.0f} pages/s, {found[1]:.0f} us a URL, {found[2]:.0f} MiB", flush=True)
    rates, cpus = ([median(one[place] for one in results[path]) for path in (here, other)] for place in (0, 1))
    print(f"| this checkout against the other, one core | **{rates[0] / rates[1]:.3f} x** of its pages/s |")
    print(f"| CPU of the other per URL over that of this one | **{cpus[1] / cpus[0]:.3f} x** |")


if __name__ == "__main__":
    main()
