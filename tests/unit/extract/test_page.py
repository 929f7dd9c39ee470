"""From a response to what the crawl needs of it."""

import pytest

from nephila.extract.page import PageJob, is_html, read_page
from nephila.extract.reader import PageReading
from nephila.models import Refusal
from nephila.profiles import crawl_settings
from nephila.urls.admission import Admission

URL = "https://a.example/dir/"
ADMISSION = Admission(crawl_settings("default"), [URL], [])
BODY = b"""<html lang=en><title>T</title><meta name=robots content="noarchive"><link rel=canonical href=/c>
<a href=x>x</a> <a href=y rel=nofollow>y</a> <a href=https://b.example/>z</a> <a href=mailto:x@y>m</a>
<a href=x#f>x</a>"""


def read(body: bytes, obey: bool = True, tags: tuple[str, ...] = ()) -> PageReading:
    return read_page(PageJob(body, URL, "text/html", 1, tags), ADMISSION, obey_robots_meta=obey)


@pytest.mark.requirement("R-02")
def test_reading() -> None:
    reading = read(BODY)
    assert [found.url for found in reading.found] == ["https://a.example/c", URL + "x"]
    assert reading.refused == {
        ("a.example", Refusal.NOFOLLOW, ""): 1,
        ("b.example", Refusal.SCOPE, ""): 1,
        ("", Refusal.SCHEME, ""): 1,
    }
    assert "https://b.example/" in reading.refused_urls
    assert (reading.charset, reading.title) == ("cp1252", "T")
    assert reading.facts == {"language": "en", "canonical": "/c", "robots": "noarchive"}
    assert not reading.nofollow
    assert "noindex" not in reading.facts


def test_base_is_honoured() -> None:
    assert [found.url for found in read(b"<base href=/b/><a href=x>").found] == ["https://a.example/b/x"]


@pytest.mark.requirement("RB-07", "RB-09")
@pytest.mark.parametrize(
    ("meta", "tags", "obey", "admitted"),
    [
        (b"nofollow", (), True, 0),
        (b"none", (), True, 0),
        (b"noindex", (), True, 1),
        (b"all", ("nofollow",), True, 0),
        (b"all", ("other: nofollow",), True, 1),
        (b"nofollow", ("nofollow",), False, 1),
    ],
)
def test_nofollow_of_the_page(meta: bytes, tags: tuple[str, ...], obey: bool, admitted: int) -> None:
    reading = read(b"<meta name=robots content=" + meta + b"><a href=x>", obey, tags=tags)
    assert len(reading.found) == admitted
    assert "robots" in reading.facts


@pytest.mark.requirement("R-03")
@pytest.mark.parametrize(
    ("content_type", "body", "html"),
    [
        ("text/html", b"", True),
        ("Text/HTML ; charset=x", b"", True),
        ("application/xhtml+xml", b"", True),
        ("text/plain", b"<html>", False),
        ("application/xml", b"<html>", False),
        ("text/htmlx", b"<html>", False),
        (None, b"", False),
        (None, b" \n<!DocType HTML>", True),
        (None, b"\xef\xbb\xbf<html lang=x>", True),
        (None, b"<!-- x", True),
        (None, b"<articles>", False),
        (None, b"%PDF", False),
        ("", b"<p>", True),
        ("html", b"<p>", True),
        ("unknown/unknown", b"<p>", True),
        ("application/unknown", b"{}", False),
    ],
)
def test_what_is_html(content_type: str | None, body: bytes, html: bool) -> None:
    assert is_html(content_type, body) is html
