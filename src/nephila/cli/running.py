"""Running a crawl, for `crawl` and `resume`: signals, display, summary, exit code."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from nephila import log, supervision, wiring
from nephila.cli import words
from nephila.cli.display import Display, chosen
from nephila.cli.hints import command
from nephila.cli.options import open_store
from nephila.cli.output import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, print_json, print_lines
from nephila.cli.summary import broken_requisites, summary_lines, top_errors
from nephila.clock import Clock, SystemClock
from nephila.control.crawls import Begin
from nephila.control.crew import POLL_SECONDS, Crew
from nephila.control.progress import Progress, Snapshot, refusals_by_reason
from nephila.control.run import INTERRUPTED, CrawlRun, End
from nephila.control.supervisor import Supervisor
from nephila.control.upkeep import Duty
from nephila.frontier.store import Crawl
from nephila.models import CrawlState, UrlState
from nephila.settings import LogLevel, ProcessSettings

STOPPED_BY_FAULT = "stopped by a fault"


class CurrentStderr:
    """Standard error as it is when a line comes: a live screen takes it over, and lines stand above it."""

    def write(self, text: str) -> None:
        sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def quieter(settings: ProcessSettings) -> ProcessSettings:
    """The settings with log level `warning` unless a level is given: the display shows the visits."""
    given = "log_level" in settings.model_fields_set
    return settings if given else settings.model_copy(update={"log_level": LogLevel.WARNING})


def open_for_work(settings: ProcessSettings, *, create: bool) -> wiring.Store:
    """Open the store, the archive and the log: what cannot be written is found before a crawl is made or changed."""
    store = open_store(settings, create=create)
    store.archive.prepare()
    log.configure(settings.log_level, settings.log_format, CurrentStderr(), settings.log_file)
    supervision.log_strays()
    return store


def open_for_service(settings: ProcessSettings) -> wiring.Store | None:
    """As `open_for_work`, for what is to run for good: it waits for a database that is away, and says so.

    None: a signal came before the database.
    """
    with counted_signals() as signals:

        def rest(seconds: float) -> bool:
            end = time.monotonic() + seconds
            while not signals and time.monotonic() < end:
                time.sleep(POLL_SECONDS)
            return not signals

        def say(trouble: str) -> None:
            typer.echo(f"nephila: waiting: {trouble}" if trouble else "nephila: the store answers", err=True)

        return wiring.await_store(lambda: open_for_work(settings, create=True), settings, say, rest)


def run_crawl(
    settings: ProcessSettings, store: wiring.Store, crawl: Crawl, begin: Begin, *, json: bool, quiet: bool
) -> int:
    """Run a crawl to its end or until it is interrupted; the exit code."""
    clock = SystemClock()
    display = chosen(json=json, quiet=quiet, clock=clock)
    crew = crew_of(settings, store, clock, say=display.note if display.live else None)
    run = CrawlRun(crawl.id, store.catalog, crew, clock, joined=begin is Begin.JOINED)
    end = _run(run, display, crawl, begin)
    last = run.progress.snapshot(exact=True)
    if json:
        print_json(last.as_json(final=True))
    elif end is End.OVER:
        errors, refusals = top_errors(store.catalog, last), refusals_by_reason(store.catalog.refusals(crawl.id))
        broken = broken_requisites(store.catalog, last)
        print_lines(summary_lines(last, errors, refusals, settings, broken))
    else:
        print_lines(unfinished_lines(last, settings, left=end is End.LEFT))
    return exit_code(last) if end is End.OVER else EXIT_INTERRUPTED


def end_crawl(settings: ProcessSettings, store: wiring.Store, crawl: Crawl) -> Snapshot:
    """Let workers of this command end the open URLs of a crawl that is ending; how it is then."""
    clock = SystemClock()
    run = CrawlRun(crawl.id, store.catalog, crew_of(settings, store, clock), clock)
    _run(run, Display(), crawl, Begin.RESUMED)
    return run.progress.snapshot(exact=True)


def look(store: wiring.Store, crawl: Crawl) -> Snapshot:
    """How a crawl is now."""
    return Progress(store.catalog, crawl.id, SystemClock()).snapshot(exact=True)


def crew_of(
    settings: ProcessSettings, store: wiring.Store, clock: Clock, say: Callable[[str], None] | None = None
) -> Crew:
    store.patience.shorten()
    supervisor = Supervisor(
        wiring.WORKER_COMMAND,
        wiring.worker_environment(settings),
        settings.workers,
        suspect=store.catalog.mark_suspect,
        say=say,
    )
    duty = Duty(store.upkeep, store.archive, shared=settings.store is not None)
    return Crew(supervisor, duty, clock)


def _run(run: CrawlRun, display: Display, crawl: Crawl, begin: Begin) -> End:
    with counted_signals() as signals, display:
        try:
            display.begin(crawl, begin)
            end = run.until_end(display.show, lambda: len(signals), time.sleep)
            if end in (End.INTERRUPTED, End.LEFT) and run.crew.size:
                display.note("stopping: what is in flight is finished first; Ctrl-C again stops at once, without loss")
                run.interrupt(lambda: len(signals), time.sleep)
        except BaseException as error:
            # Also for a closed pipe: without their command the workers would go on.
            run.pause(INTERRUPTED if isinstance(error, BrokenPipeError) else STOPPED_BY_FAULT)
            raise
        finally:
            run.close()
    return end


@contextmanager
def counted_signals() -> Iterator[list[int]]:
    """A list that gets one entry for each Ctrl-C or SIGTERM. The loop looks at it ten times a second."""
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


def unfinished_lines(last: Snapshot, settings: ProcessSettings, *, left: bool) -> list[str]:
    """`left`: others work on the crawl and it goes on without this command."""
    crawl, done = last.crawl, f"{words.count(last.ended)} of {words.count(last.known)} URLs"
    if left:
        watch = f"watch it with: {command(settings, 'resume', crawl.id, workers='0')}"
        return [f"crawl {crawl.id} goes on without this command: {done}", watch]
    paused = f"crawl {crawl.id} paused ({crawl.reason or 'interrupted'}): {done}"
    return [paused, f"go on with: {command(settings, 'resume', crawl.id)}"]
