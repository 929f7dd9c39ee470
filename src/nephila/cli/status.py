"""`nephila status`: all crawls in a table, or one in detail."""

import time
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nephila.cli import words
from nephila.cli.display import errors_text, hosts_table, print_json, seeds_text
from nephila.cli.options import (
    CrawlArgument,
    DataOption,
    JsonOption,
    StoreOption,
    chosen_crawl,
    json_text,
    open_catalog,
    reading_settings,
)
from nephila.clock import SystemClock
from nephila.control.crawls import as_it_is
from nephila.control.export import iso_time
from nephila.control.progress import TERMINAL, Snapshot, ended_of, sampled
from nephila.frontier.store import Catalog, Crawl, WorkerRow
from nephila.models import UrlState

SAMPLE_SECONDS = 1.0


def status(
    crawl: CrawlArgument = None, data: DataOption = None, store: StoreOption = None, json: JsonOption = False
) -> None:
    """All crawls; or of one: counts, rate, an end that knows politeness, the slowest hosts, the workers."""
    catalog = open_catalog(reading_settings(data, store))
    known = [as_it_is(catalog, each) for each in catalog.crawls()]
    workers = [worker for worker in catalog.workers() if worker.alive]
    if crawl is None and len(known) > 1:
        _print_all(catalog, known, json=json)
        if workers and not json:
            Console().print(workers_table(workers))
        return
    found = chosen_crawl(catalog, crawl)
    snapshot = sampled(catalog, found.id, SystemClock(), lambda: time.sleep(SAMPLE_SECONDS))
    snapshot = replace(snapshot, crawl=as_it_is(catalog, snapshot.crawl))
    if json:
        print_json(snapshot.as_json(final=snapshot.crawl.state.over))
        return
    _print_one(snapshot)
    if workers and not snapshot.crawl.state.over:
        Console().print(workers_table(workers))


def _print_all(catalog: Catalog, known: Sequence[Crawl], *, json: bool) -> None:
    rows = [(crawl, catalog.tallies(crawl.id)) for crawl in known]
    if json:
        print(json_text([_listed(crawl, counts) for crawl, counts in rows]))
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading, right in (
        ("crawl", True),
        ("state", False),
        ("visited", True),
        ("ended", True),
        ("queued", True),
        ("begun", False),
        ("seeds", False),
    ):
        table.add_column(heading, justify="right" if right else "left", no_wrap=heading != "seeds")
    for crawl, counts in rows:
        numbers = (counts.get(UrlState.VISITED, 0), ended_of(counts), counts["queued"] + counts["in_progress"])
        table.add_row(
            str(crawl.id),
            str(crawl.state),
            *map(words.count, numbers),
            iso_time(crawl.created_at)[:16].replace("T", " "),
            seeds_text(crawl.seeds),
        )
    Console().print(table)


def workers_table(workers: Sequence[WorkerRow]) -> Table:
    """Of the store, not of one crawl: any worker may have a part in it."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in (
        "worker",
        "machine",
        "version",
        "since",
        "partitions",
        "in flight",
        "pages",
        "pages/s",
        "CPU",
        "memory",
    ):
        table.add_column(heading, justify="left" if heading in ("machine", "version", "since") else "right")
    for worker in sorted(workers, key=lambda worker: worker.id):
        vitals = worker.vitals
        table.add_row(
            str(worker.id),
            f"{worker.name}:{worker.pid}",
            worker.version,
            iso_time(worker.started_at)[:16].replace("T", " "),
            str(worker.partitions),
            str(worker.in_flight),
            words.count(vitals.pages),
            f"{vitals.pages_per_s:.0f}",
            f"{vitals.cpu:.0%}",
            words.size(vitals.rss_bytes),
        )
    return table


def _listed(crawl: Crawl, counts: dict[str, int]) -> dict[str, object]:
    times = {"created_at": iso_time(crawl.created_at), "ended_at": crawl.ended_at and iso_time(crawl.ended_at)}
    return (
        {
            "crawl": crawl.id,
            "state": crawl.state,
            "reason": crawl.reason,
            "limited_by": crawl.limited_by,
            "seeds": crawl.seeds[:10],
        }
        | times
        | {"counts": counts}
    )


def _print_one(snapshot: Snapshot) -> None:
    crawl, counts = snapshot.crawl, snapshot.counts
    console = Console(soft_wrap=True, highlight=False)
    lines = [
        f"crawl {crawl.id} is {crawl.state}{f' ({crawl.reason})' if crawl.reason else ''}: {seeds_text(crawl.seeds)}",
        words.progress(snapshot),
        f"begun {iso_time(crawl.created_at)}, active for {words.duration(crawl.active_ms)}",
    ]
    if crawl.limited_by:
        lines.append(f"ended by its limit: {crawl.limited_by}")
    lines += [f"  {state:<12} {words.count(counts[state]):>12}" for state in TERMINAL if counts.get(state)]
    lines += [f"  {name:<12} {words.count(counts[name]):>12}" for name in ("queued", "in_progress") if counts.get(name)]
    received = words.size(counts.get("bytes", 0))
    requests, retries = (words.count(counts.get(name, 0)) for name in ("requests", "retries"))
    lines.append(f"{requests} requests, {retries} retries, {received} received")
    lines += [errors_text(snapshot, "errors: ")] if errors_text(snapshot) else []
    console.print(Text("\n".join(lines)))
    if snapshot.queues and not crawl.state.over:
        console.print(hosts_table(snapshot))
