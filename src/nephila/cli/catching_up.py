"""Deriving what was crawled since, before a command looks at what is derived. For verbs that need an index."""

import sys
from contextlib import closing
from time import sleep

import typer
from rich.console import Console

from nephila.cli import words
from nephila.cli.hints import command
from nephila.cli.output import EXIT_INTERRUPTED, harmless
from nephila.clock import SystemClock
from nephila.control.derivation import DerivationProgress
from nephila.control.follower import Follower
from nephila.settings import ProcessSettings
from nephila.wiring import Store, new_follower

TURN_SECONDS = 0.1  # between two looks while another process indexes
TURN_SECONDS_MAX = 15.0  # then what is indexed is looked at
SKIPPED_SHOWN = 10


def catch_up(store: Store, name: str, settings: ProcessSettings, without: str) -> None:
    """Derive until all pages within reach are indexed, by us or by another process. Ctrl-C ends it without loss.

    `name`: of the derivation. `without` is the command that looks and does not index.
    """
    follow_up(new_follower(store, SystemClock(), only=name), settings, without)


def follow_up(follower: Follower, settings: ProcessSettings, without: str) -> None:
    """`catch_up` by a follower of one derivation."""
    console, (progress,) = Console(stderr=True), follower.progress()
    try:
        with closing(follower), console.status("looking at the archive") as status:
            waited = 0.0  # for another process, which indexes nothing meanwhile
            while (done := follower.step()) != 0:
                before, (progress,) = progress, follower.progress()
                if done is None and not progress.pending_bytes:
                    break
                status.update(progress_line(progress))
                waited = waited + TURN_SECONDS if done is None and progress == before else 0.0
                if waited > TURN_SECONDS_MAX:
                    print(
                        f"nephila: another process indexes and does not get on: {progress_line(progress)}",
                        file=sys.stderr,
                    )
                    break
                if done is None:
                    sleep(TURN_SECONDS)
    except KeyboardInterrupt:
        # The last known progress: a store whose answer was cut off is not asked again.
        print(f"nephila: stopped: {progress_line(progress)}; `{without}` takes these", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if unreachable := len(follower.unreachable):
        print(
            f"nephila: {words.count(unreachable)} archive file(s) are not in {follower.archive.location}: "
            "their pages may be missing; say --archive DIR if they lie elsewhere",
            file=sys.stderr,
        )
    if follower.skipped:
        print_skipped(follower)
        print(
            f"nephila: {words.count(follower.skipped)} archived page(s) could not be read: "
            f"`{command(settings, 'verify')}` says more",
            file=sys.stderr,
        )


def print_skipped(follower: Follower) -> None:
    """Name pages that ended the process that derives them: what they say is missing."""
    for each in follower.derivations:
        for record in follower.ledger.skipped(each.what, SKIPPED_SHOWN):
            row = follower.catalog.url_by_id(record.url_id) if record.tries else None
            if row is not None:
                print(f"nephila: skipped {harmless(row.url)}: {record.why}", file=sys.stderr)


def progress_line(progress: DerivationProgress) -> str:
    left = f", {words.size(progress.pending_bytes)} of the archive to go" if progress.pending_bytes else ""
    return f"{words.count(progress.pages)} pages are indexed{left}"
