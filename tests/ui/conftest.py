"""One browser for all tests of a worker; one server with a crawl that is over for those that only look."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page

from tests.command import Command
from tests.patience import PATIENCE_SECONDS
from tests.site.server import TestWeb
from tests.ui.browser import Complaints, new_context, running_browser, slow_down, what_is_missing
from tests.ui.place import V1, Place, finished_place

Open = Callable[..., Page]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    missing = what_is_missing()
    if missing:
        pytest.skip(missing)
    with running_browser() as found:
        yield found


@pytest.fixture(scope="package")
def finished(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """For tests that change nothing."""
    with TestWeb() as web, finished_place(Command(tmp_path_factory.mktemp("finished"), None), web) as place:
        yield place


@pytest.fixture
def nephila(tmp_path: Path) -> Command:
    return Command(tmp_path / "data", None)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Opens a page of a server; at the end it may not have complained."""
    complaints: list[Complaints] = []
    with ExitStack() as opened:

        def go(url: str, path: str, **options: Any) -> Page:
            context = new_context(browser, url, **options)
            opened.callback(context.close)
            page = context.new_page()
            slow_down(page)
            listener = Complaints(url)
            listener.listen(page)
            complaints.append(listener)
            page.goto(f"/ui{path}")
            return page

        yield go
    assert [line for listener in complaints for line in listener.found] == []


@pytest.fixture
def client(finished: Place) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=finished.url, timeout=PATIENCE_SECONDS) as found:
        yield found


@pytest.fixture
def names(finished: Place, client: httpx.Client) -> dict[str, str]:
    """What the addresses of the screens name."""
    found = client.get(f"{V1}/crawls/{finished.crawl}/urls", params={"text": "/guide/0"}).json()["urls"][0]
    return {"crawl": str(finished.crawl), "url": str(found["id"]), "host": found["host"]}
