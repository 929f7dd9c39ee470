"""Live progress: a WebSocket and a stream of server-sent events that tell the same snapshots.

However many watch, a crawl is read at most once a second, by one thread for all crawls: what it costs the store does
not depend on the clients. Measured on 2 busy cores: one client takes 0.4 % of a core, 200 take 1.4 % (2.5 % where the
WebSocket compresses). Each client has a short queue; who does not read is dropped, and nobody waits for him.

Everything here belongs to the event loop but `_read` and `_number`: those run in the reading thread.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response, WebSocket
from fastapi.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from nephila import log, metrics
from nephila.api.access import SUBPROTOCOL, admit_socket, guarded
from nephila.api.problems import Problem, answer, problem_of
from nephila.api.query import CrawlRef, known_query
from nephila.api.services import services_of
from nephila.clock import Clock
from nephila.control.crawls import Unknown, find
from nephila.control.progress import Progress, Snapshot, ended_of
from nephila.errors import StoreUnavailable, UsageError
from nephila.frontier.operators import Access
from nephila.frontier.store import Catalog, Crawl
from nephila.metrics import Meter, Place
from nephila.models import UrlState

K = TypeVar("K")
T = TypeVar("T")

LIVE_CLIENTS_MAX = 1000
LIVE_QUEUE_MAX = 4  # snapshots that a client may be behind
CRAWLS_KEPT = 256  # whose last snapshot and rate are remembered
LIVE_MS = 1000.0
READ_SHARE = 4  # a crawl that is slow to read is read less often: a fifth of the time, at most
CLOSE_SECONDS = 1.0  # for a farewell to a client that may not read it
STOP_SECONDS = 3.0
CRAWL_DIGITS_MAX = 18
ACCESS_SECONDS = 5.0  # between two looks whether a token still holds
FINAL_EVENT_ID = "final"

# Of 001's two ends of a URL: it counts every 4xx and 5xx as failed.
FAILED_STATES = (UrlState.FAILED, UrlState.HTTP_ERROR, UrlState.NOT_FOUND, UrlState.FORBIDDEN)


class Ending(NamedTuple):
    """Why a stream ends, as a WebSocket says it."""

    code: int
    reason: str


OVER = Ending(1000, "the crawl is over")
GOING_AWAY = Ending(1001, "the server stops")
TOO_SLOW = Ending(1008, "too slow: snapshots were not read")
TRY_LATER = Ending(1013, "try again later")
NOT_FOUND = Ending(4404, "crawl not found")
REVOKED = Ending(4401, "the token was revoked")


class Readable(Protocol):
    @property
    def catalog(self) -> Catalog: ...


class Pool(Protocol):
    def use(self) -> AbstractContextManager[Readable]: ...


class Frame(NamedTuple):
    """A snapshot as it is told."""

    message: dict[str, Any]
    text: str
    final: bool
    fresh_until: float  # tick


class Client:
    """Who watches a crawl. The hub fills the queue, the client's own task empties it."""

    def __init__(self, crawl_id: int) -> None:
        self.crawl_id = crawl_id
        self.ending: Ending | None = None
        self.dropped = asyncio.Event()
        # One more, so that the end always has room.
        self._queue: asyncio.Queue[Frame | None] = asyncio.Queue(LIVE_QUEUE_MAX + 1)

    def offer(self, frame: Frame) -> bool:
        """False: the client is too slow."""
        if self._queue.qsize() < LIVE_QUEUE_MAX:
            self._queue.put_nowait(frame)
            return True
        self.end(TOO_SLOW)
        self.dropped.set()
        return False

    def end(self, ending: Ending) -> None:
        """After what is queued."""
        if self.ending is None:
            self.ending = ending
            self._queue.put_nowait(None)

    async def next(self) -> Frame | None:
        return await self._queue.get()


