"""The description of the API in a real browser: operations open, nothing complains, nothing is asked elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from nephila.frontier.tokens import Access
from tests.api.served import Served, served
from tests.ui.browser import DESK, PHONE, Complaints, new_context
from tests.ui.test_screens import AXE, CONTRAST, faults, too_wide


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Served]:
    with served("sqlite", tmp_path) as running:
        running.token("some", Access.ADMIN)  # the page needs none
        yield running


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_shows_operations_and_their_examples(browser: Browser, api: Served, theme: str) -> None:
    context = new_context(browser, api.url, theme=theme)
    try:
        tab = context.new_page()
        complaints = Complaints(api.url)
        complaints.listen(tab)
        tab.goto("/docs")
        expect(tab.get_by_role("heading", level=1)).to_contain_text("Nephila API")
        started = tab.locator("#create_crawl")
        expect(started.get_by_text("limits.max_pages").first).not_to_be_visible()
        started.locator("summary").click()
        expect(started.get_by_text("limits.max_pages").first).to_be_visible()
        expect(started.get_by_text("Idempotency-Key").first).to_be_visible()
        assert tab.evaluate("getComputedStyle(document.querySelector('pre')).whiteSpaceCollapse") == "preserve"
        tab.evaluate(AXE.read_text())
        assert faults(tab, *([CONTRAST] if theme == "dark" else [])) == []
        assert [too_wide(tab, size) for size in (PHONE, DESK)] == [0, 0]
        assert complaints.found == []
    finally:
        context.close()
