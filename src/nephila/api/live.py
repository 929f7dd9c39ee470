"""Live progress: a WebSocket and a stream of server-sent events that send the same snapshots.

However many watch, a crawl is read at most once a second, by one thread for all crawls: what it costs the store does
not depend on the clients. Measured on 2 busy cores: one client takes 0.4 % of a core, 200 take 1.4 % (2.5 % where the
WebSocket compresses). Each client has a short queue: a client that does not read is dropped, and nobody waits for it.

Everything here belongs to the event loop but `Hub._read`, which runs in the reading thread.
"""

import asyncio
import json
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, NamedTuple

from fastapi import Depends, Request, Response, WebSocket
from fastapi.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from nephila import log, metrics
from nephila.api.access import SUBPROTOCOL, admit_socket, guarded
from nephila.api.lookup import find_crawl
from nephila.api.problems import Problem, answer, problem_of
from nephila.api.query import CrawlRef, known_query
from nephila.api.recent import RecentAnswers
from nephila.api.routers import plain_router
from nephila.api.services import StorePool, services_of
from nephila.clock import Clock
from nephila.control.progress import Progress, Snapshot, ended_of, failed_of
from nephila.errors import StoreUnavailable, UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.store import Crawl
from nephila.frontier.tokens import Access
from nephila.metrics import Meter
from nephila.models import Tally, UrlState
from nephila.supervision import BackgroundPart, start_task

LIVE_CLIENTS_MAX = 1000
LIVE_QUEUE_MAX = 4  # snapshots that a client may be behind
CRAWLS_KEPT = 256  # crawls whose last snapshot and rate are remembered
LIVE_MS = 1000.0
READ_SHARE = 4  # reading a crawl takes at most a fifth of the time: a slow one rests for four times as long
CLOSE_SECONDS = 1.0  # for closing a WebSocket whose client may not read
STOP_SECONDS = 3.0
ACCESS_SECONDS = 5.0  # between two checks whether a token is still valid
FINAL_EVENT_ID = "final"


class StreamEnd(NamedTuple):
    """Why a stream ends: code and reason of a WebSocket's close."""

    code: int
    reason: str


OVER = StreamEnd(1000, "the crawl is over")
GOING_AWAY = StreamEnd(1001, "the server stops")
TOO_SLOW = StreamEnd(1008, "too slow: snapshots were not read")
TRY_LATER = StreamEnd(1013, "try again later")
NOT_FOUND = StreamEnd(4404, "crawl not found")
REVOKED = StreamEnd(4401, "the token was revoked")
BROKEN = StreamEnd(1011, "a fault of ours: come back")

GONE = (OSError, WebSocketDisconnect)  # what sending raises where the client has left


class Frame(NamedTuple):
    """A snapshot as it is sent."""

    message: dict[str, Any]
    text: str
    final: bool


class Client:
    """A watcher of a crawl. The hub fills its queue, the client's own task empties it."""

    def __init__(self, crawl_id: int) -> None:
        self.crawl_id = crawl_id
        self.ending: StreamEnd | None = None
        self.dropped = asyncio.Event()
        # One place more than frames, so that the end always has room.
        self._queue: asyncio.Queue[Frame | None] = asyncio.Queue(LIVE_QUEUE_MAX + 1)

    def offer(self, frame: Frame) -> bool:
        """Queues a frame; false where the client is too slow and is dropped."""
        if self._queue.qsize() < LIVE_QUEUE_MAX:
            self._queue.put_nowait(frame)
            return True
        self.end(TOO_SLOW)
        self.dropped.set()
        return False

    def end(self, ending: StreamEnd) -> None:
        """Ends the stream after what is queued."""
        if self.ending is None:
            self.ending = ending
            self._queue.put_nowait(None)

    async def next(self) -> Frame | None:
        return await self._queue.get()


