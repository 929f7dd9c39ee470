"""What is fuzzed: one function of bytes each, which lets no error out but those that its callers expect.

An input that made one of them fail lies in `FOUND` for ever.
"""

from collections.abc import Callable
from contextlib import suppress

from nephila.archive.reader import parse_http_head
from nephila.archive.record import digest_problem, parse_record, unframed
from nephila.chunked import dechunk
from nephila.errors import ArchiveError, UsageError
from nephila.extract.css import css_text
from nephila.extract.directives import directives_of
from nephila.extract.encoding import charset_of, decode_html
from nephila.extract.html import extract_html
from nephila.extract.requisites import REQUISITES_MAX, css_requisites, html_requisites, srcset_urls
from nephila.extract.sitemap import URLS_MAX, SitemapFile
from nephila.extract.text import text_of
from nephila.fetch.body import decode_body
from nephila.fetch.headers import parse_headers
from nephila.policy.retry import parse_retry_after
from nephila.profiles import crawl_settings, settings_from_json
from nephila.robots.rules import parse_robots
from nephila.search.query import parse_query
from nephila.urls.admission import Admission
from nephila.urls.normalize import parse

URL = "https://example.com/a/b?c"
DECODED_MAX = 1 << 20
ADMISSION = Admission(crawl_settings("default"), [URL])


def url(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape" if data[:1] == b"\xed" else "replace")  # with lone surrogates
    for found in (parse(text), parse(text, URL)):
        assert found is None or parse(found) == found, "what was parsed once is a URL"


def link(data: bytes) -> None:
    ADMISSION.judge(data.decode("utf-8", "replace"), URL, 1)


def robots(data: bytes) -> None:
    rules = parse_robots(data).rules_for("nephila")
    for asked in (URL, "https://example.com/" + data[:200].decode("latin-1")):
        rules.judge(asked)


def html(data: bytes) -> None:
    extract_html(data, URL, None)
    extract_html(data, URL, charset_of(data[:60].decode("latin-1")))


def requisites(data: bytes) -> None:
    assert len(html_requisites(data, None)) <= REQUISITES_MAX
    html_requisites(data, charset_of(data[:60].decode("latin-1")))


def css(data: bytes) -> None:
    assert len(css_requisites(css_text(data, None))) <= REQUISITES_MAX
    css_text(data, data[:20].decode("latin-1"))


def srcset(data: bytes) -> None:
    assert all(srcset_urls(data.decode("utf-8", "replace")))


def text(data: bytes) -> None:
    text_of(data, "text/html")
    text_of(data, data[:60].decode("latin-1"))


def sitemap(data: bytes) -> None:
    for body, charset in ((data, None), (b"<urlset>" + data, charset_of(data[:60].decode("latin-1")))):
        file = SitemapFile(body, charset, DECODED_MAX)
        assert sum(map(len, file)) == file.entries <= URLS_MAX


def charset(data: bytes) -> None:
    label, _, page = data.partition(b"\n")
    decode_html(page, label.decode("latin-1") or None)


def directives(data: bytes) -> None:
    words = data.decode("utf-8", "replace").split("\n")
    directives_of(words, words)


def retry_after(data: bytes) -> None:
    found = parse_retry_after(data.decode("latin-1"), 1_700_000_000_000)
    assert found is None or found >= 0


def body(data: bytes) -> None:
    head, _, coded = data.partition(b"\n\n")
    decoded = decode_body(parse_headers(b"HTTP/1.1 200 OK\r\n" + head.replace(b"\n", b"\r\n")), coded, DECODED_MAX)
    assert len(decoded.body) <= DECODED_MAX


def chunks(data: bytes) -> None:
    assert len(dechunk(data).body) <= len(data)


def answer(data: bytes) -> None:
    parse_headers(data).all("content-type")
    parse_http_head(data)
    head, _, rest = data.partition(b"\r\n\r\n")
    unframed(head + b"\r\n\r\n", rest)


def record(data: bytes) -> None:
    with suppress(ArchiveError):
        digest_problem(parse_record(data))


def settings(data: bytes) -> None:
    stored = data.decode("utf-8", "replace")
    with suppress(UsageError, ValueError):  # the store's own record, which only damage makes unreadable
        settings_from_json(stored)
    name, _, value = stored.partition("=")
    with suppress(UsageError):
        crawl_settings("default", {name: value})


def query(data: bytes) -> None:
    with suppress(UsageError):
        parse_query(data.decode("utf-8", "replace"))


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        url,
        link,
        robots,
        html,
        requisites,
        css,
        srcset,
        text,
        sitemap,
        charset,
        directives,
        retry_after,
        body,
        chunks,
        answer,
        record,
        settings,
        query,
    )
}

