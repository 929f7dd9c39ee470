"""A page with every sort of requisite, on two hosts, and what becomes of each, worked out by hand.

`needing_web(port)` makes it. The pages: `/`, `/second`, what `/` frames (`/framed`), and `/big`, which `/` links to and
`/second` embeds. Everything else is a requisite. Each body differs, so that an answer can be told from the next.
"""

from dataclasses import dataclass
from typing import Any

from nephila.models import Reason, UrlState
from tests.site.fixtures import FAST, OTHER_HOST
from tests.site.server import DEFAULT_HOST, Page, Sites

VISITED, NOT_FOUND, EXCLUDED, REDIRECTED = UrlState.VISITED, UrlState.NOT_FOUND, UrlState.EXCLUDED, UrlState.REDIRECTED
HTTP_ERROR = UrlState.HTTP_ERROR


@dataclass(frozen=True, slots=True)
class Needed:
    """A requisite as its row must be."""

    state: UrlState
    needed_by: str  # the path, or URL, of the page or stylesheet it was found on
    reason: Reason = Reason.NONE
    depth: int = 0


@dataclass(frozen=True, slots=True)
class NeedingWeb:
    sites: Sites
    seed: str
    pages: dict[str, UrlState]  # by URL
    requisites: dict[str, Needed]  # by URL, with scope.requisites = all
    elsewhere: frozenset[str]  # those of them on another host than the page: refused with same_host
    settings: dict[str, Any]

    @property
    def near(self) -> dict[str, Needed]:
        return {url: needed for url, needed in self.requisites.items() if url not in self.elsewhere}


HEAD = """<link rel="stylesheet" href="/site.css"><link rel="shortcut icon" href="/icon.ico">
<link rel="apple-touch-icon" href="/touch.png"><link rel="mask-icon" href="/mask.svg">
<link rel="manifest" href="/app.webmanifest"><link rel="preload" as="font" href="/early.woff2">
<link rel="modulepreload" href="/module.js">
<link rel="preload" as="image" imagesrcset="/early-1.png 1x, /early-2.png 2x">
<link rel="alternate" href="/not-needed"><style>@import "/inline.css"; h1 { background: url('/heading.png') }</style>
<script src="/script.js"></script><script>document.title = '<img src="/not-an-image.png">'</script>"""
BODY = """<body background="/body.png"><!-- <img src="/comment.png"> -->
<p style="background: url(&quot;/styled.png&quot;)">x</p>
<img src="/image.png" srcset="/small.png 480w, /a,b.png 800w,data:image/png;base64,AAAA 1x, /large.png 2x">
<picture><source srcset="/modern.webp"><img src="/broken.png" alt=""></picture>
<video src="/film.mp4" poster="/poster.jpg"><source src="/film.webm"><track src="/words.vtt"></video>
<audio src="/sound.ogg"></audio><input type="image" src="/button.png"><input type="text" src="/no-button.png">
<object data="/drawing.svg"></object><embed src="/paper.pdf">
<svg><image href="/in-drawing.png"/><use href="/sprite.svg#arrow"/><use href="#here"/></svg>
<img src="/moved.png"><img src="/private/secret.png"><img src="/failing.png"><img src="/skipped/by-pattern.png">
<img src="//{other}/cdn.png"><link rel="stylesheet" href="http://{other}/cdn.css"><img src="/moved-away.png">
<iframe src="/framed"></iframe><a href="/second">second</a><a href="/big">big</a><a href="/linked.png">an image</a>
</body>"""

IMAGES = (
    *("/touch.png", "/mask.svg", "/early-1.png", "/early-2.png", "/heading.png", "/body.png", "/styled.png"),
    *("/image.png", "/small.png", "/a,b.png", "/large.png", "/modern.webp", "/poster.jpg", "/button.png"),
    *("/in-drawing.png", "/icon.ico", "/sprite.svg", "/drawing.svg"),
)
OTHERS = (
    *("/app.webmanifest", "/early.woff2", "/module.js", "/script.js", "/film.mp4", "/film.webm", "/words.vtt"),
    *("/sound.ogg", "/paper.pdf"),
)


