"""Seeds that cannot be reached: the crawl fails soon and says why, unless it is to wait; the next one tries again."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.command import Command
from tests.site.server import Page, TestWeb

TRIES, ROBOTS_ATTEMPTS = 3, 5  # retry.max + 1, robots.attempts_max
SOON = ("--set", "retry.base_ms=10", "--set", "robots.retry_ms=50", "--delay", "0")


@pytest.fixture
def refusing() -> Iterator[int]:
    """A port that refuses: it is taken, and nobody listens."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # a server may come later
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def crawled(nephila: Command, *arguments: str) -> tuple[int, dict[str, object], str]:
    """Exit code, the last line of --json, standard error."""
    code, out, err = nephila("crawl", *arguments, "--allow-private", "--sitemaps", "off", "--json")
    return code, json.loads(out.splitlines()[-1]), err


def test_a_refused_connection_fails_and_says_so_everywhere(nephila: Command, refusing: int) -> None:
    url = f"http://127.0.0.1:{refusing}/"
    code, out, _ = nephila("crawl", url, "--allow-private", "--delay", "0")
    cause = f"Failed to connect to 127.0.0.1:{refusing}"
    assert code == 1 and f"failed (no seed could be had: {cause}" in out
    status = nephila.status()
    assert (status["state"], status["reason"], status["requests"]) == ("failed", "unreachable", TRIES)
    assert cause in str(status["cause"])
    assert f"no seed could be had: {cause}" in nephila("status")[1]
    assert cause in nephila("explain", "1", url)[1]


def test_a_name_that_does_not_exist_fails_soon(nephila: Command) -> None:
    code, last, _ = crawled(nephila, "https://there-is-no-such-host.invalid/", *SOON)
    assert (code, last["state"]) == (1, "failed")
    assert last["requests"] in (2, TRIES)  # TRIES: a machine whose DNS server does not answer
    assert "there-is-no-such-host.invalid" in str(last["cause"])


def test_a_server_without_tls_fails_soon(nephila: Command, refusing: int, tmp_path: Path) -> None:
    with serving(tmp_path, refusing):
        _, last, _ = crawled(nephila, f"https://127.0.0.1:{refusing}/", "--delay", "0")
    assert (last["state"], last["requests"]) == ("failed", TRIES) and "SSL" in str(last["cause"]).upper()


def test_a_new_crawl_of_the_site_tries_again(nephila: Command, refusing: int, tmp_path: Path) -> None:
    """Before, its robots.txt was known for a day as one that could not be had, and no request was sent."""
    url = f"http://127.0.0.1:{refusing}/"
    assert crawled(nephila, url, "--delay", "0")[0] == 1
    assert crawled(nephila, url, "--delay", "0", "--wait", "--set", "robots.attempts_max=1")[1]["requests"] == 1
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<a href=page.html>x</a>")
    (tmp_path / "site" / "page.html").write_text("text")
    with serving(tmp_path / "site", refusing):
        code, last, _ = crawled(nephila, url, "--delay", "0")
    assert (code, last["pages"]) == (0, 2)


@contextmanager
def serving(folder: Path, port: int) -> Iterator[None]:
    """Python's own server, on the port that refused."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", port), handler, bind_and_activate=False)
    server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    server.server_bind()
    server.server_activate()
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def test_with_wait_the_patience_is_that_of_other_hosts(nephila: Command, refusing: int) -> None:
    _, last, _ = crawled(nephila, f"http://127.0.0.1:{refusing}/", *SOON, "--wait")
    assert (last["reason"], last["requests"]) == ("robots_unreachable", ROBOTS_ATTEMPTS)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
def test_a_silent_seed_beside_one_that_answers_has_patience(
    host: str, nephila: Command, web: TestWeb, refusing: int
) -> None:
    """Also where both are ports of one host, whose silent one is asked first."""
    web.add({host: {"/": Page(b"<a href=/a>a</a>"), "/a": Page(b""), "/robots.txt": Page(status=404)}})
    code, last, _ = crawled(nephila, f"http://127.0.0.1:{refusing}/", web.url("/", host), *SOON)
    assert (code, last["state"], last["states"]) == (0, "completed", {"visited": 2, "excluded": 1})


def test_words_are_no_seeds(nephila: Command) -> None:
    code, _, err = nephila("crawl", "three", "words", "here")
    assert code == 2 and err == (
        "nephila: 'three' is a word, no web address: if it is the name of a host, give http://three\n"
    )
    assert "no crawl" in nephila("status")[2]
