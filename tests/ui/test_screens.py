"""What is true of every screen: it opens by its address, passes axe in both themes, fits a desk and a phone."""

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests.ui.browser import DESK, PHONE
from tests.ui.conftest import Open
from tests.ui.place import Place
from tests.ui.screens import SCREENS, Screen

ROOT = Path(__file__).parents[2]
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
LOAD_BYTES_MAX = 250_000
CONTRAST = "color-contrast"  # the rule of axe


def shown(tab: Tab, screen: Screen, names: dict[str, str]) -> None:
    expect(tab.get_by_role("heading", level=1)).to_contain_text(screen.heading)
    if screen.shows:
        expect(tab.get_by_text(screen.shows.format(**names)).first).to_be_visible()


def faults(tab: Tab, *rules: str) -> list[str]:
    """What axe finds on the page, by all of its rules or only these."""
    only = {"runOnly": list(rules)} if rules else {}
    found = tab.evaluate("(only) => axe.run(document, { resultTypes: ['violations'], ...only })", only)
    return [
        f"{violation['id']}: {node['html'][:200]} -- {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]


def too_wide(tab: Tab, size: tuple[int, int]) -> int:
    """Wide things scroll in boxes of their own."""
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    return int(tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.name)
def test_every_screen(
    screen: Screen, visit: Open, finished: Place, names: dict[str, str], client: httpx.Client
) -> None:
    """Axe finds nothing in either theme, it fits a phone and a desk, survives a reload, and is there as JSON."""
    tab = visit(finished.url, screen.path.format(**names))
    shown(tab, screen, names)
    tab.evaluate(AXE.read_text())
    assert faults(tab) == []
    tab.get_by_role("button", name="Dark", exact=True).click()
    expect(tab.locator("html")).to_have_attribute("data-theme", "dark")
    assert faults(tab, CONTRAST) == []  # a theme changes nothing else
    path = tab.get_by_role("link", name="JSON", exact=True).first.get_attribute("href")
    assert path is not None and isinstance(client.get(path).raise_for_status().json(), dict)
    before = tab.url
    tab.reload()
    shown(tab, screen, names)
    assert tab.url == before
    expect(tab.locator("html")).to_have_attribute("data-theme", "dark")
    assert too_wide(tab, PHONE) <= 0
    tab.evaluate(AXE.read_text())
    assert faults(tab) == []
    assert too_wide(tab, DESK) <= 0


@pytest.mark.requirement("U-07")
def test_the_first_load_is_light(visit: Open, finished: Place) -> None:
    page = visit(finished.url, "/crawls")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    loaded = page.evaluate(
        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
        ".filter((entry) => new URL(entry.name).pathname.startsWith('/ui'))"
        ".map((entry) => [entry.name, entry.encodedBodySize])"
    )
    assert 0 < sum(size for _, size in loaded) < LOAD_BYTES_MAX
    assert not [name for name, _ in loaded if "Graph" in name], "the graph is loaded when it is needed"


@pytest.mark.requirement("U-07")
def test_files_with_a_hash_are_kept_for_a_year_and_the_first_one_never(client: httpx.Client, finished: Place) -> None:
    index = client.get("/ui/crawls/1/urls")
    assert (index.status_code, index.headers["cache-control"]) == (200, "no-store")
    assets = [part for part in index.text.split('"') if part.startswith("/ui/assets/")]
    assert assets
    for path in assets:
        assert client.get(path).headers["cache-control"] == "public, max-age=31536000, immutable"
