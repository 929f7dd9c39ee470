"""`nephila worker`: only workers, for the crawls of a store that others start and watch."""

import time
from typing import Annotated

import typer

from nephila.cli import running
from nephila.cli.options import (
    WORKER_PANEL,
    ArchiveOption,
    ConcurrencyOption,
    DataOption,
    LogFileOption,
    LogFormatOption,
    LogLevelOption,
    PermitPrivateOption,
    StoreOption,
    WorkersOption,
)
from nephila.clock import SystemClock
from nephila.errors import UsageError
from nephila.settings import process_settings


def worker(
    data: DataOption = None,
    store: StoreOption = None,
    archive: ArchiveOption = None,
    workers: WorkersOption = None,
    concurrency: ConcurrencyOption = None,
    lease: Annotated[
        float | None,
        typer.Option(
            "--lease",
            metavar="SECONDS",
            help="A worker that says nothing for so long is replaced by the others.",
            rich_help_panel=WORKER_PANEL,
            show_default="15",
        ),
    ] = None,
    allow_private: PermitPrivateOption = False,
    log_level: LogLevelOption = None,
    log_format: LogFormatOption = None,
    log_file: LogFileOption = None,
) -> None:
    """Work on the crawls of a store until SIGTERM or Ctrl-C: run it on as many machines as you like."""
    settings = process_settings(
        {
            "data": data,
            "store": store,
            "archive": archive,
            "workers": workers,
            "concurrency": concurrency,
            "lease_seconds": lease,
            "allow_private": allow_private or None,
            "log_level": log_level,
            "log_format": log_format,
            "log_file": log_file,
        }
    )
    if settings.workers < 1:
        raise UsageError("a worker command without workers does nothing: say --workers 1 or more")
    opened = running.open_for_work(settings, create=True)
    crew = running.crew_of(settings, opened, SystemClock())
    typer.echo(f"working on {settings.shown_store} with {settings.workers} process(es); SIGTERM or Ctrl-C ends it")
    with running.counted_signals() as signals:
        try:
            crew.serve(lambda: len(signals), time.sleep)
        finally:
            crew.close()
