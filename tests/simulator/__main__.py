"""`python -m tests.simulator [--seeds 1000] [--first 0] [--seed N]`: run seeds, say which of them fail, and how."""

import argparse
import os
import sys

from tests.simulator.runner import prepare, run_all, tell
from tests.simulator.simulation import simulate


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.simulator", description=__doc__)
    options.add_argument("--seeds", type=int, default=1000, help="how many")
    options.add_argument("--first", type=int, default=0, help="the first of them")
    options.add_argument("--seed", type=int, nargs="+", help="only these, with every call of the store in their traces")
    options.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    given = options.parse_args()
    if given.seed is None:
        return run_all(range(given.first, given.first + given.seeds), given.jobs)
    prepare()
    found = [simulate(seed, detailed=True) for seed in given.seed]
    for report in found:
        tell(report, len(report.trace))
    return any(report.broken for report in found)


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets of strings is a part of the seed
        again = [sys.executable, "-m", "tests.simulator", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})
    code = main()
    sys.stdout.flush()
    os._exit(code)  # what is left of killed processes is not to be taken apart
