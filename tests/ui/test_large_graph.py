"""The graph of a large site: it begins with groups, the camera shows the one that is opened, and nothing hides it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect
from playwright.sync_api import Page as Tab

from nephila.settings import process_settings
from tests.command import Command
from tests.patience import until
from tests.site.documentation import Documentation, documentation, fill
from tests.ui.browser import DESK, MOMENT, PHONE
from tests.ui.conftest import Open
from tests.ui.test_screens import AXE, faults

PAGES, LINKS = 6000, 40_000
GUIDE = "docs.example.org/guide"
SEEN = """(name) => {
  const graph = window.nephilaGraph;
  const places = (keys) => keys.map((key) => graph.placeOf(key));
  const members = graph.members(name);
  return { settled: graph.settled, view: graph.view, members: places(members),
    others: places(graph.keys.filter((key) => !members.includes(key))) };
}"""
OPENING_MS = 1000  # then the next double click is tried
FILLED_MIN = 0.6  # of the height or the width; the rest is for what is drawn at the outermost places


@pytest.fixture(scope="module")
def site() -> Documentation:
    return documentation(PAGES, LINKS)


@pytest.fixture(scope="module")
def large(browser: Browser, site: Documentation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the graph of a crawl that is over."""
    data = tmp_path_factory.mktemp("large")
    crawl = fill(process_settings({"data": Path(data)}), site)
    with Command(data, None).serving("--workers", "0") as (process, url):
        yield f"{url}/crawls/{crawl.id}/graph"
        assert process.poll() is None


def opened(visit: Open, large: str, query: str = "kind=links", **options: Any) -> Tab:
    url, _, path = large.rpartition("/crawls/")
    tab = visit(url, f"/crawls/{path}?{query}", **options)
    at_rest(tab)
    return tab


def found(tab: Tab) -> Locator:
    return tab.get_by_role("listbox", name="Nodes").get_by_role("option")


def at_rest(tab: Tab) -> None:
    until(lambda: tab.evaluate("window.nephilaGraph?.firstPictureMs > 0 && window.nephilaGraph.settled"))


def on_the_members(tab: Tab, name: str) -> bool:
    """Whether the camera shows all that is in the group, in the middle, and not from far away."""
    seen = tab.evaluate(SEEN, name)
    if not seen["settled"] or not seen["members"]:
        return False
    filled = []
    for axis in ("x", "y"):
        low, high = sorted(seen["view"][axis])
        first, last = (most(place[axis] for place in seen["members"]) for most in (min, max))
        middle, near = (low + high) / 2, 0.02 * (high - low)
        if not (low < first and last < high and abs((first + last) / 2 - middle) < near):
            return False
        filled.append((last - first) / (high - low))
    return max(filled) > FILLED_MIN


def double_clicked(tab: Tab, key: str) -> bool:
    """Whether a double click opens the group. A busy machine may bring its clicks one by one, and those do nothing."""
    at = tab.evaluate("(key) => window.nephilaGraph.screenPosition(key)", key)
    if at is not None:
        tab.mouse.dblclick(at["x"], at["y"])
    # In the page's own time: what its clicks set off comes before.
    tab.evaluate("(ms) => new Promise((done) => setTimeout(done, ms))", OPENING_MS)
    return "open=" in tab.url


def test_it_begins_with_groups(visit: Open, large: str, site: Documentation) -> None:
    tab = opened(visit, large)
    keys = tab.evaluate("window.nephilaGraph.keys")
    assert f"+{GUIDE}" in keys and "+api.example.org" in keys
    assert len(keys) < 60 and all(key.startswith("+") for key in keys if not key.isdigit())
    about = tab.get_by_role("complementary", name="About the graph")
    expect(about).to_contain_text(f"for {len(site.links):,} nodes")
    expect(about).to_contain_text(f"of {site.count:,} links")
    assert 0 < tab.evaluate("window.nephilaGraph.size") <= 60


@pytest.mark.parametrize("kind", ["double click", "keyboard", "search"])
def test_an_opened_group_is_what_the_camera_shows(kind: str, visit: Open, large: str) -> None:
    tab = opened(visit, large)
    before = tab.evaluate("window.nephilaGraph.placeOf('+api.example.org')")
    if kind == "double click":
        until(lambda: double_clicked(tab, f"+{GUIDE}"), "a double click opens the group")
    elif kind == "keyboard":
        tab.get_by_role("button", name=f"Open {GUIDE}", exact=True).press("Enter")
    else:
        tab.keyboard.press("/")
        tab.keyboard.type(GUIDE)
        expect(found(tab).first).to_contain_text(GUIDE)
        tab.keyboard.press("Enter")
    expect(tab).to_have_url(re.compile("open=docs.example.org%2Fguide"))
    until(lambda: on_the_members(tab, GUIDE), "the camera is on the members")
    assert tab.evaluate("window.nephilaGraph.placeOf('+api.example.org')") == before, "nothing else has moved"
    tab.get_by_role("button", name=f"Close {GUIDE}", exact=True).click()
    until(lambda: f"+{GUIDE}" in tab.evaluate("window.nephilaGraph.keys"))


def test_a_page_is_taken_out_of_its_groups(visit: Open, large: str, site: Documentation) -> None:
    deep = next(url for url in site.links if "docs.example.org/guide/net/" in url and url.endswith("page-2.html"))
    tab = opened(visit, large)
    tab.keyboard.press("/")
    tab.keyboard.type(deep)
    expect(found(tab).first).to_contain_text(deep)
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(re.compile("node="))
    node = re.search(r"node=(\d+)", tab.url)
    assert node is not None

    def centred() -> bool:
        seen = json.loads(tab.evaluate(CENTRED, node[1]))
        return bool(seen and max(seen) < 0.02)

    until(centred, "the page is in the middle of the picture")


CENTRED = """(key) => {
  const { view, settled, placeOf } = window.nephilaGraph;
  const place = placeOf(key);
  if (!settled || !place) return 'null';
  const off = (axis) => Math.abs((place[axis] - view[axis][0]) / (view[axis][1] - view[axis][0]) - 0.5);
  return JSON.stringify([off('x'), off('y')]);
}"""


def pixels(tab: Tab) -> bytes:
    return tab.get_by_role("img", name=re.compile("^Link graph")).screenshot()


def still(tab: Tab) -> bytes:
    """The picture, once two looks at it see the same."""

    def looked() -> bytes | None:
        first = pixels(tab)
        tab.evaluate(MOMENT)  # the picture gets other edges when it has rested for 250 ms
        return first if first == pixels(tab) else None

    return until(looked, "the picture is still")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_list_of_what_is_found_leaves_the_picture_as_it_is(size: tuple[int, int], visit: Open, large: str) -> None:
    tab = opened(visit, large, size=size)
    tab.mouse.move(1, 1)
    before = still(tab)
    tab.get_by_role("combobox", name="Find a node by URL or title").fill("reference")
    expect(found(tab).first).to_be_visible()
    assert still(tab) == before
    tab.evaluate("document.querySelector('.sigma-nodes').style.visibility = 'hidden'")
    assert still(tab) != before, "there is a picture"


def test_axe_finds_nothing(visit: Open, large: str) -> None:
    tab = opened(visit, large, query=f"kind=links&open={GUIDE}")
    tab.evaluate(AXE.read_text())
    assert faults(tab) == []
    tab.get_by_role("button", name="Dark", exact=True).click()
    expect(tab.locator("html")).to_have_attribute("data-theme", "dark")
    assert faults(tab) == []
