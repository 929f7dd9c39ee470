"""`nephila serve` as its operator sees it: what it logs, how it ends, and behind the proxy of the documents."""

import json
import re
import signal
import socket
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from nephila import wiring
from nephila.settings import process_settings
from tests.api.served import V1
from tests.command import Command
from tests.contract.session import child, seeded
from tests.patience import PATIENCE_SECONDS, until
from tests.site.nginx import nginx, own_address

SITE = "http://a.test/"
ROWS = 20_000  # as JSON 7 MB: more than the buffers of the two sockets hold
HANGING_UP, REQUESTS_EACH = 40, 20
RECEIVED_BYTES_MAX = 65_536
DOCUMENT = Path(__file__).parents[2] / "docs" / "observability.md"


@pytest.mark.requirement("LG-01")
def test_the_control_plane_says_what_was_done_to_which_run(tmp_path: Path) -> None:
    nephila = Command(tmp_path)
    nephila.environment |= {"NEPHILA_LOG_LEVEL": "info", "NEPHILA_LOG_FORMAT": "console"}
    with (
        nephila.serving("--workers", "0") as (process, url),
        httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client,
    ):
        assert client.post("/crawl-runs", json={"seedUrl": SITE}).status_code == 201
        run = client.post("/crawl-runs", json={"seedUrl": f"{SITE}second"}).json()["id"]
        assert client.post(f"/crawl-runs/{run}/cancel").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr is not None
        lines = process.stderr.read().splitlines()
    said = [re.sub(r"^\S+ info +", "", line) for line in lines if " info " in line and "crawl_run=" in line]
    assert said[:2] == [f"[component=control-plane] crawl_run={number} crawl_started by=local" for number in (1, 2)]


@pytest.mark.requirement("RC-05")
def test_an_answer_that_is_being_sent_is_sent_whole_after_the_signal(tmp_path: Path) -> None:
    settings = process_settings({"data": tmp_path})
    store = wiring.open_store(settings, create=True)
    crawl = seeded(store.catalog, SITE)
    store.catalog.add_seeds(crawl.id, [child(crawl, f"{SITE}{number}") for number in range(ROWS)])
    with Command(tmp_path).serving("--workers", "0") as (process, url):
        address = httpx.URL(url)
        with socket.socket() as client:
            client.settimeout(PATIENCE_SECONDS)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED_BYTES_MAX)
            client.connect((address.host, address.port))
            question = f"GET {V1}/crawls/{crawl.id}/export?format=json HTTP/1.0\r\nHost: {address.host}\r\n\r\n"
            client.sendall(question.encode())
            received = bytearray(client.recv(1000))
            process.send_signal(signal.SIGTERM)
            until(lambda: not listens(address))
            assert process.poll() is None, "it waits for us"
            while part := client.recv(1 << 20):
                received += part
        assert process.wait(PATIENCE_SECONDS) == 0
    rows = json.loads(received.partition(b"\r\n\r\n")[2])
    assert len(rows) == ROWS + 1


def test_clients_that_hang_up_end_nothing(tmp_path: Path) -> None:
    """The second write to a connection that the client has closed is a SIGPIPE, whose default action is the end."""
    with Command(tmp_path).serving("--workers", "0") as (process, url):
        address = httpx.URL(url)
        question = f"GET {V1}/crawls HTTP/1.1\r\nHost: {address.host}\r\n\r\n".encode()
        for _ in range(HANGING_UP):
            with socket.create_connection((address.host, address.port)) as client:
                client.sendall(question * REQUESTS_EACH)
        assert httpx.get(f"{url}/livez", timeout=PATIENCE_SECONDS).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0


def listens(address: httpx.URL) -> bool:
    try:
        socket.create_connection((address.host, address.port or 80)).close()
    except ConnectionError:
        return False
    return True


@pytest.mark.requirement("L-04")
def test_the_proxy_of_the_documents_passes_the_stream_on(tmp_path: Path) -> None:
    """The lines of the document, with the port of this server, in a real nginx."""
    (location,) = re.findall(r"```\n(location /api/v1/ \{.*?\n\})\n```", DOCUMENT.read_text(), re.DOTALL)
    assert re.search(r"proxy_read_timeout 86400s;", location)
    data = tmp_path / "data"
    store = wiring.open_store(process_settings({"data": data}), create=True)
    crawl = seeded(store.catalog, SITE)
    with Command(data).serving("--workers", "0") as (process, url):
        place = (own_address(), free_port())
        block = f"server {{ listen {place[0]}:{place[1]}; {location.replace('http://127.0.0.1:3000', url)} }}"
        with nginx(tmp_path / "nginx", place, block):
            stream = f"ws://{place[0]}:{place[1]}{V1}/crawls/{crawl.id}/ws"
            with connect(stream, open_timeout=PATIENCE_SECONDS) as live:
                assert json.loads(live.recv(PATIENCE_SECONDS))["crawl_id"] == crawl.uuid
                assert json.loads(live.recv(PATIENCE_SECONDS))["status"] == "running"
                process.send_signal(signal.SIGTERM)
                with suppress(ConnectionClosed):
                    while live.recv(PATIENCE_SECONDS):
                        pass
                assert live.close_code == 1001


def free_port() -> int:
    with socket.socket() as one:
        one.bind((own_address(), 0))
        port: int = one.getsockname()[1]
    return port
