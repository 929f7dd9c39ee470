"""The table of URLs and the inspector."""

import re

import httpx
import pytest
from playwright.sync_api import Locator, expect
from playwright.sync_api import Page as Tab

from tests.ui.conftest import Open
from tests.ui.place import V1, Place


def inspector_of(tab: Tab) -> Locator:
    return tab.locator("section", has=tab.get_by_role("navigation", name="Of this URL"))


@pytest.mark.requirement("U-02", "U-05")
def test_the_table_is_filtered_and_its_address_shared(visit: Open, finished: Place) -> None:
    tab = visit(finished.url, f"/crawls/{finished.crawl}/urls")
    expect(tab.get_by_role("row", name="/gone")).to_be_visible()
    tab.keyboard.press("/")
    tab.keyboard.type("/blog/1")
    expect(tab).to_have_url(re.compile(r"text=%2Fblog%2F1"))
    expect(tab.locator("tbody tr[data-url]")).to_have_count(3)
    tab.get_by_role("button", name="Clear filters").click()
    tab.get_by_text("Any state").click()
    tab.get_by_role("checkbox", name=re.compile("not found")).click()
    expect(tab.locator("tbody tr[data-url]")).to_have_count(1)
    expect(tab).to_have_url(re.compile("state=not_found"))
    tab.reload()
    expect(tab.locator("tbody tr[data-url]")).to_have_count(1)
    expect(tab.get_by_role("row", name="/gone")).to_contain_text("404")


@pytest.mark.requirement("U-04")
def test_a_row_opens_the_inspector(visit: Open, finished: Place, client: httpx.Client) -> None:
    tab = visit(finished.url, f"/crawls/{finished.crawl}/urls?text=/guide/0")
    row = tab.locator("tbody tr[data-url]").first
    row.focus()
    tab.keyboard.press("Enter")
    inspector = inspector_of(tab)
    expect(inspector.get_by_text("It ended visited with status 200.")).to_be_visible()
    expect(inspector.get_by_text("up to the seed")).to_be_visible()
    expect(tab).to_have_url(re.compile(r"inspect=\d+"))
    inspector.get_by_role("link", name="Answer").click()
    expect(inspector.get_by_text("content-type", exact=False).first).to_be_visible()
    inspector.get_by_role("link", name="Links").click()
    expect(inspector.get_by_text("/guide/1").first).to_be_visible()
    inspector.get_by_role("link", name="Source").click()
    expect(inspector.get_by_text("<title>", exact=False).first).to_be_visible()
    inspector.get_by_role("link", name="Rendering").click()
    frame = tab.frame_locator("iframe[title='The archived page']")
    expect(frame.get_by_text("Text.").first).to_be_visible()
    tab.keyboard.press("Escape")
    expect(inspector).to_be_hidden()
    assert "inspect=" not in tab.url


def test_why_a_url_was_not_asked_for(visit: Open, finished: Place, client: httpx.Client) -> None:
    found = client.get(f"{V1}/crawls/{finished.crawl}/urls", params={"text": "/private/x"}).json()["urls"][0]
    tab = visit(finished.url, f"/crawls/{finished.crawl}/urls?inspect={found['id']}")
    inspector = inspector_of(tab)
    expect(inspector.get_by_text("robots.txt disallows it")).to_be_visible()
    expect(inspector.get_by_text("Disallow: /private/ (line 2)")).to_be_visible()


def test_arrows_move_between_rows(visit: Open, finished: Place) -> None:
    tab = visit(finished.url, f"/crawls/{finished.crawl}/urls")
    table_rows = tab.locator("tbody tr[data-url]")
    table_rows.first.focus()
    tab.keyboard.press("ArrowDown")
    expect(table_rows.nth(1)).to_be_focused()
    tab.keyboard.press("End")
    expect(table_rows.last).to_be_focused()


def test_the_order_is_chosen(visit: Open, finished: Place) -> None:
    tab = visit(finished.url, f"/crawls/{finished.crawl}/urls")
    expect(tab.locator("tbody tr[data-url]").first).to_be_visible()
    tab.get_by_role("button", name="URL").click()
    expect(tab).to_have_url(re.compile("sort=url"))
    expect(tab.locator("tbody tr[data-url]").nth(1)).to_contain_text("/blog/")
