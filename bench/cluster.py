"""How long a cluster takes for what happens by itself (docs/operations.md), on a machine that does nothing else.

    python -m bench.cluster

Two machines of one worker each, on PostgreSQL, in the middle of a crawl. Tests show that it happens at all; how soon
depends on the machine, so it is measured here.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.fleet import Fleet, Machine
from tests.e2e.harness import Place
from tests.patience import until
from tests.postgres import Server
from tests.site.graphs import generate
from tests.site.server import TestWeb

from nephila.control import crawls
from nephila.models import PARTITIONS, CrawlState

LEASE_SECONDS = 5.0
PAGES, HOSTS = 20_000, 8  # for eight minutes
PACED = {"polite.floor_ms": 200, "polite.max_inflight": 1}


def seconds(met: Callable[[], object]) -> float:
    began = time.monotonic()
    until(met)
    return time.monotonic() - began


def sent_by(machine: Machine, web: TestWeb) -> int:
    return sum(hit.headers["user-agent"] == machine.agent for hit in web.hits())


def measured(fleet: Fleet, database: Server, web: TestWeb) -> list[tuple[str, float, float]]:
    """What, seconds, and its target."""
    graph = generate(1, PAGES, web.port, hosts=HOSTS)
    web.add(graph.sites)
    fleet.start_all(1)
    catalog = fleet.place.store().catalog
    crawl = fleet.place.start(list(graph.seeds), graph.settings | PACED)
    until(lambda: len(web.hits()) > 100)
    newcomer = fleet.start("newcomer")
    until(lambda: any(worker.pid in newcomer.workers for worker in fleet.alive()))
    found = [("a newcomer has a share", seconds(lambda: fleet.share(newcomer)), 2 * LEASE_SECONDS)]
    until(lambda: sent_by(newcomer, web))
    newcomer.terminate()
    handed_back = seconds(lambda: not fleet.share(newcomer))
    ended = handed_back + seconds(lambda: newcomer.process.poll() is not None)
    found += [("SIGTERM: partitions are handed back", handed_back, 2), ("SIGTERM: the process has ended", ended, 10)]
    dying = fleet.start("dying")
    fleet.ready(2)
    dying.kill()
    found += [("a machine died: its partitions are another's", seconds(lambda: fleet.shares() == [PARTITIONS]), 10)]
    began = time.monotonic()
    crawls.pause(catalog, crawl.id)
    found += [("pause: no request starts any more", time.monotonic() - began, 1)]
    catalog.steer(crawl.id, CrawlState.RUNNING)
    asked = len(web.hits())
    until(lambda: len(web.hits()) > asked)
    database.stop_immediately()
    time.sleep(2 * LEASE_SECONDS)
    asked = len(web.hits())
    database.start()
    return [*found, ("the database is back: requests start", seconds(lambda: len(web.hits()) > asked), 10)]


def main() -> None:
    database = Server(durable=True)
    try:
        with database.database() as url, tempfile.TemporaryDirectory() as folder, TestWeb() as web:
            place = Place(Path(folder), url=url, lease=LEASE_SECONDS)
            fleet = Fleet(place)
            try:
                rows = measured(fleet, database, web)
            finally:
                fleet.close()
                place.close()
    finally:
        database.close()
    print(f"| with a lease of {LEASE_SECONDS:g} s | seconds | target |\n|---|---|---|")
    for what, took, target in rows:
        print(f"| {what} | {took:.1f} | {target:g} |")


if __name__ == "__main__":
    main()
