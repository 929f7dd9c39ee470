"""What a running crawl shows: one calm screen on a terminal, plain lines elsewhere, JSON for machines, or nothing."""

import json
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nephila.cli import words
from nephila.clock import Clock
from nephila.control.progress import TERMINAL, Snapshot, busiest, errors_of, gap_of, slowest
from nephila.frontier.store import Crawl, QueueRow
from nephila.models import UrlState

PLAIN_EVERY_MS = 5000.0
HOSTS_SHOWN = 5
SLOWEST_SHOWN = 3
ERRORS_SHOWN = 6
SEEDS_NAMED = 2
WORKERS_NAMED = 8
STATE_STYLES = {UrlState.VISITED: "green", UrlState.FAILED: "red", UrlState.HTTP_ERROR: "red"}


class Display(Protocol):
    live: bool  # the screen is ours: lines of others would tear it

    def __enter__(self) -> "Display": ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def begin(self, crawl: Crawl, new: bool) -> None: ...
    def show(self, snapshot: Snapshot) -> None: ...
    def note(self, text: str) -> None:
        """A line that stays; any thread may call this."""


class Silent:
    """--quiet: only what must be said."""

    live = False

    def __enter__(self) -> "Silent":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def begin(self, crawl: Crawl, new: bool) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        pass

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Plain(Silent):
    """Not a terminal: a line every few seconds, and at once when the crawl begins to wait or to go on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next_tick = clock.tick_ms() + PLAIN_EVERY_MS
        self._waiting = ""

    def begin(self, crawl: Crawl, new: bool) -> None:
        print(beginning(crawl, new), flush=True)

    def show(self, snapshot: Snapshot) -> None:
        now = self._clock.tick_ms()
        if snapshot.crawl.state.over or (now < self._next_tick and snapshot.waiting == self._waiting):
            return
        self._waiting, self._next_tick = snapshot.waiting, now + PLAIN_EVERY_MS
        print(f"{words.progress(snapshot)}{errors_text(snapshot, '; errors: ')}", flush=True)


class Json(Silent):
    """One object a second."""

    def show(self, snapshot: Snapshot) -> None:
        if not snapshot.crawl.state.over:
            print_json(snapshot.as_json())


class Screen(Silent):
    """One calm screen, drawn once per snapshot; it is gone when the crawl ends, and the summary stands there."""

    live = True

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, transient=True, auto_refresh=False, redirect_stdout=False)

    def __enter__(self) -> "Screen":
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def begin(self, crawl: Crawl, new: bool) -> None:
        self.note(beginning(crawl, new))

    def show(self, snapshot: Snapshot) -> None:
        self._live.update(screen(snapshot), refresh=True)

    def note(self, text: str) -> None:
        self._console.print(Text(text))


def chosen(*, json: bool, quiet: bool, clock: Clock) -> Display:
    if json:
        return Json()
    if quiet:
        return Silent()
    console = Console()
    return Screen(console) if console.is_terminal else Plain(clock)


def print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, ensure_ascii=False), flush=True)


def beginning(crawl: Crawl, new: bool) -> str:
    return f"crawl {crawl.id}: {'begins with' if new else 'goes on with'} {seeds_text(crawl.seeds)}"


def seeds_text(seeds: tuple[str, ...]) -> str:
    named = ", ".join(seeds[:SEEDS_NAMED])
    return f"{named} and {len(seeds) - SEEDS_NAMED:,} more" if len(seeds) > SEEDS_NAMED else named


def errors_text(snapshot: Snapshot, before: str = "") -> str:
    named = ", ".join(f"{kind} {words.count(number)}" for kind, number in errors_of(snapshot.counts)[:ERRORS_SHOWN])
    return before + named if named else ""


# --- the screen


def screen(snapshot: Snapshot) -> RenderableType:
    parts: list[RenderableType] = [_head(snapshot), _sentence(snapshot), Text(), _counts(snapshot)]
    if errors := errors_text(snapshot):
        parts.append(Text(f"errors       {errors}", style="yellow", no_wrap=True, overflow="ellipsis"))
    if snapshot.queues:
        parts += [Text(), hosts_table(snapshot)]
    return Group(*parts, Text(), _foot(snapshot))


def _head(snapshot: Snapshot) -> Text:
    crawl = snapshot.crawl
    head = Text(no_wrap=True, overflow="ellipsis").append(f"crawl {crawl.id}", style="bold")
    return head.append(f"  {seeds_text(crawl.seeds)}  ").append(
        f"{crawl.state} {words.duration(crawl.active_ms)}", style="dim"
    )


def _sentence(snapshot: Snapshot) -> Text:
    return Text(words.progress(snapshot), style="yellow" if snapshot.waiting else "cyan")


def _counts(snapshot: Snapshot) -> Text:
    counts = snapshot.counts
    text = Text()
    for state in TERMINAL:
        if counts.get(state):
            text.append(f"{state} ", style="dim").append(
                f"{words.count(counts[state])}   ", style=STATE_STYLES.get(state, "")
            )
    if text:
        text.append("\n")
    for name, number in (
        ("queued", words.count(counts.get("queued", 0))),
        ("in flight", words.count(counts.get("in_progress", 0))),
        ("requests", words.count(counts.get("requests", 0))),
        ("retries", words.count(counts.get("retries", 0))),
        ("received", words.size(counts.get("bytes", 0))),
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
        table.add_row(queue.host, words.count(queue.open), words.duration(gap), queue.dead or needs)


def _foot(snapshot: Snapshot) -> Text:
    pids = ", ".join(str(worker.pid) for worker in snapshot.workers[:WORKERS_NAMED])
    some = "" if len(snapshot.workers) <= WORKERS_NAMED else ", ..."
    workers = f"{len(snapshot.workers)} worker{'' if len(snapshot.workers) == 1 else 's'}"
    return Text(f"{workers}{f' (pid {pids}{some})' if pids else ''}; Ctrl-C pauses, nothing is lost", style="dim")
