"""7. However many workers there are, the export is the same."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.fleet import Fleet, clean_environment
from tests.e2e.harness import Places, repeated_requests
from tests.patience import PATIENCE_SECONDS
from tests.site.graphs import generate
from tests.site.server import TestWeb

pytestmark = pytest.mark.xdist_group("cluster")

SEED = 91817
WORKERS = (1, 3, 10)


def nephila(*arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "nephila", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=clean_environment())
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.requirement("F-08", "T-04", "F-25", "F-28", "X-02", "G-04")
@pytest.mark.parametrize("places", ["postgres"], indirect=True)
@pytest.mark.parametrize("hosts", [1, 50])
def test_7_the_exports_of_1_3_and_10_workers_are_the_same(hosts: int, places: Places) -> None:
    exports: list[Path] = []
    with TestWeb() as web:
        graph = generate(SEED, 700, web.port, hosts=hosts)
        web.add(graph.sites)
        for workers in WORKERS:
            web.clear()
            place = places(name=str(workers))
            fleet = Fleet(place)
            try:
                fleet.start("all", workers=workers)
                fleet.ready(workers)
                crawl = place.start(list(graph.seeds), graph.settings | {"polite.max_inflight": 4})
                fleet.run_crawl(crawl.id)
            finally:
                fleet.close()
            assert graph.mismatches(place.states(crawl.id)) == []
            assert repeated_requests(web.hits()) == 0
            assert place.store().catalog.check() == []
            exports.append(places.folder / f"{workers}.jsonl")
            code, said = nephila("export", "--store", place.url or "", "--output", str(exports[-1]))
            assert code == 0, said
    for other in exports[1:]:
        code, said = nephila("compare", "--by", "content", str(exports[0]), str(other))
        assert code == 0, said