class Hub:
    def __init__(self, pool: Pool, clock: Clock, meter: Meter | None = None, *, every_ms: float = LIVE_MS) -> None:
        self._pool = pool
        self._clock = clock
        self.meter = meter or Meter(Place.CONTROL)  # the control plane's: health.py tells it
        self._every_ms = every_ms
        self._names: dict[str, int] = {}
        self._frames: dict[int, Frame] = {}
        self._reads: dict[int, asyncio.Future[Frame]] = {}
        self._clients: dict[int, set[Client]] = {}
        self._tellers: dict[int, asyncio.Task[None]] = {}
        self._nobody = asyncio.Event()
        self._nobody.set()
        self.stopping = False
        self._thread = ThreadPoolExecutor(1, "live")
        # The reading thread's own: one store for as long as the hub lives, since a rate needs successive looks.
        self._borrowed = ExitStack()
        self._catalog: Catalog | None = None
        self._progress: dict[int, Progress] = {}

    @property
    def clients(self) -> int:
        return sum(map(len, self._clients.values()))

    def start(self) -> None:
        """Nothing runs while nobody watches; a hub that was stopped stays so."""
        assert not self.stopping

    async def stop(self) -> None:
        """Tell everybody goodbye. To be called before the server waits for its connections: a stream has no end."""
        self.stopping = True
        for clients in self._clients.values():
            for client in clients:
                client.end(GOING_AWAY)
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await self._nobody.wait()
        for teller in self._tellers.values():
            teller.cancel()
        self._thread.submit(self._borrowed.close)
        self._thread.shutdown(wait=False)

    # --- reading

    async def find(self, name: str) -> int:
        """The id of the crawl with this number or uuid; Unknown where there is none. Ids are never used again."""
        if name not in self._names:
            keep(self._names, name, await self._in_thread(self._number, name))
        return self._names[name]

    async def snapshot(self, crawl_id: int) -> dict[str, Any]:
        """At most LIVE_MS old. It only reads: neither upkeep nor completion is done for it."""
        return (await self._look(crawl_id)).message

    async def _look(self, crawl_id: int) -> Frame:
        """What is fresh, else what is being read already, else a new look."""
        frame = self._frames.get(crawl_id)
        if frame is not None and self._clock.tick_ms() < frame.fresh_until:
            return frame
        reading = self._reads.get(crawl_id)
        if reading is None:
            reading = asyncio.ensure_future(self._in_thread(self._read, crawl_id))
            self._reads[crawl_id] = reading
            reading.add_done_callback(lambda done: self._took(crawl_id, done))
        return await asyncio.shield(reading)

    def _took(self, crawl_id: int, reading: "asyncio.Future[Frame]") -> None:
        del self._reads[crawl_id]
        self.meter.add(metrics.LIVE_READS)
        if not reading.cancelled() and reading.exception() is None:
            keep(self._frames, crawl_id, reading.result())

    async def _in_thread(self, function: Callable[..., T], *values: Any) -> T:
        if self.stopping:
            raise StoreUnavailable("the server stops")
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *values)

    def _read(self, crawl_id: int) -> Frame:
        progress = self._progress.get(crawl_id) or Progress(self._store(), crawl_id, self._clock)
        began = self._clock.tick_ms()
        snapshot = progress.snapshot()
        keep(self._progress, crawl_id, progress)
        spent = self._clock.tick_ms() - began
        return frame_of(snapshot, began + max(self._every_ms, READ_SHARE * spent))

    def _number(self, name: str) -> int:
        if not (name.isascii() and name.isdecimal() and len(name) <= CRAWL_DIGITS_MAX):
            try:
                name = str(UUID(name))
            except ValueError:
                raise Unknown("there is no such crawl") from None
        return find(self._store(), name).id

    def _store(self) -> Catalog:
        if self._catalog is None:
            self._catalog = self._borrowed.enter_context(self._pool.use()).catalog
        return self._catalog

    # --- telling

    async def join(self, crawl_id: int) -> Client:
        """A client with its first snapshot. UsageError, StoreUnavailable: there is none."""
        if self.clients >= LIVE_CLIENTS_MAX or self.stopping:
            raise StoreUnavailable("the server stops" if self.stopping else "too many clients watch already")
        client = Client(crawl_id)
        self._clients.setdefault(crawl_id, set()).add(client)
        self._count()
        with ExitStack() as undo:
            undo.callback(self.leave, client)
            frame = await self._look(crawl_id)
            undo.pop_all()
        client.offer(frame)
        if frame.final:
            client.end(OVER)
        elif crawl_id not in self._tellers:
            self._tellers[crawl_id] = asyncio.create_task(self._tell(crawl_id, frame))
        return client

    def leave(self, client: Client) -> None:
        clients = self._clients.get(client.crawl_id, set())
        clients.discard(client)
        if not clients:
            self._clients.pop(client.crawl_id, None)
            teller = self._tellers.pop(client.crawl_id, None)
            if teller is not None:
                teller.cancel()
        self._count()

    def _count(self) -> None:
        self.meter.set(metrics.LIVE_CLIENTS, self.clients)
        if self._clients:
            self._nobody.clear()
        else:
            self._nobody.set()

    async def _tell(self, crawl_id: int, frame: Frame) -> None:
        """The one task of a watched crawl, until it is over or nobody watches."""
        while not frame.final:
            await asyncio.sleep(max(frame.fresh_until - self._clock.tick_ms(), 0.0) / 1000)
            try:
                frame = await self._look(crawl_id)
            except StoreUnavailable as error:
                frame = waiting(frame, str(error), self._clock.tick_ms() + self._every_ms)
            except UsageError:
                return self._end_all(crawl_id, NOT_FOUND)  # it was deleted
            self._send_all(crawl_id, frame)
        return self._end_all(crawl_id, OVER)

    def _send_all(self, crawl_id: int, frame: Frame) -> None:
        for client in self._clients.get(crawl_id, ()):
            if client.ending is None and not client.offer(frame):
                self.meter.add(metrics.LIVE_DROPPED)
                log.component_log("control-plane").info("live_client_dropped", crawl=crawl_id)

    def _end_all(self, crawl_id: int, ending: Ending) -> None:
        self._tellers.pop(crawl_id, None)
        for client in self._clients.get(crawl_id, ()):
            client.end(ending)


