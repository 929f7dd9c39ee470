"""Tables: they fit a desk and a phone, have one stop for Tab, are sorted by the server, and say what is wrong."""

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests.command import Command
from tests.site.server import TestWeb
from tests.ui.browser import DESK, PHONE
from tests.ui.conftest import Open
from tests.ui.place import OTHER_HOST, V1, Place, finish, served, small_site, start
from tests.ui.screens import SCREENS, Screen
from tests.ui.test_screens import AXE, faults, shown

SECTIONS = ("errors", "tokens", "settings")
TABLED = (
    *(screen for screen in SCREENS if screen.name not in ("new-crawl", "graph", "search")),
    Screen("ended-workers", "/workers?ended=1", "Workers"),
    *(Screen(f"admin-{section}", f"/admin?section={section}", "Admin") for section in SECTIONS),
)
URL_PX_MIN = 300  # some 38 characters, also on a phone
# The tables of a page: how much wider each is than its box, the widest cell with a URL, and what Tab reaches inside.
MEASURE = """() => [...document.querySelectorAll('table')].filter((table) => table.offsetParent).map((table) => ({
  name: table.caption?.textContent ?? table.tHead?.textContent ?? '',
  over: table.parentElement.scrollWidth - table.parentElement.clientWidth,
  url: Math.max(0, ...[...table.querySelectorAll('td.main')].map((cell) => cell.clientWidth)),
  inside: table.querySelectorAll('a[href], button:enabled, tr[tabindex]').length,
  stops: [...table.querySelectorAll('a[href], button:enabled, input, select, [tabindex]')]
    .filter((each) => each.tabIndex >= 0).length,
}))"""


def measured(tab: Tab, size: tuple[int, int]) -> list[dict[str, Any]]:
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    found: list[dict[str, Any]] = tab.evaluate(MEASURE)
    return found


@pytest.mark.parametrize("screen", TABLED, ids=lambda screen: screen.name)
def test_every_table_fits_its_box_and_has_one_stop(
    screen: Screen, visit: Open, finished: Place, names: dict[str, str]
) -> None:
    tab = visit(finished.url, screen.path.format(**names))
    shown(tab, screen, names)
    for size in (DESK, PHONE):
        for table in measured(tab, size):
            assert table["over"] <= 0, (size, table)
            assert table["stops"] == min(1, table["inside"]), (size, table)
        assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("name", ["crawls", "urls", "pages"])
def test_the_url_gets_the_room(name: str, visit: Open, finished: Place, names: dict[str, str]) -> None:
    screen = next(screen for screen in SCREENS if screen.name == name)
    tab = visit(finished.url, screen.path.format(**names))
    shown(tab, screen, names)
    expect(tab.locator("td.main").first).to_be_visible()
    for size in (DESK, PHONE):
        (table,) = measured(tab, size)
        assert table["url"] >= URL_PX_MIN, (size, table)


def test_rows_of_a_few_lines_are_still_a_table_to_a_screen_reader(visit: Open, finished: Place) -> None:
    tab = visit(finished.url, f"/crawls/{finished.crawl}/urls?text=/guide/1", size=PHONE)
    expect(tab.locator("tbody tr[data-url]").first).to_be_visible()
    tree = tab.context.new_cdp_session(tab).send("Accessibility.getFullAXTree")
    roles = {node["role"]["value"] for node in tree["nodes"] if not node["ignored"]}
    assert {"table", "row", "columnheader", "cell"} <= roles


def focus_of(tab: Tab) -> str:
    found: str = tab.evaluate("document.activeElement.closest('table') ? document.activeElement.tagName : 'outside'")
    return found


def test_tab_goes_into_a_table_and_out_of_it_and_arrows_move_inside(visit: Open, finished: Place) -> None:
    tab = visit(finished.url, f"/crawls/{finished.crawl}/hosts")
    rows = tab.locator("tbody tr")
    expect(rows).to_have_count(2)
    tab.get_by_role("link", name="JSON", exact=True).last.focus()
    tab.keyboard.press("Tab")
    expect(rows.first).to_be_focused()
    tab.keyboard.press("Tab")
    assert focus_of(tab) == "outside"
    tab.keyboard.press("Shift+Tab")
    expect(rows.first).to_be_focused()
    tab.keyboard.press("ArrowDown")
    expect(rows.last).to_be_focused()
    tab.keyboard.press("ArrowRight")
    expect(rows.last.get_by_role("link").first).to_be_focused()
    tab.keyboard.press("Tab")
    assert focus_of(tab) == "outside"
    tab.keyboard.press("Shift+Tab")
    expect(rows.last.get_by_role("link").first).to_be_focused()
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("PageUp")
    expect(rows.first).to_be_focused()
    tab.keyboard.press("ArrowUp")
    expect(tab.get_by_role("button", name="Host", exact=True)).to_be_focused()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(re.compile("sort=open&order=desc"))
    expect(tab.get_by_role("columnheader", name="Open")).to_have_attribute("aria-sort", "descending")
    expect(tab.locator("table")).to_have_attribute("aria-busy", "false")  # a row that moves takes the focus along
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("End")
    expect(rows.last).to_be_focused()
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("heading", level=1)).to_contain_text("127.0.0.")


