import http.client
import math
import socket
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse, IncompleteRead
from pathlib import Path

import pytest

from tests.patience import PATIENCE_SECONDS, until
from tests.site.process import WebProcess
from tests.site.server import Drip, Hit, Page, Request, TestWeb


def ask(url: str, method: str = "GET", host: str | None = None) -> tuple[int, bytes, dict[str, str]]:
    request = urllib.request.Request(url, method=method, headers={"Host": host} if host else {})
    try:
        response: HTTPResponse = urllib.request.urlopen(request, timeout=PATIENCE_SECONDS)
    except urllib.error.HTTPError as error:
        return error.code, error.read(), dict(error.headers)
    return response.status, response.read(), dict(response.headers)


def only_hit(web: TestWeb) -> Hit:
    (hit,) = web.hits()
    return hit


@pytest.mark.requirement("T-05")
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "127.200.3.4"])
def test_every_loopback_address_is_a_site_of_its_own(web: TestWeb, host: str) -> None:
    web.add({host: {"/": Page(host.encode())}})
    assert ask(web.url("/", host))[:2] == (200, host.encode())
    assert ask(web.url("/", "127.0.0.77"))[0] == 404


def test_a_name_is_a_site_by_its_host_header(web: TestWeb) -> None:
    web.add({"example.test": {"/a?b=c": Page(b"named")}})
    assert ask(web.url("/a?b=c"), host=f"EXAMPLE.test:{web.port}")[1] == b"named"
    assert only_hit(web).host == "example.test"


@pytest.mark.parametrize(
    "page",
    [
        Page(b"x" * 1000),
        Page(b"x" * 1000, chunked=True),
        Page(b"x" * 1000, chunked=True, drip=Drip(300, 1)),
        Page(b"x" * 1000, drip=Drip(300, 1)),
        Page(b"x" * 1000, delay_ms=20),
        Page(b"x" * 20_000_000),
        Page(b"x" * 20_000_000, chunked=True),
        Page(),
        Page(chunked=True),
        Page(status=204, content_type=None),
        Page(b"x", status=404),
        Page(b"x", status=503, headers=(("Retry-After", "1"), ("X-Two", "2"))),
    ],
)
def test_a_page_arrives_whole(web: TestWeb, page: Page) -> None:
    web.add({"127.0.0.1": {"/": page}})
    status, body, headers = ask(web.url())
    assert (status, body) == (page.status, page.body)
    assert headers.get("Content-Type") == page.content_type
    assert set(page.headers) <= set(headers.items())
    hit = only_hit(web)
    assert hit.complete and hit.status == page.status
    assert hit.ended - hit.started >= page.delay_ms / 1000


def test_head_has_no_body(web: TestWeb) -> None:
    web.add({"127.0.0.1": {"/": Page(b"body")}})
    assert ask(web.url(), method="HEAD")[1] == b""


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_can_break_off(web: TestWeb, chunked: bool) -> None:
    web.add({"127.0.0.1": {"/": Page(b"x" * 1000, close_mid_body=True, chunked=chunked)}})
    with pytest.raises(IncompleteRead) as error:
        ask(web.url())
    assert len(error.value.partial) == 500


def test_raw_bytes_are_sent_as_they_are(web: TestWeb) -> None:
    web.add({"127.0.0.1": {"/": Page(raw=b"no http\r\n")}})
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE_SECONDS) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert client.recv(100) == b"no http\r\n"
        assert client.recv(100) == b""


def test_a_handler_sees_how_often_it_was_asked(web: TestWeb) -> None:
    def answer(request: Request) -> Page:
        return Page(f"{request.nth} {request.headers['x-a']}".encode())

    web.add({"127.0.0.1": {"/": answer}})
    request = urllib.request.Request(web.url(), headers={"X-A": "b"})
    assert [urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).read() for _ in range(2)] == [b"0 b", b"1 b"]
    web.clear()
    assert web.hits() == []
    assert urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).read() == b"0 b"


