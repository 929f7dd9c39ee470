"""Live progress as clients see it: a real WebSocket client and a real reader of events against a real server."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as websockets_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from nephila import metrics
from nephila.api import live
from nephila.control.access import make_token, revoke_token
from nephila.frontier.tokens import Access
from nephila.metrics import Meter, Place
from nephila.models import CrawlState
from tests import postgres
from tests.api.live_server import SEED, LiveServer, live_server, settings_of
from tests.api.served import WORDS_001
from tests.patience import PATIENCE_SECONDS

CLIENTS = 50


@pytest.fixture(params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveServer]:
    with ExitStack() as stack:
        store = stack.enter_context(postgres.database()) if request.param == "postgres" else None
        yield stack.enter_context(live_server(settings_of(data=tmp_path, store=store)))


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[LiveServer]:
    with live_server(settings_of(data=tmp_path)) as server:
        yield server


def connect(url: str, **options: Any) -> websockets_connect:
    """A client that waits for a busy server and never thinks it dead."""
    patient = {"open_timeout": PATIENCE_SECONDS, "close_timeout": PATIENCE_SECONDS, "ping_interval": None}
    return websockets_connect(url, **(patient | options))


def patient_client(**options: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=PATIENCE_SECONDS, **options)


async def messages(client: ClientConnection) -> list[dict[str, Any]]:
    """Until the server closes."""
    found = []
    with suppress(ConnectionClosed):
        while True:
            found.append(json.loads(await client.recv()))
    return found


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - what it waits for happens in another thread
            await asyncio.sleep(0.01)


async def events(response: httpx.Response) -> AsyncIterator[dict[str, str]]:
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield fields
            fields = {}


# --- the messages


@pytest.mark.requirement("L-01", "L-05", "A-26")
async def test_a_message_has_the_fields_of_001_and_the_whole_snapshot(server: LiveServer) -> None:
    crawl = server.crawl()
    async with connect(server.ws(crawl.id)) as client:
        first, second = json.loads(await client.recv()), json.loads(await client.recv())
    assert {name: first[name] for name in WORDS_001} == {
        "crawl_id": crawl.uuid,
        "status": "running",
        "total": 1,
        "completed": 0,
        "pending": 1,
        "in_progress": 0,
        "failed": 0,
        "root_url": SEED,
        "requested_depth": crawl.settings.scope.max_depth,
    }
    assert first["crawl"] == crawl.id and first["states"] == {} and first["final"] is False
    assert second.keys() == first.keys()


@pytest.mark.requirement("L-02")
async def test_the_final_message_comes_last_and_then_the_end(server: LiveServer) -> None:
    crawl = server.crawl()
    async with connect(server.ws(crawl.uuid)) as client:
        completing = asyncio.to_thread(server.complete, crawl.id)
        *before, last = (await asyncio.gather(messages(client), completing))[0]
    assert (last["status"], last["completed"], last["pending"], last["final"]) == ("completed", 1, 0, True)
    assert all(not message["final"] for message in before)
    assert (client.close_code, client.close_reason) == live.OVER


async def test_who_comes_after_the_end_gets_the_final_message_at_once(sqlite: LiveServer) -> None:
    crawl = sqlite.crawl()
    sqlite.complete(crawl.id)
    async with connect(sqlite.ws(crawl.id)) as client:
        assert [message["final"] for message in await messages(client)] == [True]
    assert client.close_code == 1000


@pytest.mark.requirement("L-03")
@pytest.mark.parametrize(
    "name", ["999", "9" * 18, "9" * 40, "0", "00000000-0000-4000-8000-000000000000", "nonsense", "%00", "-1"]
)
async def test_an_unknown_crawl_is_an_error_and_the_end(server: LiveServer, name: str) -> None:
    async with connect(server.ws(name)) as client:
        assert await messages(client) == [{"error": "Crawl not found"}]
    assert client.close_code == live.NOT_FOUND.code


async def test_a_deleted_crawl_ends_its_streams(sqlite: LiveServer) -> None:
    crawl = sqlite.crawl()
    async with connect(sqlite.ws(crawl.id)) as client:
        await client.recv()
        await asyncio.to_thread(sqlite.store.catalog.delete, crawl.id)
        await messages(client)
    assert client.close_code == live.NOT_FOUND.code


@pytest.mark.requirement("L-05", "U-06")
async def test_events_tell_the_same_and_end_with_a_mark(server: LiveServer) -> None:
    crawl = server.crawl()
    async with patient_client() as http, http.stream("GET", server.events(crawl.id)) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        completing = asyncio.create_task(asyncio.to_thread(server.complete, crawl.id))
        *before, last = [event async for event in events(response)]
        await completing
    told = json.loads(last["data"])
    assert {event["event"] for event in (*before, last)} == {"snapshot"}
    assert told["final"] and told["status"] == "completed" and set(WORDS_001) <= told.keys()
    assert [event.get("id") for event in (*before, last)] == [None] * len(before) + [live.FINAL_EVENT_ID]


async def test_a_browser_that_comes_back_after_the_end_is_told_to_stay_away(sqlite: LiveServer) -> None:
    crawl = sqlite.crawl()
    sqlite.complete(crawl.id)
    path = f"/api/v1/crawls/{crawl.id}/events"
    assert sqlite.get(path, **{"Last-Event-ID": live.FINAL_EVENT_ID}).status_code == 204
    assert sqlite.get(path).text.count("event: snapshot") == 1


async def test_events_of_an_unknown_crawl_are_not_found(sqlite: LiveServer) -> None:
    answer = sqlite.get("/api/v1/crawls/999/events")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_looking_never_ends_a_crawl(server: LiveServer) -> None:
    """Nothing is open any more, yet completion is upkeep's to see."""
    crawl = server.crawl()
    server.visit_all()
    async with connect(server.ws(crawl.id)) as client:
        seen = [json.loads(await client.recv()) for _ in range(20)]
    assert {message["status"] for message in seen} == {"running"}
    assert seen[-1]["pending"] == 0
    assert server.store.catalog.crawl(crawl.id).state is CrawlState.RUNNING


