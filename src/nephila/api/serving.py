"""`nephila serve`: the API in this thread, the crew in another, worker processes below. One signal drains all."""

import socket
import threading
from collections.abc import Callable
from time import sleep

import uvicorn
from fastapi import FastAPI

from nephila.api.access import is_loopback
from nephila.api.connections import Connections, bounded, rules_of
from nephila.api.services import Services
from nephila.control.crew import Crew
from nephila.control.health import STEP_MS_MAX
from nephila.errors import NephilaError, UsageError
from nephila.frontier.tokens import Tokens
from nephila.machine import raise_file_limit
from nephila.supervision import BackgroundPart, start_thread

DRAIN_SECONDS = 10  # for requests that are being answered
CREW_SECONDS = 60.0  # for the crew's thread to end after its drain
BACKLOG = 1024
SOCKET_BYTES_MAX = 65_536  # of a message that a WebSocket sends us: none is expected


class LocalCrew:
    """The crew as routes see it, and the thread that it runs in."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.fault: NephilaError | None = None
        self._signals = 0
        self._ended = threading.Event()  # cuts a rest after a fault short
        self._thread: threading.Thread | None = None
        self._broke: Callable[[], None] = lambda: None

    @property
    def size(self) -> int:
        return self.crew.supervisor.wanted

    @property
    def waiting(self) -> str:
        return self.crew.waiting

    @property
    def trouble(self) -> str:
        return self.crew.trouble

    @property
    def troubles(self) -> dict[str, str]:
        """Also a step of the crew that does not end: it may wait for a lock, or do what takes long."""
        crew = self.crew
        still_ms = crew.clock.tick_ms() - crew.stepped_tick if self._thread is not None else 0.0
        stands = STEP_MS_MAX < still_ms < float("inf")  # inf: the first step is to come
        return crew.troubles | ({"upkeep": f"it has stood still for {still_ms / 1000:.0f} s"} if stands else {})

    def resize(self, count: int) -> None:
        self.crew.supervisor.wanted = count

    def start(self, broke: Callable[[], None]) -> None:
        """Starts the thread. It calls `broke` where the workers cannot be kept alive."""
        self._broke = broke
        self._thread = start_thread("crew", self._run, vital=True, daemon=False, ended=self._ended)

    def stop(self) -> None:
        """Drains the workers; the second call ends what is in flight."""
        self._signals += 1
        self._ended.set()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join(CREW_SECONDS)
        self.crew.close()

    def _run(self, _part: BackgroundPart) -> None:
        try:
            self.crew.serve(lambda: self._signals, sleep)
        except NephilaError as error:
            self.fault = error
            self._broke()


class DrainingServer(uvicorn.Server):
    """Ends the live streams before it waits for its connections, and tells the crew of every signal."""

    def __init__(self, config: uvicorn.Config, services: Services, crew: LocalCrew) -> None:
        super().__init__(config)
        self._services = services
        self._crew = crew

    def handle_exit(self, sig: int, frame: object) -> None:
        self._crew.stop()
        super().handle_exit(sig, frame)  # type: ignore[arg-type]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in sockets or ():
            listening.close()
        await self._services.hub.stop()
        await super().shutdown(sockets)


def check_address(host: str, tokens: Tokens) -> None:
    if not is_loopback(host) and not tokens.has_tokens():
        raise UsageError(
            f"{host} can be reached by others, and no token protects it: "
            "make one first with `nephila token create NAME --access admin`"
        )


def listen(host: str, port: int) -> socket.socket:
    """A bound socket. It is made before anything starts, so that a port in use is one clear line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}; say --port for another one") from None
    return found


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def configured(app: FastAPI) -> uvicorn.Config:
    services: Services = app.state.services
    rules = rules_of(services.settings, raise_file_limit())
    http, websocket = bounded(Connections(rules, services.hub.meter, services.clock))
    return uvicorn.Config(
        app,
        http=http,
        ws=websocket,
        log_config=None,
        access_log=False,  # paths may hold what somebody searched for
        server_header=False,
        proxy_headers=False,  # who asks is decided by the connection alone
        timeout_graceful_shutdown=DRAIN_SECONDS,
        timeout_keep_alive=services.settings.keep_alive_seconds,  # type: ignore[arg-type]  # a call_later
        ws_max_size=SOCKET_BYTES_MAX,
        lifespan="on",
    )


def serve(app: FastAPI, services: Services, crew: LocalCrew, listening: socket.socket) -> None:
    """Serves until SIGTERM or Ctrl-C; raises what broke the crew. The caller has installed handlers for both signals:
    the server restores them when it has drained."""
    server = DrainingServer(configured(app), services, crew)

    def broke() -> None:
        server.should_exit = True

    crew.start(broke)
    try:
        server.run(sockets=[listening])
    finally:
        crew.stop()
        crew.join()
        listening.close()
    if crew.fault is not None:
        raise crew.fault
