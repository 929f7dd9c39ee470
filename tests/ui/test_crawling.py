"""A person's way through a crawl: fill in the form, watch it, pause it, change it, cancel it."""

import re

import httpx
import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests.command import Command
from tests.site.server import DEFAULT_HOST, Page, TestWeb
from tests.ui.conftest import Open
from tests.ui.place import V1, served, small_site, start

SLOW_MS = 300


def wide_site(web: TestWeb, pages: int) -> str:
    """A root with so many pages below it."""
    paths = [f"/{number}" for number in range(pages)]
    links = "".join(f"<a href={path}>x</a>" for path in paths).encode()
    found = {path: Page(b"<title>A page</title>") for path in paths}
    web.add({DEFAULT_HOST: {"/": Page(links), "/robots.txt": Page(status=404), **found}})
    return web.url("/")


def state_of(tab: Tab, word: str) -> None:
    expect(tab.get_by_role("banner").or_(tab.locator("header")).get_by_text(word, exact=True).first).to_be_visible()


def figure(tab: Tab, name: str) -> str:
    return tab.locator("dt", has_text=re.compile(f"^{name}$")).locator("xpath=following-sibling::dd[1]").inner_text()


@pytest.mark.requirement("U-01", "U-07", "U-08")
def test_a_crawl_is_started_in_the_form_and_watched_until_it_is_over(
    nephila: Command, web: TestWeb, visit: Open
) -> None:
    web.add(small_site(web.port))
    with served(nephila) as (_, url, client):
        tab = visit(url, "/crawls")
        expect(tab.get_by_text("Nothing was crawled yet.")).to_be_visible()
        tab.get_by_role("link", name="New crawl").first.click()
        expect(tab.get_by_role("textbox", name="Seeds")).to_be_visible()
        tab.get_by_role("button", name="Start crawl").click()
        expect(tab.get_by_role("textbox", name="Seeds")).to_have_attribute("aria-invalid", "true")
        tab.get_by_role("textbox", name="Seeds").fill(web.url("/"))
        tab.get_by_label("Delay between requests to a host").fill("0")
        tab.get_by_label("Private addresses").check()
        tab.get_by_role("button", name="Start crawl").click()
        expect(tab).to_have_url(re.compile(r"/ui/crawls/\d+$"))
        state_of(tab, "completed")
        crawl = client.get(f"{V1}/crawls").json()["crawls"][0]
        assert crawl["states"]["visited"] > 30
        expect(tab.get_by_text(re.compile(rf"^{crawl['total']} URLs in "))).to_be_visible()
        assert figure(tab, "URLs") == str(crawl["total"])


def test_what_the_server_refuses_is_said_at_its_field(nephila: Command, visit: Open) -> None:
    with served(nephila) as (_, url, _client):
        tab = visit(url, "/crawls/new?seed=http://127.0.0.1:9/&set.scope.mode=list")
        expect(tab.get_by_role("textbox", name="Seeds")).to_have_value("http://127.0.0.1:9/")
        tab.get_by_role("button", name="Start crawl").click()
        field = tab.get_by_label(re.compile("Hosts", re.IGNORECASE)).first
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(tab.get_by_role("alert").first).to_contain_text("give Hosts of the scope")


def paced(client: httpx.Client, web: TestWeb, pages: int) -> int:
    return start(client, [wide_site(web, pages)], **{"polite.floor_ms": SLOW_MS})


@pytest.mark.requirement("U-09")
def test_pause_resume_and_cancel(nephila: Command, web: TestWeb, visit: Open) -> None:
    with served(nephila) as (_, url, client):
        web.hold(after=10)  # however long the browser takes, the crawl is not over
        crawl = paced(client, web, 200)
        tab = visit(url, f"/crawls/{crawl}")
        state_of(tab, "running")
        expect(tab.get_by_text(re.compile(r"^\d+ of about 201 URLs.*bounded by 127\.0\.0\.1"))).to_be_visible()
        tab.get_by_role("button", name="Pause").click()
        state_of(tab, "paused")
        assert client.get(f"{V1}/crawls/{crawl}").json()["status"] == "paused"
        tab.get_by_role("button", name="Resume").click()
        state_of(tab, "running")
        tab.get_by_role("button", name="Cancel", exact=True).click()
        dialog = tab.get_by_role("dialog", name=f"Cancel crawl {crawl}?")
        expect(dialog).to_be_visible()
        tab.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        assert client.get(f"{V1}/crawls/{crawl}").json()["status"] == "running"
        tab.get_by_role("button", name="Cancel", exact=True).click()
        dialog.get_by_role("button", name="Cancel the crawl").click()
        web.go_on()
        state_of(tab, "cancelled")


def test_delay_and_limits_change_while_it_runs(nephila: Command, web: TestWeb, visit: Open) -> None:
    with served(nephila) as (_, url, client):
        web.hold(after=10)
        crawl = start(client, [wide_site(web, 300)], **{"polite.floor_ms": SLOW_MS, "limits.max_pages": 250})
        tab = visit(url, f"/crawls/{crawl}")
        state_of(tab, "running")
        tab.get_by_role("button", name="Pace and limits").click()
        dialog = tab.get_by_role("dialog")
        delay = dialog.get_by_label(re.compile("delay", re.IGNORECASE)).first
        delay.fill("much")
        dialog.get_by_role("button", name="Save").click()
        expect(delay).to_have_attribute("aria-invalid", "true")
        delay.fill("0")
        dialog.get_by_label(re.compile("pages", re.IGNORECASE)).first.fill("60")
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_be_hidden()
        web.go_on()
        state_of(tab, "completed")
        found = client.get(f"{V1}/crawls/{crawl}").json()
        assert found["limited_by"] == "max_pages"
        assert found["states"]["visited"] == 60


def test_new_visits_wait_while_somebody_reads(nephila: Command, web: TestWeb, visit: Open) -> None:
    with served(nephila) as (_, url, client):
        web.hold(after=5)  # robots.txt and four pages; the others come when somebody reads
        crawl = paced(client, web, 200)
        tab = visit(url, f"/crawls/{crawl}")
        table = tab.locator("section", has=tab.get_by_role("heading", name="Latest visits")).locator("table")
        expect(table.locator("tbody tr").nth(2)).to_be_visible()
        table.locator("tbody tr").first.hover()
        first = table.locator("tbody tr").first.inner_text()
        web.go_on()
        news = tab.get_by_role("button", name=re.compile(r"\d+ new"))
        expect(news).to_be_visible()
        url_text = first.split("http", 1)[1].split()[0]
        assert url_text in table.locator("tbody tr").first.inner_text(), "what is under the pointer stays"
        news.click()
        expect(table.locator("tbody tr").first).not_to_contain_text(url_text)
        client.post(f"{V1}/crawls/{crawl}/cancel")
