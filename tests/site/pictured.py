"""A page that looks like nothing without what it needs: images, a stylesheet with an import, a script, two hosts."""

import struct
import zlib

from tests.site.fixtures import OTHER_HOST
from tests.site.server import DEFAULT_HOST, Page, Sites

PAGE = """<!doctype html><html><head><title>pictured</title><link rel="stylesheet" href="/look/site.css">
<style>body { background: url('/look/inline.png') }</style><script src="/look/script.js" defer></script></head>
<body><h1>Pictures</h1><img src="/pictures/one.png" width="80" height="80">
<img srcset="/pictures/small.png 1x, /pictures/large.png 2x" width="80" height="80">
<picture><source srcset="/pictures/source.png"><img src="/pictures/fallback.png" width="80" height="80"></picture>
<p style="background-image: url(&quot;/pictures/styled.png&quot;); height: 40px">styled</p>
<svg width="80" height="80"><image href="/pictures/drawn.png" width="80" height="80"/></svg>
<object data="/pictures/object.svg" width="80" height="80"></object>
<img src="//{other}/far.png" width="80" height="80"><div id="scripted">before</div>
<a href="/second">second</a></body></html>"""


PICTURES = ("one", "small", "large", "source", "fallback", "styled", "drawn")
DRAWING = b"""<svg xmlns="http://www.w3.org/2000/svg" width="80" height="80">
<circle cx="40" cy="40" r="30" fill="teal"/></svg>"""


def pictured_web(port: int, host: str = DEFAULT_HOST) -> tuple[Sites, str]:
    """The sites, and the URL of the page."""
    other = f"{OTHER_HOST}:{port}"
    site: dict[str, Page] = {
        "/": Page(PAGE.replace("{other}", other).encode()),
        "/second": Page(b"<!doctype html><title>second</title>"),
        "/look/site.css": _css(
            "@import 'more/imported.css'; h1 { color: rgb(200, 0, 0); background: url(../look/h1.png) }"
        ),
        "/look/more/imported.css": _css("p { border: 10px solid rgb(0, 0, 200); list-style: url(bullet.png) }"),
        "/look/script.js": _script(
            "document.getElementById('scripted').style.cssText = 'height: 50px; background: lime'"
        ),
        "/pictures/object.svg": Page(DRAWING, content_type="image/svg+xml"),
    }
    paths = ["/look/inline.png", "/look/h1.png", "/look/more/bullet.png"]
    paths += [f"/pictures/{name}.png" for name in PICTURES]
    for number, path in enumerate(paths):
        site[path] = _image(number * 23 % 256, number * 67 % 256, 255 - number * 20)
    return {host: site, OTHER_HOST: {"/far.png": _image(10, 200, 30)}}, f"http://{host}:{port}/"


def _css(text: str) -> Page:
    return Page(text.encode(), content_type="text/css")


def _script(text: str) -> Page:
    return Page(text.encode(), content_type="text/javascript")


def _image(red: int, green: int, blue: int) -> Page:
    """A square of one colour, as PNG."""
    rows = (b"\0" + bytes((red, green, blue)) * 16) * 16
    parts = ((b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    chunks = b"".join(struct.pack(">I", len(data)) + kind + data + _crc(kind + data) for kind, data in parts)
    return Page(b"\x89PNG\r\n\x1a\n" + chunks, content_type="image/png")


def _crc(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))
