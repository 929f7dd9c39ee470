"""The web interface: the files that Vite has built, read once when the server starts. Nothing else is served.

They hold no data, so they need no token. Without them the API runs, too, and a page says how to build them.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.requests import Request

import nephila
from nephila.api.problems import Problem
from nephila.errors import UsageError

FOLDER = Path(nephila.__file__).parent / "ui"
ROOT = "/ui/"
INDEX = "index.html"
ASSETS = "assets/"  # their names change with their content
FILES_MAX = 5000  # compressed ones included
BYTES_MAX = 64 << 20  # of all files together
ENCODINGS = {"br": ".br", "gzip": ".gz"}  # the first that a browser takes
METHODS = ["GET", "HEAD"]

# Our own table: that of the machine may be wrong, and a browser runs no script of a wrong type.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gif": "image/gif",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
UNKNOWN_TYPE = "application/octet-stream"

# Those that browsers know: of others each page would warn in the console.
FEATURES = (
    *("accelerometer", "autoplay", "browsing-topics", "camera", "clipboard-read", "display-capture"),
    *("encrypted-media", "fullscreen", "gamepad", "geolocation", "gyroscope", "hid", "identity-credentials-get"),
    *("idle-detection", "local-fonts", "magnetometer", "microphone", "midi", "payment", "picture-in-picture"),
    *("publickey-credentials-get", "screen-wake-lock", "serial", "storage-access", "usb"),
    *("window-management", "xr-spatial-tracking"),
)
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; frame-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in FEATURES),
}

NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Nephila</title>
<h1>Nephila</h1>
<p>The web interface is not built: run <code>make ui</code> (it needs Node 20 or later) and start the server again.
<p>The API runs; <a href="/docs">/docs</a> describes it (for programs: <a href="/openapi.json">/openapi.json</a>).
</html>
"""


@dataclass(frozen=True, slots=True)
class File:
    kind: str
    cache: str
    plain: bytes
    encoded: Mapping[str, bytes]  # by the name of the encoding

    def answer(self, accepted: str) -> Response:
        encoding = next((name for name in accepted_encodings(accepted) if name in self.encoded), None)
        headers = HEADERS | {"Content-Type": self.kind, "Cache-Control": self.cache, "Vary": "Accept-Encoding"}
        if encoding is None:
            return Response(self.plain, headers=headers)
        return Response(self.encoded[encoding], headers=headers | {"Content-Encoding": encoding})


def accepted_encodings(header: str) -> list[str]:
    """The names in ENCODINGS that a browser accepts, in the order of ENCODINGS."""
    weights = {}
    for part in header.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weights[name] = next((_weight(piece[2:]) for piece in parameters if piece.startswith("q=")), 1.0)
    return [name for name in ENCODINGS if weights.get(name, weights.get("*", 0.0)) > 0]


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def read_files(folder: Path) -> dict[str, File]:
    """All files, by their path below the folder. Links are not followed: what they lead to is not the interface."""
    contents = dict(_contents(folder))
    plain = (name for name in contents if not name.endswith(tuple(ENCODINGS.values())))
    return {name: _file(name, contents) for name in plain}


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    files = size = 0
    for place, _, names in os.walk(folder, followlinks=False):
        for path in (Path(place) / name for name in names):
            found = path.lstat()
            if not stat.S_ISREG(found.st_mode):
                continue
            files, size = files + 1, size + found.st_size
            if files > FILES_MAX or size > BYTES_MAX:
                raise UsageError(f"{folder} has more than {FILES_MAX} files or {BYTES_MAX:,} bytes: it is no interface")
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _file(name: str, contents: Mapping[str, bytes]) -> File:
    encoded = {encoding: contents[name + ending] for encoding, ending in ENCODINGS.items() if name + ending in contents}
    return File(TYPES.get(Path(name).suffix.lower(), UNKNOWN_TYPE), _cache(name), contents[name], encoded)


def _cache(name: str) -> str:
    if name == INDEX:
        return "no-store"
    return "public, max-age=31536000, immutable" if name.startswith(ASSETS) else "no-cache"


class Interface:
    def __init__(self, folder: Path) -> None:
        self._files = read_files(folder)

    async def answer(self, request: Request) -> Response:
        found = self.file(request.path_params["path"])
        if found is None:
            return HTMLResponse(NOT_BUILT, headers=HEADERS | {"Cache-Control": "no-store"})
        return found.answer(request.headers.get("accept-encoding", ""))

    def file(self, path: str) -> File | None:
        """The file with this path. Any other path is a view, which the script of index.html shows, even with a dot, as
        a host's name has. None: the interface is not built."""
        found = self._files.get(path)
        if found is None and path.startswith(ASSETS):
            raise Problem(404, "the web interface has no such file")
        return found or self._files.get(INDEX)


async def lead_there(_request: Request) -> Response:
    return RedirectResponse(ROOT, 307)


def install(app: FastAPI, folder: Path) -> None:
    app.add_route(ROOT + "{path:path}", Interface(folder).answer, methods=METHODS, include_in_schema=False)
    for path in ("/", ROOT.rstrip("/")):
        app.add_route(path, lead_there, methods=METHODS, include_in_schema=False)