def keep(kept: dict[K, T], key: K, value: T) -> None:
    """The latest CRAWLS_KEPT."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > CRAWLS_KEPT:
        del kept[next(iter(kept))]


def frame_of(snapshot: Snapshot, fresh_until: float) -> Frame:
    final = snapshot.crawl.state.over
    message = overview(snapshot.crawl, snapshot.counts) | snapshot.as_json(final=final)
    return Frame(message, encode(message), final, fresh_until)


def waiting(frame: Frame, reason: str, fresh_until: float) -> Frame:
    """The store does not answer: what was known, and why it is old."""
    message = frame.message | {"waiting": reason}
    return Frame(message, encode(message), False, fresh_until)


def encode(message: Mapping[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"))


def overview(crawl: Crawl, counts: Mapping[str, int]) -> dict[str, Any]:
    """001's words for a crawl: every message has them, and so has GET /api/v1/crawls/{crawl}."""
    failed = sum(counts.get(state, 0) for state in FAILED_STATES)
    return {
        "crawl_id": crawl.uuid,
        "status": crawl.state,
        "total": counts.get("urls", 0),
        "completed": ended_of(counts) - failed,
        "pending": counts.get("queued", 0),
        "in_progress": counts.get("in_progress", 0),
        "failed": failed,
        "root_url": crawl.seeds[0] if crawl.seeds else "",
        "requested_depth": crawl.settings.scope.max_depth,
    }


# --- the two protocols ------------------------------------------------------------------------------------------------


