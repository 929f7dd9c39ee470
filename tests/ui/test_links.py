"""Links both ways in the web UI: the pages that link to a URL in its inspector, and the broken links of a crawl; by
mouse and keyboard, on a desk and a phone."""

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Locator, expect
from playwright.sync_api import Page as Tab

from tests.command import Command
from tests.patience import until
from tests.site.fixtures import moved
from tests.site.server import DEFAULT_HOST, Page, TestWeb
from tests.ui.browser import DESK, PHONE
from tests.ui.conftest import Open
from tests.ui.place import V1, finish, page, served, start
from tests.ui.test_screens import AXE, faults, too_wide
from tests.ui.test_tables import URL_PX_MIN, measured

NOTES = 14  # pages that link to /gone, more than the inspector shows at first


def titled(title: str, *links: str) -> Page:
    return Page(f"<!doctype html><title>{title}</title>{' '.join(links)}".encode())


def add_linked_site(web: TestWeb) -> None:
    """Home and the notes link to /gone, which is not there; home also to /old, which redirects there."""
    notes = {f"/note/{number}": page(f"Note {number}", "/gone") for number in range(NOTES)}
    home = titled(
        "Home",
        '<a href="/gone" rel="help author">The <b>old</b> page</a>',
        '<a href="/old">Moved long ago</a>',
        '<a href="/fine"><img src="/fine.png" alt=""></a>',
        *(f'<a href="{path}">{path}</a>' for path in notes),
    )
    robots = Page(status=404)
    web.add({DEFAULT_HOST: {"/": home, "/robots.txt": robots, "/old": moved("/gone"), "/fine": page("Fine")} | notes})


def crawled(client: httpx.Client, seed: str) -> int:
    """A crawl that is over, with its links indexed."""
    crawl = start(client, [seed])
    finish(client, crawl)
    path = f"{V1}/crawls/{crawl}/broken"
    until(lambda: client.get(path).raise_for_status().json()["pending_bytes"] == 0, "the index of links")
    return crawl


@pytest.fixture
def linked(nephila: Command) -> Iterator[tuple[str, int]]:
    """The address of a server, and its crawl."""
    with TestWeb() as web, served(nephila) as (_, url, client):
        add_linked_site(web)
        yield url, crawled(client, web.url("/"))


def inspector_of(tab: Tab, path: str) -> Locator:
    return tab.get_by_role("region", name=re.compile(rf"^http:..{DEFAULT_HOST}:\d+{path.replace('/', '.')}$"))


def fits(tab: Tab) -> None:
    """Axe finds nothing, and the screen fits, on a desk and on a phone."""
    tab.evaluate(AXE.read_text())
    for size in (PHONE, DESK):
        assert too_wide(tab, size) <= 0, size
        assert faults(tab) == [], size


def test_broken_links_from_the_tab_to_the_inspector(visit: Open, linked: tuple[str, int]) -> None:
    url, crawl = linked
    tab = visit(url, f"/crawls/{crawl}")
    tab.get_by_role("link", name="Broken links", exact=True).click()
    expect(tab).to_have_url(re.compile(r"/broken$"))
    rows = tab.locator("tbody tr")
    expect(rows).to_have_count(1)
    gone = rows.first
    expect(gone).to_contain_text("/gone")
    expect(gone).to_contain_text("not found")
    expect(gone).to_contain_text("404")
    pages = gone.get_by_role("listitem")
    home = pages.filter(has_text="The old page")
    expect(home).to_contain_text("rel help author")
    expect(gone.get_by_role("link", name=f"{NOTES + 2} pages in all", exact=True)).to_be_visible()
    fits(tab)
    for size in (PHONE, DESK):
        (table,) = measured(tab, size)
        assert (table["over"] <= 0, table["stops"]) == (True, 1), (size, table)
        assert table["url"] >= URL_PX_MIN, (size, table)
    tab.get_by_role("link", name="JSON", exact=True).last.focus()
    tab.keyboard.press("Tab")
    expect(gone).to_be_focused()
    tab.keyboard.press("ArrowRight")
    expect(pages.first.get_by_role("link").first).to_be_focused()
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("Enter")
    inspector = inspector_of(tab, "/gone")
    expect(inspector).to_be_visible()
    home.get_by_role("link", name="Home", exact=True).click()
    expect(inspector_of(tab, "/")).to_be_visible()
    fits(tab)
    gone.get_by_role("link", name=re.compile("in all$")).click()
    expect(inspector.get_by_role("heading", name=f"Linked from {NOTES + 2} pages")).to_be_visible()


def test_a_redirect_in_between_is_told(visit: Open, nephila: Command) -> None:
    with TestWeb() as web, served(nephila) as (_, url, client):
        links = '<a href="/old">Moved long ago</a>'
        site = {"/": titled("Home", links), "/robots.txt": Page(status=404), "/old": moved("/gone")}
        web.add({DEFAULT_HOST: site})
        tab = visit(url, f"/crawls/{crawled(client, web.url('/'))}/broken")
        pages = tab.locator("tbody tr").get_by_role("listitem")
        expect(pages).to_have_count(2)
        expect(pages.first).to_contain_text(re.compile(r"/old\s*redirects here$"))
        expect(pages.last).to_contain_text(re.compile(r"^Home\s*“Moved long ago”\s*to .*/old, which redirects here$"))
        pages.last.get_by_role("link", name="/old").click()
        expect(inspector_of(tab, "/old")).to_be_visible()


def test_nothing_is_broken(visit: Open, nephila: Command) -> None:
    with TestWeb() as web, served(nephila) as (_, url, client):
        web.add({DEFAULT_HOST: {"/": page("Home"), "/robots.txt": Page(status=404)}})
        tab = visit(url, f"/crawls/{crawled(client, web.url('/'))}/broken")
        expect(tab.get_by_text("Nothing is broken.", exact=True)).to_be_visible()
        expect(tab.get_by_text("Links are still being indexed")).to_have_count(0)
        fits(tab)


def test_the_inspector_names_the_pages_that_link_to_a_url(visit: Open, linked: tuple[str, int]) -> None:
    url, crawl = linked
    tab = visit(url, f"/crawls/{crawl}/urls?text=/gone")
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.locator("tbody tr[data-url]").click()
    inspector = inspector_of(tab, "/gone")
    expect(inspector.get_by_role("heading", name="robots.txt")).to_be_visible()
    assert not [path for path in asked if "/in-links" in path], "it is asked for when it is shown"
    inspector.get_by_role("link", name="Links", exact=True).click()
    expect(inspector.get_by_role("heading", name=f"Linked from {NOTES + 2} pages")).to_be_visible()
    pages = inspector.get_by_role("list", name="Pages that link here").get_by_role("listitem")
    expect(pages).to_have_count(10)
    fits(tab)
    more = inspector.get_by_role("button", name="More pages")
    more.click()
    expect(pages).to_have_count(NOTES + 2)
    expect(more).to_have_count(0)
    expect(pages.filter(has_text="redirects here")).to_contain_text("/old")
    home = pages.filter(has_text="The old page")
    expect(home).to_contain_text("rel help author")
    home.get_by_role("link", name="Home", exact=True).click()
    expect(tab).to_have_url(re.compile("tab=links"))
    home_inspector = inspector_of(tab, "/")
    expect(home_inspector.get_by_text("No page of this crawl links here")).to_be_visible()
    home_inspector.get_by_role("list", name="Links out").get_by_role("link", name="/fine").click()
    expect(tab.get_by_text("a link without words")).to_be_visible()
    fits(tab)
