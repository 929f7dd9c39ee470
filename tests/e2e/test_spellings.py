"""One URL in several spellings, on servers that know one of them: real nginx and Python's http.server, every profile.

A server that redirects `/dir` to `/dir/` (all of them do) must lose no page where a profile strips the slash; the same
holds for www, the scheme and the order of a query.
"""

import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nephila.frontier.records import UrlRow
from nephila.models import UrlState
from nephila.profiles import PROFILES
from tests.e2e.harness import Place, Places, run_here
from tests.site.nginx import nginx, own_address

ADDRESS = own_address()  # of nginx, which needs the ports 80 and 443: folding schemes is for these
NAMES = {"site.test": ADDRESS, "www.site.test": ADDRESS}


def page(title: str, *hrefs: str) -> str:
    links = "".join(f'<a href="{href}">x</a>' for href in hrefs)
    return f"<!doctype html><title>{title}</title>{links}"


def write(folder: Path, pages: Mapping[str, str]) -> Path:
    for path, text in pages.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


# Folders linked with and without their slash; their pages link relative to the folder.
FOLDERS = {
    "index.html": page("root", "with/", "without", "plain.html"),
    "plain.html": page("plain"),
    "with/index.html": page("with", "page.html", "../with"),
    "with/page.html": page("page of with"),
    "without/index.html": page("without", "page.html", "../without/"),
    "without/page.html": page("page of without"),
}
ROOTS = {"root", "plain", "with", "without"}
BELOW = {"page of with", "page of without"}
# What a profile does not visit, by what it is: `graph` only records at depth 2, `strict` only records redirects.
UNVISITED = {"graph": BELOW, "strict": {"without", "page of without"}}


def crawled(place: Place, profile: str, seed: str, overrides: Mapping[str, Any] | None = None) -> list[UrlRow]:
    crawl = place.start([seed], overrides, profile)
    run_here(place, crawl.id)
    return place.rows(crawl.id)


def titles(rows: list[UrlRow]) -> list[str]:
    return sorted(row.title or "" for row in rows if row.state is UrlState.VISITED)


def reasons(rows: list[UrlRow]) -> set[str]:
    return {row.reason for row in rows}


@pytest.fixture
def http_server(tmp_path: Path) -> Iterator[str]:
    handler = partial(QuietHandler, directory=str(write(tmp_path / "site", FOLDERS)))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.mark.parametrize("profile", PROFILES)
def test_folders_of_http_server_are_visited_whole(places: Places, http_server: str, profile: str) -> None:
    rows = crawled(places(), profile, http_server)
    # Every page once: two spellings of a folder that a profile holds apart are redirected, not visited twice.
    assert titles(rows) == sorted((ROOTS | BELOW) - UNVISITED.get(profile, set()))
    assert "redirect_loop" not in reasons(rows)
    assert {row.url for row in rows} >= {http_server + "with/page.html"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=site.test"
    names = ["-addext", "subjectAltName=DNS:site.test,DNS:www.site.test", "-keyout", str(file), "-out", str(file)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    return file


SECURE = f"listen {ADDRESS}:443 ssl; ssl_certificate {{pem}}; ssl_certificate_key {{pem}};"
PLAIN = f"listen {ADDRESS}:80;"
# The one spelling that the site has: https://site.test, slashes at its folders, queries in their own order.
SITE = f"""
  server {{{{ {PLAIN} server_name site.test www.site.test; return 301 https://site.test$request_uri; }}}}
  server {{{{ {SECURE} server_name www.site.test; return 301 https://site.test$request_uri; }}}}
  server {{{{ {SECURE} server_name site.test; root {{root}};
    location = /list {{{{
      default_type text/html;
      if ($args = "a=1&b=2") {{{{ return 301 /list?b=2&a=1; }}}}
      if ($args = "b=2&a=1") {{{{ return 200 "<title>list</title><a href=item.html>x</a>"; }}}}
      return 404;
    }}}}
  }}}}
"""
PAGES = {
    **FOLDERS,
    "index.html": page("root", "with/", "without", "plain.html", "http://www.site.test/linked", "/list?a=1&b=2"),
    "linked/index.html": page("linked", "page.html"),
    "linked/page.html": page("page of linked"),
    "item.html": page("item"),
}


@pytest.fixture
def site(tmp_path: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    try:
        with socket.create_server((ADDRESS, 443)):
            pass
    except PermissionError:
        pytest.skip("needs root, for the ports 80 and 443")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with nginx(tmp_path / "nginx", (ADDRESS, 443), SITE.format(pem=certificate, root=write(tmp_path / "site", PAGES))):
        yield


FOLDED = {"norm.fold_www": True, "norm.fold_scheme": True, "norm.query": "sort", "scope.max_depth": 5}


@pytest.mark.parametrize("slash", ["keep", "strip_except_root"])
@pytest.mark.parametrize("profile", PROFILES)
def test_a_site_of_nginx_is_visited_whole_whatever_is_folded(
    places: Places, site: None, profile: str, slash: str
) -> None:
    place = places(resolve=NAMES)
    rows = crawled(place, profile, "http://www.site.test/", FOLDED | {"norm.trailing_slash": slash})
    unvisited = {"without", "page of without", "linked", "page of linked"}
    unvisited = unvisited if profile == "strict" and slash == "keep" else set()
    everything = {*ROOTS, *BELOW, "linked", "page of linked", "list", "item"}
    # Only `jobs` follows redirects inside a visit: with slashes kept, two spellings of a folder are two URLs there.
    visited = set(titles(rows)) if profile == "jobs" and slash == "keep" else titles(rows)
    assert sorted(visited) == sorted(everything - unvisited)
    assert {row.url for row in rows if row.state is UrlState.VISITED} >= {
        "https://site.test/",
        "https://site.test/with/page.html",
        "https://site.test/list?a=1&b=2",
    }
    assert "redirect_loop" not in reasons(rows)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_site_of_nginx_as_profiles_are(places: Places, site: None, profile: str) -> None:
    rows = crawled(places(resolve=NAMES), profile, "https://site.test/")
    unvisited = {
        "strict": {"without", "page of without", "linked", "page of linked", "list", "item"},
        "graph": {*BELOW, "page of linked", "item"},
    }
    everything = {*ROOTS, *BELOW, "linked", "page of linked", "list", "item"}
    assert titles(rows) == sorted(everything - unvisited.get(profile, set()))
