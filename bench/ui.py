"""The web UI in a real Chromium: what the first load weighs, and the graph of 50,000 nodes.

    python -m bench.ui [--nodes 50000] [--quick]

A store of a made-up crawl (bench/player.py), a real `nephila serve`, and a browser with a software renderer: a machine
with a graphics card draws faster.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page
from tests.ui.browser import new_context, running_browser, what_is_missing

from bench.api import Server, fill, serving
from bench.places import PLACES
from bench.store import Table

NODES, QUICK_NODES = 50_000, 5000
LOAD_KB_MAX = 250.0
SETTLE_SECONDS = 120
LOOK_MS = 50
DRAG_STEPS = 8
SLACK = 5000  # the last flush may bring half of it
READY = "window.nephilaGraph?.order >= {nodes} && window.nephilaGraph.firstPictureMs > 0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_NODES:,} nodes")
    options = parser.parse_args()
    missing = what_is_missing()
    if missing:
        raise SystemExit(f"bench.ui {missing}")
    nodes = QUICK_NODES if options.quick else options.nodes
    with (
        tempfile.TemporaryDirectory() as folder,
        PLACES["sqlite"](Path(folder)) as place,
        running_browser() as browser,
    ):
        crawl = fill(place, nodes - SLACK)  # a crawl of more is folded
        with serving(place, Path(folder), workers=0) as server:
            table = Table()
            first_load(table, browser, server)
            graph(table, browser, server, crawl, nodes, "discovery")
            graph(table, browser, server, crawl, nodes, "links")


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


def graph(table: Table, browser: Browser, server: Server, crawl: int, nodes: int, kind: str) -> None:
    context = new_context(browser, server.url)
    page = context.new_page()
    page.goto(f"/ui/crawls/{crawl}/graph?kind={kind}")
    wait_for(page, "window.nephilaGraph?.firstPictureMs > 0")
    table.note(f"{kind}: time to the first picture, ms", page.evaluate("window.nephilaGraph.firstPictureMs"))
    wait_for(page, READY.format(nodes=nodes - SLACK))
    table.note(f"{kind}: until all nodes are in, ms", page.evaluate("performance.now()"))
    table.note(f"{kind}: nodes", page.evaluate("window.nephilaGraph.order"))
    table.note(f"{kind}: edges", page.evaluate("window.nephilaGraph.size"))
    table.note(f"{kind}: frames/s while the camera moves", frames(page))
    used = metrics(page)
    table.note(f"{kind}: JavaScript heap, MB", used["JSHeapUsedSize"] / 1e6)
    context.close()


def wait_for(page: Page, condition: str) -> None:
    """Asked from outside: the page's policy lets no string be evaluated inside."""
    end = time.monotonic() + SETTLE_SECONDS
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"it took too long: {condition}"
        page.wait_for_timeout(LOOK_MS)


def frames(page: Page) -> float:
    """Drags over the picture and counts what was drawn. A software renderer draws slowly: few steps are enough."""
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


def metrics(page: Page) -> dict[str, Any]:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    return {line["name"]: line["value"] for line in session.send("Performance.getMetrics")["metrics"]}


if __name__ == "__main__":
    main()
