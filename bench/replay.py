"""Whether a crawl with page requisites replays in pywb as it looked: bytes of every answer, and pictures of a page.

    python -m venv /tmp/pywb && /tmp/pywb/bin/pip install 'setuptools<81' pywb
    python -m bench.replay --pywb /tmp/pywb/bin

pywb is no dependency of the tests: it brings forty packages. They show the same page from the archive through another
reader (`tests/e2e/test_replay.py`). Needs Chromium.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from playwright.sync_api import Browser
from tests.e2e.harness import Place, run_here
from tests.site.pictured import pictured_web
from tests.site.requisites import needing_web
from tests.site.server import Page, Sites, TestWeb
from tests.ui.browser import running_browser

from nephila.frontier.records import UrlFilter, UrlRow
from nephila.models import UrlState

COLLECTION = "nephila"
WAYBACK_PORT = 8391
START_SECONDS = 60.0
WIDTH, SHOWN_HEIGHT = 800, 600


def crawled(folder: Path, sites: Sites, url: str, web: TestWeb, settings: dict[str, object]) -> list[UrlRow]:
    """The rows of a crawl of this web with all requisites."""
    web.add(sites)
    place = Place(folder)
    crawl = place.start([url], {**settings, "scope.requisites": "all"})
    run_here(place, crawl.id)
    rows = place.store().catalog.urls(crawl.id, 0, 10_000, UrlFilter())
    place.close()
    return rows


@contextmanager
def wayback(pywb: Path, folder: Path, archive: Path) -> Iterator[str]:
    """A pywb that serves this archive; where it does."""
    manager, server = str(pywb / "wb-manager"), str(pywb / "wayback")
    subprocess.run([manager, "init", COLLECTION], cwd=folder, check=True, capture_output=True)
    files = [str(path) for path in sorted(archive.glob("*.warc.gz"))]
    subprocess.run([manager, "add", COLLECTION, *files], cwd=folder, check=True, capture_output=True)
    process = subprocess.Popen(
        [server, "-p", str(WAYBACK_PORT)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    base = f"http://127.0.0.1:{WAYBACK_PORT}/{COLLECTION}"
    try:
        end = time.monotonic() + START_SECONDS
        while not _answers(base):
            if time.monotonic() > end or process.poll() is not None:
                sys.exit("pywb does not start")
            time.sleep(0.2)
        yield base
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5):
            return True
    except HTTPError:
        return True
    except (URLError, OSError):
        return False


def same_bytes(base: str, rows: list[UrlRow], sites: Sites) -> tuple[int, list[str]]:
    """How many visited URLs pywb answers with the bytes of the live server, and the others."""
    same, wrong = 0, []
    for row in rows:
        if row.state is not UrlState.VISITED:
            continue
        host, _, path = row.url.removeprefix("http://").partition("/")
        page = sites[host.partition(":")[0]][f"/{path}"]
        assert isinstance(page, Page)
        live = page.body
        try:
            with urlopen(f"{base}/2026id_/{row.url}", timeout=30) as answer:
                had = answer.read()
        except (HTTPError, URLError) as error:
            wrong.append(f"{row.url}: {error}")
            continue
        same += had == live
        wrong += [] if had == live else [f"{row.url}: {len(had)} bytes instead of {len(live)}"]
    return same, wrong


def picture(browser: Browser, url: str) -> bytes:
    """The upper part of a page; in pywb, of the frame that it is shown in below a bar."""
    context = browser.new_context(viewport={"width": WIDTH, "height": 900})
    page = context.new_page()
    page.goto(url, wait_until="networkidle")
    frame = page.query_selector("iframe")
    box = frame.bounding_box() if frame else None
    top = box["y"] if box else 0
    shown = page.screenshot(animations="disabled", clip={"x": 0, "y": top, "width": WIDTH, "height": SHOWN_HEIGHT})
    context.close()
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pywb", type=Path, required=True, help="folder of the programs wb-manager and wayback")
    pywb = parser.parse_args().pywb.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with TestWeb() as web:
            needing = needing_web(web.port)
            rows = crawled(folder / "needing", needing.sites, needing.seed, web, needing.settings)
            (folder / "wb1").mkdir()
            with wayback(pywb, folder / "wb1", folder / "needing" / "warc") as base:
                same, wrong = same_bytes(base, rows, needing.sites)
            print(
                f"every sort of requisite: {same} visited URLs are answered with the same bytes, {len(wrong)} are not"
            )
            print("".join(f"  {line}\n" for line in wrong), end="")
        with TestWeb() as web:
            sites, url = pictured_web(web.port)
            crawled(folder / "pictured", sites, url, web, {})
            with running_browser() as browser:
                live = picture(browser, url)
        (folder / "wb2").mkdir()
        with wayback(pywb, folder / "wb2", folder / "pictured" / "warc") as base, running_browser() as browser:
            shown = picture(browser, f"{base}/2026/{url}")
        print(
            f"the picture of the page in pywb, with the live web gone, is {'the same' if shown == live else 'ANOTHER'}"
        )
        sys.exit(bool(wrong) or shown != live)


if __name__ == "__main__":
    main()
