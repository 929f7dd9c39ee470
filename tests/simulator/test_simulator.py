"""Some seeds of the simulator in every run of the tests: `make simulate` has the others.

In a process of its own, with the hash seed that makes the order of sets a part of the seed, and far from the loops and
the bounds of other tests.
"""

import os
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT
from tests.patience import PATIENCE_SECONDS
from tests.simulator.oracle import Oracle, Terms
from tests.simulator.web import Act, Hit, Mood, Origin, Page, Robots, Site, Web

SEEDS = 20
# Seeds that failed before a mend, and what they found. What a seed means changes with the simulator: each mend has a
# test of its own, too.
ONCE_FAILED = {
    17: "Retry-After of a robots.txt",
    116: "a new session loads what its predecessor owned",
    436: "requests that wait for one look-up",
    534: "a robots.txt refused by max_urls",
    614: "a frozen worker's requests, cut off when it wakes",
    1206: "a name that is forgotten between its look-up and the request",
}


def simulated(*options: str) -> str:
    command = [sys.executable, "-m", "tests.simulator", *options]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5000:]
    return done.stdout


def test_seeds() -> None:
    assert f"{SEEDS} seeds:" in simulated("--seeds", str(SEEDS), "--jobs", "1")


def test_seeds_that_failed_once() -> None:
    simulated("--seed", *map(str, ONCE_FAILED))


def test_a_seed_decides_everything() -> None:
    """The same trace, whatever ran before it in the process."""
    alone, after_others = simulated("--seed", "7"), simulated("--seed", "5", "6", "7")
    assert alone == after_others[-len(alone) :] and "seed 7:" in alone


# --- the oracle itself

URL, OTHER = "http://a.test/", "http://a.test/private/b"
TERMS = Terms(True, "enqueue", any_host=False, floor_ms=100, max_inflight=1, retry_after_cap_ms=1000)


def asked(url: str, started: float, ended: float, machine: str = "m1", **more: object) -> Hit:
    return Hit("a.test", url, "crawl1", machine, started, ended, 200, heard=True, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hits", "offence"),
    [
        ([asked(URL, 200, 210)], ""),
        ([asked(URL, 100, 110)], "90.0 ms instead of 100"),
        ([asked(URL, 200, 310), asked(URL, 300, 310, "m2")], "2 requests in flight"),
        ([asked(OTHER, 200, 210)], "robots.txt forbids it"),
        ([asked(URL, 200, 210, asks_rest_ms=500), asked(URL, 400, 410)], "before Retry-After"),
    ],
)
def test_what_servers_must_not_see(hits: list[Hit], offence: str) -> None:
    site = Site("a.test", Mood.WELL, [Origin("http://a.test", Robots.RULES)])
    web = Web([site], {URL: Page(URL, Act.PAGE, [OTHER]), OTHER: Page(OTHER, Act.PAGE)})
    oracle = Oracle(web, TERMS)
    web.hits = [asked(URL + "robots.txt", 0, 10), *hits]
    found = list(oracle.offences())
    assert [offence in found[0]] == [True] if offence else found == []
    web.hits = hits
    assert any("before robots.txt" in line for line in oracle.offences())
    assert oracle.expected([URL]).ends == {URL: (("visited", ""),), OTHER: (("excluded", "robots"),)}
