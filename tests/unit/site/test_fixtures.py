import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest

from nephila.models import Reason, UrlState
from nephila.profiles import crawl_settings
from tests.patience import PATIENCE_SECONDS
from tests.site.fixtures import FIXTURES, POISON_MARKER, Fixture, site_client_errors, site_poison
from tests.site.server import Page, Request, TestWeb

PORT = 8123
REASONS_BY_STATE = {
    UrlState.REDIRECTED: {Reason.REDIRECT_LOOP, Reason.REDIRECT_OUT_OF_SCOPE, Reason.REDIRECT_INVALID},
    UrlState.EXCLUDED: {Reason.ROBOTS, Reason.ROBOTS_UNREACHABLE, Reason.CRAWL_DELAY},
    UrlState.HTTP_ERROR: {Reason.HTTP_4XX, Reason.HTTP_5XX, Reason.RATE_LIMITED},
    UrlState.FAILED: {Reason.TIMEOUT, Reason.POISON},
}

every_fixture = pytest.mark.parametrize("fixture", [build(PORT) for build in FIXTURES.values()], ids=list(FIXTURES))


def last_answer(fixture: Fixture, url: str, tries: int) -> Page | None:
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    found = fixture.sites.get(parts.hostname or "", {}).get(path)
    if found is None or isinstance(found, Page):
        return found
    return found(Request("GET", parts.hostname or "", path, {}, tries - 1))


@every_fixture
def test_rows_hang_together(fixture: Fixture) -> None:
    """Every row but a seed has a parent among the rows: one above it, or a redirect beside it."""
    settings = crawl_settings("default", fixture.settings)
    assert settings.retry.max == 2
    for url, wanted in fixture.expected.items():
        assert (url in fixture.seeds) == (wanted.discovered_from == ())
        assert wanted.reason is None or wanted.reason in REASONS_BY_STATE[wanted.state]
        for parent in (fixture.expected[found_on] for found_on in wanted.discovered_from):
            assert parent.depth == wanted.depth - (parent.state is not UrlState.REDIRECTED)


@every_fixture
def test_states_are_those_of_the_answers(fixture: Fixture) -> None:
    for url, wanted in fixture.expected.items():
        page = last_answer(fixture, url, wanted.requests or 1)
        if wanted.state is UrlState.VISITED:
            assert page is not None and 200 <= page.status < 300 and page.raw is None, url
        elif wanted.state is UrlState.REDIRECTED:
            assert page is not None and page.status in (301, 302, 303, 307, 308), url
        elif wanted.state is UrlState.NOT_FOUND:
            assert page is None or page.status == 404, url
        elif wanted.state is UrlState.HTTP_ERROR:
            assert page is not None and page.status >= 300, url


def test_every_row_has_a_page_on_the_web(web: TestWeb) -> None:
    fixture = site_client_errors(web.port)
    web.add(fixture.sites)
    assert urllib.request.urlopen(fixture.seeds[0], timeout=PATIENCE_SECONDS).status == 200
    with pytest.raises(urllib.error.HTTPError, match="410"):
        urllib.request.urlopen(web.url("/410"), timeout=PATIENCE_SECONDS)


def test_only_the_poisonous_page_has_the_marker() -> None:
    fixture = site_poison(PORT)
    marked = [path for pages in fixture.sites.values() for path, page in pages.items() if POISON_MARKER in body(page)]
    assert marked == ["/poison"] and len(fixture.expected) == 4


def body(page: object) -> bytes:
    return page.body if isinstance(page, Page) else b""
