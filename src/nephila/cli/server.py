"""The running of `nephila serve`: the API, the crew and what they share, wired together."""

from functools import partial

import typer

from nephila import wiring
from nephila.api import serving
from nephila.api.app import create_app, make_services
from nephila.cli import running
from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.control.crew import Crew
from nephila.control.indexing import IndexerKeeper
from nephila.control.upkeep import Duty
from nephila.log import capture_libraries
from nephila.metrics import observe_upkeep
from nephila.settings import ProcessSettings


def run_server(settings: ProcessSettings) -> None:
    opened = running.open_for_work(settings, create=True)
    serving.check_address(settings.host, opened.rulebook)
    listening = serving.listen(settings.host, settings.port)
    crawls.take_up(opened.catalog)
    clock = SystemClock()
    crew = local_crew(settings, opened, clock)
    services = make_services(settings, clock, lambda: wiring.open_store(settings), crew)
    crew.crew.observe = partial(observe_upkeep, services.hub.meter)
    capture_libraries("control-plane")
    typer.echo(
        f"serving {settings.shown_store} at {serving.address_of(listening)} with {settings.workers} worker(s); "
        "SIGTERM or Ctrl-C ends it"
    )
    with running.counted_signals():
        serving.serve(create_app(services), services, crew, listening)


def local_crew(settings: ProcessSettings, store: wiring.Store, clock: SystemClock) -> serving.LocalCrew:
    supervisor = serving.LocalSupervisor(
        wiring.WORKER_COMMAND, wiring.worker_environment(settings), settings.workers, store.catalog.suspect
    )
    duty = Duty(store.upkeep, settings.archive_folder, shared=settings.store is not None)
    indexer = IndexerKeeper(wiring.INDEXER_COMMAND, wiring.worker_environment(settings)) if settings.index else None
    return serving.LocalCrew(Crew(supervisor, duty, clock, indexer), supervisor)
