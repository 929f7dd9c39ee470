"""What a running crawl shows: one calm screen on a terminal, plain lines elsewhere, JSON for machines, or nothing."""

import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nephila.cli import words
from nephila.cli.output import print_json
from nephila.clock import Clock
from nephila.control.crawls import Begin
from nephila.control.progress import Snapshot, busiest, errors_of, gap_of, slowest
from nephila.frontier.records import QueueRow
from nephila.frontier.store import Crawl
from nephila.models import Tally, UrlState

PLAIN_EVERY_MS = 5000.0
HOSTS_SHOWN = 5
SLOWEST_SHOWN = 3
ERRORS_SHOWN = 6
SEEDS_NAMED = 2
WORKERS_NAMED = 8
STATE_STYLES = {UrlState.VISITED: "green", UrlState.FAILED: "red", UrlState.HTTP_ERROR: "red"}


BEGINNINGS = {
    Begin.NEW: "begins with",
    Begin.RESUMED: "goes on with",
    Begin.JOINED: "joins the running crawl of",
}
PAUSING, LEAVING = "Ctrl-C pauses, nothing is lost", "Ctrl-C ends only this command"


class Display:
    """What --quiet shows: only the notes. The other displays show more."""

    live = False  # true: the screen is the display's, and log lines go through `note`

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def begin(self, crawl: Crawl, begin: Begin) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        pass

    def note(self, text: str) -> None:
        """A line that stays; any thread may call this."""
        print(text, file=sys.stderr, flush=True)


