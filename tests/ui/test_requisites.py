"""What pages need, in the web UI: asked for in the form, counted on the overview, listed by kind, explained."""

import re

from playwright.sync_api import expect

from tests.command import Command
from tests.site.requisites import needing_web
from tests.site.server import TestWeb
from tests.ui.conftest import Open
from tests.ui.place import finish, served, start


def test_requisites_from_the_overview_to_the_inspector(visit: Open, nephila: Command) -> None:
    with TestWeb() as web, served(nephila) as (_, url, client):
        needing = needing_web(web.port)
        web.add(needing.sites)
        crawl = start(client, [needing.seed], **needing.settings, **{"scope.requisites": "all"})
        finish(client, crawl)
        tab = visit(url, f"/crawls/{crawl}")
        expect(tab.get_by_text(f"4 URLs, {len(needing.requisites)} requisites in")).to_be_visible()
        expect(tab.get_by_text("3 broken")).to_be_visible()
        broken = tab.get_by_role("region", name="Broken requisites")
        broken.get_by_role("link", name="not found").click()
        expect(tab).to_have_url(re.compile(r"kind=requisite&state=not_found"))
        expect(tab.locator("tbody tr[data-url]")).to_have_count(2)
        expect(tab.get_by_label("Kind")).to_have_value("requisite")
        tab.get_by_role("row", name="/gone.png").click()
        expect(tab.get_by_text("It is a requisite: a page needs it")).to_be_visible()
        expect(tab.get_by_text("from the page that needs it, up to the seed")).to_be_visible()
        tab.get_by_label("Kind").select_option("Pages")
        expect(tab.get_by_text("No URL matches these filters.")).to_be_visible()
        tab.get_by_role("button", name="Clear filters").first.click()
        expect(tab.locator("tbody tr[data-url]")).to_have_count(4)


def test_the_form_of_a_new_crawl_asks_for_them(visit: Open, nephila: Command) -> None:
    with served(nephila) as (_, url, _):
        tab = visit(url, "/crawls/new")
        field = tab.get_by_label("What pages need")
        expect(field).to_have_value("none")
        field.select_option("same_host")
        expect(tab).to_have_url(re.compile(r"set\.scope\.requisites=same_host"))
