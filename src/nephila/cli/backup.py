"""`nephila backup`: a copy of the embedded store and its archive, while crawls run."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from nephila import wiring
from nephila.cli import words
from nephila.cli.hints import command
from nephila.cli.options import ARCHIVE, DATA, with_settings
from nephila.cli.output import print_lines
from nephila.control.backup import back_up
from nephila.errors import UsageError
from nephila.settings import ProcessSettings, process_settings


@with_settings(*DATA, ARCHIVE)
def backup(
    destination: Annotated[
        Path, typer.Argument(metavar="DESTINATION", help="Folder to make; it must not exist yet, or be empty.")
    ],
    *,
    settings: ProcessSettings,
) -> None:
    """Copy the store and the archive of a data folder while crawls run. The copy is a data folder, too."""
    archive = wiring.open_archive(settings)
    if settings.store is not None:
        raise UsageError(
            f"{settings.shown_store} is a PostgreSQL database: back it up with pg_dump or pg_basebackup, "
            f"and then copy the archive {archive.location}"
        )
    with Console(stderr=True).status("copying") as status:

        def tell(what: str, done: int, of: int) -> None:
            status.update(f"copying {what}: {words.count(done)} of {words.count(of)}")

        made = back_up(partial(wiring.copy_store, settings), archive, destination, tell)
    files = f"{words.count(made.files)} archive file{'' if made.files == 1 else 's'}"
    sizes = f"store {words.size(made.store_bytes)}, {files} {words.size(made.archive_bytes)}"
    check = command(process_settings({"data": destination}), "verify")
    print_lines([f"backup in {destination}: {sizes}", f"check it with: {check}"])