class Plain(Display):
    """For pipes and files: a line every few seconds, and at once when the crawl begins to wait or goes on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next_tick = clock.tick_ms() + PLAIN_EVERY_MS
        self._waiting = ""

    def begin(self, crawl: Crawl, begin: Begin) -> None:
        print(beginning(crawl, begin), flush=True)

    def show(self, snapshot: Snapshot) -> None:
        now = self._clock.tick_ms()
        if snapshot.crawl.state.over or (now < self._next_tick and snapshot.waiting == self._waiting):
            return
        self._waiting, self._next_tick = snapshot.waiting, now + PLAIN_EVERY_MS
        print(f"{words.progress(snapshot)}{errors_text(snapshot, '; errors: ')}", flush=True)


class SeedProgress:
    """What becomes of many seeds before their crawl begins: a line every few seconds."""

    def __init__(self, seeds: int, clock: Clock, *, quiet: bool) -> None:
        self._seeds, self._clock, self._quiet = seeds, clock, quiet
        self._next_tick = clock.tick_ms() + PLAIN_EVERY_MS

    def __call__(self, what: str, done: int) -> None:
        now = self._clock.tick_ms()
        if not self._quiet and now >= self._next_tick:
            self._next_tick = now + PLAIN_EVERY_MS
            print(f"seeds: {done:,} of {self._seeds:,} {what}", file=sys.stderr, flush=True)


class Json(Display):
    """For machines: one JSON object per snapshot."""

    def show(self, snapshot: Snapshot) -> None:
        if not snapshot.crawl.state.over:
            print_json(snapshot.as_json())


class Screen(Display):
    """For terminals: one screen, drawn once per snapshot. It is gone when the crawl ends, and the summary follows."""

    live = True

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, transient=True, auto_refresh=False, redirect_stdout=False)
        self._ctrl_c = PAUSING

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def begin(self, crawl: Crawl, begin: Begin) -> None:
        self._ctrl_c = LEAVING if begin is Begin.JOINED else PAUSING
        self.note(beginning(crawl, begin))

    def show(self, snapshot: Snapshot) -> None:
        self._live.update(screen(snapshot, self._ctrl_c), refresh=True)

    def note(self, text: str) -> None:
        self._console.print(Text(text))


def chosen(*, json: bool, quiet: bool, clock: Clock) -> Display:
    if json:
        return Json()
    if quiet:
        return Display()
    console = Console()
    return Screen(console) if console.is_terminal else Plain(clock)


def beginning(crawl: Crawl, begin: Begin) -> str:
    line = f"{numbered(crawl)}: {BEGINNINGS[begin]} {seeds_text(crawl.seeds)}"
    return f"{line}; {LEAVING}" if begin is Begin.JOINED else line


def numbered(crawl: Crawl) -> str:
    """`crawl 7`, or `crawl 7 "Docs, weekly"` where it has a name."""
    return f'crawl {crawl.id} "{crawl.naming.name}"' if crawl.naming.name else f"crawl {crawl.id}"


def called(crawl: Crawl) -> str:
    """What tells a crawl from others: its name, else its seeds."""
    return crawl.naming.name or seeds_text(crawl.seeds)


def seeds_text(seeds: tuple[str, ...]) -> str:
    named = ", ".join(seeds[:SEEDS_NAMED])
    return f"{named} and {len(seeds) - SEEDS_NAMED:,} more" if len(seeds) > SEEDS_NAMED else named


def errors_text(snapshot: Snapshot, before: str = "") -> str:
    named = ", ".join(f"{kind} {words.count(number)}" for kind, number in errors_of(snapshot.counts)[:ERRORS_SHOWN])
    return before + named if named else ""


# --- the screen


def screen(snapshot: Snapshot, ctrl_c: str = PAUSING) -> RenderableType:
    parts: list[RenderableType] = [_head(snapshot), _sentence(snapshot), Text(), _counts(snapshot)]
    if errors := errors_text(snapshot):
        parts.append(Text(f"errors       {errors}", style="yellow", no_wrap=True, overflow="ellipsis"))
    if snapshot.queues:
        parts += [Text(), hosts_table(snapshot)]
    return Group(*parts, Text(), _foot(snapshot, ctrl_c))


def _head(snapshot: Snapshot) -> Text:
    crawl = snapshot.crawl
    head = Text(no_wrap=True, overflow="ellipsis").append(numbered(crawl), style="bold")
    return head.append(f"  {seeds_text(crawl.seeds)}  ").append(
        f"{crawl.state} {words.duration(crawl.active_ms)}", style="dim"
    )


def _sentence(snapshot: Snapshot) -> Text:
    return Text(words.progress(snapshot), style="yellow" if snapshot.waiting else "cyan")


def _counts(snapshot: Snapshot) -> Text:
    counts = snapshot.counts
    text = Text()
    for state, ended in snapshot.states.items():
        text.append(f"{state} ", style="dim").append(f"{words.count(ended)}   ", style=STATE_STYLES.get(state, ""))
    if text:
        text.append("\n")
    for name, number in (
        ("queued", words.count(counts.get(UrlState.QUEUED, 0))),
        ("in flight", words.count(counts.get(UrlState.IN_PROGRESS, 0))),
        ("requests", words.count(counts.get(Tally.REQUESTS, 0))),
        ("retries", words.count(counts.get(Tally.RETRIES, 0))),
        ("received", words.size(counts.get(Tally.BYTES, 0))),
    ):
        text.append(f"{name} ", style="dim").append(f"{number}   ")
    return text


def hosts_table(snapshot: Snapshot) -> Table:
    """The hosts with most to do, then the slowest of the others."""
    most = busiest(snapshot.queues, HOSTS_SHOWN)
    slow = [
        queue for queue in slowest(snapshot.queues, HOSTS_SHOWN + SLOWEST_SHOWN) if queue not in most and queue.delay_ms
    ]
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    table.add_column("busiest hosts", no_wrap=True, overflow="ellipsis", max_width=48)
    for heading in ("queued", "delay", "needs"):
        table.add_column(heading, justify="right", no_wrap=True)
    add_hosts(table, most, snapshot)
    if slow:
        table.add_row(Text("slowest hosts", style="dim"))
        add_hosts(table, slow[:SLOWEST_SHOWN], snapshot)
    return table


def add_hosts(table: Table, queues: Iterable[QueueRow], snapshot: Snapshot) -> None:
    for queue in queues:
        gap = gap_of(queue, snapshot.crawl.settings)
        needs = words.duration(queue.open * gap) if gap else ""
        table.add_row(queue.host, words.at_least(queue.open, queue.open_more), words.duration(gap), queue.dead or needs)


def _foot(snapshot: Snapshot, ctrl_c: str) -> Text:
    pids = ", ".join(str(worker.pid) for worker in snapshot.workers[:WORKERS_NAMED])
    some = "" if len(snapshot.workers) <= WORKERS_NAMED else ", ..."
    workers = f"{len(snapshot.workers)} worker{'' if len(snapshot.workers) == 1 else 's'}"
    return Text(f"{workers}{f' (pid {pids}{some})' if pids else ''}; {ctrl_c}", style="dim")
