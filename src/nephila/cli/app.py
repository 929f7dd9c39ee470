"""The command line: one file per verb. Errors are one clear line, never a traceback for a user's mistake."""

import signal
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from nephila import __version__
from nephila.cli import (
    compare,
    crawl,
    delete,
    explain,
    export,
    migrate,
    openapi,
    resume,
    search,
    serve,
    settings,
    show,
    status,
    token,
    urls,
    verify,
    worker,
)
from nephila.errors import NephilaError, UsageError

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="nephila",
    help="A web crawler that never forgets a URL, never hurries a host, and can always say why.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

CRAWLING, LOOKING, DATA, SERVICE = "Crawling", "Looking at a crawl", "Data", "Service"
app.command(rich_help_panel=CRAWLING)(crawl.crawl)
app.command(rich_help_panel=CRAWLING)(resume.resume)
app.command(rich_help_panel=CRAWLING)(status.status)
app.command(rich_help_panel=LOOKING)(urls.urls)
app.command(rich_help_panel=LOOKING)(explain.explain)
app.command(rich_help_panel=LOOKING)(show.show)
app.command(rich_help_panel=LOOKING)(search.search)
app.command(rich_help_panel=DATA)(export.export)
app.command(rich_help_panel=DATA)(compare.compare)
app.command(rich_help_panel=DATA)(delete.delete)
app.command(rich_help_panel=DATA)(verify.verify)
app.command(rich_help_panel=DATA)(settings.settings)
app.command(rich_help_panel=SERVICE)(serve.serve)
app.command(rich_help_panel=SERVICE)(worker.worker)
app.command(rich_help_panel=SERVICE)(migrate.migrate)
app.command(rich_help_panel=SERVICE)(openapi.openapi)
app.add_typer(token.app, name="token", rich_help_panel=SERVICE)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"nephila {__version__}")
        raise typer.Exit


@app.callback()
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
    """The exit code."""
    try:
        return int(app(arguments, standalone_mode=False, prog_name="nephila") or 0)
    except NephilaError as error:
        return _complain(str(error), EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILED)
    except TyperException as error:
        # No text: the help was printed instead, because nothing was asked.
        return _complain(error.format_message(), EXIT_USAGE) if error.format_message() else EXIT_USAGE
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED


def _complain(text: str, code: int) -> int:
    print(f"nephila: {' '.join(text.replace('Value error, ', '').split())}", file=sys.stderr)
    return code


def main() -> None:
    # A closed pipe (`nephila urls | head`) ends us as it ends every tool; crawl and resume take it back.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # A terminal that cannot show a character must not end a listing.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(run(sys.argv[1:]))
