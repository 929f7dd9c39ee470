"""The graph: it is drawn, moved, searched, filtered, and a click on a node opens the inspector."""

import re

import httpx
import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests.command import Command
from tests.patience import until
from tests.site.server import DEFAULT_HOST, Page, TestWeb
from tests.ui.browser import MOMENT
from tests.ui.conftest import Open
from tests.ui.place import V1, Place, served, start

AT = "(id) => window.nephilaGraph.screenPosition(id)"


def drawn(tab: Tab, nodes: int) -> None:
    shown = f"window.nephilaGraph?.order >= {nodes} && window.nephilaGraph.firstPictureMs !== null"
    until(lambda: tab.evaluate(f"{shown} && window.nephilaGraph.settled"))


def node_of(client: httpx.Client, place: Place, text: str) -> int:
    path = f"{V1}/crawls/{place.crawl}/urls"
    return int(client.get(path, params={"text": text}).json()["urls"][0]["id"])


def at_rest(tab: Tab, node: int, before: dict[str, float]) -> dict[str, float] | None:
    """Where the node is, once it has left its place and goes no further."""
    first: dict[str, float] = tab.evaluate(AT, node)
    tab.evaluate(MOMENT)
    return first if first != before and first == tab.evaluate(AT, node) else None


@pytest.mark.requirement("U-03", "U-07")
@pytest.mark.parametrize("kind", ["discovery", "links"])
def test_it_pans_and_a_click_inspects(kind: str, visit: Open, finished: Place, client: httpx.Client) -> None:
    tab = visit(finished.url, f"/crawls/{finished.crawl}/graph?kind={kind}")
    drawn(tab, 48)
    node = node_of(client, finished, "/reference/")
    before = tab.evaluate(AT, node)
    box = tab.locator("canvas").first.bounding_box()
    assert box is not None
    tab.mouse.move(box["x"] + 10, box["y"] + 10)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 60, box["y"] + 40, steps=5)
    tab.mouse.up()
    after = until(lambda: at_rest(tab, node, before))
    assert after["x"] - before["x"] >= 45 and after["y"] - before["y"] >= 25, "it goes with the pointer, and a bit on"
    tab.mouse.click(after["x"], after["y"])
    expect(tab).to_have_url(re.compile(f"inspect={node}"))
    expect(tab.get_by_role("navigation", name="Of this URL")).to_be_visible()


def test_a_node_is_found_and_its_neighbourhood_shown(visit: Open, finished: Place, client: httpx.Client) -> None:
    tab = visit(finished.url, f"/crawls/{finished.crawl}/graph")
    drawn(tab, 48)
    tab.keyboard.press("/")
    tab.keyboard.type("/blog/7")
    expect(tab.get_by_role("listbox", name="Nodes").get_by_role("option").first).to_contain_text("/blog/7")
    tab.keyboard.press("Enter")
    node = node_of(client, finished, "/blog/7")
    expect(tab).to_have_url(re.compile(f"node={node}"))
    tab.reload()
    drawn(tab, 48)
    tab.get_by_role("button", name=re.compile("^Focus")).first.click()
    expect(tab).to_have_url(re.compile(f"focus={node}"))
    far = node_of(client, finished, "/reference/3")
    until(lambda: tab.evaluate(AT, far) is None)


def test_the_legend_filters(visit: Open, finished: Place, client: httpx.Client) -> None:
    tab = visit(finished.url, f"/crawls/{finished.crawl}/graph")
    drawn(tab, 48)
    tab.get_by_role("button", name=re.compile("^visited")).click()
    expect(tab.get_by_role("button", name=re.compile("^visited"))).to_have_attribute("aria-pressed", "false")
    visited, gone = node_of(client, finished, "/reference/3"), node_of(client, finished, "/gone")
    until(lambda: tab.evaluate(AT, visited) is None)
    assert tab.evaluate(AT, gone) is not None


@pytest.mark.requirement("U-03")
def test_it_grows_without_jumping(nephila: Command, web: TestWeb, visit: Open) -> None:
    """Nodes that have their place keep it, and the picture does not move by itself."""

    def level(number: int) -> bytes:
        return "".join(f"<a href=/{number * 7 + step}>x</a>" for step in range(1, 8)).encode()

    pages = {f"/{number}": Page(level(number) if number < 40 else b"") for number in range(300)}
    web.add({DEFAULT_HOST: {"/": Page(level(0)), "/robots.txt": Page(status=404), **pages}})
    with served(nephila) as (_, url, client):
        web.hold(after=2)  # robots.txt and the first page: all others are found when the picture is there
        crawl = start(client, [web.url("/")], **{"polite.floor_ms": 150})
        tab = visit(url, f"/crawls/{crawl}/graph?every=1")
        drawn(tab, 8)
        known = client.get(f"{V1}/crawls/{crawl}/graph").json()["nodes"][:8]
        before = [tab.evaluate(AT, node["id"]) for node in known]
        order = tab.evaluate("window.nephilaGraph.order")
        web.go_on()
        until(lambda: tab.evaluate(f"window.nephilaGraph.order > {order} + 20"))
        after = [tab.evaluate(AT, node["id"]) for node in known]
        for old, new in zip(before, after, strict=True):
            assert (new["x"], new["y"]) == pytest.approx((old["x"], old["y"]), abs=2)
        client.post(f"{V1}/crawls/{crawl}/cancel")
