"""The running of a crawl, shared by `crawl` and `resume`: signals, display, summary, exit code."""

import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TextIO, cast

from nephila import log, wiring
from nephila.cli import words
from nephila.cli.display import Display, chosen, print_json
from nephila.cli.options import data_hint
from nephila.cli.summary import refusals_by_reason, summary_lines, top_errors
from nephila.clock import Clock, SystemClock
from nephila.control.crew import Crew
from nephila.control.progress import Snapshot
from nephila.control.run import INTERRUPTED, End, Run
from nephila.control.supervisor import Supervisor
from nephila.control.upkeep import Duty
from nephila.errors import UsageError
from nephila.frontier.store import Crawl
from nephila.models import CrawlState, UrlState
from nephila.settings import ENV_PREFIX, LogLevel, ProcessSettings, process_settings

EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 130
STOPPED_BY_FAULT = "stopped by a fault"


class CurrentStderr(io.TextIOBase):
    """Standard error as it is when a line comes: a live screen takes it over, and lines stand above it."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def worker_settings(**options: Any) -> ProcessSettings:
    """Visits are shown by the display, so only warnings are logged unless more is asked for."""
    if options.get("log_level") is None and not os.environ.get(f"{ENV_PREFIX}LOG_LEVEL"):
        options["log_level"] = LogLevel.WARNING
    return process_settings(options)


def open_for_work(settings: ProcessSettings, *, create: bool) -> wiring.Store:
    """What cannot be written is found here, before a crawl is made or changed."""
    store = wiring.open_store(settings, create=create)
    _check_archive(settings)
    log.configure(settings.log_level, settings.log_format, cast(TextIO, CurrentStderr()), settings.log_file)
    return store


def run_crawl(
    settings: ProcessSettings, store: wiring.Store, crawl: Crawl, *, new: bool, json: bool, quiet: bool
) -> int:
    """The exit code."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    clock = SystemClock()
    display = chosen(json=json, quiet=quiet, clock=clock)
    crew = crew_of(settings, store, clock, say=display.note if display.live else None)
    run = Run(crawl.id, store.catalog, crew, clock)
    end = _run(run, display, crawl, new)
    last = run.progress.snapshot(exact=True)
    if end is End.OVER:
        _print_summary(store, last, settings, json=json)
        return exit_code(last)
    _print_unfinished(last, settings, left=end is End.LEFT, json=json)
    return EXIT_INTERRUPTED


def crew_of(
    settings: ProcessSettings, store: wiring.Store, clock: Clock, say: Callable[[str], None] | None = None
) -> Crew:
    supervisor = Supervisor(
        wiring.WORKER_COMMAND,
        wiring.worker_environment(settings),
        settings.workers,
        suspect=store.catalog.suspect,
        say=say,
    )
    duty = Duty(store.upkeep, settings.archive_folder, shared=settings.store is not None)
    return Crew(supervisor, duty, clock)


def _run(run: Run, display: Display, crawl: Crawl, new: bool) -> End:
    with counted_signals() as signals, display:
        try:
            display.begin(crawl, new)
            end = run.until_end(display.show, lambda: len(signals), time.sleep)
            if end is End.INTERRUPTED:
                display.note("stopping: what is in flight is finished first; Ctrl-C again stops at once, without loss")
                run.interrupt(lambda: len(signals), time.sleep)
        except BaseException as error:
            # Also when nobody reads our lines any more (a closed pipe): workers without their command would go on.
            run.pause(INTERRUPTED if isinstance(error, BrokenPipeError) else STOPPED_BY_FAULT)
            raise
        finally:
            run.close()
    return end


@contextmanager
def counted_signals() -> Iterator[list[int]]:
    """Each Ctrl-C or SIGTERM is one entry. The handler does nothing else: the loop looks ten times a second."""
    caught: list[int] = []

    def catch(number: int, _frame: FrameType | None) -> None:
        caught.append(number)

    before = {number: signal.signal(number, catch) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_code(last: Snapshot) -> int:
    failed = last.crawl.state is CrawlState.FAILED or not last.counts.get(UrlState.VISITED)
    return EXIT_FAILED if failed else EXIT_DONE


def _check_archive(settings: ProcessSettings) -> None:
    folder = settings.archive_folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the archive folder {folder} cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write in the archive folder {folder}: check who owns it, or say --archive DIR")


def _print_summary(store: wiring.Store, last: Snapshot, settings: ProcessSettings, *, json: bool) -> None:
    if json:
        print_json(last.as_json(final=True))
        return
    errors = top_errors(store.catalog, last)
    refusals = refusals_by_reason(store.catalog.refusals(last.crawl.id))
    print("\n".join(summary_lines(last, errors, refusals, settings)), flush=True)


def _print_unfinished(last: Snapshot, settings: ProcessSettings, *, left: bool, json: bool) -> None:
    if json:
        print_json(last.as_json(final=True))
        return
    crawl, hint = last.crawl, data_hint(settings)
    done = f"{words.count(last.ended)} of {words.count(last.known)} URLs"
    if left:
        print(f"crawl {crawl.id} goes on without this command: {done}")
        print(f"watch it with: nephila resume {crawl.id} --workers 0{hint}", flush=True)
        return
    print(f"crawl {crawl.id} paused ({crawl.reason or 'interrupted'}): {done}")
    print(f"go on with: nephila resume {crawl.id}{hint}", flush=True)
