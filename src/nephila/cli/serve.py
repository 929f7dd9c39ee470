"""`nephila serve`: API, upkeep and workers in one process tree."""

from typing import Annotated

import typer

from nephila.cli.options import ALLOW_PRIVATE, ARCHIVE, CONCURRENCY, DATA, LOG, WORKER_PANEL, option, with_settings
from nephila.settings import ProcessSettings, usable_cores

ADDRESS_PANEL = "Where it listens"
ADDRESS = (
    option(
        ADDRESS_PANEL,
        str,
        "--host",
        "Address to listen on; one that others can reach needs a token.",
        "ADDRESS",
        "127.0.0.1",
    ),
    option(ADDRESS_PANEL, int, "--port", "0: any free one.", "N", "3000"),
)
WORKERS = option(WORKER_PANEL, int, "--workers", "Worker processes; 0: others do the work.", "N", "one per core")


@with_settings(*ADDRESS, *DATA, ARCHIVE, WORKERS, CONCURRENCY, ALLOW_PRIVATE, *LOG)
def serve(
    *,
    settings: ProcessSettings,
    no_index: Annotated[
        bool,
        typer.Option(
            "--no-index",
            metavar="",
            help="Do not index what is crawled: `search` then finds nothing new.",
            rich_help_panel=WORKER_PANEL,
        ),
    ] = False,
) -> None:
    """Serve the API and work on its crawls until SIGTERM or Ctrl-C."""
    # Here, because no other verb needs FastAPI, and it takes 0.4 s to load.
    from nephila.cli.server import run_server

    changes: dict[str, object] = {"index": False} if no_index else {}
    if "workers" not in settings.model_fields_set:
        changes["workers"] = usable_cores()
    run_server(settings.model_copy(update=changes))
