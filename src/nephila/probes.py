"""`ProbeServer`: a small HTTP server in a thread of its own, for health and metrics of a command or worker.

It has few connections at a time: where one more comes, the oldest is cut off, so that clients that never ask anything
keep neither probes away nor files and threads from the work.
"""

import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from nephila import log
from nephila.supervision import start_thread

CONNECTIONS_MAX = 32
REQUEST_SECONDS_MAX = 10.0  # between two bytes of a request
ACCEPT_REST_SECONDS = 0.1  # after a connection that could not be accepted: without a file for it one would spin


class ProbeAnswer(NamedTuple):
    status: int
    content_type: str
    content: bytes


class ProbeServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, place: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: dict[Any, None] = {}  # sockets, the oldest first
        self._lock = threading.Lock()
        self._never = threading.Event()
        super().__init__(place, handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        try:
            return super().get_request()
        except OSError:
            self._never.wait(ACCEPT_REST_SECONDS)
            raise  # the caller drops it

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            oldest = next(iter(self._open)) if len(self._open) >= CONNECTIONS_MAX else None
            self._open.pop(oldest, None)
            self._open[request] = None
        if oldest is not None:
            hang_up(oldest)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        fault = sys.exc_info()[1]
        if not isinstance(fault, OSError):  # OSError: the client went away
            log.component_log("probes").error("probe_broke", exc_info=fault)


class ProbeServerV6(ProbeServer):
    address_family = socket.AF_INET6


def hang_up(connection: socket.socket) -> None:
    """Wake whoever reads from it. Its own thread closes it: the number may be another's by then."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def serve_probes(name: str, answer: Callable[[str, str], ProbeAnswer], host: str, port: int) -> ProbeServer:
    """Serve what `answer` says to a path and an Accept header. OSError, OverflowError: not at this port."""

    class ProbeHandler(BaseHTTPRequestHandler):
        timeout = REQUEST_SECONDS_MAX

        def do_GET(self) -> None:
            status, content_type, content = answer(self.path, self.headers.get("Accept", ""))
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """A probe comes every few seconds: no line of it."""

    server = (ProbeServerV6 if ":" in host else ProbeServer)((host, port), ProbeHandler)
    start_thread(name, lambda part: server.serve_forever())
    return server
