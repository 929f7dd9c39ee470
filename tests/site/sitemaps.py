"""A site whose pages hang only on sitemaps, in every format, and sitemaps that nobody should write; results by hand."""

import gzip
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.patience import PATIENCE_MS
from tests.site.server import DEFAULT_HOST, Page, Site, Sites

OTHER_HOST = "127.0.0.9"
HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n'
LARGE_URLS = 3_500  # of one sitemap: more than fits into one chunk
BOMB_MB = 200
INDEXED = ("plain.xml", "packed.xml.gz", "feed.rss", "feed.atom", "urls.txt", "nested.xml", "index.xml", "missing.xml")


def xml(root: str, item: str, urls: Iterable[str], more: str = "") -> bytes:
    items = "".join(f"<{item}><loc>{url}</loc>{more}</{item}>" for url in urls)
    return HEAD + f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{items}</{root}>'.encode()


def urlset(urls: Iterable[str], more: str = "") -> Page:
    return Page(xml("urlset", "url", urls, more), content_type="application/xml")


def index(urls: Iterable[str]) -> Page:
    return Page(xml("sitemapindex", "sitemap", urls), content_type="application/xml")


def plain(title: str, *links: str) -> Page:
    anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
    return Page(f"<!doctype html><title>{title}</title>{anchors}".encode())


@dataclass(frozen=True)
class ListedWeb:
    sites: Sites
    seed: str
    settings: dict[str, Any]
    sitemaps: dict[str, str]  # each that is asked for -> its state
    listed: set[str]  # pages that hang on sitemaps, all of which are visited
    linked: set[str]  # pages that hang on links


def listed_web(port: int) -> ListedWeb:
    """robots.txt names an index, which lists a sitemap, a gzip file, a feed of each sort, a text, and another index."""
    base, other = f"http://{DEFAULT_HOST}:{port}", f"http://{OTHER_HOST}:{port}"
    rss = f"<rss><channel><link>{base}/</link><item><link>{base}/of-rss</link></item></channel></rss>"
    atom = f'<feed><entry><link href="{base}/of-atom"/><updated>2026-05-01T00:00:00Z</updated></entry></feed>'
    stamped = "<lastmod>2026-05-01</lastmod><priority>0.8</priority><changefreq>daily</changefreq>"
    files: dict[str, Page] = {
        "/index.xml": index([*(f"{base}/{name}" for name in INDEXED), f"{other}/foreign.xml"]),
        "/plain.xml": urlset([f"{base}/of-xml", f"{base}/", f"{other}/not-mine", "https://elsewhere.test/"], stamped),
        "/packed.xml.gz": Page(gzip.compress(xml("urlset", "url", [f"{base}/of-gzip"])), content_type=None),
        "/feed.rss": Page(rss.encode(), content_type="application/rss+xml"),
        "/feed.atom": Page(atom.encode(), content_type="application/atom+xml"),
        "/urls.txt": Page(f"{base}/of-text\n{base}/both\n".encode(), content_type="text/plain"),
        "/nested.xml": index([f"{base}/deep.xml"]),
        "/deep.xml": urlset(f"{base}/many/{n}" for n in range(LARGE_URLS)),
    }
    listed = {f"{base}/of-{name}" for name in ("xml", "gzip", "rss", "atom", "text")} | {f"{base}/both"}
    listed |= {f"{base}/many/{n}" for n in range(LARGE_URLS)}
    site: dict[str, Any] = dict(files)
    site["/robots.txt"] = Page(f"User-agent: *\nSitemap: {base}/index.xml\n".encode(), content_type="text/plain")
    site["/"] = plain("home", "/linked", "/both")
    site["/linked"] = plain("linked")
    site |= {url.removeprefix(base): plain(url) for url in listed}
    states = {base + path: "visited" for path in files} | {f"{base}/missing.xml": "not_found"}
    settings = {"fetch.allow_private": True, "polite.floor_ms": 0, "polite.adaptive": False, "polite.max_inflight": 8}
    # Requests are counted: one that a busy machine answers late is not sent again.
    timeouts = ("robots.timeout_ms", "fetch.total_timeout_ms", "fetch.first_byte_timeout_ms")
    settings |= dict.fromkeys(timeouts, PATIENCE_MS)
    sites: dict[str, Site] = {DEFAULT_HOST: site, OTHER_HOST: {"/foreign.xml": urlset([f"{other}/"])}}
    return ListedWeb(sites, f"{base}/", settings, states, listed, {f"{base}/", f"{base}/linked"})


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


def hostile_sitemaps(base: str) -> dict[str, tuple[Page, str]]:
    """What is named as a sitemap and is no good one -> the name of its problem, or of its reason."""
    laughs = f'<!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]><urlset><url><loc>{base}/&l9;</loc></url></urlset>'
    outside = f'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>{base}/&f;</loc></url></urlset>'
    return {
        "/laughs.xml": (Page(laughs.encode(), content_type="application/xml"), "unsafe"),
        "/outside.xml": (Page(outside.encode(), content_type="application/xml"), "unsafe"),
        "/page.xml": (plain("a page", "/lured"), "not_sitemap"),
        "/image.xml": (Page(b"\x89PNG\r\n\x1a\n\0\0", content_type="image/png"), "not_sitemap"),
        "/empty.xml": (Page(b"", content_type="application/xml"), "not_sitemap"),
        "/bomb.xml.gz": (Page(_bomb(), content_type="application/gzip"), "broken"),
        "/cut.xml": (Page(xml("urlset", "url", [f"{base}/kept"])[:-9], content_type="application/xml"), "broken"),
        "/deep.xml": (Page(b"<urlset>" + b"<a>" * 100_000, content_type="application/xml"), "broken"),
        "/1/index.xml": (index([f"{base}/2/index.xml"]), ""),
        "/2/index.xml": (index([f"{base}/3/index.xml"]), ""),
        "/3/index.xml": (index([f"{base}/4/index.xml"]), ""),
        "/4/index.xml": (index([f"{base}/5/index.xml"]), "nested"),
        "/loop.xml": (index([f"{base}/loop.xml", f"{base}/loop.xml?again"]), ""),
        "/loop.xml?again": (index([f"{base}/loop.xml"]), ""),
    }


def _bomb() -> bytes:
    """So many megabytes of blanks, in some kilobytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [packer.compress(b"<urlset>")]
    pieces += [packer.compress(b" " * (1 << 20)) for _ in range(BOMB_MB)]
    return b"".join([*pieces, packer.flush()])
