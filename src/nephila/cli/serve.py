"""`nephila serve`: API, upkeep and workers in one process tree."""

from typing import Annotated

import typer

from nephila import wiring
from nephila.api import serving
from nephila.api.app import create_app, make_services
from nephila.cli import running
from nephila.cli.options import (
    WORKER_PANEL,
    ArchiveOption,
    ConcurrencyOption,
    DataOption,
    LogFileOption,
    LogFormatOption,
    LogLevelOption,
    StoreOption,
)
from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.control.crew import Crew
from nephila.control.upkeep import Duty
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
        log_level=log_level,
        log_format=log_format,
        log_file=log_file,
    )
    opened = running.open_for_work(settings, create=True)
    serving.check_address(settings.host, opened.rulebook)
    listening = serving.listen(settings.host, settings.port)
    crawls.take_up(opened.catalog)
    clock = SystemClock()
    crew = local_crew(settings, opened, clock)
    services = make_services(settings, clock, lambda: wiring.open_store(settings), crew)
    typer.echo(
        f"serving {settings.shown_store} at {serving.address_of(listening)} with {settings.workers} worker(s); "
        "SIGTERM or Ctrl-C ends it"
    )
    with running.counted_signals():
        serving.serve(create_app(services), services, crew, listening)


def serve_settings(**options: object) -> ProcessSettings:
    """One worker per core, unless somebody says otherwise."""
    settings = process_settings(options)
    if "workers" in settings.model_fields_set:
        return settings
    return process_settings(options | {"workers": usable_cores()})


def local_crew(settings: ProcessSettings, store: wiring.Store, clock: SystemClock) -> serving.LocalCrew:
    supervisor = serving.LocalSupervisor(
        wiring.WORKER_COMMAND, wiring.worker_environment(settings), settings.workers, store.catalog.suspect
    )
    duty = Duty(store.upkeep, settings.archive_folder, shared=settings.store is not None)
    return serving.LocalCrew(Crew(supervisor, duty, clock), supervisor)
