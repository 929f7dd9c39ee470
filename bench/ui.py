"""The web UI in a real Chromium: what the first load weighs, and the graphs of large crawls.

    python -m bench.ui [--nodes 50000] [--quick] [--only load,tree,site]

Stores of made-up crawls, a real `nephila serve`, and a browser with a software renderer: a machine with a graphics card
draws faster. `load` and `tree`: a crawl of many hosts (bench/player.py). `site`: the link graph of a documentation site
of 32,000 pages with 400,000 links (tests/site/documentation.py).
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page
from tests.site import documentation
from tests.ui.browser import new_context, running_browser, what_is_missing

from bench.api import Server, fill, serving
from bench.places import PLACES
from bench.store import Table

NODES, QUICK_NODES = 50_000, 5000
SITE_PAGES, SITE_LINKS = 33_200, 400_000  # 32,009 pages: what is left of a folder by dividing it is not filled up
QUICK_PAGES, QUICK_LINKS = 6000, 40_000
FIRST_PICTURE_MS_MAX = 10_000.0
HEAP_MB_MAX = 200.0
GROUP = "docs.example.org/reference"  # of the site: opened step by step, at last its 4,298 pages
PARTS = ("load", "tree", "site")
LOAD_KB_MAX = 250.0
SETTLE_SECONDS = 120
LOOK_MS = 50
DRAG_STEPS = 8
SLACK = 5000  # the last flush may bring half of it
READY = "window.nephilaGraph?.order >= {nodes} && window.nephilaGraph.firstPictureMs > 0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_NODES:,} nodes, {QUICK_PAGES:,} pages")
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {','.join(PARTS)}")
    options = parser.parse_args()
    parts = options.only.split(",")
    missing = what_is_missing()
    if missing:
        raise SystemExit(f"bench.ui {missing}")
    nodes = QUICK_NODES if options.quick else options.nodes
    table = Table()
    with running_browser() as browser:
        if "load" in parts or "tree" in parts:
            hosts(table, browser, nodes, parts)
        if "site" in parts:
            site(table, browser, *((QUICK_PAGES, QUICK_LINKS) if options.quick else (SITE_PAGES, SITE_LINKS)))


def hosts(table: Table, browser: Browser, nodes: int, parts: list[str]) -> None:
    """A crawl of many hosts, whose tree is drawn whole."""
    with tempfile.TemporaryDirectory() as folder, PLACES["sqlite"](Path(folder)) as place:
        crawl = fill(place, nodes - SLACK)  # a crawl of more begins with groups
        with serving(place, Path(folder), workers=0) as server:
            if "load" in parts:
                first_load(table, browser, server)
            if "tree" in parts:
                tree(table, browser, server, crawl, nodes)


def site(table: Table, browser: Browser, pages: int, links: int) -> None:
    """The link graph of a documentation site."""
    with tempfile.TemporaryDirectory() as folder, PLACES["sqlite"](Path(folder)) as place:
        crawl = documentation.fill(place.settings, documentation.documentation(pages, links)).id
        with serving(place, Path(folder), workers=0) as server:
            link_graph(table, browser, server, crawl)


def first_load(table: Table, browser: Browser, server: Server) -> None:
    page = new_context(browser, server.url).new_page()
    page.goto("/ui/crawls", wait_until="networkidle")
    weights = page.evaluate(
        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
        ".filter((entry) => new URL(entry.name).pathname.startsWith('/ui')).map((entry) => entry.encodedBodySize)"
    )
    table.at_most("first load, compressed, KB", LOAD_KB_MAX, sum(weights) / 1000)
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
    table.note("first contentful paint, ms", painted)
    page.context.close()


def tree(table: Table, browser: Browser, server: Server, crawl: int, nodes: int) -> None:
    page = new_context(browser, server.url).new_page()
    page.goto(f"/ui/crawls/{crawl}/graph")
    wait_for(page, "window.nephilaGraph?.firstPictureMs > 0")
    table.note("tree: time to the first picture, ms", page.evaluate("window.nephilaGraph.firstPictureMs"))
    wait_for(page, READY.format(nodes=nodes - SLACK))
    table.note("tree: until all nodes are in, ms", page.evaluate("performance.now()"))
    table.note("tree: nodes", page.evaluate("window.nephilaGraph.order"))
    table.note("tree: frames/s while the camera moves", frames(page))
    table.note("tree: JavaScript heap, MB", heap_mb(page))
    page.context.close()


def link_graph(table: Table, browser: Browser, server: Server, crawl: int) -> None:
    """From an empty page to the groups, then into the largest one down to its pages."""
    page = new_context(browser, server.url).new_page()
    page.add_init_script(LONG_TASKS)
    page.goto(f"/ui/crawls/{crawl}/graph?kind=links")
    wait_for(page, "window.nephilaGraph?.firstPictureMs > 0")
    painted = page.evaluate("performance.now()")
    table.at_most("site, links: first picture since the page was asked for, ms", FIRST_PICTURE_MS_MAX, painted)
    wait_for(page, f"{ALL_LINKS} && window.nephilaGraph.settled")
    table.note("site, links: until all links are in and laid out, ms", page.evaluate("performance.now()"))
    tell_site(table, page, "groups")
    for name in (GROUP, f"{GROUP}/."):
        began = page.evaluate("performance.now()")
        page.get_by_role("button", name=f"Open {name}", exact=True).click()
        wait_for(page, f"window.nephilaGraph.members('{name}').length > 0 && window.nephilaGraph.settled")
        table.note(f"site, links: until {name} is open, ms", page.evaluate("performance.now()") - began)
    tell_site(table, page, "pages")
    table.note("site, links: longest task of the page, ms", page.evaluate("Math.max(0, ...window.longTasks)"))
    page.context.close()


LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((entry) => entry.duration)))
  .observe({ type: "longtask", buffered: true });
"""
ALL_LINKS = "!document.body.innerText.includes('reading links')"


def tell_site(table: Table, page: Page, what: str) -> None:
    table.note(f"site, links, {what}: nodes drawn", page.evaluate("window.nephilaGraph.order"))
    table.note(f"site, links, {what}: lines drawn", page.evaluate("window.nephilaGraph.size"))
    table.note(f"site, links, {what}: frames/s while the camera moves", frames(page))
    table.at_most(f"site, links, {what}: JavaScript heap, MB", HEAP_MB_MAX, heap_mb(page))


def wait_for(page: Page, condition: str) -> None:
    """Ask the page from outside: its policy forbids evaluating a string inside."""
    end = time.monotonic() + SETTLE_SECONDS
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"it took too long: {condition}"
        page.wait_for_timeout(LOOK_MS)


def frames(page: Page) -> float:
    """Drag over the picture and count the frames drawn. A software renderer draws slowly: few steps are enough."""
    page.evaluate(
        "window.drawn = 0; const count = () => { window.drawn += 1; requestAnimationFrame(count); }; count();"
    )
    box = page.locator("canvas").first.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    began = page.evaluate("window.drawn = 0, performance.now()")
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(DRAG_STEPS):
        page.mouse.move(x + 5 * step, y + 2 * step)
    page.mouse.up()
    seconds = (page.evaluate("performance.now()") - began) / 1000
    return float(page.evaluate("window.drawn")) / seconds


def heap_mb(page: Page) -> float:
    """What is in use after a collection, with the buffers of typed arrays, which V8 does not count as its heap."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used: dict[str, Any] = session.send("Runtime.getHeapUsage")
    return float(used["usedSize"] + used.get("backingStorageSize", 0)) / 1e6


if __name__ == "__main__":
    main()
