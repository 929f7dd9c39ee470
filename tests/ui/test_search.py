"""Search in the browser: words, filters, the way to the inspector, an address that can be sent."""

import re
from urllib.parse import quote, urlsplit

import httpx
import pytest
from playwright.sync_api import Locator, expect
from playwright.sync_api import Page as Tab

from tests.command import Command
from tests.site.server import DEFAULT_HOST, Page, TestWeb
from tests.ui.conftest import Open
from tests.ui.place import OTHER_HOST, V1, Place, finish, served, start
from tests.ui.test_urls import inspector_of


def results_of(tab: Tab) -> Locator:
    return tab.get_by_role("list", name="Results").locator("> li")


def field_of(tab: Tab) -> Locator:
    return tab.get_by_role("searchbox", name="Words to search for")


@pytest.mark.requirement("Q-01")
def test_pages_are_found_by_their_words_and_opened(visit: Open, finished: Place) -> None:
    tab = visit(finished.url, "/crawls")
    tab.get_by_role("link", name="Search", exact=True).click()
    expect(field_of(tab)).to_be_focused()
    expect(tab.get_by_text("pages that have both words")).to_be_visible()
    tab.keyboard.type('"guide 3"')
    expect(results_of(tab)).to_have_count(1)
    expect(results_of(tab).locator("mark").first).to_have_text("guide")
    expect(tab).to_have_url(re.compile(r"/ui/search\?q=%22guide\+3%22$"))
    tab.reload()
    expect(field_of(tab)).to_have_value('"guide 3"')
    expect(results_of(tab)).to_have_count(1)
    found = tab.url
    tab.get_by_role("link", name="guide 3", exact=True).click()
    expect(inspector_of(tab).get_by_text("It ended visited with status 200.")).to_be_visible()
    expect(tab).to_have_url(re.compile(rf"/ui/crawls/{finished.crawl}/urls\?inspect=\d+$"))
    tab.go_back()
    expect(results_of(tab)).to_have_count(1)
    assert tab.url == found
    tab.go_back()
    expect(tab).to_have_url(re.compile("/ui/crawls$"))


@pytest.mark.requirement("Q-01")
def test_results_are_narrowed_by_host_and_crawl(visit: Open, finished: Place, client: httpx.Client) -> None:
    everywhere = client.get(f"{V1}/search", params={"q": "x"}).json()["total"]
    tab = visit(finished.url, f"/crawls/{finished.crawl}")
    tab.get_by_role("link", name="Search this crawl").click()
    expect(tab).to_have_url(re.compile(rf"/ui/search\?crawl={finished.crawl}$"))
    expect(tab.get_by_role("combobox", name="Crawl")).to_have_value(str(finished.crawl))
    tab.keyboard.type("x")
    expect(tab.get_by_role("status").get_by_text(f"of {everywhere} pages")).to_be_visible()
    tab.get_by_role("link", name="Next").click()
    expect(tab.get_by_role("status").get_by_text(re.compile("^21 to "))).to_be_visible()
    tab.get_by_role("searchbox", name="Host").fill(f"{OTHER_HOST}:{finished.web.port}")
    expect(results_of(tab)).to_have_count(3)
    assert "offset" not in tab.url and "host=" in tab.url
    tab.reload()
    expect(results_of(tab)).to_have_count(3)
    for link in results_of(tab).locator("a[target=_blank]").all():
        assert urlsplit(link.get_attribute("href") or "").hostname == OTHER_HOST
    tab.get_by_role("button", name="Clear filters").click()
    expect(tab.get_by_role("status").get_by_text(f"1 to 20 of {everywhere} pages")).to_be_visible()


def test_what_cannot_be_searched_for_is_said_at_the_field(visit: Open, finished: Place) -> None:
    tab = visit(finished.url, "/search?q=-guide")
    expect(tab.get_by_role("alert")).to_contain_text("only says what to leave out")
    expect(field_of(tab)).to_have_attribute("aria-invalid", "true")
    tab.evaluate("document.activeElement?.blur()")
    tab.keyboard.press("/")
    expect(field_of(tab)).to_be_focused()
    field_of(tab).fill("zyzzyva")
    expect(tab.get_by_text("No page was found.")).to_be_visible()
    expect(tab.get_by_role("alert")).to_be_hidden()


def test_what_is_fetched_while_somebody_waits_is_found_without_a_key(
    nephila: Command, web: TestWeb, visit: Open
) -> None:
    page = Page("<title>Nephila</title><p>Golden sïlk, 田中さん.".encode(), content_type="text/html; charset=utf-8")
    web.add({DEFAULT_HOST: {"/": page, "/robots.txt": Page(status=404)}})
    with served(nephila) as (_, url, client):
        crawl = start(client, [web.url("/")])
        finish(client, crawl)
        tab = visit(url, f"/search?q={quote('SILK 田中')}")
        expect(results_of(tab)).to_have_count(1)
        expect(results_of(tab).locator("mark").first).to_have_text("sïlk")
