"""Sitemaps of every format, as they should be and as they are found, become entries; what ends a file has a name."""

import gzip
from datetime import UTC, datetime

import pytest

from nephila.extract.sitemap import (
    NESTED_MAX,
    TOKEN_BYTES_MAX,
    URLS_MAX,
    SiteEntry,
    SitemapFile,
    SitemapFormat,
    SitemapProblem,
    time_of,
)

HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
DAY = int(datetime(2026, 5, 1, tzinfo=UTC).timestamp() * 1000)


def read(
    text: str | bytes, charset: str | None = None, bytes_max: int = 1 << 24
) -> tuple[SitemapFile, list[SiteEntry]]:
    file = SitemapFile(text.encode() if isinstance(text, str) else text, charset, bytes_max)
    return file, [entry for entries in file for entry in entries]


def urls(text: str | bytes, charset: str | None = None) -> list[str]:
    return [entry.loc for entry in read(text, charset)[1]]


def urlset(*items: str) -> str:
    return f'{HEAD}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{"".join(items)}</urlset>'


def test_an_entry_has_what_its_site_says_of_it() -> None:
    item = "<url><loc>https://a.example/</loc><lastmod>2026-05-01</lastmod><changefreq>Daily</changefreq>"
    file, found = read(urlset(item + "<priority>0.8</priority></url>"))
    assert found == [SiteEntry("https://a.example/", DAY, 0.8, {"changefreq": "daily"})]
    assert (file.format, file.problem, file.entries) == (SitemapFormat.URLSET, None, 1)


def test_what_is_no_value_is_left_out() -> None:
    item = "<url><loc>x</loc><lastmod>soon</lastmod><changefreq>often</changefreq><priority>7</priority></url>"
    assert read(urlset(item))[1] == [SiteEntry("x")]


def test_alternates_images_videos_and_news_are_kept_and_no_pages() -> None:
    file, found = read(
        urlset(
            "<url><loc>https://a.example/</loc>"
            '<xhtml:link rel="alternate" hreflang="de" href="https://a.example/de"/>'
            '<xhtml:link rel="stylesheet" href="https://a.example/css"/><xhtml:link rel="alternate"/>'
            "<image:image><image:loc>https://a.example/i.png</image:loc><image:title>I</image:title></image:image>"
            "<video:video><video:title>V</video:title><video:content_loc>https://a.example/v</video:content_loc>"
            "<video:rating>3</video:rating></video:video>"
            "<news:news><news:publication><news:name>N</news:name></news:publication></news:news></url>"
        )
    )
    assert found[0].notes == {
        "alternates": [{"href": "https://a.example/de", "hreflang": "de"}],
        "images": [{"loc": "https://a.example/i.png", "title": "I"}],
        "videos": [{"title": "V", "content_loc": "https://a.example/v"}],
        "news": [{"name": "N"}],
    }
    assert file.entries == 1
    assert file.noted == {"alternates": 1, "images": 1, "videos": 1, "news": 1}


def test_notes_of_one_url_are_bounded_and_all_are_counted() -> None:
    images = "<image:image><image:loc>https://a.example/i</image:loc></image:image>" * 1000
    file, found = read(urlset(f"<url><loc>x</loc>{images}</url>", f"<url><loc>y</loc>{images}</url>"))
    notes = found[0].notes
    assert notes is not None and len(notes["images"]) == 10
    assert file.noted == {"images": 2000}


def test_an_index_lists_sitemaps() -> None:
    file, found = read(
        f"{HEAD}<sitemapindex><sitemap><loc>https://a.example/1.xml</loc><lastmod>2026-05</lastmod></sitemap>"
        "<sitemap>https://a.example/2.xml</sitemap></sitemapindex>"
    )
    assert file.format is SitemapFormat.INDEX
    assert found == [SiteEntry("https://a.example/1.xml", DAY), SiteEntry("https://a.example/2.xml")]


def test_feeds_list_pages() -> None:
    rss = (
        "<rss><channel><link>https://a.example/</link><item><link>https://a.example/1</link>"
        "<pubDate>Fri, 01 May 2026 00:00:00 +0000</pubDate></item>"
        "<item><guid>https://a.example/2</guid></item><item><guid>7</guid></item></channel></rss>"
    )
    assert read(rss)[1] == [SiteEntry("https://a.example/1", DAY), SiteEntry("https://a.example/2")]
    atom = (
        '<feed><link href="https://a.example/"/><entry><link rel="edit" href="https://a.example/e"/>'
        '<link href="https://a.example/1"/><updated>2026-05-01T02:00:00+02:00</updated></entry></feed>'
    )
    file, found = read(atom)
    assert (file.format, found) == (SitemapFormat.ATOM, [SiteEntry("https://a.example/1", DAY)])


