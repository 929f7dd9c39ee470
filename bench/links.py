"""The link index alone: pages indexed a second, the time to find who links to a URL, what a page takes on disk.

    python -m bench.links [--store sqlite,postgres] [--pages 1000000] [--quick]

Pages are made up: 76 links each, 20 of them those of every page of the site (its navigation), the others to pages near
by, as documentation has them. What is asked is what `nephila links` shows: 20 pages with the words of their link.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random

from bench.places import PLACES
from bench.store import Table
from nephila import wiring
from nephila.control.follower import PAGES_PER_STEP
from nephila.links.index import Link, LinkIndex, PageLinks, packed_links, target_number

PAGES, QUICK = 1_000_000, 20
LINKS, COMMON, NEAR = 76, 20, 1_000
CRAWL, SITE = 1, "https://docs.test/"
QUERIES, SHOWN = 200, 20
PAGES_A_SECOND_MIN = 700
P95_MS_MAX = 20.0
FILE = "bench.warc.gz"


def url(number: int) -> str:
    return f"{SITE}library/section-{number // 100}/page-{number}.html"


def pages(count: int) -> Iterator[PageLinks]:
    random = Random(7)
    navigation = [url(number) for number in range(COMMON)]
    for number in range(1, count + 1):
        near = random.sample(range(max(1, number - NEAR), number + NEAR), LINKS - COMMON)
        targets = [*navigation, *(url(target) for target in near)]
        links = [Link(target, f"The page {target[-12:]}", "") for target in targets]
        yield PageLinks(number, CRAWL, [target_number(CRAWL, target) for target in targets], packed_links(links))


def fill(index: LinkIndex, count: int, table: Table, kind: str) -> None:
    made, adding, mark = pages(count), 0.0, 0
    while chunk := list(islice(made, PAGES_PER_STEP)):
        began = time.perf_counter()
        with index.turn() as ours:
            assert ours and index.add(FILE, mark, mark + len(chunk), chunk, {CRAWL: "bench"})
        adding += time.perf_counter() - began
        mark += len(chunk)
    table.at_least(f"{kind}: pages added a second", PAGES_A_SECOND_MIN, count / adding)


def ask(index: LinkIndex, count: int, table: Table, kind: str) -> None:
    random = Random(8)
    targets: dict[str, Callable[[], str]] = {
        "a page that some link to": lambda: url(random.randrange(COMMON, count)),
        "a page that every page links to": lambda: url(random.randrange(COMMON)),
        "a page that nobody links to": lambda: f"{SITE}none/{random.random()}",
    }
    for name, make in targets.items():
        times, found = [], 0
        for _ in range(QUERIES):
            target = make()
            began = time.perf_counter()
            answer = index.linking(CRAWL, target, SHOWN, 0)
            links = index.links_of(answer.ids)
            times.append(1e3 * (time.perf_counter() - began))
            assert all(any(link.url == target for link in links[page]) for page in answer.ids)
            found += answer.total
        what = f"{kind}: {name} ({found // QUERIES:,} do)"
        table.at_most(f"{what}: p95, ms", P95_MS_MAX, sorted(times)[int(0.95 * QUERIES)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.links")
    parser.add_argument("--store", default="sqlite,postgres")
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"))
    options = parser.parse_args()
    count = options.pages // (QUICK if options.quick else 1)
    table = Table()
    for kind in options.store.split(","):
        with tempfile.TemporaryDirectory(dir=options.folder) as root, PLACES[kind](Path(root)) as place:
            index = wiring.open_store(place.settings).links
            fill(index, count, table, kind)
            ask(index, count, table, kind)
            if kind == "sqlite":
                table.note(f"{kind}: bytes a page on disk", (place.settings.data / "links.db").stat().st_size / count)
            else:
                parts = {name: size for name, size in place.sizes().items() if name.startswith("links_documents")}
                table.note(f"{kind}: bytes a page on disk", sum(parts.values()) / count)


if __name__ == "__main__":
    main()