class Hub:
    """Reads the crawls that somebody watches and hands each snapshot to all clients; nothing runs while nobody does."""

    def __init__(self, pool: StorePool, clock: Clock, meter: Meter, *, every_ms: float = LIVE_MS) -> None:
        self._pool = pool
        self._clock = clock
        self.meter = meter  # the control plane's: routes/health.py shows it
        self._every_ms = every_ms
        self._frames: RecentAnswers[int, Frame] = RecentAnswers(clock, every_ms, CRAWLS_KEPT, READ_SHARE)
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

    async def stop(self) -> None:
        """Ends all streams. To be called before the server waits for its connections: a stream has no end."""
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

    async def snapshot(self, crawl_id: int) -> dict[str, Any]:
        """At most LIVE_MS old. It only reads: neither upkeep nor completion is done for it."""
        return (await self._look(crawl_id)).message

    async def _look(self, crawl_id: int) -> Frame:
        if self.stopping:
            raise StoreUnavailable("the server stops")
        answer, first = self._frames.claim(crawl_id)
        if first:
            try:
                self._thread.submit(self._frames.settle, crawl_id, answer, partial(self._read, crawl_id))
            except RuntimeError as error:  # no thread could be started: else all would wait for this answer for ever
                self._frames.fail(crawl_id, answer, StoreUnavailable(f"nobody can read the crawl now: {error}"))
        return await asyncio.wrap_future(answer.future)

    def _read(self, crawl_id: int) -> Frame:
        self.meter.add(metrics.LIVE_READS)
        if self._catalog is None:
            self._catalog = self._borrowed.enter_context(self._pool.use()).catalog
        progress = self._progress.get(crawl_id) or Progress(self._catalog, crawl_id, self._clock)
        snapshot = progress.snapshot()
        self._progress.pop(crawl_id, None)
        self._progress[crawl_id] = progress
        if len(self._progress) > CRAWLS_KEPT:
            del self._progress[next(iter(self._progress))]  # the one that was read longest ago
        return frame_of(snapshot)

    # --- telling

    async def join(self, crawl_id: int) -> Client:
        """A client with its first snapshot. Raises UsageError and StoreUnavailable where there is none."""
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
            self._tellers[crawl_id] = start_task(
                f"live progress of crawl {crawl_id}", partial(self._tell, crawl_id, frame)
            )
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

    async def _tell(self, crawl_id: int, frame: Frame, part: BackgroundPart) -> None:
        """Sends snapshots of a watched crawl until it is over or nobody watches: one task for all its clients."""
        while not frame.final:
            await asyncio.sleep((self._frames.ms_left(crawl_id) or self._every_ms) / 1000)
            try:
                frame = await self._look(crawl_id)
            except StoreUnavailable as error:
                # What was known before, and why it is old.
                frame = encoded(frame.message | {"waiting": str(error)}, final=False)
            except UsageError:
                return self._end_all(crawl_id, NOT_FOUND)  # it was deleted
            self._send_all(crawl_id, frame)
            part.well()
        return self._end_all(crawl_id, OVER)

    def _send_all(self, crawl_id: int, frame: Frame) -> None:
        for client in self._clients.get(crawl_id, ()):
            if client.ending is None and not client.offer(frame):
                self.meter.add(metrics.LIVE_DROPPED)
                log.component_log("control-plane").info("live_client_dropped", crawl=crawl_id)

    def _end_all(self, crawl_id: int, ending: StreamEnd) -> None:
        self._tellers.pop(crawl_id, None)
        for client in self._clients.get(crawl_id, ()):
            client.end(ending)


def frame_of(snapshot: Snapshot) -> Frame:
    final = snapshot.crawl.state.over
    return encoded(overview(snapshot.crawl, snapshot.counts) | snapshot.as_json(final=final), final=final)


def encoded(message: dict[str, Any], *, final: bool) -> Frame:
    return Frame(message, json.dumps(message, separators=(",", ":")), final)


def overview(crawl: Crawl, counts: Mapping[str, int]) -> dict[str, Any]:
    """The fields of document 001: every message has them, and so has GET /api/v1/crawls/{crawl}."""
    failed = failed_of(counts)
    return {
        "crawl_id": crawl.uuid,
        "status": crawl.state,
        "total": counts.get(Tally.URLS, 0),
        "completed": ended_of(counts) - failed,
        "pending": counts.get(UrlState.QUEUED, 0),
        "in_progress": counts.get(UrlState.IN_PROGRESS, 0),
        "failed": failed,
        "root_url": crawl.seeds[0] if crawl.seeds else "",
        "requested_depth": crawl.settings.scope.max_depth,
    }


