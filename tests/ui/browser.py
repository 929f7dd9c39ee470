"""A real Chromium, of the system: Playwright drives it. What a page complains about is kept."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.patience import PATIENCE_MS

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
DESK = (1280, 800)
PHONE = (390, 844)
# The software renderer: a machine without a screen has no other WebGL.
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
# A browser says so of every answer that is no success; the screens say it better.
EXPECTED = ("Failed to load resource", "WebSocket connection to", "GPU stall due to ReadPixels")
# A slow network and a slow machine, to find tests that look before an answer is there: TEST_UI_LATENCY_MS=400.
LATENCY_MS = int(os.environ.get("TEST_UI_LATENCY_MS", "0"))
# A moment by the page's own clock, then two pictures: what the page had begun before is done, however late it came.
MOMENT = "() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 400))"
UI = Path(__file__).parents[2] / "src" / "nephila" / "ui" / "index.html"

expect.set_options(timeout=PATIENCE_MS)


def slow_down(page: Page) -> None:
    """Let every answer come late, where TEST_UI_LATENCY_MS asks for it."""
    if LATENCY_MS:
        conditions = {"offline": False, "latency": LATENCY_MS, "downloadThroughput": -1, "uploadThroughput": -1}
        page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", conditions)


def chromium_path() -> str | None:
    named = os.environ.get("NEPHILA_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def what_is_missing() -> str | None:
    if chromium_path() is None:
        return "needs Chromium: install the package chromium, or name the program in NEPHILA_CHROMIUM"
    if not UI.exists():
        return "needs the built UI: make ui"
    return None


@contextmanager
def running_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=ARGUMENTS, timeout=PATIENCE_MS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Complaints:
    """Errors and warnings of scripts, violations of the Content-Security-Policy, requests to other places."""

    origin: str
    found: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.found.append(f"error: {error}"))
        page.on("console", self._console)
        page.on("request", lambda request: self._asked(request.url))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(EXPECTED):
            self.found.append(f"console: {message.text}")

    def _asked(self, url: str) -> None:
        if not url.startswith((self.origin, "data:", "blob:", "about:")):
            self.found.append(f"asked elsewhere: {url}")


def new_context(browser: Browser, base: str, *, theme: str = "light", size: tuple[int, int] = DESK) -> BrowserContext:
    context = browser.new_context(
        base_url=base,
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
        timezone_id="Europe/Vienna",
        locale="en-GB",
    )
    context.set_default_timeout(PATIENCE_MS)
    return context
