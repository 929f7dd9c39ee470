"""Fixed sites with their expected crawl result, worked out by hand.

`site_xyz(port, host)` makes one; FIXTURES has them all by name, for tests that take each. Results hold for the
`default` profile with the fixture's `settings` on top: redirects `enqueue`, robots obeyed, same_host, two retries.
"""

import gzip
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from html import escape
from time import time
from typing import Any
from urllib.parse import quote

import brotli
import zstandard

from nephila.models import Reason, UrlState
from tests.patience import PATIENCE_MS
from tests.site.server import DEFAULT_HOST, HTML, Drip, Handler, Page, Request, Site, Sites

OTHER_HOST = "127.0.0.99"  # served, and out of scope
NAMED_HOST = "example.test"

# A test that wants a page to kill its parser makes the parser die when it meets these bytes.
POISON_MARKER = b"<!-- nephila-test-poison -->"

VISITED, REDIRECTED, NOT_FOUND = UrlState.VISITED, UrlState.REDIRECTED, UrlState.NOT_FOUND
FORBIDDEN, HTTP_ERROR, FAILED, EXCLUDED = UrlState.FORBIDDEN, UrlState.HTTP_ERROR, UrlState.FAILED, UrlState.EXCLUDED

# Loopback may be hurried, waits are short so that the tests are, and a host with planned errors neither rests nor dies.
FAST: Mapping[str, Any] = {
    "fetch.allow_private": True,
    "sitemaps.mode": "off",  # what is asked for is worked out by hand
    "polite.floor_ms": 0,
    "polite.adaptive": False,
    "retry.base_ms": 10,
    "host.backoff_base_ms": 1,
    "host.backoff_cap_ms": 1,
    "host.death_errors": 0,
    # A request that a busy machine answers late is not sent again: tests count requests.
    "robots.timeout_ms": PATIENCE_MS,
    "fetch.total_timeout_ms": PATIENCE_MS,
    "fetch.first_byte_timeout_ms": PATIENCE_MS,
}


@dataclass(frozen=True, slots=True)
class ExpectedUrl:
    state: UrlState
    depth: int = 0
    discovered_from: tuple[str, ...] = ()  # one of these; empty: a seed
    reason: Reason | None = None  # None: not compared
    requests: int | None = 1  # how often the server sees it; None: not compared


@dataclass(frozen=True, slots=True)
class Fixture:
    sites: Sites
    seeds: tuple[str, ...]
    expected: dict[str, ExpectedUrl]  # every row of the export, and no other
    settings: dict[str, Any] = field(default_factory=dict)  # overrides on the default profile
    resolve: dict[str, str] = field(default_factory=dict)  # for the crawler's fixed resolver
    delay_ms: float = 0  # what the politeness oracle must find kept


def html(*links: str, head: str = "", body: str = "", **page: Any) -> Page:
    anchors = "\n".join(f'<a href="{escape(link)}">link</a>' for link in links)
    return Page(f"<!doctype html><title>test</title>{head}\n{body}\n{anchors}\n".encode(), **page)


def moved(location: str, status: int = 301) -> Page:
    return Page(status=status, headers=(("Location", location),))


def row(
    state: UrlState, depth: int = 0, *found_on: str, reason: Reason | None = None, requests: int | None = 1
) -> ExpectedUrl:
    return ExpectedUrl(state, depth, found_on, reason, requests)


def _fixture(
    root: str,
    pages: Site,
    expected: Mapping[str, ExpectedUrl],
    *,
    others: Sites | None = None,
    settings: Mapping[str, Any] | None = None,
    resolve: Mapping[str, str] | None = None,
    delay_ms: float = 0,
) -> Fixture:
    """Make a fixture. Paths in `expected` and in its parents are those of `root`, the origin of the only seed."""
    host = root.removeprefix("http://").partition(":")[0]
    rows = {
        _full(root, url): ExpectedUrl(
            wanted.state,
            wanted.depth,
            tuple(_full(root, parent) for parent in wanted.discovered_from),
            wanted.reason,
            wanted.requests,
        )
        for url, wanted in expected.items()
    }
    sites = {host: pages, **(others or {})}
    return Fixture(sites, (f"{root}/",), rows, {**FAST, **(settings or {})}, dict(resolve or {}), delay_ms)


def _full(root: str, url: str) -> str:
    return root + url if url.startswith("/") else url


def _origin(port: int, host: str) -> str:
    return f"http://{host}:{port}"


def _listed(pages: dict[str, Page | Handler], rows: dict[str, ExpectedUrl]) -> tuple[Site, dict[str, ExpectedUrl]]:
    """The pages with a start page that links to each, and the expected rows of all."""
    return {"/": html(*pages), **pages}, {"/": row(VISITED), **rows}