def needing_web(port: int, host: str = DEFAULT_HOST) -> NeedingWeb:
    root, other = f"http://{host}:{port}", f"{OTHER_HOST}:{port}"
    files = {path: _file(path) for path in (*IMAGES, *OTHERS)}
    site: dict[str, Any] = {
        "/": _html(HEAD, BODY.replace("{other}", other)),
        "/second": _html('<link rel="stylesheet" href="/site.css">', '<img src="/only-second.png"><img src="/big">'),
        "/framed": _html("", '<img src="in-frame.png">'),
        "/big": Page(b"big", content_type="image/png"),
        "/only-second.png": _file("/only-second.png"),
        "/in-frame.png": _file("/in-frame.png"),
        "/robots.txt": Page(b"User-agent: *\nDisallow: /private/\n", content_type="text/plain"),
        "/site.css": _css(
            "@import url(sub/nested.css); a { background: url(sprite.png), url(data:image/png;base64,AA) }"
        ),
        "/sub/nested.css": _css(
            "@font-face { src: url('../font.woff2') format('woff2') } b { background: image-set('n\\31.png' 1x) }"
            ' @namespace url(http://www.w3.org/1999/xhtml); /* url(comment.png) */ i { content: "url(string.png)" }'
            " @import '../site.css';"
        ),
        "/inline.css": _css(".x { background: url(gone.png) }"),
        "/sprite.png": _file("/sprite.png"),
        "/font.woff2": _file("/font.woff2"),
        "/sub/n1.png": _file("/sub/n1.png"),
        "/moved.png": Page(status=302, headers=(("Location", "/target.png"),)),
        "/target.png": _file("/target.png"),
        "/moved-away.png": Page(status=301, headers=(("Location", f"http://{other}/arrived.png"),)),
        "/failing.png": Page(b"no", status=500),
        "/private/secret.png": _file("/private/secret.png"),
        "/skipped/by-pattern.png": _file("/skipped/by-pattern.png"),
        "/linked.png": _file("/linked.png"),
        **files,
    }
    cdn = {
        "/cdn.png": _file("/cdn.png"),
        "/cdn.css": _css("a { background: url(deep.png) }"),
        "/deep.png": _file("/deep.png"),
        "/arrived.png": _file("/arrived.png"),
        "/": _html("", "not crawled"),
    }
    needed = {
        **{path: Needed(VISITED, "/") for path in (*IMAGES, *OTHERS, "/site.css", "/inline.css")},
        "/broken.png": Needed(NOT_FOUND, "/"),
        "/failing.png": Needed(HTTP_ERROR, "/", Reason.HTTP_5XX),
        "/private/secret.png": Needed(EXCLUDED, "/", Reason.ROBOTS),
        "/moved.png": Needed(REDIRECTED, "/"),
        "/target.png": Needed(VISITED, "/moved.png"),
        "/moved-away.png": Needed(REDIRECTED, "/"),
        "/sub/nested.css": Needed(VISITED, "/site.css"),
        "/sprite.png": Needed(VISITED, "/site.css"),
        "/font.woff2": Needed(VISITED, "/sub/nested.css"),
        "/sub/n1.png": Needed(VISITED, "/sub/nested.css"),
        "/gone.png": Needed(NOT_FOUND, "/inline.css"),
        "/only-second.png": Needed(VISITED, "/second", depth=1),
        "/in-frame.png": Needed(VISITED, "/framed", depth=1),
        f"http://{other}/cdn.png": Needed(VISITED, "/"),
        f"http://{other}/cdn.css": Needed(VISITED, "/"),
        f"http://{other}/deep.png": Needed(VISITED, f"http://{other}/cdn.css"),
        f"http://{other}/arrived.png": Needed(VISITED, "/moved-away.png"),
    }
    pages = dict.fromkeys((f"{root}/", f"{root}/second", f"{root}/framed", f"{root}/big"), VISITED)
    requisites = {
        _full(root, url): Needed(each.state, _full(root, each.needed_by), each.reason, each.depth)
        for url, each in needed.items()
    }
    elsewhere = frozenset(url for url in requisites if OTHER_HOST in url)
    settings = {**FAST, "scope.exclude": ["*/skipped/*"], "retry.max": 1}
    return NeedingWeb({host: site, OTHER_HOST: cdn}, f"{root}/", pages, requisites, elsewhere, settings)


def body_of(path: str) -> bytes:
    """The bytes of a file of the web: its own name."""
    return f"the content of {path}".encode()


def _full(root: str, url: str) -> str:
    return root + url if url.startswith("/") else url


def _html(head: str, body: str) -> Page:
    return Page(f"<!doctype html><title>page</title>{head}\n{body}".encode())


def _file(path: str) -> Page:
    ending = path.rpartition(".")[2]
    kinds = {"png": "image/png", "svg": "image/svg+xml", "js": "text/javascript", "webp": "image/webp"}
    return Page(body_of(path), content_type=kinds.get(ending, "application/octet-stream"))


def _css(text: str) -> Page:
    return Page(text.encode(), content_type="text/css")
