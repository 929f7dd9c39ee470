"""Crawled text is never HTML: naughty titles, URLs and anchors on every screen that shows such, and nothing runs."""

import html
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests.command import Command
from tests.site.server import DEFAULT_HOST, Page, TestWeb
from tests.ui.conftest import Open
from tests.ui.place import V1, finish, indexed, served, start

PAYLOADS = (
    "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    "<svg/onload=window.ran=1>",
    "javascript:window.ran=1",
    '"><script>window.ran=1</script>',
    "'-window.ran=1-'",
    "{{constructor.constructor('window.ran=1')()}}",
    "${window.ran=1}",
    "<iframe srcdoc='<script>parent.ran=1</script>'>",
    "<a href='javascript:window.ran=1'>x</a>",
    "</title><script>window.ran=1</script>",
    "</script><script>window.ran=1</script>",
    "<base href='http://127.0.0.9/'>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.9/'>",
    "<form action=http://127.0.0.9/><button>x",
    "<style>*{display:none}</style>",
    "\u202eevil\u202c",
    "\u200b\u200d\ufeff",
    "Ｏ'Ｒｅｉｌｌｙ",
    "😀" * 40,
    "A" * 3000,
    "Ω≈ç√∫˜µ≤≥÷",
    "田中さんにあげて下さい",
    "ثم نفس سقطت",
    "--%><%= 7*7 %>",
    "%n%s%x",
    "../../../../etc/passwd",
    "=cmd|' /C calc'!A0",
)
SCREENS = ("", "/urls", "/pages", "/graph?kind=links", "/hosts")
SEARCHES = ("ran", "script", "img", "evil", "あげて")  # words of payloads
COUNT = 500
INSPECTED = 10  # by all its tabs


def naughty() -> list[str]:
    """500 different ones: each payload in many surroundings."""
    around = ("{}", "x{}y", '"{}"', "'{}'", "<b>{}</b>", "<!--{}", "{}-->", "&lt;{}&gt;", "\\{}", "`{}`", "{} {}")
    found = [form.replace("{}", text) for form in around for text in PAYLOADS]
    numbered = [f"{text}{number}" for number, text in enumerate(found)]
    return (found + numbered)[:COUNT]


def naughty_site(texts: list[str]) -> dict[str, Page]:
    """Each string is the title and text of a page, part of its URL, and the anchor that leads to it."""
    pages = {f"/{number}/{quote(text[:200], safe='')}": text for number, text in enumerate(texts)}
    links = "".join(f'<a href="{html.escape(path)}">{html.escape(text)}</a>' for path, text in pages.items())
    found = {
        path: Page(f"<title>{html.escape(text)}</title><p>{html.escape(text)}".encode()) for path, text in pages.items()
    }
    return {"/": Page(links.encode()), "/robots.txt": Page(status=404), **found}


def nothing_ran(tab: Tab) -> None:
    assert tab.evaluate("window.ran") is None
    assert tab.evaluate("document.querySelectorAll('base, meta[http-equiv=refresh]').length") == 0


def test_nothing_runs(nephila: Command, web: TestWeb, visit: Open) -> None:
    texts = naughty()
    assert len(set(texts)) == COUNT
    web.add({DEFAULT_HOST: naughty_site(texts)})
    with served(nephila) as (_, url, client):
        crawl = start(client, [web.url("/")], **{"polite.max_inflight": 8, "scope.url_length_max": 8192})
        finish(client, crawl)
        assert client.get(f"{V1}/crawls/{crawl}").json()["states"]["visited"] >= COUNT
        for screen in SCREENS:
            tab = visit(url, f"/crawls/{crawl}{screen}")
            tab.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
            expect(tab.get_by_role("heading", level=1)).to_be_visible()
            tab.wait_for_load_state("networkidle")
            nothing_ran(tab)
        indexed(client)
        for words in SEARCHES:
            tab = visit(url, f"/search?q={quote(words)}")
            expect(tab.locator("ol[aria-label=Results] mark").first).to_be_visible()
            nothing_ran(tab)
        rows = client.get(f"{V1}/crawls/{crawl}/urls", params={"limit": INSPECTED}).json()["urls"]
        tab = visit(url, f"/crawls/{crawl}/urls")
        for row in rows:
            for part in ("why", "answer", "links", "source", "rendering"):
                tab.evaluate(
                    "(search) => { history.pushState({}, '', search); dispatchEvent(new PopStateEvent('popstate')); }",
                    f"?inspect={row['id']}&tab={part}",
                )
                expect(tab.get_by_role("navigation", name="Of this URL")).to_be_visible()
            nothing_ran(tab)
        page = visit(url, f"/crawls/{crawl}/pages?text=/0/")
        expect(page.get_by_text(texts[0]).first).to_be_visible()


def test_the_policy_is_strict(client: httpx.Client) -> None:
    header = client.get("/ui/").headers["content-security-policy"]
    assert header.startswith("default-src 'none'")
    assert "unsafe" not in header and "*" not in header