# Links


def site_single_page(port: int, host: str = DEFAULT_HOST) -> Fixture:
    return _fixture(_origin(port, host), {"/": html()}, {"/": row(VISITED)})


def site_duplicates(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """A URL is one row, however often and with whatever fragment it is linked; other hosts and schemes have no rows."""
    root = _origin(port, host)
    links = ["/a", "/a", "/a#part", "#top", "", "./a", "/x/../a", "/b?x=1", "/b?x=1#y", "/b?x=2", f"{root}/a"]
    links += ["mailto:a@example.test", "tel:+1", "javascript:void(0)", "ftp://example.test/", "data:text/html,x"]
    links += [f"{_origin(port, OTHER_HOST)}/out", "http://[bad", "http://"]
    pages = {"/": html(*links), "/a": html("/", "/a"), "/b?x=1": html("?x=2"), "/b?x=2": html()}
    rows = {
        "/": row(VISITED),
        "/a": row(VISITED, 1, "/"),
        "/b?x=1": row(VISITED, 1, "/"),
        "/b?x=2": row(VISITED, 1, "/"),
    }
    return _fixture(root, pages, rows, others={OTHER_HOST: {"/out": html()}})


def site_broken_link(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """The links of an error page are not followed."""
    pages = {"/": html("/here", "/gone"), "/here": html(), "/gone": html("/from-error", status=404)}
    rows = {"/": row(VISITED), "/here": row(VISITED, 1, "/"), "/gone": row(NOT_FOUND, 1, "/")}
    return _fixture(_origin(port, host), pages, rows)


def site_cycle(port: int, host: str = DEFAULT_HOST) -> Fixture:
    pages = {"/": html("/a"), "/a": html("/b"), "/b": html("/", "/b")}
    rows = {"/": row(VISITED), "/a": row(VISITED, 1, "/"), "/b": row(VISITED, 2, "/a")}
    return _fixture(_origin(port, host), pages, rows)


def site_www_scope(port: int, host: str = NAMED_HOST) -> Fixture:
    """The seed's www twin is in scope, as URLs of its own; another subdomain is not."""
    twin, cdn = f"www.{host}", f"cdn.{host}"
    www = _origin(port, twin)
    pages = {"/": html(f"{www}/", f"{_origin(port, cdn)}/file", "/a"), "/a": html()}
    rows = {
        "/": row(VISITED),
        "/a": row(VISITED, 1, "/"),
        f"{www}/": row(VISITED, 1, "/"),
        f"{www}/a": row(VISITED, 2, f"{www}/"),
    }
    return _fixture(
        _origin(port, host),
        pages,
        rows,
        others={twin: {"/": html("/a", f"//{host}:{port}/a"), "/a": html()}, cdn: {"/file": html()}},
        resolve=dict.fromkeys((host, twin, cdn), "127.0.0.1"),
    )


def site_base_href(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """The first base counts, also one on another host."""
    away = f'<base href="{_origin(port, OTHER_HOST)}/">'
    pages = {
        "/": html("one", "/two", "/away", head='<base href="/dir/sub/"><base href="/wrong/">'),
        "/dir/sub/one": html("three"),
        "/two": html(),
        "/away": html("lost", head=away),
        "/dir/sub/three": html(),
    }
    rows = {
        "/": row(VISITED),
        "/dir/sub/one": row(VISITED, 1, "/"),
        "/two": row(VISITED, 1, "/"),
        "/away": row(VISITED, 1, "/"),
        "/dir/sub/three": row(VISITED, 2, "/dir/sub/one"),
    }
    return _fixture(_origin(port, host), pages, rows, others={OTHER_HOST: {"/lost": html()}})


def site_meta_refresh(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """A refresh is a link: its target is one deeper, its page is visited."""
    head = '<meta http-equiv="refresh" content="{}">'
    pages = {
        "/": html("/quoted", "/only-seconds", head=head.format("0; url=/plain")),
        "/plain": html(),
        "/quoted": html(head=head.format("5;URL='/target'")),
        "/target": html(),
        "/only-seconds": html(head=head.format("30")),
    }
    rows = {
        "/": row(VISITED),
        "/plain": row(VISITED, 1, "/"),
        "/quoted": row(VISITED, 1, "/"),
        "/only-seconds": row(VISITED, 1, "/"),
        "/target": row(VISITED, 2, "/quoted"),
    }
    return _fixture(_origin(port, host), pages, rows)


def site_link_elements(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Frames, areas, rel=next and rel=canonical lead on; styles, scripts, images, comments and templates do not."""
    head = '<link rel="next" href="/next"><link rel="canonical" href="/canonical"><link rel="stylesheet" href="/style">'
    body = (
        '<iframe src="/iframe"></iframe><map><area href="/area"></map><img src="/image"><script src="/script"></script>'
        '<!-- <a href="/comment">x</a> --><template><a href="/template">x</a></template>'
        '<noscript><a href="/noscript">x</a></noscript>'
    )
    frames = Page(b'<!doctype html><frameset><frame src="/frame"></frameset>')
    followed = ("/next", "/canonical", "/iframe", "/area", "/noscript", "/frames")
    pages = {"/": html("/frames", head=head, body=body), "/frames": frames, "/frame": html()}
    pages |= {path: html() for path in followed if path != "/frames"}
    rows = {"/": row(VISITED), "/frame": row(VISITED, 2, "/frames")}
    rows |= {path: row(VISITED, 1, "/") for path in followed}
    return _fixture(_origin(port, host), pages, rows)


def site_extensions(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Only the ending of the last path segment refuses a URL, in upper or lower case."""
    pages = {"/": html("/file.pdf", "/photo.JPG", "/a.pdf/page", "/show?file=x.pdf"), "/a.pdf/page": html()}
    pages |= {"/show?file=x.pdf": html(), "/file.pdf": html(), "/photo.JPG": html()}
    rows = {
        "/": row(VISITED),
        "/a.pdf/page": row(VISITED, 1, "/"),
        "/show?file=x.pdf": row(VISITED, 1, "/"),
    }
    return _fixture(_origin(port, host), pages, rows)


# Redirects


def site_redirect_codes(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """The target is a row of its own, as deep as the row that led there; other 3xx are errors."""
    codes = (301, 302, 303, 307, 308)
    pages: dict[str, Page | Handler] = {f"/r{code}": moved(f"/t{code}", code) for code in codes}
    pages |= {"/r300": moved("/t300", 300), "/r304": moved("/t304", 304)}
    rows = {f"/r{code}": row(REDIRECTED, 1, "/") for code in codes}
    rows |= {f"/t{code}": row(VISITED, 1, f"/r{code}") for code in codes}
    rows |= {"/r300": row(HTTP_ERROR, 1, "/"), "/r304": row(HTTP_ERROR, 1, "/"), "/below": row(VISITED, 2, "/t301")}
    site, rows = _listed(pages, rows)
    targets = {f"/t{code}": html("/below" if code == 301 else "/") for code in codes}
    return _fixture(_origin(port, host), {**site, **targets, "/below": html()}, rows)


def site_redirect_locations(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Targets of every form: relative, absolute, without a scheme, with a fragment; an unusable one has no row."""
    pages: dict[str, Page | Handler] = {
        "/dir/relative": moved("sibling"),
        "/absolute": moved(f"{_origin(port, host)}/target"),
        "/no-scheme": moved(f"//{host}:{port}/target"),
        "/fragment": moved("/target#part"),
        "/to-missing": moved("/missing"),
        "/bad": moved("http://[bad"),
        "/mail": moved("mailto:a@example.test"),
        "/none": Page(status=301),
    }
    rows = {path: row(REDIRECTED, 1, "/") for path in pages}
    for path in ("/bad", "/none"):
        rows[path] = row(REDIRECTED, 1, "/", reason=Reason.REDIRECT_INVALID)
    rows |= {
        "/dir/sibling": row(VISITED, 1, "/dir/relative"),
        "/target": row(VISITED, 1, "/absolute", "/no-scheme", "/fragment"),
        "/missing": row(NOT_FOUND, 1, "/to-missing"),
    }
    site, rows = _listed(pages, rows)
    return _fixture(_origin(port, host), {**site, "/dir/sibling": html(), "/target": html()}, rows)


def site_redirect_chain(port: int, host: str = DEFAULT_HOST) -> Fixture:
    pages = {
        "/": html("/1"),
        "/1": moved("/2"),
        "/2": moved("/3", 302),
        "/3": moved("/end", 308),
        "/end": html("/next"),
    }
    rows = {
        "/": row(VISITED),
        "/1": row(REDIRECTED, 1, "/"),
        "/2": row(REDIRECTED, 1, "/1"),
        "/3": row(REDIRECTED, 1, "/2"),
        "/end": row(VISITED, 1, "/3"),
        "/next": row(VISITED, 2, "/end"),
    }
    return _fixture(_origin(port, host), {**pages, "/next": html()}, rows)


def site_redirect_loops(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Each URL of a loop is one row and asked for once, which ends the loop."""
    pages = {"/": html("/self", "/a"), "/self": moved("/self"), "/a": moved("/b"), "/b": moved("/c"), "/c": moved("/a")}
    rows = {
        "/": row(VISITED),
        "/self": row(REDIRECTED, 1, "/", reason=Reason.REDIRECT_LOOP),
        "/a": row(REDIRECTED, 1, "/"),
        "/b": row(REDIRECTED, 1, "/a"),
        "/c": row(REDIRECTED, 1, "/b"),
    }
    return _fixture(_origin(port, host), pages, rows)


def site_redirect_hops(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Five hops are followed (redirects.max_hops), the sixth is refused: /5 is the last row."""
    pages = {"/": html("/0")} | {f"/{hop}": moved(f"/{hop + 1}") for hop in range(8)} | {"/8": html()}
    rows = {"/": row(VISITED), "/0": row(REDIRECTED, 1, "/")}
    rows |= {f"/{hop}": row(REDIRECTED, 1, f"/{hop - 1}") for hop in range(1, 6)}
    return _fixture(_origin(port, host), pages, rows, settings={"redirects.max_hops": 5})


def site_redirect_out_of_scope(port: int, host: str = DEFAULT_HOST) -> Fixture:
    pages = {"/": html("/out"), "/out": moved(f"{_origin(port, OTHER_HOST)}/landing", 302)}
    rows = {"/": row(VISITED), "/out": row(REDIRECTED, 1, "/", reason=Reason.REDIRECT_OUT_OF_SCOPE)}
    return _fixture(_origin(port, host), pages, rows, others={OTHER_HOST: {"/landing": html()}})


def site_redirect_to_twin(port: int, host: str = NAMED_HOST) -> Fixture:
    """A redirect to another host in scope: one politeness key, two origins, so two robots.txt."""
    twin = f"www.{host}"
    www = _origin(port, twin)
    pages = {"/": html("/old"), "/old": moved(f"{www}/new")}
    rows = {"/": row(VISITED), "/old": row(REDIRECTED, 1, "/"), f"{www}/new": row(VISITED, 1, "/old")}
    names = dict.fromkeys((host, twin), "127.0.0.1")
    return _fixture(_origin(port, host), pages, rows, others={twin: {"/new": html()}}, resolve=names)


def site_redirected_seed(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """The host that a seed redirects to joins the scope."""
    home = _origin(port, OTHER_HOST)
    rows = {"/": row(REDIRECTED), f"{home}/home": row(VISITED, 0, "/"), f"{home}/a": row(VISITED, 1, f"{home}/home")}
    other = {"/home": html("/a"), "/a": html()}
    return _fixture(_origin(port, host), {"/": moved(f"{home}/home")}, rows, others={OTHER_HOST: other})


# Statuses, retries and broken servers


def _after(first: Handler, tries: int = 1) -> Handler:
    """A page that answers as `first` does for so many tries, then well."""
    return lambda request: first(request) if request.nth < tries else html()


def _flaky(page: Page) -> Handler:
    return _after(lambda _: page)


def _in_two_seconds(_: Request) -> Page:
    # A date has whole seconds: two ahead are at least one.
    return Page(status=429, headers=(("Retry-After", formatdate(time() + 2, usegmt=True)),))


def site_client_errors(port: int, host: str = DEFAULT_HOST) -> Fixture:
    codes = (400, 401, 402, 405, 406, 410, 418, 451)
    pages: dict[str, Page | Handler] = {f"/{code}": html("/from-error", status=code) for code in (*codes, 403, 404)}
    rows = {f"/{code}": row(HTTP_ERROR, 1, "/", reason=Reason.HTTP_4XX) for code in codes}
    rows |= {"/403": row(FORBIDDEN, 1, "/"), "/404": row(NOT_FOUND, 1, "/")}
    return _fixture(_origin(port, host), *_listed(pages, rows))


def site_retried_errors(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """retry.max 2: three tries, then the error stays."""
    codes = (408, 421, 425, 500, 502, 503, 504)
    pages: dict[str, Page | Handler] = {f"/{code}": html("/from-error", status=code) for code in codes}
    rows = {f"/{code}": row(HTTP_ERROR, 1, "/", requests=3) for code in codes}
    for code in (500, 502, 503, 504):
        rows[f"/{code}"] = row(HTTP_ERROR, 1, "/", reason=Reason.HTTP_5XX, requests=3)
    return _fixture(_origin(port, host), *_listed(pages, rows))


def site_flaky(port: int, host: str = DEFAULT_HOST) -> Fixture:
    failing = Page(status=500)
    pages: dict[str, Page | Handler] = {"/once": _flaky(failing), "/twice": _after(lambda _: failing, tries=2)}
    rows = {"/once": row(VISITED, 1, "/", requests=2), "/twice": row(VISITED, 1, "/", requests=3)}
    return _fixture(_origin(port, host), *_listed(pages, rows))


def site_rate_limited(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Retry-After in seconds and as a date: each rests the host for a second or two."""
    seconds = Page(status=429, headers=(("Retry-After", "1"),))
    pages: dict[str, Page | Handler] = {"/seconds": _flaky(seconds), "/date": _after(_in_two_seconds)}
    rows = {path: row(VISITED, 1, "/", requests=2) for path in pages}
    return _fixture(_origin(port, host), *_listed(pages, rows))


def site_unavailable(port: int, host: str = DEFAULT_HOST) -> Fixture:
    busy = Page(status=503, headers=(("Retry-After", "1"),))
    pages: dict[str, Page | Handler] = {"/busy": _flaky(busy)}
    return _fixture(_origin(port, host), *_listed(pages, {"/busy": row(VISITED, 1, "/", requests=2)}))


def site_always_rate_limited(port: int, host: str = DEFAULT_HOST) -> Fixture:
    pages: dict[str, Page | Handler] = {"/never": Page(status=429)}
    rows = {"/never": row(HTTP_ERROR, 1, "/", reason=Reason.RATE_LIMITED, requests=3)}
    return _fixture(_origin(port, host), *_listed(pages, rows))


def site_slow(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Slow is fine; slower than the first-byte deadline fails, three times."""
    pages: dict[str, Page | Handler] = {
        "/slow": html("/found", delay_ms=200),
        "/drip": html(drip=Drip(piece_bytes=20, every_ms=20)),
        "/too-slow": html(delay_ms=PATIENCE_MS),
    }
    rows = {  # a busy machine may be too slow, too: then another try is quick enough
        "/": row(VISITED, requests=None),
        "/slow": row(VISITED, 1, "/", requests=None),
        "/drip": row(VISITED, 1, "/", requests=None),
        "/too-slow": row(FAILED, 1, "/", reason=Reason.TIMEOUT, requests=3),
        "/found": row(VISITED, 2, "/slow", requests=None),
    }
    site, rows = _listed(pages, rows)
    settings = {"fetch.first_byte_timeout_ms": 4000}
    return _fixture(_origin(port, host), {**site, "/found": html()}, rows, settings=settings)


def site_broken_http(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """No answer at all, and an answer that is no HTTP."""
    pages: dict[str, Page | Handler] = {
        "/silent": Page(raw=b""),
        "/garbage": Page(raw=b"\x00\x01 not http at all\r\n\r\n"),
    }
    rows = {path: row(FAILED, 1, "/", requests=None) for path in pages}
    return _fixture(_origin(port, host), *_listed(pages, rows))


def site_broken_off(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """The connection ends in mid-body: the page is tried again; at last what came is kept, with the links in it."""

    def body(late: str) -> bytes:
        return html("/early").body + b" " * 20_000 + html(late).body

    def once(request: Request) -> Page:
        return Page(body("/late"), close_mid_body=request.nth == 0)

    pages: dict[str, Page | Handler] = {
        "/length": Page(body("/never"), close_mid_body=True),
        "/chunked": Page(body("/never"), close_mid_body=True, chunked=True),
        "/once": once,
    }
    rows = {path: row(VISITED, 1, "/", requests=None) for path in pages}
    rows["/early"] = row(VISITED, 2, "/length", "/chunked", "/once")
    rows["/late"] = row(VISITED, 2, "/once")
    site, rows = _listed(pages, rows)
    return _fixture(_origin(port, host), {**site, "/early": html(), "/late": html(), "/never": html()}, rows)


# Content


def site_documents(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Other types are visited, and no link is looked for in them."""
    body = html("/hidden").body
    types = ("application/pdf", "image/png", "text/plain", "application/json", "application/octet-stream", "text/css")
    pages: dict[str, Page | Handler] = {f"/{kind}": Page(body, content_type=kind) for kind in types}
    pages["/xhtml"] = Page(html("/shown").body, content_type="application/xhtml+xml")
    rows = {path: row(VISITED, 1, "/") for path in pages} | {"/shown": row(VISITED, 2, "/xhtml")}
    site, rows = _listed(pages, rows)
    return _fixture(_origin(port, host), {**site, "/hidden": html(), "/shown": html()}, rows)


def site_empty_bodies(port: int, host: str = DEFAULT_HOST) -> Fixture:
    pages: dict[str, Page | Handler] = {
        "/empty": Page(),
        "/no-type": Page(content_type=None),
        "/no-content": Page(status=204, content_type=None),
        "/chunked": Page(chunked=True),
    }
    return _fixture(_origin(port, host), *_listed(pages, {path: row(VISITED, 1, "/") for path in pages}))


def _raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


ENCODERS: Mapping[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "gzip-members": ("gzip", lambda body: gzip.compress(body[:20]) + gzip.compress(body[20:])),
    "zlib": ("deflate", zlib.compress),
    "raw-deflate": ("deflate", _raw_deflate),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstandard.compress),
    "twice": ("gzip, br", lambda body: brotli.compress(gzip.compress(body))),
    "plain": ("identity", bytes),
}


def site_encodings(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Each content encoding, with a length and chunked; the link inside proves that it was decoded."""
    pages: dict[str, Page | Handler] = {}
    for name, (coding, encode) in ENCODERS.items():
        for chunked in (False, True):
            path = f"/{name}-{'chunked' if chunked else 'length'}"
            body = encode(html(f"/in{path}").body)
            pages[path] = Page(body, headers=(("Content-Encoding", coding),), chunked=chunked)
    rows = {path: row(VISITED, 1, "/") for path in pages}
    rows |= {f"/in{path}": row(VISITED, 2, path) for path in pages}
    site, rows = _listed(pages, rows)
    return _fixture(_origin(port, host), {**site, **{f"/in{path}": html() for path in pages}}, rows)


# name -> content type, text before the link, codec of the body, a word that the codec has
CHARSETS: Mapping[str, tuple[str, str, str, str]] = {
    "header-utf8": (HTML, "", "utf-8", "überblick"),
    "header-cp1251": ("text/html; charset=windows-1251", "", "cp1251", "каталог"),
    "header-quoted": ('text/html; charset="ISO-8859-1"', "", "cp1252", "café"),
    "meta-sjis": ("text/html", "<meta charset=shift_jis>", "cp932", "日本"),
    "meta-http-equiv": (
        "text/html",
        '<meta http-equiv=Content-Type content="text/html; charset=euc-kr">',
        "cp949",
        "한국",
    ),
    "header-over-meta": (HTML, "<meta charset=shift_jis>", "utf-8", "größe"),
    "bom-utf8": ("text/html; charset=iso-8859-1", "", "utf-8-sig", "naïve"),
    "bom-utf16": ("text/html", "", "utf-16", "ελλάδα"),
    "undeclared": ("text/html", "", "cp1252", "straße"),
}


def site_charsets(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """A path is UTF-8 on the wire whatever the page's charset: the right target proves the right decoding."""
    pages: dict[str, Page | Handler] = {}
    rows: dict[str, ExpectedUrl] = {}
    for name, (content_type, head, codec, word) in CHARSETS.items():
        text = f'<!doctype html>{head}<a href="/{word}">{word}</a>'
        pages[f"/{name}"] = Page(text.encode(codec), content_type=content_type)
        rows |= {f"/{name}": row(VISITED, 1, "/"), f"/{quote(word)}": row(VISITED, 2, f"/{name}")}
    site, rows = _listed(pages, rows)
    targets = {f"/{quote(word)}": html() for *_, word in CHARSETS.values()}
    return _fixture(_origin(port, host), {**site, **targets}, rows)


def site_deep(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """20,000 nested tags, which cost lexbor half a second: they must hold nobody up, and lose no link."""
    nested = "<div>" * 20_000 + '<a href="/inside">x</a>' + "</div>" * 20_000
    pages: dict[str, Page | Handler] = {"/deep": html("/beside", body=nested), "/plain": html()}
    rows = {
        "/deep": row(VISITED, 1, "/"),
        "/plain": row(VISITED, 1, "/"),
        "/inside": row(VISITED, 2, "/deep"),
        "/beside": row(VISITED, 2, "/deep"),
    }
    site, rows = _listed(pages, rows)
    return _fixture(_origin(port, host), {**site, "/inside": html(), "/beside": html()}, rows)


def site_huge(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """A large page is read to its end; one over the limit is cut and keeps the links before the cut."""
    text = "<p>" + "lorem ipsum " * 5 + "</p>\n"
    large = html("/large-start").body + text.encode() * 20_000 + html("/large-end").body
    over = html("/over-start").body + text.encode() * 40_000 + html("/over-end").body
    pages: dict[str, Page | Handler] = {"/large": Page(large), "/over": Page(over)}
    rows = {"/large": row(VISITED, 1, "/"), "/over": row(VISITED, 1, "/")}
    rows |= {path: row(VISITED, 2, "/large") for path in ("/large-start", "/large-end")}
    rows["/over-start"] = row(VISITED, 2, "/over")
    site, rows = _listed(pages, rows)
    ends = {path: html() for path in ("/large-start", "/large-end", "/over-start", "/over-end")}
    return _fixture(_origin(port, host), {**site, **ends}, rows, settings={"fetch.body_bytes_max": 2_000_000})


def site_poison(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """One page kills its parser: it fails alone, and the crawl goes on. The test must arrange for POISON_MARKER."""
    pages: dict[str, Page | Handler] = {
        "/poison": Page(POISON_MARKER + html("/never").body),
        "/healthy": html("/after"),
    }
    rows = {
        "/poison": row(FAILED, 1, "/", reason=Reason.POISON, requests=None),
        "/healthy": row(VISITED, 1, "/"),
        "/after": row(VISITED, 2, "/healthy"),
    }
    site, rows = _listed(pages, rows)
    return _fixture(_origin(port, host), {**site, "/after": html(), "/never": html()}, rows)


# Robots


def _robots(
    port: int,
    host: str,
    robots: Page | Handler | None,
    *,
    open_: tuple[str, ...] = ("/a", "/b"),
    closed: tuple[str, ...] = (),
    reason: Reason = Reason.ROBOTS,
    more: Site | None = None,
    **rest: Any,
) -> Fixture:
    """A start page that links to every path; the closed ones are rows that the server never sees."""
    paths = (*open_, *closed)
    pages: dict[str, Page | Handler] = {"/": html(*paths), **{path: html() for path in paths}, **(more or {})}
    if robots is not None:
        pages["/robots.txt"] = robots
    rows = {"/": row(VISITED)} | {path: row(VISITED, 1, "/") for path in open_}
    rows |= {path: row(EXCLUDED, 1, "/", reason=reason, requests=0) for path in closed}
    return _fixture(_origin(port, host), pages, rows, **rest)


def _shut(port: int, host: str, robots: Page | Handler, reason: Reason, settings: Mapping[str, Any]) -> Fixture:
    """Only the robots.txt of the host is ever asked for."""
    rows = {"/": row(EXCLUDED, reason=reason, requests=0)}
    pages: dict[str, Page | Handler] = {"/": html("/a"), "/a": html(), "/robots.txt": robots}
    return _fixture(_origin(port, host), pages, rows, settings=settings)


def _text(*lines: str, **page: Any) -> Page:
    return Page("\n".join(lines).encode(), content_type="text/plain", **page)


BLOCKING = ("User-agent: *", "Disallow: /closed")
QUICK_ROBOTS: Mapping[str, Any] = {"robots.retry_ms": 1}


def site_robots_allow(port: int, host: str = DEFAULT_HOST) -> Fixture:
    return _robots(port, host, _text("User-agent: *", "Allow: /", "Disallow:"))


def site_robots_disallow(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """The longest rule wins; * and $ work; the query belongs to the path."""
    rules = ("Disallow: /x", "Allow: /x/open", "Disallow: /*.cgi$", "Disallow: /q?*secret=")
    closed = ("/x", "/x/1", "/run.cgi", "/q?a=1&secret=2")
    open_ = ("/a", "/x/open/1", "/run.cgi?x", "/q?a=1")
    return _robots(port, host, _text("User-agent: *", *rules), open_=open_, closed=closed)


def site_robots_disallow_all(port: int, host: str = DEFAULT_HOST) -> Fixture:
    return _shut(port, host, _text("User-agent: *", "Disallow: /"), Reason.ROBOTS, {})


def site_robots_per_agent(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Only our own group counts, though it comes last and is written in another case."""
    lines = ("User-agent: *", "Disallow: /", "User-agent: otherbot", "Disallow: /a", "User-agent: NEPHILA")
    return _robots(port, host, _text(*lines, "Disallow: /closed"), closed=("/closed",))


def site_robots_crawl_delay(port: int, host: str = DEFAULT_HOST) -> Fixture:
    robots = _text("User-agent: *", "Crawl-delay: 0.2", "Disallow: /closed")
    return _robots(port, host, robots, closed=("/closed",), delay_ms=200)


def site_robots_crawl_delay_too_long(port: int, host: str = DEFAULT_HOST) -> Fixture:
    robots = _text("User-agent: *", "Crawl-delay: 10")
    return _shut(port, host, robots, Reason.CRAWL_DELAY, {"polite.crawl_delay_cap_ms": 1000})


def site_robots_missing(port: int, host: str = DEFAULT_HOST) -> Fixture:
    return _robots(port, host, None)


def site_robots_forbidden(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """A robots.txt with status 4xx has no rules, whatever its body says."""
    return _robots(port, host, _text("User-agent: *", "Disallow: /", status=403))


def site_robots_error(port: int, host: str = DEFAULT_HOST) -> Fixture:
    return _shut(port, host, _text(status=500), Reason.ROBOTS_UNREACHABLE, QUICK_ROBOTS)


def site_robots_flaky(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """The host is held while robots.txt fails, then judged by its rules."""

    def robots(request: Request) -> Page:
        return _text(status=503) if request.nth < 2 else _text(*BLOCKING)

    return _robots(port, host, robots, closed=("/closed",), settings=QUICK_ROBOTS)


def site_robots_redirect(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Five hops on the same host are followed."""
    hops = {f"/robots-{hop}": moved(f"/robots-{hop + 1}") for hop in range(1, 5)} | {"/robots-5": _text(*BLOCKING)}
    return _robots(port, host, moved("/robots-1"), closed=("/closed",), more=hops)


def site_robots_redirect_away(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """The rules of another host's file are those of the host that was asked; that host itself is not crawled."""
    target = f"{_origin(port, OTHER_HOST)}/our-robots.txt"
    others = {OTHER_HOST: {"/our-robots.txt": _text(*BLOCKING)}}
    return _robots(port, host, moved(target), closed=("/closed",), others=others)


def site_robots_redirect_loop(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """A robots.txt behind more than five redirects counts as none (RFC 9309, 2.3.1.2)."""
    return _robots(port, host, moved("/robots-b"), more={"/robots-b": moved("/robots.txt")})


def site_robots_huge(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """500 KiB are read: the rule before them counts, the one after them does not."""
    filler = ("# " + "x" * 98,) * 6000
    robots = _text(*BLOCKING, *filler, "Disallow: /a")
    return _robots(port, host, robots, closed=("/closed",))


def site_robots_garbage(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """Bytes that are no rules, and a page in place of a file: nothing is disallowed."""
    garbage = bytes(range(256)) * 40 + b"\n<!doctype html><title>Welcome</title>\nDisallow: /a\n"
    return _robots(port, host, Page(garbage))


def site_robots_slow(port: int, host: str = DEFAULT_HOST) -> Fixture:
    return _robots(port, host, _text(*BLOCKING, delay_ms=300), closed=("/closed",))


def site_robots_too_slow(port: int, host: str = DEFAULT_HOST) -> Fixture:
    settings = {**QUICK_ROBOTS, "robots.timeout_ms": 100, "robots.attempts_max": 2}
    return _shut(port, host, _text(*BLOCKING, delay_ms=PATIENCE_MS), Reason.ROBOTS_UNREACHABLE, settings)


def site_directives(port: int, host: str = DEFAULT_HOST) -> Fixture:
    """nofollow in meta robots, X-Robots-Tag and rel; noindex alone does not stop the links."""
    meta = '<meta name="{}" content="{}">'
    tags = {"/tag": "nofollow", "/tag-ours": "nephila: nofollow", "/tag-other": "otherbot: nofollow"}
    pages: dict[str, Page | Handler] = {
        "/meta": html("/no-1", head=meta.format("robots", "NOINDEX, NoFollow")),
        "/none": html("/no-2", head=meta.format("robots", "none")),
        "/ours": html("/no-3", head=meta.format("nephila", "nofollow")),
        "/noindex": html("/yes-1", head=meta.format("robots", "noindex")),
        "/other": html("/yes-2", head=meta.format("otherbot", "nofollow")),
        "/rel": html("/both", body='<a rel="ugc NOFOLLOW" href="/no-4">x</a><a rel=nofollow href="/both">x</a>'),
        "/ugc": html(body='<a rel="ugc sponsored" href="/yes-3">x</a>'),
    }
    for path, tag in tags.items():
        pages[path] = html("/yes-4" if path == "/tag-other" else "/no-5", headers=(("X-Robots-Tag", tag),))
    rows = {path: row(VISITED, 1, "/") for path in pages}
    found = {"/yes-1": "/noindex", "/yes-2": "/other", "/both": "/rel", "/yes-3": "/ugc", "/yes-4": "/tag-other"}
    rows |= {path: row(VISITED, 2, parent) for path, parent in found.items()}
    site, rows = _listed(pages, rows)
    hidden = {f"/no-{number}": html() for number in range(1, 6)}
    return _fixture(_origin(port, host), {**site, **hidden, **{path: html() for path in found}}, rows)


# By name, all that need nothing but a crawl: site_poison also needs a parser that dies.
FIXTURES: dict[str, Callable[[int], Fixture]] = {
    name.removeprefix("site_"): build
    for name, build in list(globals().items())
    if name.startswith("site_") and name != "site_poison"
}
