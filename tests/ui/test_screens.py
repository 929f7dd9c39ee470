"""What is true of every screen: it opens by its address, passes axe in both themes, fits a desk and a phone."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.ui.browser import DESK, PHONE
from tests.ui.conftest import Open
from tests.ui.place import V1, Place
from tests.ui.screens import SCREENS, Screen

ROOT = Path(__file__).parents[2]
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
LOAD_BYTES_MAX = 250_000
SIZES = {"desk": DESK, "phone": PHONE}

screens = pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.name)


@pytest.fixture
def names(finished: Place, client: httpx.Client) -> dict[str, str]:
    """What the addresses of the screens name."""
    found = client.get(f"{V1}/crawls/{finished.crawl}/urls", params={"text": "/guide/0"}).json()["urls"][0]
    return {"crawl": str(finished.crawl), "url": str(found["id"]), "host": found["host"]}


def opened(visit: Open, place: Place, screen: Screen, names: dict[str, str], **options: Any) -> Page:
    page = visit(place.url, screen.path.format(**names), **options)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if screen.heading:
        expect(page.get_by_role("heading", level=1)).to_contain_text(screen.heading)
    if screen.shows:
        expect(page.get_by_text(screen.shows.format(**names)).first).to_be_visible()
    return page


@screens
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(screen: Screen, theme: str, visit: Open, finished: Place, names: dict[str, str]) -> None:
    page = opened(visit, finished, screen, names, theme=theme)
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    lines = [
        f"{violation['id']}: {node['html'][:200]} -- {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
    assert lines == []


@screens
@pytest.mark.parametrize("size", SIZES)
def test_it_fits(screen: Screen, size: str, visit: Open, finished: Place, names: dict[str, str]) -> None:
    """Wide things scroll in boxes of their own."""
    page = opened(visit, finished, screen, names, size=SIZES[size])
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0


@screens
def test_it_survives_a_reload(screen: Screen, visit: Open, finished: Place, names: dict[str, str]) -> None:
    page = opened(visit, finished, screen, names)
    before = page.url
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if screen.shows:
        expect(page.get_by_text(screen.shows.format(**names)).first).to_be_visible()
    assert page.url == before


@screens
def test_the_same_can_be_had_as_json(
    screen: Screen, visit: Open, finished: Place, names: dict[str, str], client: httpx.Client
) -> None:
    page = opened(visit, finished, screen, names)
    links = page.get_by_role("link", name="JSON", exact=True)
    expect(links.first).to_be_visible()
    path = links.first.get_attribute("href")
    assert path is not None
    answer = client.get(path)
    assert answer.status_code == 200
    json.loads(answer.text)


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