# What inputs are made of, so that drawing at random gets somewhere.
PIECES: dict[str, list[bytes]] = {
    "url": [*rb"http://|//|[::1]|xn--|%2e|..|\|@|#|?|1.2.3|:0".split(b"|"), "\xdf".encode()],
    "robots": b"User-agent: *\n|Disallow: /|Allow: |*|$|Crawl-delay: |1e9|\r|#|%".split(b"|"),
    "html": b"<a href=|<svg>|<title>|</|<!--|<![CDATA[|]]>|<template>|<base href=|&#|<script>|<math>|>|\0".split(b"|")
    + b"<plaintext>|\"|'|<meta charset=|utf-16".split(b"|"),
    "sitemap": b"<urlset>|<url>|<loc>http://a/|</loc>|</url>|<sitemapindex>|<sitemap>|<rss>|<item>|<link href='".split(
        b"|"
    )
    + b"<feed>|<entry>|<!DOCTYPE x [|<!ENTITY a|<![CDATA[|]]>|&#|<lastmod>2026-0|<x:image>|\x1f\x8b\x08|\xff\xfe".split(
        b"|"
    )
    + b"<?xml version='1.0' encoding='|euc-jp'?>|<!--|http://a/\n".split(b"|"),
    "css": rb"url(|)|'|\"|@import |@namespace |image-set(|/*|*/|\\|\\75 |{|}|@charset \"utf-16\"|;|\r".split(b"|"),
    "srcset": b",| 1x|(|)|data:,|\t|a.png".split(b"|"),
    "requisites": b"<img srcset='|<style>|</style>|<p style=|url(|<svg>|<link rel=icon href=|<script src=|>|'".split(
        b"|"
    ),
    "charset": b"utf-8\n|euc-jp\n|iso-2022-jp\n|gb18030\n|big5\n|\x1b$B|\x81\x30|\xff\xfe".split(b"|"),
    "body": [b"content-encoding: %s\n\n" % coding for coding in (b"gzip", b"br", b"zstd", b"deflate")]
    + b"transfer-encoding: chunked\n|\x1f\x8b\x08|\x28\xb5\x2f\xfd|\x78\x9c".split(b"|"),
    "chunks": b"5\r\n|0\r\n\r\n|ffffffff|;x=y|\n|hello".split(b"|"),
    "answer": b"HTTP/1.1 200 OK\r\n|HTTP/1.1 |\r\n|:| |Transfer-Encoding: chunked\r\n|\r\n\r\n".split(b"|"),
    "record": b"WARC/1.1\r\n|WARC-Type: response\r\n|Content-Length: |\r\n\r\n|sha256:|-1|99999999999".split(b"|"),
    "retry_after": b"120|Sun, 06 Nov 1994 08:49:37 GMT|Sunday, 06-Nov-94 08:49:37 GMT|-|99999999999999999".split(b"|"),
    "settings": b'{"limits": {|"max_pages": |polite.floor_ms=|1e400|null|}|[[[[[[[[[[[[|NaN'.split(b"|"),
    "query": b'"|OR |-|(|)|*|title:| '.split(b"|"),
    "directives": b"noindex|,|nephila: |unavailable_after: |\n".split(b"|"),
}
PIECES |= {"link": PIECES["url"], "text": PIECES["html"]}

FOUND: tuple[tuple[str, bytes], ...] = (
    ("record", b"WARC/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n\r\n\r\n"),
    ("answer", b"HTTP/1.1 " + b"2" * 5000 + b" OK\r\n\r\n"),
    ("url", b"http:\x11@n\\^"),
)
