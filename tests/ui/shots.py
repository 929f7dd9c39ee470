"""`make shots`: every screen, light and dark, desk and phone, as pictures in docs/screens."""

import argparse
import tempfile
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page

from tests.command import Command
from tests.patience import PATIENCE_SECONDS
from tests.site.server import TestWeb
from tests.ui.browser import DESK, PHONE, new_context, running_browser, what_is_missing
from tests.ui.place import V1, Place, busy_place
from tests.ui.screens import SCREENS, Screen

FOLDER = Path(__file__).parents[2] / "docs" / "screens"
SETTLE_MS = 1500  # a picture of a graph that rests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=FOLDER)
    parser.add_argument("--only", help="names of screens, comma separated")
    parser.add_argument("--phone", action="store_true", help="of a phone's size, too")
    options = parser.parse_args()
    missing = what_is_missing()
    if missing:
        raise SystemExit(f"shots {missing}")
    options.to.mkdir(parents=True, exist_ok=True)
    wanted = options.only.split(",") if options.only else [screen.name for screen in SCREENS]
    with (
        tempfile.TemporaryDirectory() as data,
        running_browser() as browser,
        TestWeb() as web,
        busy_place(Command(Path(data), None), web) as place,
    ):
        names = names_of(place)
        for screen in SCREENS:
            if screen.name in wanted:
                take(browser, place, screen, names, options.to, phone=options.phone)


def names_of(place: Place) -> dict[str, str]:
    path = f"{place.url}{V1}/crawls/{place.crawl}/urls"
    found = httpx.get(path, params={"text": "/guide/0"}, timeout=PATIENCE_SECONDS).json()["urls"][0]
    return {"crawl": str(place.crawl), "url": str(found["id"]), "host": found["host"]}


def take(browser: Browser, place: Place, screen: Screen, names: dict[str, str], to: Path, *, phone: bool) -> None:
    sizes = {"": DESK, "-phone": PHONE} if phone else {"": DESK}
    for suffix, size in sizes.items():
        for theme in ("light", "dark"):
            context = new_context(browser, place.url, theme=theme, size=size)
            page = context.new_page()
            show(page, screen, names)
            page.screenshot(path=to / f"{screen.name}-{theme}{suffix}.png")
            context.close()
            print(f"{screen.name} {theme}{suffix}", flush=True)


def show(page: Page, screen: Screen, names: dict[str, str]) -> None:
    page.goto(f"/ui{screen.path.format(**names)}")
    page.get_by_role("heading", level=1).wait_for()
    if screen.shows:
        page.get_by_text(screen.shows.format(**names)).first.wait_for()
    page.wait_for_timeout(SETTLE_MS)


if __name__ == "__main__":
    main()
