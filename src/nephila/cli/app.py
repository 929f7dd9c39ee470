"""The command line: one file per verb. Errors are one clear line, never a traceback for a user's mistake."""

import gc
import os
import signal
import sys
from collections.abc import Collection
from importlib import import_module
from itertools import chain
from typing import Annotated

import typer
from typer.exceptions import TyperException

from nephila import __version__
from nephila.cli.output import EXIT_BUSY, EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE
from nephila.errors import NephilaError, StoreBusy, UsageError

GROUPS = frozenset(("report", "token"))  # have verbs of their own
# A verb is the function of its name in the module of its name.
PANELS: dict[str, tuple[str, ...]] = {
    "Crawling": ("crawl", "resume", "pause", "cancel", "label", "status"),
    "Looking at a crawl": ("urls", "links", "report", "refused", "explain", "robots", "sitemaps", "show", "search"),
    "Data": ("export", "compare", "delete", "verify", "backup", "settings"),
    "Service": ("serve", "worker", "migrate", "openapi", "manual", "token"),
}
VERBS = tuple(chain(*PANELS.values()))


def command_line(verbs: Collection[str] = VERBS) -> typer.Typer:
    """The command line with these verbs. Only they are imported: all take twice as long as most of them alone."""
    app = typer.Typer(
        name="nephila",
        help="A web crawler that never forgets a URL, never hurries a host, and can always say why.",
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback()(_nephila)
    for panel, names in PANELS.items():
        for name in filter(verbs.__contains__, names):
            module = import_module(f"nephila.cli.{name}")
            if name in GROUPS:
                app.add_typer(module.app, name=name, rich_help_panel=panel)
            else:
                app.command(rich_help_panel=panel)(getattr(module, name))
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"nephila {__version__}")
        raise typer.Exit


def _nephila(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_print_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    pass


def run(arguments: list[str]) -> int:
    """Run a command; its exit code."""
    asked = arguments[:1]
    app = command_line(asked if asked and asked[0] in VERBS else VERBS)
    if not gc.isenabled():  # see main
        gc.freeze()
        gc.enable()
    try:
        code = int(app(arguments, standalone_mode=False, prog_name="nephila") or 0)
        sys.stdout.flush()
        return code
    except SystemExit as ending:  # typer makes one of a broken pipe, and one without a fault when it completes words
        return _reader_gone() if ending.code else EXIT_DONE
    except BrokenPipeError:
        return _reader_gone()
    except NephilaError as error:
        return _complain(str(error), code_of(error))
    except TyperException as error:
        # No text: without arguments the help was printed.
        return _complain(error.format_message(), EXIT_USAGE) if error.format_message() else EXIT_USAGE
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED


def code_of(error: NephilaError) -> int:
    match error:
        case UsageError():
            return EXIT_USAGE
        case StoreBusy():
            return EXIT_BUSY
    return EXIT_FAILED


def _complain(text: str, code: int) -> int:
    lines = (line.strip() for line in text.replace("Value error, ", "").splitlines())
    print(f"nephila: {' '.join(filter(None, lines))}", file=sys.stderr)
    return code


def _reader_gone() -> int:
    """End quietly, with the code of every tool in a pipe whose reader went away (`nephila urls | head`).

    SIGPIPE stays ignored, as Python leaves it: its default action would let any client that hangs up in the middle
    of an answer end `nephila serve`.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return 128 + signal.SIGPIPE


def main() -> None:
    # Imports make a hundred thousand objects that stay: to look through them again and again is a sixth of the start.
    gc.disable()
    # A terminal that cannot show a character must not end a listing.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(run(sys.argv[1:]))
