"""The sitemaps of a crawl in the web UI: what they list, what is wrong with them, which pages only they or only links
have; by mouse and keyboard, on a desk and a phone."""

import re

from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests.command import Command
from tests.site.server import DEFAULT_HOST, Page, TestWeb
from tests.site.sitemaps import plain, urlset
from tests.ui.browser import DESK, PHONE
from tests.ui.conftest import Open
from tests.ui.place import finish, served, start
from tests.ui.test_screens import AXE, faults, too_wide
from tests.ui.test_tables import URL_PX_MIN, measured

IMAGES = "<image:image><image:loc>http://127.0.0.1/i.png</image:loc></image:image>" * 12


def add_listed_site(web: TestWeb) -> str:
    """The home page links to /linked and /both; a sitemap lists /both and /lonely, another is broken."""
    base = f"http://{DEFAULT_HOST}:{web.port}"
    robots = f"User-agent: *\nSitemap: {base}/map.xml\nSitemap: {base}/page.xml\n"
    site = {
        "/robots.txt": Page(robots.encode(), content_type="text/plain"),
        "/": plain("home", "/linked", "/both"),
        "/map.xml": urlset([f"{base}/both", f"{base}/lonely"], IMAGES),
        "/page.xml": plain("no sitemap"),
    }
    web.add({DEFAULT_HOST: site | {path: plain(path) for path in ("/linked", "/both", "/lonely")}})
    return f"{base}/"


def fits(tab: Tab) -> None:
    """Axe finds nothing, and the table fits and is one stop for Tab, on a desk and on a phone."""
    tab.evaluate(AXE.read_text())
    for size in (PHONE, DESK):
        assert too_wide(tab, size) <= 0, size
        (table,) = measured(tab, size)
        assert (table["over"] <= 0, table["stops"]) == (True, 1), (size, table)
        assert table["url"] >= URL_PX_MIN, (size, table)
        assert faults(tab) == [], size


def test_sitemaps_from_the_tab_to_the_inspector(visit: Open, nephila: Command) -> None:
    with TestWeb() as web, served(nephila) as (_, url, client):
        crawl = start(client, [add_listed_site(web)], **{"sitemaps.mode": "auto"})
        finish(client, crawl)
        tab = visit(url, f"/crawls/{crawl}")
        tab.get_by_role("link", name="Sitemaps", exact=True).click()
        expect(tab.locator("tbody tr")).to_have_count(2)
        read = tab.get_by_role("row", name="/map.xml")
        expect(read).to_contain_text("24 images")
        expect(read).to_contain_text(f"named in robots.txt of {DEFAULT_HOST}")
        expect(tab.get_by_role("row", name="/page.xml")).to_contain_text("not_sitemap: ")
        expect(tab.get_by_role("link", name="2 sitemaps", exact=True)).to_be_visible()
        unlinked = tab.get_by_role("link", name="1 page that only sitemaps list", exact=True)
        expect(unlinked).to_be_visible()
        expect(tab.get_by_role("link", name="1 page that only links lead to", exact=True)).to_be_visible()
        fits(tab)
        unlinked.click()
        expect(tab).to_have_url(re.compile(r"list=unlinked"))
        expect(tab.locator("tbody tr")).to_have_count(1)
        expect(tab.get_by_role("row", name="/lonely")).to_contain_text("/map.xml")
        fits(tab)
        tab.get_by_role("link", name="1 page that only links lead to", exact=True).click()
        expect(tab.get_by_role("row", name="/linked")).to_be_visible()
        tab.get_by_role("link", name="2 sitemaps", exact=True).click()
        rows = tab.locator("tbody tr")
        expect(rows).to_have_count(2)
        tab.get_by_role("link", name="JSON", exact=True).last.focus()
        tab.keyboard.press("Tab")
        expect(rows.first).to_be_focused()
        tab.keyboard.press("ArrowDown")
        expect(rows.last).to_be_focused()
        tab.keyboard.press("Enter")
        expect(tab).to_have_url(re.compile(r"inspect=\d+"))
        expect(tab.get_by_text("It is a sitemap")).to_be_visible()
