"""`nephila serve`: API, upkeep and workers in one process tree."""

from typing import Annotated

import typer

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
)
from nephila.settings import ProcessSettings, process_settings, usable_cores

ADDRESS_PANEL = "Where it listens"


def serve(
    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on; one that others can reach needs a token.",
            rich_help_panel=ADDRESS_PANEL,
            show_default="127.0.0.1",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="N", help="0: any free one.", rich_help_panel=ADDRESS_PANEL, show_default="3000"
        ),
    ] = None,
    data: DataOption = None,
    store: StoreOption = None,
    archive: ArchiveOption = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="Worker processes; 0: others do the work.",
            rich_help_panel=WORKER_PANEL,
            show_default="one per core",
        ),
    ] = None,
    concurrency: ConcurrencyOption = None,
    allow_private: PermitPrivateOption = False,
    no_index: Annotated[
        bool,
        typer.Option(
            "--no-index",
            metavar="",
            help="Do not index what is crawled: `search` then finds nothing new.",
            rich_help_panel=WORKER_PANEL,
        ),
    ] = False,
    log_level: LogLevelOption = None,
    log_format: LogFormatOption = None,
    log_file: LogFileOption = None,
) -> None:
    """Serve the API and work on its crawls until SIGTERM or Ctrl-C."""
    settings = serve_settings(
        host=host,
        port=port,
        data=data,
        store=store,
        archive=archive,
        workers=workers,
        concurrency=concurrency,
        allow_private=allow_private or None,
        index=False if no_index else None,
        log_level=log_level,
        log_format=log_format,
        log_file=log_file,
    )
    # Here, because no other verb needs FastAPI, and it takes 0.4 s to load.
    from nephila.cli.server import run_server

    run_server(settings)


def serve_settings(**options: object) -> ProcessSettings:
    """One worker per core, unless somebody says otherwise."""
    settings = process_settings(options)
    if "workers" in settings.model_fields_set:
        return settings
    return process_settings(options | {"workers": usable_cores()})
