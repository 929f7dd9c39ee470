"""The files of the web interface: what is served, how it is cached, and that nothing else can be had."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from nephila.api import ui
from nephila.api.app import create_app
from nephila.api.ui import HEADERS, NOT_BUILT, Interface, accepted_encodings, read_files
from nephila.errors import UsageError
from nephila.frontier.tokens import Access
from tests.api.served import Served, served
from tests.patience import PATIENCE_SECONDS

SCRIPT, STYLE, FONT = "assets/app-1a2b.js", "assets/app-3c4d.css", "assets/mono-5e6f.woff2"
INDEX = b"<!doctype html><title>built</title>"
SECRET = b"not yours"
YEAR = "public, max-age=31536000, immutable"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A build, and beside it what nobody may see."""
    made = tmp_path / "ui"
    files = {"index.html": INDEX, SCRIPT: b"plain js", STYLE: b"plain css", FONT: b"font", "favicon.svg": b"<svg/>"}
    files |= {f"{SCRIPT}.br": b"br js", f"{SCRIPT}.gz": b"gz js", f"{STYLE}.gz": b"gz css", "index.html.br": b"br html"}
    for name, content in files.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(content)
    (tmp_path / "secret.txt").write_bytes(SECRET)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "secret.txt").write_bytes(SECRET)
    (made / "link.txt").symlink_to(tmp_path / "secret.txt")
    (made / "folder").symlink_to(tmp_path / "beside")
    os.mkfifo(made / "pipe.txt")
    return made


@contextmanager
def serving(tmp_path: Path, folder: Path) -> Iterator[tuple[Served, httpx.Client]]:
    plain = {"Accept-Encoding": "identity"}
    with (
        served("sqlite", tmp_path, ui_folder=folder) as api,
        httpx.Client(base_url=api.url, headers=plain, timeout=PATIENCE_SECONDS) as client,
    ):
        yield api, client


@pytest.fixture
def client(tmp_path: Path, folder: Path) -> Iterator[httpx.Client]:
    with serving(tmp_path, folder) as (_, made):
        yield made


@pytest.mark.parametrize(
    ("path", "kind", "cache", "content"),
    [
        ("/ui/", "text/html; charset=utf-8", "no-store", INDEX),
        ("/ui/index.html", "text/html; charset=utf-8", "no-store", INDEX),
        ("/ui/crawls/1/graph", "text/html; charset=utf-8", "no-store", INDEX),
        ("/ui/hosts?host=a.test", "text/html; charset=utf-8", "no-store", INDEX),
        ("/ui/assets/app-1a2b.js", "text/javascript; charset=utf-8", YEAR, b"plain js"),
        ("/ui/assets/app-3c4d.css", "text/css; charset=utf-8", YEAR, b"plain css"),
        ("/ui/assets/mono-5e6f.woff2", "font/woff2", YEAR, b"font"),
        ("/ui/favicon.svg", "image/svg+xml", "no-cache", b"<svg/>"),
    ],
)
def test_files_have_their_type_and_their_time(
    client: httpx.Client, path: str, kind: str, cache: str, content: bytes
) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.content) == (200, content)
    assert (answer.headers["content-type"], answer.headers["cache-control"]) == (kind, cache)
    assert answer.headers.items() >= {name.lower(): value for name, value in HEADERS.items()}.items()
    assert (answer.headers["x-content-type-options"], answer.headers["x-frame-options"]) == ("nosniff", "DENY")
    head = client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(content))
    assert {**head.headers} | {"date": ""} == {**answer.headers} | {"date": ""}


@pytest.mark.parametrize(
    ("path", "accepted", "encoding", "content"),
    [
        (SCRIPT, "gzip, deflate, br", "br", b"br js"),
        (SCRIPT, "gzip;q=1.0, br;q=0", "gzip", b"gz js"),
        (SCRIPT, "*", "br", b"br js"),
        (SCRIPT, "identity", None, b"plain js"),
        (SCRIPT, "", None, b"plain js"),
        (STYLE, "br, gzip", "gzip", b"gz css"),
        (STYLE, "br", None, b"plain css"),
        (FONT, "br, gzip", None, b"font"),
        ("crawls", "br", "br", b"br html"),
    ],
)
def test_what_is_compressed_is_sent_so(
    folder: Path, path: str, accepted: str, encoding: str | None, content: bytes
) -> None:
    found = Interface(folder).file(path)
    assert found is not None
    answer = found.answer(accepted)
    assert (answer.body, answer.headers.get("content-encoding")) == (content, encoding)
    assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("br", ["br"]),
        ("GZIP, BR", ["br", "gzip"]),
        ("gzip; q=0.5 , br ; q=0", ["gzip"]),
        ("*;q=0.1, br;q=0.0", ["gzip"]),
        ("gzip;q=nonsense", []),
        ("zstd, ,;", []),
    ],
)
def test_encodings_that_a_browser_takes(header: str, accepted: list[str]) -> None:
    assert accepted_encodings(header) == accepted