# --- many clients, slow clients


@pytest.mark.requirement("K27")
async def test_fifty_clients_cost_what_one_costs(tmp_path: Path) -> None:
    with live_server(settings_of(data=tmp_path), every_ms=live.LIVE_MS) as server:
        crawl = server.crawl()
        began = server.clock.tick_ms()
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(connect(server.ws(crawl.id))) for _ in range(CLIENTS)]
            seen = await asyncio.gather(*(several(client, 3) for client in clients))
            assert server.hub.clients == CLIENTS
        seconds = (server.clock.tick_ms() - began) / live.LIVE_MS
        assert {message["total"] for told in seen for message in told} == {1}
        assert server.hub.meter.value(metrics.LIVE_READS) <= seconds + 1
        await until(lambda: server.hub.clients == 0)


async def several(client: ClientConnection, count: int) -> list[dict[str, Any]]:
    return [json.loads(await client.recv()) for _ in range(count)]


@pytest.mark.requirement("K27")
async def test_polling_shares_the_reads_of_the_clients(sqlite: LiveServer) -> None:
    crawl = sqlite.crawl()
    hub = live.Hub(sqlite.services.pool, sqlite.clock, Meter(Place.CONTROL), every_ms=3_600_000)
    told = await asyncio.gather(*(hub.snapshot(crawl.id) for _ in range(CLIENTS)))
    assert all(message is told[0] for message in told)
    assert hub.meter.value(metrics.LIVE_READS) == 1
    await hub.stop()


@pytest.mark.parametrize("path", ["ws", "events"])
async def test_who_never_reads_is_dropped_and_nobody_waits_for_him(tmp_path: Path, path: str) -> None:
    with live_server(settings_of(data=tmp_path), every_ms=1) as server:
        # Long messages and a small window: the buffers between are full within a second.
        crawl = server.crawl(*(f"http://a.test/{number}{'x' * 1900}" for number in range(20)))
        async with connect(server.ws(crawl.id)) as client:
            reading = asyncio.create_task(messages(client))
            await until(lambda: server.hub.clients == 1)
            deaf = never_reading(server.port, f"/api/v1/crawls/{crawl.id}/{path}")
            await until(lambda: server.hub.meter.value(metrics.LIVE_DROPPED) == 1)
            await until(lambda: server.hub.clients == 1)
            assert not reading.done()
            reading.cancel()
        deaf.close()


def never_reading(port: int, path: str) -> socket.socket:
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.connect(("127.0.0.1", port))
    upgrade = (
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    )
    extra = upgrade if path.endswith("ws") else ""
    deaf.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{extra}\r\n".encode())
    return deaf