async def until_over(
    client: Client,
    connection: HTTPConnection,
    sending: Coroutine[Any, Any, None],
    receiving: Coroutine[Any, Any, None],
) -> bool:
    """Send until the end; true: the client still listens. He may leave, or be dropped in the middle of a message."""
    parts: tuple[Coroutine[Any, Any, object], ...] = (sending, receiving, client.dropped.wait())
    tasks = [asyncio.create_task(part) for part in parts]
    watching = asyncio.create_task(watch_access(client, connection))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return not tasks[1].done()
    finally:
        for task in (*tasks, watching):
            task.cancel()
        await asyncio.gather(*tasks, watching, return_exceptions=True)


async def watch_access(client: Client, connection: HTTPConnection) -> None:
    """A stream ends with the token that opened it. The gate remembers its answers, so this costs the store nothing."""
    while client.ending is None:
        await asyncio.sleep(ACCESS_SECONDS)
        try:
            await run_in_threadpool(admit_socket, connection, Access.READ)
        except StoreUnavailable:
            continue
        except Problem:
            client.end(REVOKED)


router = APIRouter(tags=["live"])
EVENTS = guarded(Access.READ, 404)


@router.websocket("/api/v1/crawls/{crawl}/ws")
async def watch_by_websocket(websocket: WebSocket, crawl: str) -> None:
    try:
        await run_in_threadpool(admit_socket, websocket, Access.READ)
    except (Problem, StoreUnavailable) as error:
        await websocket.send_denial_response(answer(problem_of(error)))
        return
    offered = websocket.scope.get("subprotocols", ())
    await websocket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
    with suppress(WebSocketDisconnect):
        await serve_websocket(services_of(websocket).hub, websocket, crawl)


async def serve_websocket(hub: Hub, websocket: WebSocket, name: str) -> None:
    """An accepted WebSocket: snapshots, the final one, the end."""
    try:
        client = await hub.join(await hub.find(name))
    except UsageError:
        return await refuse(websocket, "Crawl not found", NOT_FOUND)
    except StoreUnavailable as error:
        return await refuse(websocket, str(error), TRY_LATER)

    async def send() -> None:
        while (frame := await client.next()) is not None:
            await websocket.send_text(frame.text)

    async def receive() -> None:
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass  # a watcher has nothing to say

    try:
        if await until_over(client, websocket, send(), receive()):
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await websocket.close(*(client.ending or OVER))
    finally:
        hub.leave(client)


async def refuse(websocket: WebSocket, message: str, ending: Ending) -> None:
    await websocket.send_text(encode({"error": message}))
    await websocket.close(*ending)


class EventText(Response):
    """For OpenAPI."""

    media_type = "text/event-stream"


class EventStream(EventText):
    """The last event has the id FINAL_EVENT_ID: a browser that comes back with it is told to stay away."""

    def __init__(self, hub: Hub, client: Client, request: Request) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self.hub = hub
        self.client = client
        self.request = request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def events() -> None:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while (frame := await self.client.next()) is not None:
                await send({"type": "http.response.body", "body": event_of(frame), "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        try:
            await until_over(self.client, self.request, events(), gone())
        finally:
            self.hub.leave(self.client)


@router.get(
    "/api/v1/crawls/{crawl}/events",
    response_class=EventText,
    summary="Progress as server-sent events: the messages of the WebSocket",
    dependencies=[*EVENTS["dependencies"], Depends(known_query)],
    responses=EVENTS["responses"] | {204: {"description": "the final event was read before: nothing more comes"}},
    openapi_extra=EVENTS["openapi_extra"],
)
async def watch_by_events(request: Request, crawl: CrawlRef) -> Response:
    if request.headers.get("last-event-id") == FINAL_EVENT_ID:
        return Response(status_code=204)
    hub = services_of(request).hub
    return EventStream(hub, await hub.join(await hub.find(crawl)), request)


def event_of(frame: Frame) -> bytes:
    mark = f"id: {FINAL_EVENT_ID}\n" if frame.final else ""
    return f"{mark}event: snapshot\ndata: {frame.text}\n\n".encode()
