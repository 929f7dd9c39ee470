"""What operators do: block a host, look after workers, make tokens, lose the server and get it back."""

import os
import re
import signal
import socket
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import expect

from tests.command import Command
from tests.patience import until
from tests.site.server import DEFAULT_HOST, TestWeb
from tests.ui.conftest import Open
from tests.ui.place import OTHER_HOST, V1, served, start
from tests.ui.test_crawling import state_of, wide_site


def two_hosts(web: TestWeb, pages: int) -> list[str]:
    wide_site(web, pages)
    web.add({OTHER_HOST: web.sites[DEFAULT_HOST]})
    return [web.url("/"), web.url("/", OTHER_HOST)]


def queue_of(client: httpx.Client, crawl: int, host: str) -> dict[str, Any]:
    hosts = client.get(f"{V1}/crawls/{crawl}/hosts").json()["hosts"]
    found: dict[str, Any] = next(found["queue"] for found in hosts if found["queue"]["host"] == host)
    return found


@pytest.mark.requirement("U-09")
def test_a_blocked_host_stops(nephila: Command, web: TestWeb, visit: Open) -> None:
    with served(nephila) as (_, url, client):
        crawl = start(client, two_hosts(web, 1000), **{"polite.floor_ms": 200})
        tab = visit(url, f"/crawls/{crawl}/hosts")
        tab.get_by_role("button", name=f"Block {OTHER_HOST}").click()
        dialog = tab.get_by_role("dialog", name=f"Block {OTHER_HOST}")
        dialog.get_by_role("button", name="Block it").click()
        expect(dialog).to_be_hidden()
        expect(tab.get_by_role("row", name=re.compile(re.escape(OTHER_HOST)))).to_contain_text("blocked")

        def quiet() -> bool:
            asked = sum(hit.host == OTHER_HOST for hit in web.hits())
            others = len(web.hits())
            until(lambda: len(web.hits()) > others + 5)  # the other host goes on
            return asked == sum(hit.host == OTHER_HOST for hit in web.hits())

        until(quiet)
        until(lambda: queue_of(client, crawl, OTHER_HOST)["held_by"] is None)  # its owner has laid it down
        tab.get_by_role("link", name=OTHER_HOST, exact=True).click()
        expect(tab.get_by_role("heading", level=1)).to_contain_text(OTHER_HOST)
        tab.get_by_role("button", name=re.compile("Remove")).first.click()
        tab.get_by_role("dialog").get_by_role("button", name=re.compile("Remove")).click()
        asked = sum(hit.host == OTHER_HOST for hit in web.hits())
        until(lambda: sum(hit.host == OTHER_HOST for hit in web.hits()) > asked)
        client.post(f"{V1}/crawls/{crawl}/cancel")


@pytest.mark.requirement("U-09")
def test_a_killed_worker_is_replaced_and_more_can_be_had(nephila: Command, web: TestWeb, visit: Open) -> None:
    with served(nephila) as (_, url, client):
        tab = visit(url, "/workers")
        group = tab.get_by_role("group", name="Workers of this server")
        expect(group).to_contain_text("1")
        first = until(lambda: [w for w in client.get(f"{V1}/workers").json()["workers"] if w["alive"]])[0]
        expect(tab.get_by_text(f"pid {first['pid']}")).to_be_visible()
        os.kill(first["pid"], signal.SIGKILL)
        expect(tab.locator("table").first.get_by_text(f"pid {first['pid']}")).to_be_hidden()
        second = until(lambda: [w for w in client.get(f"{V1}/workers").json()["workers"] if w["alive"]])[0]
        assert second["pid"] != first["pid"]
        expect(tab.get_by_text(f"pid {second['pid']}")).to_be_visible()
        tab.get_by_role("button", name="Add a worker").click()
        until(lambda: sum(w["alive"] for w in client.get(f"{V1}/workers").json()["workers"]) == 2)
        expect(tab.locator("table").first.locator("tbody tr")).to_have_count(2)
        tab.get_by_role("button", name="Remove a worker").click()
        tab.get_by_role("dialog").get_by_role("button", name="Remove one").click()
        until(lambda: sum(w["alive"] for w in client.get(f"{V1}/workers").json()["workers"]) == 1)