def test_a_text_has_one_url_in_each_line() -> None:
    assert urls("\ufeffhttps://a.example/1\r\n\r\n  HTTPS://a.example/2 \rnot a URL\nhttps://a.example/3") == [
        "https://a.example/1",
        "HTTPS://a.example/2",
        "https://a.example/3",
    ]
    many = "\n".join(f"https://a.example/{n:05}" for n in range(20_000))  # pieces end inside of lines
    assert urls(many) == many.split("\n")


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        (urlset("<url><loc>https://a.example/ä</loc></url>").encode("utf-16"), None),
        (urlset("<url><loc>https://a.example/ä</loc></url>").encode("utf-16-le"), None),
        (urlset("<url><loc>https://a.example/ä</loc></url>").encode("latin-1"), "iso-8859-1"),
        (urlset("<url><loc>https://a.example/ä</loc></url>").replace("UTF-8", "ISO-8859-1").encode("latin-1"), None),
        ("\ufeff\r\n " + urlset("<url><loc> https://a.example/ä\n</loc></url>"), None),
        (gzip.compress(urlset("<url><loc>https://a.example/ä</loc></url>").encode(), mtime=0), None),
        (urlset("<url><loc><![CDATA[https://a.example/]]>&#228;</loc></url>"), None),
        (urlset("<x:url><x:loc>\x01https://a.example/ä\xa0</x:loc></x:url>"), None),
    ],
)
def test_charsets_marks_and_prefixes_do_not_matter(body: str | bytes, charset: str | None) -> None:
    file, found = read(body, charset)
    assert ([entry.loc for entry in found], file.problem) == (["https://a.example/ä"], None)


@pytest.mark.parametrize(
    ("body", "problem", "found"),
    [
        ('<!DOCTYPE x [<!ENTITY a "b">]><urlset><url><loc>&a;</loc></url></urlset>', SitemapProblem.UNSAFE, []),
        ('<!DOCTYPE urlset SYSTEM "file:///etc/passwd"><urlset/>', SitemapProblem.UNSAFE, []),
        ("<!DOCTYPE html><html><body>gone</body></html>", SitemapProblem.NOT_SITEMAP, []),
        ("<!doctype html><p>gone", SitemapProblem.NOT_SITEMAP, []),
        ("<html><a href='/'>x</a></html>", SitemapProblem.NOT_SITEMAP, []),
        ("nothing here", SitemapProblem.NOT_SITEMAP, []),
        (" \n", SitemapProblem.NOT_SITEMAP, []),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), SitemapProblem.NOT_SITEMAP, []),
        ("<urlset><url><loc>1</loc></url><url><loc>2</loc>", SitemapProblem.BROKEN, ["1", "2"]),
        ("<urlset><url><loc>1</loc></url><url><loc>http://a.example/cut", SitemapProblem.BROKEN, ["1"]),
        ("<urlset><url><loc>1</loc></url><url><loc>2</lo", SitemapProblem.BROKEN, ["1", "2"]),
        ("<urlset><url><loc>1</loc></url></wrong></urlset>", SitemapProblem.BROKEN, ["1"]),
        ("<urlset><url><loc>1</loc></url><url><loc>&unknown;</loc></url></urlset>", SitemapProblem.BROKEN, ["1"]),
        (gzip.compress(b"<urlset><url><loc>1</loc></url></urlset>", mtime=0)[:-9], SitemapProblem.BROKEN, None),
        ("<urlset><url><loc>1</loc></url>" + "<a>" * (NESTED_MAX + 1), SitemapProblem.BROKEN, ["1"]),
        ("<urlset><url><loc>1</loc></url><!--" + "x" * 2 * TOKEN_BYTES_MAX, SitemapProblem.BROKEN, ["1"]),
        (urlset(*["<url><loc>1</loc></url>"] * (URLS_MAX + 1)), SitemapProblem.TOO_MANY, ["1"] * URLS_MAX),
    ],
)
def test_what_ends_a_file_has_a_name_and_what_came_before_counts(
    body: str | bytes, problem: SitemapProblem, found: list[str] | None
) -> None:
    file, entries = read(body)
    assert (file.problem, bool(file.detail)) == (problem, True)
    if found is not None:
        assert [entry.loc for entry in entries] == found


def test_bytes_beyond_the_limit_are_not_read() -> None:
    body = urlset(*["<url><loc>https://a.example/1</loc></url>"] * 1000).encode()
    for coded in (body, gzip.compress(body)):
        file, found = read(coded, bytes_max=10_000)
        assert file.problem is SitemapProblem.TOO_LARGE and 0 < len(found) < 1000


def test_a_bomb_of_zeros_is_cut() -> None:
    file, found = read(gzip.compress(b"<urlset>" + b" " * 40_000_000))
    assert not found and file.problem in (SitemapProblem.BROKEN, SitemapProblem.TOO_LARGE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-05-01", DAY),
        ("2026-05", DAY),
        ("2026-05-01T00:00Z", DAY),
        ("2026-05-01T02:00:00.000+02:00", DAY),
        ("2026-05-01 00:00:00", DAY),
        ("2026-05-01T00:00:00 nonsense", DAY),
        ("Fri, 01 May 26 00:00:00 GMT", DAY),
        ("05 Jan 17 13:34:55", None),  # no zone
        ("0001-01-01", None),
        ("9999-12-31", None),
        ("2026-13-45", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_read_as_they_are_written(text: str, expected: int | None) -> None:
    assert time_of(text) == expected
