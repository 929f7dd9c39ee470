"""How links and broken links are shown."""

import pytest

from nephila.cli.links import in_lines, link_lines, out_lines
from nephila.control.links import InLink, InLinks, OutLink
from nephila.models import UrlState

HOME = InLink(1, "http://a.test/", "Home", "Buy \x1b[31m now", "nofollow")
MOVED = InLink(2, "http://a.test/old", None, "", "redirect")
VIA = InLink(3, "http://a.test/b", None, "Go", "", via="http://a.test/old")
URL = "http://a.test/gone"


def test_who_links_is_shown_with_the_words_of_the_link() -> None:
    assert list(in_lines(URL, InLinks([HOME, MOVED], 2, True))) == [
        f"2 pages link to {URL}",
        "",
        "Home",
        "http://a.test/",
        "    “Buy  [31m now” (nofollow)",
        "",
        "http://a.test/old",
        "    redirects there",
    ]
    assert list(in_lines(URL, InLinks([], 0, True))) == [f"no page links to {URL}"]
    assert link_lines(VIA) == ["http://a.test/b", "    “Go” to http://a.test/old, which redirects there"]


@pytest.mark.parametrize(
    ("linked", "first"),
    [
        (InLinks([HOME], 1, True), f"1 page links to {URL}"),
        (InLinks([HOME], 12, True), f"12 pages (the first 1 are shown) link to {URL}"),
        (InLinks([HOME], 10_000, False), f"more than 10,000 pages (the first 1 are shown) link to {URL}"),
    ],
)
def test_how_many_link_is_said(linked: InLinks, first: str) -> None:
    assert next(in_lines(URL, linked)) == first


def test_what_a_page_links_to_is_shown_with_its_state() -> None:
    found = [OutLink(URL, "", "ugc", 7, UrlState.NOT_FOUND), OutLink("http://b.test/", "B", "", None, None)]
    assert list(out_lines("http://a.test/", found)) == [
        "http://a.test/ links to 2 URLs",
        "",
        URL,
        "    without a text (ugc); not_found",
        "",
        "http://b.test/",
        "    “B”; not of this crawl",
    ]
    assert list(out_lines("http://a.test/", [])) == ["no links are known of http://a.test/"]
