"""Running `nephila serve`: builds the API, the crew and what they share, and serves until a signal."""

import os
from functools import partial

import typer

from nephila import wiring
from nephila.api import serving
from nephila.api.app import create_app, make_services
from nephila.api.faces.run_records import RunSettings, merged
from nephila.cli import running
from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.control.crew import Crew
from nephila.control.follower import FollowerKeeper
from nephila.control.supervisor import Supervisor
from nephila.control.upkeep import Duty
from nephila.log import capture_libraries
from nephila.metrics import observe_upkeep
from nephila.profiles import environment_settings
from nephila.settings import ProcessSettings


def run_server(settings: ProcessSettings) -> None:
    # Before anything is opened: the environment gives what requests leave out, and none of them could be answered.
    environment_settings(os.environ)
    merged(RunSettings(), os.environ)
    opened = running.open_for_service(settings)
    if opened is None:
        return
    serving.check_address(settings.host, opened.tokens)
    listening = serving.listen(settings.host, settings.port)
    crawls.adopt_running(opened.catalog)
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
    store.patience.shorten()
    supervisor = Supervisor(
        wiring.WORKER_COMMAND, wiring.worker_environment(settings), settings.workers, store.catalog.mark_suspect
    )
    duty = Duty(store.upkeep, store.archive, shared=settings.store is not None)
    follower = FollowerKeeper(wiring.FOLLOWER_COMMAND, wiring.worker_environment(settings)) if settings.index else None
    return serving.LocalCrew(Crew(supervisor, duty, clock, follower))
