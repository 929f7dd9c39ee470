"""Health of `nephila worker`, for an orchestrator: one small HTTP server beside the command's own loop."""

import json
from collections.abc import Callable
from typing import Any

from nephila import __version__, supervision
from nephila.clock import Clock
from nephila.control.crew import Crew
from nephila.errors import UsageError
from nephila.probes import ProbeAnswer, ProbeServer, serve_probes

STEP_MS_MAX = 60_000.0  # between two steps of the command's loop; a store that is away delays one by some 10 s

Answer = tuple[int, dict[str, Any]]


class Health:
    """Any thread may ask."""

    def __init__(self, crew: Crew, clock: Clock) -> None:
        self._crew = crew
        self._clock = clock
        self._started = clock.tick_ms()

    def answer(self, path: str) -> Answer:
        """The status and body of a path, with the meaning that it has in the API."""
        match path.partition("?")[0]:
            case "/health" | "/livez":
                return self._live()
            case "/readyz":
                return self._ready()
        return 404, {"error": "there is /health, /livez and /readyz"}

    def _live(self) -> Answer:
        now = self._clock.tick_ms()
        silent = now - max(self._crew.stepped_tick, self._started)
        if silent > STEP_MS_MAX:
            return 503, self._body(f"the command's loop has stood still for {silent / 1000:.0f} s")
        if dead := supervision.dead_parts():
            return 503, self._body(f"ended for good: {', '.join(dead)}")
        return 200, self._body()

    def _ready(self) -> Answer:
        crew = self._crew
        if crew.waiting:
            return 503, self._body(crew.waiting)
        return (200, self._body()) if crew.alive else (503, self._body("no worker process lives"))

    def _body(self, trouble: str = "") -> dict[str, Any]:
        uptime = round((self._clock.tick_ms() - self._started) / 1000, 1)
        known = {"version": __version__, "uptime_seconds": uptime, "workers": self._crew.alive}
        troubles = supervision.troubles() | self._crew.troubles
        return {"status": trouble or "ok"} | known | ({"troubles": troubles} if troubles else {})


def serve_health(answer: Callable[[str], Answer], host: str, port: int) -> ProbeServer:
    """Serve from a thread of its own. UsageError: the port is taken."""

    def answered(path: str, _accept: str) -> ProbeAnswer:
        status, body = answer(path)
        return ProbeAnswer(status, "application/json", json.dumps(body).encode() + b"\n")

    try:
        return serve_probes("health", answered, host, port)
    except OSError as error:
        raise UsageError(f"health cannot be served at {host}:{port}: {error.strerror}") from None
