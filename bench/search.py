"""The search index alone: pages indexed a second, the time of queries, what a page takes on disk.

    python -m bench.search [--store sqlite,postgres] [--documents 20000] [--quick]

Pages are made up: 600 words by Zipf's law of a vocabulary of 50,000, in 90 paragraphs and links. The text of each is
taken out of its HTML as the follower does it; reading the archive is not part of it.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from pathlib import Path
from random import Random

from bench.places import PLACES
from bench.store import Table
from nephila import wiring
from nephila.control.follower import PAGES_PER_STEP
from nephila.extract.text import text_of
from nephila.search.index import Document, SearchIndex
from nephila.search.query import parse_query
from nephila.search.snippet import snippet

VOCABULARY, WORDS, HOSTS, CRAWLS = 50_000, 600, 200, 10
DOCUMENTS, QUICK = 20_000, 4
QUERIES = 60
PAGES_A_SECOND_MIN = 150  # a crawl of one core brings some 1,000, at the politeness of a real one far less
P95_MS_MAX = 250
FILE = "bench.warc.gz"


class Pages:
    def __init__(self, seed: int = 7) -> None:
        self.random = Random(seed)
        self.words = [
            "".join(self.random.choices("abcdefghijklmnopqrstuvwxyz", k=4 + n % 7)) for n in range(VOCABULARY)
        ]
        self._weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))

    def some(self, count: int) -> list[str]:
        return self.random.choices(self.words, cum_weights=self._weights, k=count)

    def html(self) -> bytes:
        words = iter(self.some(WORDS))
        blocks = (" ".join(islice(words, 7)) for _ in range(WORDS // 7 + 1))
        return "".join(f"<div class='row'><a href='/x'>{text}</a> <p>{text[:9]}</p></div>" for text in blocks).encode()


def documents(pages: Pages, count: int) -> Iterator[Document]:
    for number in range(1, count + 1):
        host = f"h{number % HOSTS}.test"
        title, text = " ".join(pages.some(6)), text_of(pages.html(), "text/html")
        yield Document(number, number % CRAWLS, host, f"http://{host}/{number}", title, text, number)


def queries(pages: Pages) -> dict[str, Callable[[], str]]:
    words, random = pages.words, pages.random
    return {
        "a common word": lambda: random.choice(words[:20]),
        "a rare word": lambda: random.choice(words[5_000:]),
        "three words": lambda: " ".join(random.choices(words[:2_000], k=3)),
        "a common phrase": lambda: f'"{" ".join(random.choices(words[:30], k=2))}"',
        "a prefix": lambda: f"{random.choice(words[:2_000])[:3]}*",
        "without a word": lambda: f"{random.choice(words[:200])} -{random.choice(words[:20])}",
    }


def fill(index: SearchIndex, count: int, table: Table, kind: str) -> None:
    made = documents(Pages(), count)
    uuids = {crawl: str(crawl) for crawl in range(CRAWLS)}
    making = adding = 0.0
    mark = 0
    while True:
        began = time.perf_counter()
        chunk = list(islice(made, PAGES_PER_STEP))
        making += time.perf_counter() - began
        if not chunk:
            break
        began = time.perf_counter()
        with index.turn() as ours:
            assert ours and index.add(FILE, mark, mark + len(chunk), chunk, uuids)
        adding += time.perf_counter() - began
        mark += len(chunk)
    table.at_least(f"{kind}: pages added a second", PAGES_A_SECOND_MIN, count / adding)
    table.note(f"{kind}: making a page up and taking its text, us", 1e6 * making / count)


def ask(index: SearchIndex, table: Table, kind: str) -> None:
    for name, make in queries(Pages()).items():
        for filtered in (False, True):
            times, found = [], 0
            for number in range(QUERIES):
                query = parse_query(make())
                began = time.perf_counter()
                answer = index.search(query, [number % CRAWLS] if filtered else None, None, 20, 0)
                for hit in answer.hits:
                    snippet(hit.document.text, query)
                times.append(1e3 * (time.perf_counter() - began))
                found += answer.total
            what = f"{kind}: {name}{', in one crawl' if filtered else ''}"
            table.at_most(f"{what} ({found // QUERIES:,}): p95, ms", P95_MS_MAX, sorted(times)[int(0.95 * QUERIES)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.search")
    parser.add_argument("--store", default="sqlite,postgres")
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"))
    options = parser.parse_args()
    count = options.documents // (QUICK if options.quick else 1)
    table = Table()
    for kind in options.store.split(","):
        with tempfile.TemporaryDirectory(dir=options.folder) as root, PLACES[kind](Path(root)) as place:
            index = wiring.open_store(place.settings).index
            fill(index, count, table, kind)
            ask(index, table, kind)
            if kind == "sqlite":
                table.note(f"{kind}: bytes a page on disk", (place.settings.data / "search.db").stat().st_size / count)
            else:
                parts = {name: size for name, size in place.sizes().items() if name.startswith("search_documents")}
                table.note(f"{kind}: bytes a page on disk", sum(parts.values()) / count)


if __name__ == "__main__":
    main()