def test_a_heading_sorts_all_hosts_and_one_that_cannot_says_why(visit: Open, finished: Place) -> None:
    tab = visit(finished.url, "/hosts")
    expect(tab.get_by_text("2 hosts", exact=True)).to_be_visible()
    tab.get_by_role("button", name="Requests").click()
    expect(tab.get_by_role("columnheader", name="Requests")).to_have_attribute("aria-sort", "descending")
    expect(tab.locator("tbody tr").first).not_to_contain_text(OTHER_HOST)
    tab.get_by_role("button", name="Requests").click()
    expect(tab.locator("tbody tr").first).to_contain_text(OTHER_HOST)
    refusing = tab.get_by_role("button", name="Rule", exact=True)
    expect(refusing).to_have_attribute("aria-disabled", "true")
    expect(refusing).to_have_accessible_description(re.compile("not sorted by this: operators have few rules"))


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/crawls?status=bogus", "“bogus” is none of running, paused"),
        ("/crawls?sort=bogus", "“bogus” is none of id, name"),
        ("/crawls?label=a%20b", "is no label"),
        ("/crawls/1/urls?state=bogus", "“bogus” is none of"),
        ("/crawls/1/urls?reason=bogus", "is no reason of a URL"),
        ("/crawls/1/urls?depth=deep", "“deep” is no number"),
        ("/crawls/1/hosts?sort=bogus", "“bogus” is none of host, open"),
        ("/crawls/1/compare?since=1&change=bogus", "“bogus” is none of added, gone"),
        ("/crawls/1/refused?reason=bogus", "“bogus” is none of"),
        ("/hosts?order=up", "“up” is none of asc, desc"),
    ],
)
def test_an_address_that_asks_for_what_there_is_not_says_so(visit: Open, finished: Place, path: str, says: str) -> None:
    tab = visit(finished.url, path)
    expect(tab.get_by_role("alert")).to_contain_text(says)
    expect(tab.locator("main table, table")).to_have_count(0)


def test_a_page_behind_the_end_leads_back(visit: Open, finished: Place, client: httpx.Client) -> None:
    last = client.get(f"{V1}/crawls/{finished.crawl}/urls", params={"order": "desc", "limit": 1}).json()["urls"][0]
    tab = visit(finished.url, f"/crawls/{finished.crawl}/urls?after={last['id']}")
    expect(tab.get_by_text("There is nothing more: this is the last page.")).to_be_visible()
    expect(tab.locator("tbody tr[data-url]").first).to_be_visible()
    assert "after=" not in tab.url


def test_crawls_are_named_found_and_sorted(nephila: Command, web: TestWeb, visit: Open) -> None:
    web.add(small_site(web.port))
    with served(nephila) as (_, url, client):
        first = start(client, [web.url("/guide/")], **{"limits.max_pages": 3})
        finish(client, first)
        second = start(client, [web.url("/blog/")], **{"limits.max_pages": 8})
        finish(client, second)
        tab = visit(url, f"/crawls/{second}")
        tab.get_by_role("button", name="Name", exact=True).click()
        dialog = tab.get_by_role("dialog")
        dialog.get_by_label("Name").fill("Blog <i>weekly</i>")
        dialog.get_by_label("Labels").fill("team=docs two=three=four")
        dialog.get_by_role("button", name="Save").click()
        expect(dialog.get_by_role("alert")).to_contain_text("is no label")
        dialog.get_by_label("Labels").fill("team=docs, nightly")
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_be_hidden()
        expect(tab.get_by_role("heading", level=1)).to_have_text("Blog <i>weekly</i>")
        expect(tab).to_have_title(f"Blog <i>weekly</i> · crawl {second} · Nephila")
        tab.get_by_role("link", name="team=docs").click()
        rows = tab.locator("tbody tr")
        expect(rows).to_have_count(1)
        expect(tab.get_by_text("1 crawl", exact=True)).to_be_visible()
        tab.evaluate(AXE.read_text())
        assert faults(tab) == []
        tab.get_by_role("link", name="Clear filters").click()
        expect(rows).to_have_count(2)
        expect(rows.last).to_contain_text("/guide/")
        tab.get_by_role("button", name="URLs ended").click()
        expect(tab).to_have_url(re.compile("sort=ended&order=desc"))
        tab.get_by_role("button", name="Crawl", exact=True).click()
        expect(rows.first).to_contain_text("Blog <i>weekly</i>")
        tab.keyboard.press("/")
        tab.keyboard.type("guide")
        expect(rows).to_have_count(1)
        expect(rows.first).to_contain_text("/guide/")
        rows.first.focus()
        tab.keyboard.press("Enter")
        tab.get_by_role("link", name="Edit a copy").click()
        tab.get_by_label("Name").fill("Guide, again")
        tab.get_by_label("Labels").fill("nightly")
        tab.get_by_role("button", name=re.compile("Start")).first.click()
        expect(tab.get_by_role("heading", level=1)).to_have_text("Guide, again")
        found = client.get(f"{V1}/crawls", params={"label": "nightly"}).json()["crawls"]
        assert [crawl["name"] for crawl in found] == ["Guide, again", "Blog <i>weekly</i>"]
        finish(client, found[0]["id"])
