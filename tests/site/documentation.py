"""A documentation site that is made up, of any size: hosts, folders in folders, and links as such sites have them.

Nobody fetches it: `fill` puts its crawl into a store through the flush, as a worker does. So tests of screens and
benchmarks have the crawl of a real site within seconds.
"""

from collections import defaultdict
from dataclasses import dataclass
from random import Random

from nephila import wiring
from nephila.frontier.store import Crawl, Frontier, Outcome, Refill, Row
from nephila.models import Child, PageRecord, UrlState
from nephila.settings import ProcessSettings
from nephila.urls.identity import host_of
from tests.contract.session import Session, child, seeded

SEED = 42424
MAIN = "docs.example.org"
HOSTS = {MAIN: 0.82, "api.example.org": 0.1, "blog.example.org": 0.06, "wiki.example.org": 0.02}  # share of the pages
FOLDERS = [
    "reference",
    "guide",
    "library",
    "tutorial",
    "howto",
    "extending",
    "faq",
    "whatsnew",
    "install",
    "contributing",
    "glossary",
    "archive",
]
TOPICS = ["text", "net", "data", "time", "files", "math", "types", "async", "tools", "errors"]
LEVELS = 2  # of folders below the first
DIRECT = 0.5  # share of a folder's pages that lie in it and not in a folder of it
SMALL = 12  # pages that are not worth another level
BATCH = 500
WINDOW = 2000


@dataclass(frozen=True, slots=True)
class Opened:
    settings: ProcessSettings

    def frontier(self) -> Frontier:
        return wiring.open_frontier(self.settings)


@dataclass(frozen=True, slots=True)
class Documentation:
    links: dict[str, list[str]]  # of each URL

    @property
    def front(self) -> str:
        return f"https://{MAIN}/"

    @property
    def count(self) -> int:
        return sum(map(len, self.links.values()))


def documentation(pages: int, links: int) -> Documentation:
    """A site of about so many pages with about so many links; the same ones at every call."""
    dice = Random(SEED)
    folders: dict[str, list[str]] = {}  # the URLs in each, its index first
    for host, share in HOSTS.items():
        _folder(dice, folders, f"https://{host}/", int(pages * share), FOLDERS)
    urls = [url for inside in folders.values() for url in inside]
    found: dict[str, dict[str, bool]] = {url: {} for url in urls}
    _navigation(folders, found)
    popular = sorted(urls, key=lambda _: dice.random())
    indexes = [inside[0] for inside in folders.values()]
    siblings = {url: inside for inside in folders.values() for url in inside}
    missing = links - sum(map(len, found.values()))
    while missing > 0:
        source = urls[int(dice.random() * len(urls))]
        target = _target(dice, siblings[source], indexes, popular)
        if target != source and target not in found[source]:
            found[source][target] = True
            missing -= 1
    return Documentation({url: list(targets) for url, targets in found.items()})


def _folder(
    dice: Random, folders: dict[str, list[str]], path: str, pages: int, names: list[str], level: int = 0
) -> None:
    if pages < 1:
        return
    deeper = pages > SMALL and level <= LEVELS
    direct = max(1, int(pages * (0.02 if level == 0 else DIRECT))) if deeper else pages
    folders[path] = [path, *(f"{path}page-{number}.html" for number in range(1, direct))]
    if not deeper:
        return
    weights = [1 / (place + 1) for place in range(len(names))]
    for name, weight in zip(names, weights, strict=True):
        _folder(dice, folders, f"{path}{name}/", int((pages - direct) * weight / sum(weights)), TOPICS, level + 1)


def _navigation(folders: dict[str, list[str]], found: dict[str, dict[str, bool]]) -> None:
    """An index links to its pages and its folders, every page to its index, and front pages to each other."""
    inside = defaultdict(list)
    for path in folders:
        inside[path.rstrip("/").rpartition("/")[0] + "/"].append(path)
    for path, urls in folders.items():
        found[path].update(dict.fromkeys([*urls[1:], *inside[path]], True))
        for url in urls[1:]:
            found[url][path] = True
    fronts = [f"https://{host}/" for host in HOSTS]
    found[fronts[0]].update(dict.fromkeys(fronts[1:], True))


def _target(dice: Random, siblings: list[str], indexes: list[str], popular: list[str]) -> str:
    """Half of the links stay in the folder; some are of the menu; the others lead to few pages often, as everywhere."""
    roll, at = dice.random(), dice.random()
    if roll < 0.5:
        return siblings[int(at * len(siblings))]
    if roll < 0.7:
        return indexes[int(at**3 * len(indexes))]
    return popular[int(len(popular) ** at) - 1]


def fill(settings: ProcessSettings, site: Documentation) -> Crawl:
    """Crawl it without a network; the worker has left. The store is made, if there is none."""
    crawl = seeded(wiring.open_store(settings, create=True).catalog, site.front)
    session = Session(Opened(settings))
    children = {url: child(crawl, url) for url in site.links}
    while True:
        refills = [Refill(window.queue, WINDOW) for window in session.held.values()]
        session.flush(new_queues=len(HOSTS), window=WINDOW, refills=refills)
        rows = [row for window in session.held.values() for row in window.rows]
        if not rows:
            break
        for at in range(0, len(rows), BATCH):
            some = rows[at : at + BATCH]
            session.flush(outcomes=[_visited(crawl, row, site.links[row.url], children) for row in some])
    session.flush(released=session.releases())
    session.frontier.leave()
    return crawl


def _visited(crawl: Crawl, row: Row, targets: list[str], children: dict[str, Child]) -> Outcome:
    found = [
        children[target]._replace(parent=row.id, depth=row.depth + 1, priority=row.depth + 1) for target in targets
    ]
    packed: dict[str, bytes] = defaultdict(bytes)
    for link in found:
        packed[link.host] += link.key[:8]
    title = row.url.removesuffix(".html").rstrip("/").rpartition("/")[2].replace("-", " ").capitalize()
    title = f"{title} of {host_of(row.url)}" if row.url.endswith("/") else title
    page = PageRecord(
        status=200,
        content_type="text/html",
        body_bytes=36_000,
        fetched_at=1_700_000_000_000,
        ip="127.0.0.1",
        title=title,
        links=dict(packed),
    )
    return Outcome(row.id, crawl.id, UrlState.VISITED, "", 1, page, found)