def test_an_encoding_goes_over_the_wire(client: httpx.Client) -> None:
    with client.stream("GET", f"/ui/{SCRIPT}", headers={"Accept-Encoding": "gzip"}) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        assert (answer.headers["content-length"], b"".join(answer.iter_raw())) == ("5", b"gz js")


@pytest.mark.parametrize("path", ["/", "/ui"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_way_to_it(client: httpx.Client, path: str, method: str) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers["location"]) == (307, "/ui/")


ELSEWHERE = [
    "../secret.txt",
    "..%2fsecret.txt",
    "%2e%2e/secret.txt",
    "%2e%2e%2fsecret.txt",
    "..%5csecret.txt",
    "%252e%252e/secret.txt",
    "assets/../../secret.txt",
    "assets/..%2f..%2fsecret.txt",
    "./index.html",
    "/index.html",
    "%2findex.html",
    "index.html%00",
    "index.html%00.js",
    "secret.txt",
    "link.txt",
    "folder/secret.txt",
    "pipe.txt",
    "assets/",
    "assets/none.js",
    f"{SCRIPT}.br",
    f"{SCRIPT}/x.js",
    "..",
    "../",
    "../../../../../../etc/passwd",
    "%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "//etc/passwd",
]


def test_nothing_else_can_be_had(client: httpx.Client) -> None:
    """As they are: a client would tidy these paths up before it asks."""
    for path in ELSEWHERE:
        status, body = raw(str(client.base_url), f"/ui/{path}")
        assert SECRET not in body and b"root:" not in body, path
        assert status == 404 or (status == 200 and body == INDEX), (path, status)
        assert (status == 404) is path.startswith("assets/"), path


def raw(url: str, path: str) -> tuple[int, bytes]:
    place = urlsplit(url)
    with socket.create_connection((place.hostname or "", place.port or 0), PATIENCE_SECONDS) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def test_only_files_of_the_folder_are_read(folder: Path) -> None:
    assert read_files(folder).keys() == {"index.html", SCRIPT, STYLE, FONT, "favicon.svg"}
    interface = Interface(folder)
    assert interface.file("link.txt") is interface.file("")


def test_what_comes_later_is_not_served_before_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "ui"
    before = Interface(folder)
    folder.mkdir()
    (folder / "index.html").write_bytes(INDEX)
    assert before.file("") is None
    assert Interface(folder).file("") is not None


@pytest.mark.parametrize(("name", "most"), [("FILES_MAX", 8), ("BYTES_MAX", 60)])
def test_a_folder_that_is_no_build_is_refused(
    folder: Path, name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui, name, most)
    with pytest.raises(UsageError, match="no interface"):
        read_files(folder)


def test_without_a_build_a_page_says_how_to_make_one(tmp_path: Path) -> None:
    with serving(tmp_path, tmp_path / "none") as (_, client):
        for path in ("/ui/", "/ui/crawls/1"):
            answer = client.get(path)
            assert (answer.status_code, answer.text, answer.headers["cache-control"]) == (200, NOT_BUILT, "no-store")
            assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
        assert client.get("/ui/assets/app.js").status_code == 404
    assert "make ui" in NOT_BUILT and "/openapi.json" in NOT_BUILT and "Node 20" in NOT_BUILT


def test_the_files_need_no_token_but_the_data_does(tmp_path: Path, folder: Path) -> None:
    with serving(tmp_path, folder) as (api, client):
        api.token("some", Access.ADMIN)
        assert client.get("/ui/", headers={"Host": "nephila.example"}).status_code == 200
        assert client.get("/api/v1/me").status_code == 401


def test_it_is_only_read_and_not_described(tmp_path: Path, folder: Path) -> None:
    with serving(tmp_path, folder) as (api, client):
        answer = client.post("/ui/")
        assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
        assert not [
            path for path in create_app(api.services).openapi()["paths"] if path in ("/", "/ui") or "/ui/" in path
        ]


def test_the_policy_allows_what_the_interface_needs_and_no_more() -> None:
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy.pop("img-src") == "'self' data:"
    none = {"default-src", "base-uri", "form-action", "frame-ancestors"}
    assert {name for name, value in policy.items() if value == "'none'"} == none
    assert {value for name, value in policy.items() if name not in none} == {"'self'"}
    assert all(part.endswith("=()") for part in HEADERS["Permissions-Policy"].split(", "))