def kept_free(port: int | None) -> socket.socket:
    """Keeps others from a port: bound, but nobody listens, so that the server that comes back may bind it, too."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind(("127.0.0.1", port))
    return found


@pytest.mark.requirement("U-08")
def test_the_server_is_lost_and_found_again(nephila: Command, web: TestWeb, visit: Open) -> None:
    with served(nephila) as (process, url, client):
        crawl = start(client, [wide_site(web, 200)], **{"polite.floor_ms": 1000})
        tab = visit(url, f"/crawls/{crawl}")
        state_of(tab, "running")
        expect(tab.get_by_text("live", exact=True)).to_be_visible()
        expect(tab.get_by_text(re.compile(r"of about 201 URLs"))).to_be_visible()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        place = kept_free(urlsplit(url).port)
        expect(tab.get_by_text("reconnecting", exact=True)).to_be_visible()
        expect(tab.get_by_text(re.compile("the server has not answered for"))).to_be_visible()
        expect(tab.get_by_text(re.compile(r"of about 201 URLs"))).to_be_visible()
    with place, nephila.serving("--workers", "1", "--port", str(urlsplit(url).port)):
        expect(tab.get_by_text("live", exact=True)).to_be_visible()
        expect(tab.get_by_text(re.compile("the server has not answered for"))).to_be_hidden()
        state_of(tab, "running")


def test_the_first_token_closes_the_server_and_the_next_tab_asks_for_it(nephila: Command, visit: Open) -> None:
    with served(nephila) as (_, url, client):
        tab = visit(url, "/admin?section=tokens")
        tab.get_by_label("Name").fill("operator")
        tab.get_by_role("button", name="Make the first token").click()
        secret = tab.locator("[data-secret]").inner_text()
        tab.get_by_role("button", name="I have put it away").click()
        expect(tab.get_by_role("cell", name=re.compile("operator")).first).to_be_visible()
        assert client.get(f"{V1}/crawls").status_code == 401

        other = visit(url, "/crawls")
        dialog = other.get_by_role("dialog", name="This server asks for a token")
        dialog.get_by_label("Token").fill("nph_wrong")
        dialog.get_by_role("button", name="Enter").click()
        expect(dialog.get_by_role("alert")).to_be_visible()
        dialog.get_by_label("Token").fill(secret)
        dialog.get_by_role("button", name="Enter").click()
        expect(dialog).to_be_hidden()
        expect(other.get_by_text("Nothing was crawled yet.")).to_be_visible()


def test_rules_are_added_and_removed(nephila: Command, visit: Open) -> None:
    with served(nephila) as (_, url, client):
        tab = visit(url, "/admin")
        tab.get_by_label("Domains").fill("spam.example\nbad.example")
        tab.get_by_label("Reason").fill("spam")
        tab.get_by_role("button", name="Block 2").click()
        expect(tab.get_by_role("cell", name="spam.example", exact=True)).to_be_visible()
        assert len(client.get(f"{V1}/blocks").json()["blocks"]) == 2
        tab.get_by_role("button", name=re.compile("Remove.*spam.example")).click()
        tab.get_by_role("dialog").get_by_role("button", name=re.compile("Remove")).click()
        expect(tab.get_by_role("cell", name="spam.example", exact=True)).to_be_hidden()
        assert [rule["value"] for rule in client.get(f"{V1}/blocks").json()["blocks"]] == ["bad.example"]
        tab.goto(f"{url}/ui/admin?section=rate")
        tab.get_by_label(re.compile("between two requests")).fill("2 s")
        tab.get_by_role("button", name="Set").click()
        until(lambda: client.get(f"{V1}/floor").json()["floor_ms"] == 2000)


def test_keys_lead_everywhere(nephila: Command, visit: Open) -> None:
    with served(nephila) as (_, url, _client):
        tab = visit(url, "/crawls")
        expect(tab.get_by_role("heading", level=1)).to_be_visible()
        # Two keys are one word only within 1.5 s: here they always are.
        tab.evaluate("Object.defineProperty(Event.prototype, 'timeStamp', { get: () => 0 })")
        places = {"gs": "/search", "gh": "/hosts", "gw": "/workers", "ga": "/admin", "gn": "/crawls/new"}
        fields = {
            "gs": tab.get_by_role("searchbox").first,
            "gn": tab.get_by_role("textbox", name="Seeds"),
        }  # that take the focus
        for keys, path in places.items():
            tab.keyboard.press("Escape")
            tab.evaluate("document.activeElement?.blur()")
            for key in keys:
                tab.keyboard.press(key)
            expect(tab).to_have_url(re.compile(f"/ui{path}$"))
            if keys in fields:
                expect(fields[keys]).to_be_focused()
        tab.evaluate("document.activeElement?.blur()")
        tab.keyboard.press("?")
        expect(tab.get_by_role("dialog", name="Keys")).to_be_visible()
        tab.keyboard.press("Escape")
        expect(tab.get_by_role("dialog", name="Keys")).to_be_hidden()
