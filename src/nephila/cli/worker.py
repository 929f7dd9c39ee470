"""`nephila worker`: only workers, for the crawls of a store that others start and watch."""

import time

import typer

from nephila.cli import running
from nephila.cli.options import ALLOW_PRIVATE, LOG, WORK, WORKER_PANEL, option, with_settings
from nephila.clock import SystemClock
from nephila.control.health import Health, serve_health
from nephila.errors import UsageError
from nephila.settings import ProcessSettings

LEASE = option(
    WORKER_PANEL, float, "--lease", "A worker that says nothing for so long is replaced by the others.", "SECONDS", "15"
).replace(name="lease_seconds")
HEALTH = option(
    WORKER_PANEL, int, "--health-port", "Show /health, /livez and /readyz there; 0: any free port.", "N", "nowhere"
)


@with_settings(*WORK, LEASE, ALLOW_PRIVATE, HEALTH, *LOG)
def worker(*, settings: ProcessSettings) -> None:
    """Work on the crawls of a store until SIGTERM or Ctrl-C: run it on as many machines as you like."""
    if settings.workers < 1:
        raise UsageError("a worker command without workers does nothing: say --workers 1 or more")
    opened = running.open_for_service(settings)
    if opened is None:
        return
    clock = SystemClock()
    crew = running.crew_of(settings, opened, clock)
    shown = ""
    if settings.health_port is not None:
        health = serve_health(Health(crew, clock).answer, settings.metrics_host, settings.health_port)
        shown = f", health at http://{settings.metrics_host}:{health.server_port}/health"
    typer.echo(
        f"working on {settings.shown_store} with {settings.workers} process(es){shown}; SIGTERM or Ctrl-C ends it"
    )
    with running.counted_signals() as signals:
        try:
            crew.serve(lambda: len(signals), time.sleep)
        finally:
            crew.close()
