"""A page of the archive, shown by a real browser that can reach nothing else: it looks as the live one did."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route
from warcio.archiveiterator import ArchiveIterator

from tests.e2e.harness import Place, run_here
from tests.patience import PATIENCE_MS
from tests.site.pictured import pictured_web
from tests.site.server import TestWeb
from tests.ui.browser import chromium_path, running_browser

Answers = Mapping[str, tuple[int, dict[str, str], bytes]]

VIEW = {"width": 800, "height": 900}
SPOKEN = ("content-type", "location")


def archived(folder: Path) -> Answers:
    """Every answer of an archive, as a foreign reader has it."""
    found: dict[str, tuple[int, dict[str, str], bytes]] = {}
    for path in sorted(folder.glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "response":
                    headers = {name.lower(): value for name, value in record.http_headers.headers}
                    kept = {name: headers[name] for name in SPOKEN if name in headers}
                    url = record.rec_headers.get_header("WARC-Target-URI")
                    found[url] = int(record.http_headers.get_statuscode()), kept, record.content_stream().read()
    return found


def pictured(browser: Browser, url: str, answers: Answers | None = None) -> tuple[bytes, set[str], set[str]]:
    """The picture of a page, what it asked for, and what of that had no answer. `answers`: instead of any network."""
    missing: set[str] = set()
    asked: set[str] = set()

    def answer(route: Route) -> None:
        assert answers is not None
        found = answers.get(route.request.url)
        if found is None:
            missing.add(route.request.url)
            route.abort()
        else:
            status, headers, body = found
            route.fulfill(status=status, headers=headers, body=body)

    context = browser.new_context(viewport={"width": VIEW["width"], "height": VIEW["height"]})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.on("request", lambda request: asked.add(request.url))
    if answers is not None:
        context.route("**/*", answer)
    page.goto(url, wait_until="load")
    picture = page.screenshot(animations="disabled")
    context.close()
    return picture, asked, missing


@pytest.mark.parametrize("wanted", ["all", "none"])
def test_the_archived_page_looks_as_the_live_one_did(tmp_path: Path, wanted: str) -> None:
    if chromium_path() is None:
        pytest.skip("needs Chromium: install the package chromium, or name the program in NEPHILA_CHROMIUM")
    with TestWeb() as web:
        sites, url = pictured_web(web.port)
        web.add(sites)
        place = Place(tmp_path)
        crawl = place.start([url], {"scope.requisites": wanted, "limits.max_pages": 1})
        run_here(place, crawl.id)
        place.close()
        with running_browser() as browser:
            live, asked, _ = pictured(browser, url)
    answers = archived(tmp_path / "warc")
    with running_browser() as browser:
        shown, _, missing = pictured(browser, url, answers)
    if wanted == "all":
        assert asked <= set(answers)
        assert missing == set()
        assert shown == live
    else:
        assert missing
        assert shown != live