async def test_above_the_limit_clients_are_sent_away(sqlite: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LIVE_CLIENTS_MAX", 1)
    crawl = sqlite.crawl()
    async with connect(sqlite.ws(crawl.id)) as first:
        await first.recv()  # a socket is accepted before its client has a place
        async with connect(sqlite.ws(crawl.id)) as second:
            assert [list(message) for message in await messages(second)] == [["error"]]
        assert second.close_code == live.TRY_LATER.code
        assert sqlite.get(f"/api/v1/crawls/{crawl.id}/events").status_code == 503
        assert json.loads(await first.recv())["total"] == 1


async def test_a_client_comes_back_and_goes_on(sqlite: LiveServer) -> None:
    crawl = sqlite.crawl()
    for _ in range(3):
        async with connect(sqlite.ws(crawl.id)) as client:
            assert json.loads(await client.recv())["crawl"] == crawl.id
        await until(lambda: sqlite.hub.clients == 0)
    await until(lambda: sqlite.hub._tellers == {})


async def test_what_a_client_says_is_passed_over(sqlite: LiveServer) -> None:
    crawl = sqlite.crawl()
    async with connect(sqlite.ws(crawl.id)) as client:
        for _ in range(5):
            await client.send("hello")
            await client.recv()
        assert await (await client.ping()) >= 0


# --- the end of the server, the end of the store


async def test_a_server_that_stops_says_so(sqlite: LiveServer) -> None:
    crawl = sqlite.crawl()
    async with (
        connect(sqlite.ws(crawl.id)) as client,
        patient_client() as http,
        http.stream("GET", sqlite.events(crawl.id)) as response,
    ):
        await client.recv()
        stopping = asyncio.create_task(asyncio.to_thread(sqlite.stop))
        told = [event async for event in events(response)]
        await asyncio.gather(stopping, messages(client))
    assert told and "id" not in told[-1]
    assert (client.close_code, client.close_reason) == live.GOING_AWAY


async def test_while_the_store_is_away_clients_are_told_why_and_stay(tmp_path: Path) -> None:
    database = postgres.Server(durable=True)
    try:
        with live_server(settings_of(data=tmp_path, store=database.url())) as server:
            crawl = server.crawl()
            async with connect(server.ws(crawl.id)) as client:
                await client.recv()
                await asyncio.to_thread(database.stop_immediately)
                away = await first_where(client, lambda message: message["waiting"] != "")
                assert away["total"] == 1
                assert (await asyncio.to_thread(server.get, "/readyz")).status_code == 503
                assert (await asyncio.to_thread(server.get, "/livez")).status_code == 200
                await asyncio.to_thread(database.start)
                back = await first_where(client, lambda message: message["waiting"] == "")
                assert back["total"] == 1
    finally:
        database.close()


async def first_where(client: ClientConnection, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition(message := json.loads(await client.recv())):
            pass
    return message


# --- access


async def refusal(url: str, **options: Any) -> int:
    try:
        async with connect(url, **options) as client:
            await client.recv()
    except InvalidStatus as error:
        return error.response.status_code
    except ConnectionClosed as error:
        return error.rcvd.code if error.rcvd else 0
    return 0


async def test_a_token_is_needed_and_taken_from_header_or_subprotocol(server: LiveServer) -> None:
    crawl = server.crawl()
    _, secret = make_token(server.store.tokens, "eyes", Access.READ)
    url = server.ws(crawl.id)
    assert await refusal(url) == 401
    assert await refusal(url, additional_headers={"Authorization": "Bearer nph_wrong"}) == 401
    assert await refusal(url, additional_headers={"Authorization": f"Bearer {secret}"}) == 0
    async with connect(url, subprotocols=["bearer", secret]) as client:
        assert client.subprotocol == "bearer"
        await client.recv()
    assert server.get(f"/api/v1/crawls/{crawl.id}/events").status_code == 401


@pytest.mark.parametrize(
    ("origin", "status"), [("https://evil.test", 403), ("null", 403), (None, 0), ("http://127.0.0.1:{port}", 0)]
)
async def test_another_website_may_not_watch(sqlite: LiveServer, origin: str | None, status: int) -> None:
    crawl = sqlite.crawl()
    said = origin.format(port=sqlite.port) if origin else None
    assert await refusal(sqlite.ws(crawl.id), origin=said) == status


async def test_a_revoked_token_ends_its_streams(sqlite: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "ACCESS_SECONDS", 0.02)
    monkeypatch.setattr(sqlite.services.gate._tokens, "kept_ms", 20.0)
    crawl = sqlite.crawl()
    token, secret = make_token(sqlite.store.tokens, "eyes", Access.READ)
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        connect(sqlite.ws(crawl.id), additional_headers=headers) as client,
        patient_client(headers=headers) as http,
        http.stream("GET", sqlite.events(crawl.id)) as response,
    ):
        await client.recv()
        assert revoke_token(sqlite.store.tokens, token.id)
        await messages(client)
        assert [event async for event in events(response)]
    assert (client.close_code, client.close_reason) == live.REVOKED