def test_connections_are_kept_and_numbered(web: TestWeb) -> None:
    web.add({"127.0.0.1": {"/": Page(b"x")}})
    for _ in range(2):
        client = http.client.HTTPConnection("127.0.0.1", web.port, timeout=PATIENCE_SECONDS)
        for _ in range(3):
            client.request("GET", "/")
            assert client.getresponse().read() == b"x"
        client.close()
    assert [hit.connection for hit in web.hits()] == [1, 1, 1, 2, 2, 2]


def test_pipelined_and_split_requests_are_answered_in_order(web: TestWeb) -> None:
    web.add({"127.0.0.1": {"/1": Page(b"first", delay_ms=20), "/2": Page(b"second")}})
    text = b"".join(b"GET /%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % number for number in (1, 2))
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE_SECONDS) as client:
        for at in range(0, len(text), 7):
            client.sendall(text[at : at + 7])
        received = b""
        while b"second" not in received:
            received += client.recv(1000)
    assert received.index(b"first") < received.index(b"second")
    first, second = web.hits()
    assert (first.path, second.path) == ("/1", "/2") and first.ended <= second.started


def test_requests_of_several_clients_overlap(web: TestWeb) -> None:
    web.add({"127.0.0.1": {"/": Page()}})
    web.hold()  # nobody is answered before the last has asked, however late that is
    with ThreadPoolExecutor(8) as clients:
        asked = [clients.submit(ask, web.url()) for _ in range(8)]
        until(lambda: len(web.hits()) == 8)
        web.go_on()
        assert [answer.result()[0] for answer in asked] == [200] * 8
    hits = web.hits()
    assert max(hit.started for hit in hits) < min(hit.ended for hit in hits)


def test_an_unread_body_ends_only_when_the_socket_has_taken_it(web: TestWeb) -> None:
    web.add({"127.0.0.1": {"/": Page(b"x" * 30_000_000), "/small": Page()}})
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE_SECONDS) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        client.recv(1)
        ask(web.url("/small"))  # the server is not held up by it
        assert [hit.ended == float("inf") for hit in web.hits()] == [True, False]


def test_a_client_that_leaves_ends_its_hit(web: TestWeb) -> None:
    web.add({"127.0.0.1": {"/": Page(delay_ms=60_000), "/small": Page()}})
    with socket.create_connection(("127.0.0.1", web.port), PATIENCE_SECONDS) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        while not web.hits():
            ask(web.url("/small"))
        web.clear()
    while not web.hits() or web.hits()[0].path != "/":
        ask(web.url("/small"))
    assert not web.hits()[0].complete


def test_the_web_can_be_a_process_with_a_log(tmp_path: Path) -> None:
    log = tmp_path / "hits.jsonl"
    for round_ in (1, 2):  # the log of a restarted web goes on
        with WebProcess("cycle", log) as web:
            assert ask(f"http://127.0.0.1:{web.port}/a")[0] == 200
            assert ask(f"http://127.0.0.1:{web.port}/nowhere")[0] == 404
        assert [(hit.path, hit.status) for hit in web.hits()] == [("/a", 200), ("/nowhere", 404)] * round_


def test_answers_are_held_until_the_test_lets_them_go() -> None:
    with TestWeb({"127.0.0.1": {"/": Page(b"x")}}) as web, ThreadPoolExecutor(4) as clients:
        web.hold(after=1)
        assert not web.holding
        asked = [clients.submit(ask, web.url()) for _ in range(4)]
        until(lambda: len(web.hits()) == 4)
        assert web.holding and sum(hit.ended < math.inf for hit in web.hits()) == 1
        web.hold(after=2)
        until(lambda: sum(answer.done() for answer in asked) == 3)
        assert web.holding and sum(hit.ended < math.inf for hit in web.hits()) == 3
        web.go_on()
        assert [answer.result()[1] for answer in asked] == [b"x"] * 4
        assert not web.holding


def test_a_client_that_leaves_while_it_is_held_takes_nobodys_turn() -> None:
    with TestWeb({"127.0.0.1": {"/": Page(b"x")}}) as web, ThreadPoolExecutor(1) as clients:
        web.hold()
        with socket.create_connection(("127.0.0.1", web.port), PATIENCE_SECONDS) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            until(web.hits)
        until(lambda: web.hits()[0].ended < math.inf)
        asked = clients.submit(ask, web.url())
        web.hold(after=1)
        assert asked.result()[1] == b"x"
