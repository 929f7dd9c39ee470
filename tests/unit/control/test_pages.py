from dataclasses import replace
from datetime import UTC, datetime

import pytest

from nephila.archive.reader import ArchivedResponse
from nephila.control.pages import NotArchived, PageContent, page_of
from nephila.errors import ArchiveError
from nephila.frontier.records import UrlFilter, UrlRow
from tests.unit.control.filled import HEAD, PAGE, SEED, Filled


def row_of(filled: Filled, name: str) -> UrlRow:
    rows = filled.catalog.urls(filled.crawl.id, 0, 100, UrlFilter())
    return next(row for row in rows if row.url == SEED + name)


def content(body: bytes, *headers: tuple[str, str]) -> PageContent:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return PageContent(ArchivedResponse(SEED, when, None, b"", 200, headers, body, None, None), body)


@pytest.mark.parametrize(("name", "revisit"), [("", False), ("x", True)])
def test_the_page_of_a_url_also_where_it_is_a_revisit(filled: Filled, name: str, revisit: bool) -> None:
    page = page_of(filled.archive, row_of(filled, name), filled.crawl.settings)
    assert (page.response.header_bytes, page.response.body, page.body) == (HEAD, PAGE, PAGE)
    assert (page.response.revisit_of is not None) is revisit
    assert page.header("content-type") == ["text/html"]
    assert page.text(5) == (PAGE[:5].decode(), "cp1252")


def test_a_body_is_cut_at_the_limit_of_its_crawl(filled: Filled) -> None:
    settings = filled.crawl.settings
    small = settings.model_copy(update={"fetch": settings.fetch.model_copy(update={"body_bytes_max": 7})})
    page = page_of(filled.archive, row_of(filled, ""), small)
    assert (page.body, page.response.body) == (PAGE[:7], PAGE)


def test_what_is_not_archived_says_why(filled: Filled) -> None:
    with pytest.raises(NotArchived, match=f"nothing is archived of {SEED}later: it is queued"):
        page_of(filled.archive, row_of(filled, "later"), filled.crawl.settings)


def test_what_cannot_be_read_says_where(filled: Filled) -> None:
    row = replace(row_of(filled, ""), archive_file="away.warc.gz")
    with pytest.raises(ArchiveError, match=r"archive away\.warc\.gz at \d+: there is no such file"):
        page_of(filled.archive, row, filled.crawl.settings)


def test_binary_is_seen() -> None:
    assert content(b"\x89PNG\0").is_binary and not content("é".encode()).is_binary
    assert content(b"\x89PNG\0").text(100) == (None, None)


def test_the_charset_is_that_of_the_first_header() -> None:
    twice = ("Content-Type", "text/html; charset=iso-8859-2"), ("content-type", "text/html; charset=utf-8")
    assert content(b"\xb1", *twice).text(100) == ("ą", "iso8859-2")
