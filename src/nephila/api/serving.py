"""`nephila serve`: the API in this thread, the crew in another, worker processes below. One signal drains all."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from time import sleep

import uvicorn
from fastapi import FastAPI

from nephila.api.access import is_loopback
from nephila.api.services import Services
from nephila.control.crew import Crew
from nephila.control.supervisor import Process, Supervisor
from nephila.errors import NephilaError, UsageError
from nephila.frontier.operators import Rulebook

DRAIN_SECONDS = 10  # for requests that are being answered
CREW_SECONDS = 60.0  # for the crew's thread to end after its drain
BACKLOG = 1024
SOCKET_BYTES_MAX = 65_536  # of a message that a WebSocket sends us: none is expected
IDLE_SECONDS = 30


class LocalSupervisor(Supervisor):
    """A supervisor whose number of workers changes while it runs. `resize` may be called by any thread; the rest is
    the crew's."""

    def __init__(
        self, command: list[str], environment: dict[str, str], count: int, suspect: Callable[[int], None]
    ) -> None:
        super().__init__(command, environment, count, suspect)
        self.wanted = count
        self._slots = count  # given out so far
        self._leaving: list[Process] = []

    def poll(self) -> None:
        super().poll()
        while len(self.processes) < self.wanted:
            self._grow()
        while len(self.processes) > self.wanted:
            self._shrink()
        for process in [leaving for leaving in self._leaving if _ended(leaving)]:
            self._close_pipes(process)
            self._leaving.remove(process)

    def stop(self) -> None:
        """Those that were leaving anyway are waited for with the others."""
        self.processes += self._leaving
        self._leaving = []
        super().stop()

    def _grow(self) -> None:
        process = Process(self._slots, Path(self._folder.name) / f"worker-{self._slots}")
        self._slots += 1
        self.processes.append(process)
        self._launch(process)

    def _shrink(self) -> None:
        process = self.processes.pop()
        if process.popen is not None:
            process.popen.terminate()
            self._leaving.append(process)


def _ended(process: Process) -> bool:
    return process.popen is None or process.popen.poll() is not None


class LocalCrew:
    """The crew as the routes see it, and the thread it lives in."""

    def __init__(self, crew: Crew, supervisor: LocalSupervisor) -> None:
        self.crew = crew
        self.supervisor = supervisor
        self.fault: NephilaError | None = None
        self._signals = 0
        self._thread = threading.Thread(target=self._run, name="crew")
        self._broke: Callable[[], None] = lambda: None

    @property
    def size(self) -> int:
        return self.supervisor.wanted

    @property
    def pids(self) -> list[int]:
        return self.supervisor.pids

    @property
    def waiting(self) -> str:
        return self.crew.waiting

    def resize(self, count: int) -> None:
        self.supervisor.wanted = count

    def start(self, broke: Callable[[], None]) -> None:
        """`broke` is called where the workers cannot be kept alive."""
        self._broke = broke
        self._thread.start()

    def stop(self) -> None:
        """Drain; asked again, what is in flight is ended."""
        self._signals += 1

    def join(self) -> None:
        if self._thread.ident is not None:
            self._thread.join(CREW_SECONDS)
        self.crew.close()

    def _run(self) -> None:
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


def check_address(host: str, rulebook: Rulebook) -> None:
    if not is_loopback(host) and not rulebook.has_tokens():
        raise UsageError(
            f"{host} can be reached by others, and no token protects it: "
            "make one first with `nephila token create NAME --access admin`"
        )


def listen(host: str, port: int) -> socket.socket:
    """Bound before anything starts, so that a port in use is one clear line."""
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
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,  # paths may hold what others look for
        server_header=False,
        proxy_headers=False,  # who asks is decided by the connection alone
        timeout_graceful_shutdown=DRAIN_SECONDS,
        timeout_keep_alive=IDLE_SECONDS,
        ws_max_size=SOCKET_BYTES_MAX,
        lifespan="on",
    )


def serve(app: FastAPI, services: Services, crew: LocalCrew, listening: socket.socket) -> None:
    """Until SIGTERM or Ctrl-C; raises what broke the crew. The caller has handlers for both signals installed: the
    server gives them back when it has drained."""
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
