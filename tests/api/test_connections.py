"""Connections that are half open, slow or too many, over real sockets: they end, and others are answered meanwhile."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from nephila import metrics, wiring
from nephila.api import connections as connections_module
from nephila.api.connections import CONNECTIONS_MAX, network_of, rules_of
from nephila.machine import raise_file_limit
from nephila.settings import process_settings
from tests.api.served import V1, Served, served
from tests.command import Command
from tests.contract.session import child, seeded
from tests.patience import PATIENCE_SECONDS, until

LONG = "3000"  # seconds: no deadline of a test
HALF_OPEN = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
PAUSE = 0.05
SITE = "http://a.test/"


class Place:
    """A server and its address."""

    def __init__(self, process: Any, url: str, crawl: int) -> None:
        self.process, self.url, self.crawl = process, url, crawl
        parts = httpx.URL(url)
        self.address = parts.host, parts.port or 80

    def dial(self, sent: bytes = b"", source: str = "") -> socket.socket:
        client = socket.socket()
        client.settimeout(PATIENCE_SECONDS)
        if source:
            client.bind((source, 0))
        client.connect(self.address)
        client.sendall(sent)
        return client

    def stream(self, source: str = "") -> socket.socket:
        """A stream of events that has begun, or what the server says instead."""
        path = f"{V1}/crawls/{self.crawl}/events"
        return self.dial(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode(), source)

    def get(self, path: str = "/livez") -> httpx.Response:
        """Over a connection of its own."""
        return httpx.get(self.url + path, timeout=PATIENCE_SECONDS)

    def metric(self, metric: metrics.Metric, reason: str = "") -> float:
        name = f'{metric.name}{{reason="{reason}"}}' if reason else metric.name
        page = until(lambda: answered(self, "/metrics"))
        found = re.search(rf"^{re.escape(name)} (\S+)$", page, re.MULTILINE)
        return float(found[1]) if found else 0.0


def answered(place: Place, path: str) -> str:
    """The page; empty where the server has no place for one more connection."""
    try:
        answer = place.get(path)
    except httpx.TransportError:
        return ""
    return answer.text if answer.status_code == 200 else ""


@contextmanager
def serving(folder: Path, files_max: int | None = None, **settings: str) -> Iterator[Place]:
    raise_file_limit()  # of the test: the server inherits it
    data = folder / "data"
    crawl = seeded(wiring.open_store(process_settings({"data": data}), create=True).catalog, SITE)
    nephila = Command(data)
    nephila.files_max = files_max
    nephila.environment |= {f"NEPHILA_{name.upper()}": value for name, value in settings.items()}
    with nephila.serving("--workers", "0", "--no-index") as (process, url):
        yield Place(process, url, crawl.id)


def closed(client: socket.socket) -> bytes:
    """What came until the server closed."""
    received = bytearray()
    try:
        while part := client.recv(1 << 16):
            received += part
    except ConnectionError:
        pass
    return bytes(received)


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1 << 16) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def trickled(client: socket.socket, piece: bytes) -> bytes:
    """Sends a piece again and again until the server closes; what it said."""

    def over() -> bool:
        try:
            client.sendall(piece)
            client.settimeout(PAUSE)
            part = client.recv(1 << 16)
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        received.extend(part)
        return not part

    received = bytearray()
    until(over)
    return bytes(received)


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


# --- deadlines


def test_six_hundred_half_open_connections_are_gone_after_the_deadline(tmp_path: Path) -> None:
    with serving(tmp_path, request_head_seconds="2") as place, ExitStack() as stack:
        silent = [stack.enter_context(place.dial()) for _ in range(300)]
        half = [stack.enter_context(place.dial(HALF_OPEN)) for _ in range(300)]
        assert place.get().status_code == 200
        assert {status_of(closed(client)) for client in (*silent, *half)} == {408}
        until(lambda: place.metric(metrics.CONNECTIONS) == 1)  # the one that asks
        assert place.metric(metrics.CONNECTIONS_CUT, "head") == 600


def test_a_head_that_trickles_in_gains_no_time(tmp_path: Path) -> None:
    with serving(tmp_path, request_head_seconds="0.5") as place, place.dial(HALF_OPEN) as client:
        answer = trickled(client, b"x")
        assert status_of(answer) == 408
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "timeout"


def test_the_second_request_of_a_connection_has_a_deadline_too(tmp_path: Path) -> None:
    with serving(tmp_path, request_head_seconds="0.5", keep_alive_seconds=LONG) as place:
        question = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        with place.dial(question) as client:
            assert status_of(client.recv(1 << 16)) == 200
            assert status_of(trickled(client, b"x")) in (400, 408)
        with place.dial(question) as idle:
            assert status_of(idle.recv(1 << 16)) == 200
            until(lambda: place.metric(metrics.CONNECTIONS_CUT, "head") >= 1)
            assert is_open(idle), "between two requests it is keep_alive_seconds"


def test_an_idle_connection_is_closed(tmp_path: Path) -> None:
    question = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with serving(tmp_path, keep_alive_seconds="0.2") as place, place.dial(question) as client:
        assert status_of(closed(client)) == 200


@pytest.mark.parametrize(
    ("path", "before"),
    [
        (f"{V1}/crawls", b""),  # the application waits for the body
        ("/nowhere", b"HTTP/1.1 404"),  # it has answered without reading it
    ],
)
def test_a_body_that_trickles_in_gains_no_time(tmp_path: Path, path: str, before: bytes) -> None:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n"
    )
    with serving(tmp_path, request_body_seconds="0.5") as place:
        with place.dial(head.encode()) as client:
            answer = trickled(client, b" ")
        assert answer.startswith(before) and b"HTTP/1.1 408" in answer
        assert place.metric(metrics.CONNECTIONS_CUT, "body") == 1
        answered = httpx.post(place.url + f"{V1}/crawls", json={"seeds": [SITE]}, timeout=PATIENCE_SECONDS)
        assert answered.status_code == 201


def test_streams_have_no_deadline(tmp_path: Path) -> None:
    quick = {"request_head_seconds": "1", "request_body_seconds": "1", "keep_alive_seconds": "1"}
    with serving(tmp_path, **quick) as place, place.stream() as events:
        address = f"ws://{place.address[0]}:{place.address[1]}{V1}/crawls/{place.crawl}/ws"
        with connect(address, open_timeout=PATIENCE_SECONDS) as live:
            for _ in range(4):  # a second each
                assert json.loads(live.recv(PATIENCE_SECONDS))["status"] == "running"
            received = events.recv(1 << 20)
            while received.count(b"event: snapshot") < 4:
                received += events.recv(1 << 20)
            assert place.metric(metrics.CONNECTIONS) == 3


# --- caps


def test_so_many_in_all(tmp_path: Path) -> None:
    with serving(tmp_path, connections_max="8") as place, ExitStack() as stack:
        streams = [stack.enter_context(place.stream()) for _ in range(8)]
        assert {status_of(stream.recv(1 << 16)) for stream in streams} == {200}
        refused = [closed(stack.enter_context(place.dial())) for _ in range(3)]
        assert {status_of(answer) for answer in refused} == {503}
        assert b"Retry-After: 2" in refused[0]
        streams[0].close()
        assert place.metric(metrics.CONNECTIONS_REFUSED, "all") >= 3
        place.process.terminate()
        _, said = place.process.communicate(timeout=PATIENCE_SECONDS)
        assert re.search(r"connections_limited .*open=8 refused_all=1", said)
        assert said.count("connections_limited") <= 3, "one line for all of ten seconds"


def test_who_only_waits_gives_way(tmp_path: Path) -> None:
    """However many half-open connections come, streams stay and requests are answered."""
    slow = {"request_head_seconds": LONG, "request_body_seconds": LONG, "keep_alive_seconds": LONG}
    body = b"POST /api/v1/crawls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900000\r\n\r\n{"
    with serving(tmp_path, connections_max="16", **slow) as place, ExitStack() as stack:
        stream = stack.enter_context(place.stream())
        assert status_of(stream.recv(1 << 16)) == 200
        for sent in (b"", HALF_OPEN, body):
            waiting = [stack.enter_context(place.dial(sent)) for _ in range(40)]
            assert place.get().status_code == 200
            until(lambda: sum(map(is_open, waiting)) < 16)  # noqa: B023
        assert place.metric(metrics.CONNECTIONS_REFUSED, "all") == 0
        assert place.metric(metrics.CONNECTIONS_CUT, "room") >= 3 * (40 - 16)
        assert is_open(stream)


def test_so_many_of_one_address(tmp_path: Path) -> None:
    limits = {"connections_per_address": "3", "trusted_proxies": "127.0.0.4"}
    with serving(tmp_path, **limits) as place, ExitStack() as stack:

        def streams(source: str) -> list[int]:
            dialled = [stack.enter_context(place.stream(source)) for _ in range(5)]
            return sorted(status_of(client.recv(1 << 16)) for client in dialled)

        assert streams("127.0.0.2") == [200, 200, 200, 503, 503]
        assert streams("127.0.0.3") == [200, 200, 200, 503, 503]
        assert streams("127.0.0.4") == [200] * 5, "all clients of a proxy have its address"
        assert place.get().status_code == 200
        assert place.metric(metrics.CONNECTIONS_REFUSED, "address") == 4


def test_without_files_for_them_upkeep_and_api_go_on(tmp_path: Path) -> None:
    """1,100 connections, of which the server could hold fewer than 1,000."""
    with serving(tmp_path, files_max=1024, request_head_seconds=LONG) as place, ExitStack() as stack:
        half = [stack.enter_context(place.dial(HALF_OPEN)) for _ in range(1100)]
        rounds = place.metric(metrics.RECONCILIATION_CYCLES)
        until(lambda: place.metric(metrics.RECONCILIATION_CYCLES) > rounds + 3)
        assert place.get("/livez").status_code == 200
        assert place.get("/readyz").json() == {"status": "ok"}
        made = httpx.post(place.url + f"{V1}/crawls", json={"seeds": [SITE]}, timeout=PATIENCE_SECONDS)
        assert made.status_code == 201
        assert sum(map(is_open, half)) <= 512
        assert place.process.poll() is None


# --- answers that nobody reads


def test_an_answer_that_nobody_reads_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections_module, "UNREAD_SECONDS", 0.2)
    with served("sqlite", tmp_path) as api, unread(api, f"{V1}/crawls/{{}}/export?format=json"):
        until(lambda: api.services.hub.meter.value(metrics.CONNECTIONS_CUT, "unread") == 1)


@contextmanager
def unread(api: Served, path: str) -> Iterator[None]:
    """A client that asks for 20,000 rows, which the buffers do not hold, and reads none."""
    crawl = seeded(api.store.catalog, "http://b.test/")
    api.store.catalog.add_seeds(crawl.id, [child(crawl, f"http://b.test/{number}") for number in range(20_000)])
    address = httpx.URL(api.url)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((address.host, address.port))
        client.sendall(f"GET {path.format(crawl.id)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        yield


# --- rules


@pytest.mark.parametrize(
    ("options", "files", "expected"),
    [
        ({}, 65_536, (CONNECTIONS_MAX, CONNECTIONS_MAX // 4, CONNECTIONS_MAX)),
        ({}, 1024, (512, 128, 512)),
        ({"connections_max": 100}, 1024, (100, 25, 100)),
        ({"connections_max": 100_000}, 1024, (512, 128, 512)),
        ({"connections_per_address": 7}, 1024, (512, 7, 7)),
        ({"connections_max": 2}, 1024, (2, 1, 2)),
    ],
)
def test_caps_follow_the_files_and_the_settings(options: dict[str, int], files: int, expected: tuple[int, ...]) -> None:
    assert rules_of(process_settings(options), files)[:3] == expected


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::1", "::1"),
        ("", ""),
    ],
)
def test_one_client_is_an_address_or_a_network(address: str, network: str) -> None:
    assert network_of(address) == network
