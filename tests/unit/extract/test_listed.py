"""What a sitemap lists is judged by the crawl's rules and by whom it may speak for, and packed in chunks."""

import json

from nephila.extract.listed import packed_entries, sitemap_reading, unpacked_entries
from nephila.extract.reader import PageReading
from nephila.models import Refusal
from nephila.profiles import crawl_settings
from nephila.urls.admission import Admission
from nephila.urls.identity import EVERY_HOST, sitemap_key, url_key

MAP = "https://a.test/sitemap.xml"
SETTINGS = {"scope.mode": "list", "scope.hosts": ["a.test", "b.test"], "scope.exclude": ["*/no/*"]}


def read(body: str, speaks_for: str = "a.test", **overrides: object) -> PageReading:
    settings = crawl_settings("default", SETTINGS | {name.replace("__", "."): v for name, v in overrides.items()})
    admission = Admission(settings, ["https://a.test/"])
    return sitemap_reading(body.encode(), MAP, "application/xml", 1, speaks_for, admission)


def listed(reading: PageReading) -> list[str]:
    assert reading.sitemap is not None
    return [each.found.url for chunk in reading.sitemap.chunks for each in unpacked_entries(chunk)]


def refused(reading: PageReading) -> dict[tuple[str, Refusal], int]:
    return {(host, refusal): n for (host, refusal, _), n in reading.refused.items()}


def text(*urls: str) -> str:
    return "\n".join(urls)


def test_entries_are_judged_as_links_are() -> None:
    reading = read(
        text("https://a.test/x", "https://a.test/no/x", "https://c.test/", "https://a.test/f.zip", "http://[")
    )
    assert listed(reading) == ["https://a.test/x"]
    assert set(refused(reading)) == {
        ("a.test", Refusal.EXCLUDE),
        ("c.test", Refusal.SCOPE),
        ("a.test", Refusal.EXTENSION),
        ("", Refusal.INVALID),
    }
    told = reading.sitemap
    assert told is not None
    assert (told.format, told.entries, told.admitted, told.problem) == ("text", 5, 1, "")


def test_a_sitemap_speaks_for_its_own_host_and_for_whoever_names_it() -> None:
    both = text("https://a.test/x", "https://www.a.test/x", "https://b.test/x")
    own = read(both, scope__hosts=["a.test", "www.a.test", "b.test"])
    assert listed(own) == ["https://a.test/x", "https://www.a.test/x"]
    assert refused(own) == {("b.test", Refusal.FOREIGN_SITEMAP): 1}
    assert listed(read(both, "b.test")) == ["https://a.test/x", "https://b.test/x"]
    assert listed(read(both, EVERY_HOST)) == ["https://a.test/x", "https://b.test/x"]


def test_beyond_the_depth_of_the_crawl_nothing_is_admitted() -> None:
    reading = read(text("https://a.test/x"), scope__max_depth=0)
    assert (listed(reading), refused(reading)) == ([], {("a.test", Refusal.DEPTH): 1})


def test_sitemaps_of_an_index_need_no_ending_and_no_depth() -> None:
    body = "<sitemapindex><sitemap><loc>/x.xml.gz</loc></sitemap><sitemap><loc>https://b.test/y</loc></sitemap>"
    reading = read(body + "</sitemapindex>", scope__max_depth=0)
    assert reading.sitemap is not None
    (chunk,) = reading.sitemap.chunks
    (found,) = unpacked_entries(chunk)
    assert (found.found.url, found.found.key) == ("https://a.test/x.xml.gz", sitemap_key("https://a.test/x.xml.gz"))
    assert refused(reading) == {("b.test", Refusal.FOREIGN_SITEMAP): 1}


def test_chunks_hold_what_was_packed() -> None:
    body = "<urlset>" + "".join(
        f"<url><loc>https://a.test/{n}</loc><lastmod>2026-05-01</lastmod><priority>0.5</priority>"
        "<changefreq>daily</changefreq></url>"
        for n in range(2500)
    )
    reading = read(body + "</urlset>")
    assert reading.sitemap is not None
    chunks = [unpacked_entries(chunk) for chunk in reading.sitemap.chunks]
    assert [len(chunk) for chunk in chunks] == [1000, 1000, 500]
    first = chunks[0][0]
    assert (first.found.key, first.priority) == (url_key("https://a.test/0"), 0.5)
    assert json.loads(first.notes or "") == {"changefreq": "daily"}
    assert unpacked_entries(packed_entries(chunks[2])) == chunks[2]
    assert sum(map(len, reading.sitemap.chunks)) < 100_000


def test_examples_and_refused_urls_are_bounded() -> None:
    reading = read(text(*(f"https://a.test/no/{n}" for n in range(3000))))
    assert len(reading.refused_urls) == 100
    assert len(reading.examples) <= 50
    assert refused(reading) == {("a.test", Refusal.EXCLUDE): 3000}