# --- the two protocols ------------------------------------------------------------------------------------------------


async def until_over(
    client: Client, connection: HTTPConnection, sending: Coroutine[Any, Any, None], receiving: Coroutine[Any, Any, None]
) -> bool:
    """Sends until the end; true where the client still listens. It may leave or be dropped within a message."""
    parts: tuple[Coroutine[Any, Any, object], ...] = (sending, receiving, client.dropped.wait())
    tasks = [asyncio.create_task(part) for part in parts]
    watching = start_task("access of a stream", partial(watch_access, client, connection))
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        faults = [fault for task in ended if (fault := task.exception()) and not isinstance(fault, GONE)]
        for fault in faults:
            log.component_log("control-plane").error("live_stream_broke", crawl=client.crawl_id, exc_info=fault)
            client.end(BROKEN)
        return not tasks[1].done()
    finally:
        for task in (*tasks, watching):
            task.cancel()
        await asyncio.gather(*tasks, watching, return_exceptions=True)


async def watch_access(client: Client, connection: HTTPConnection, _part: BackgroundPart) -> None:
    """Ends the stream with the token that opened it. The gate remembers its answers: this costs the store nothing."""
    while client.ending is None:
        await asyncio.sleep(ACCESS_SECONDS)
        try:
            await run_in_threadpool(admit_socket, connection, Access.READ)
        except StoreUnavailable:
            continue
        except Problem:
            client.end(REVOKED)


router = plain_router("live")
EVENTS = guarded(Access.READ, 404)
EVENT = 'event: snapshot\ndata: {"crawl": 7, "state": "running", "urls": 1240, "queued": 203, "final": false}\n\n'


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
        await serve_websocket(websocket, crawl)


async def serve_websocket(websocket: WebSocket, reference: str) -> None:
    """Serves an accepted WebSocket: snapshots, the final one, the end."""
    services = services_of(websocket)
    hub = services.hub
    try:
        client = await hub.join((await run_in_threadpool(find_crawl, services, reference)).id)
    except UsageError:
        return await refuse(websocket, "Crawl not found", NOT_FOUND)
    except StoreUnavailable as error:
        return await refuse(websocket, str(error), TRY_LATER)

    async def send() -> None:
        while (frame := await client.next()) is not None:
            await websocket.send_text(frame.text)

    async def receive() -> None:
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass  # what a watcher sends is ignored

    try:
        if await until_over(client, websocket, send(), receive()):
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await websocket.close(*(client.ending or OVER))
    finally:
        hub.leave(client)


async def refuse(websocket: WebSocket, message: str, ending: StreamEnd) -> None:
    await websocket.send_json({"error": message})
    await websocket.close(*ending)


class EventText(Response):
    """The type of the answer, for OpenAPI."""

    media_type = "text/event-stream"


class EventStream(EventText):
    """Ends with an event whose id is FINAL_EVENT_ID: a browser that reconnects with it is told to stop."""

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
    dependencies=[*EVENTS["dependencies"], Depends(known_query)],
    responses=EVENTS["responses"]
    | {
        200: {"description": "a message a second", "content": {"text/event-stream": {"example": EVENT}}},
        204: {"description": "the final event was read before: nothing more comes"},
    },
    openapi_extra=EVENTS["openapi_extra"],
)
async def watch_by_events(request: Request, crawl: CrawlRef) -> Response:
    """Watch the progress of a crawl as server-sent events.

    One `snapshot` a second with the message that GET .../progress answers and the WebSocket (/api/v1/crawls/{crawl}/ws)
    sends. After the last one, which is `final`, a client that comes back is answered 204.
    """
    if request.headers.get("last-event-id") == FINAL_EVENT_ID:
        return Response(status_code=204)
    services = services_of(request)
    crawl_id = (await run_in_threadpool(find_crawl, services, crawl)).id
    return EventStream(services.hub, await services.hub.join(crawl_id), request)


def event_of(frame: Frame) -> bytes:
    mark = f"id: {FINAL_EVENT_ID}\n" if frame.final else ""
    return f"{mark}event: snapshot\ndata: {frame.text}\n\n".encode()
