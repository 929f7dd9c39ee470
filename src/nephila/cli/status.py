"""`nephila status`: all crawls in a table, or one in detail."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from nephila.cli import words
from nephila.cli.display import errors_text, hosts_table, numbered, seeds_text
from nephila.cli.options import (
    DATA,
    CrawlArgument,
    JsonOption,
    blaming_option,
    chosen_crawl,
    open_store,
    with_settings,
)
from nephila.cli.output import print_json, print_table
from nephila.cli.summary import sitemap_lines
from nephila.clock import SystemClock
from nephila.control.crawls import every_crawl, paused_if_interrupted
from nephila.control.derivation import DerivationProgress, derivations_of, progress_of
from nephila.control.export import iso_time
from nephila.control.naming import checked_label, is_labelled
from nephila.control.progress import SEEDS_SHOWN, Snapshot, ended_of, sampled
from nephila.errors import StoreUnavailable, UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import WorkerRow
from nephila.frontier.store import Crawl
from nephila.models import OPEN, Tally, UrlState
from nephila.settings import ProcessSettings
from nephila.wiring import Store

SAMPLE_SECONDS = 1.0


@with_settings(*DATA)
def status(
    crawl: CrawlArgument = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL",
            help="Only crawls with this label; a key alone stands for all of its values (may be repeated).",
        ),
    ] = None,
    *,
    settings: ProcessSettings,
    json: JsonOption = False,
) -> None:
    """List all crawls, or show one: counts, rate, the time it still needs, the slowest hosts, the workers."""
    opened = open_store(settings)
    catalog = opened.catalog
    workers = [worker for worker in catalog.workers() if worker.alive]
    if crawl is not None and label:
        raise UsageError(f"--label is for the list of crawls: leave out the number {crawl}")
    if label or (crawl is None and len(catalog.crawls(limit=2)) > 1):
        known = [paused_if_interrupted(catalog, each) for each in _labelled(catalog, label or ())][::-1]
        if not known and not json:
            raise UsageError(f"no crawl has the label {' and the label '.join(label or ())}")
        _print_all(catalog, known, json=json)
        if workers and not json:
            print_workers(workers)
        if not json:
            print_derivations(derivations(opened))
        return
    found = chosen_crawl(catalog, crawl)
    snapshot = sampled(catalog, found.id, SystemClock(), lambda: time.sleep(SAMPLE_SECONDS))
    snapshot = replace(snapshot, crawl=paused_if_interrupted(catalog, snapshot.crawl))
    if json:
        print_json(snapshot.as_json(final=snapshot.crawl.state.over))
        return
    _print_one(snapshot)
    if workers and not snapshot.crawl.state.over:
        print_workers(workers)
    print_derivations(derivations(opened))


def _labelled(catalog: Catalog, labels: Sequence[str]) -> Iterator[Crawl]:
    with blaming_option("--label"):
        wanted = [checked_label(label) for label in labels]
    return (each for each in every_crawl(catalog) if all(is_labelled(each.naming.labels, label) for label in wanted))


def _print_all(catalog: Catalog, known: Sequence[Crawl], *, json: bool) -> None:
    rows = [(crawl, catalog.tallies(crawl.id)) for crawl in known]
    if json:
        print_json([_listed(crawl, counts) for crawl, counts in rows])
        return
    shown = [
        {
            "crawl": str(crawl.id),
            "state": str(crawl.state),
            "visited": words.count(counts.get(UrlState.VISITED, 0)),
            "ended": words.count(ended_of(counts)),
            "queued": words.count(sum(counts[state] for state in OPEN)),
            "begun": _minute(crawl.created_at),
            "name": crawl.naming.name,
            "labels": ", ".join(crawl.naming.labels),
            "seeds": seeds_text(crawl.seeds),
        }
        for crawl, counts in rows
    ]
    unused = [heading for heading in ("name", "labels") if not any(row[heading] for row in shown)]
    shown = [{heading: cell for heading, cell in row.items() if heading not in unused} for row in shown]
    numbers = ("crawl", "visited", "ended", "queued")
    print_table(shown, right=numbers, unbroken=(*numbers, "state", "begun"))


def print_workers(workers: Sequence[WorkerRow]) -> None:
    """All workers of the store: any of them may have a part in a crawl."""
    rows = [
        {
            "worker": str(worker.id),
            "machine": f"{worker.name}:{worker.pid}",
            "version": worker.version,
            "since": _minute(worker.started_at),
            "partitions": str(worker.partitions),
            "in flight": str(worker.in_flight),
            "pages": words.count(worker.vitals.pages),
            "pages/s": f"{worker.vitals.pages_per_s:.0f}",
            "CPU": f"{worker.vitals.cpu:.0%}",
            "memory": words.size(worker.vitals.rss_bytes),
        }
        for worker in sorted(workers, key=lambda worker: worker.id)
    ]
    print_table(rows, right=rows[0].keys() - {"machine", "version", "since"})


def derivations(store: Store) -> list[DerivationProgress]:
    """How far each derivation is; none where it cannot be read now."""
    try:
        return progress_of(store.catalog, store.ledger, derivations_of(store))
    except StoreUnavailable:
        return []


def print_derivations(found: Sequence[DerivationProgress]) -> None:
    """A line for each derivation that somebody uses, and that is behind or has skipped something."""
    for each in found:
        if each.pages and (each.pending_bytes or each.skipped):
            print(derivation_line(each))


def derivation_line(progress: DerivationProgress) -> str:
    left = f", {words.size(progress.pending_bytes)} of the archive to go" if progress.pending_bytes else ""
    skipped = f", {words.count(progress.skipped)} record(s) skipped" if progress.skipped else ""
    return f"{progress.name}: {words.count(progress.pages)} pages derived{left}{skipped}"


def _minute(ms: int) -> str:
    return iso_time(ms)[:16].replace("T", " ")


def _listed(crawl: Crawl, counts: dict[str, int]) -> dict[str, object]:
    return {
        "crawl": crawl.id,
        "name": crawl.naming.name,
        "labels": crawl.naming.labels,
        "state": crawl.state,
        "reason": crawl.reason,
        "limited_by": crawl.limited_by,
        "seeds": crawl.seeds[:SEEDS_SHOWN],
        "created_at": iso_time(crawl.created_at),
        "ended_at": crawl.ended_at and iso_time(crawl.ended_at),
        "counts": counts,
    }


def _print_one(snapshot: Snapshot) -> None:
    crawl, counts = snapshot.crawl, snapshot.counts
    console = Console(soft_wrap=True, highlight=False)
    lines = [
        f"{numbered(crawl)} is {crawl.state}{f' ({crawl.reason})' if crawl.reason else ''}: {seeds_text(crawl.seeds)}",
        *([f"labels: {', '.join(crawl.naming.labels)}"] if crawl.naming.labels else []),
        *([f"no seed could be had: {snapshot.cause}"] if snapshot.cause else []),
        words.progress(snapshot),
        f"begun {iso_time(crawl.created_at)}, active for {words.duration(crawl.active_ms)}",
    ]
    if crawl.limited_by:
        lines.append(f"{'ended by its limit' if crawl.state.over else 'has met its limit'}: {crawl.limited_by}")
    open_counts = {name: counts[name] for name in (UrlState.QUEUED, UrlState.IN_PROGRESS) if counts.get(name)}
    lines += [
        f"  {name:<12} {words.count(number):>12}" for name, number in [*snapshot.states.items(), *open_counts.items()]
    ]
    if (needed := snapshot.requisites).urls:
        errors = ", ".join(f"{error} {words.count(number)}" for error, number in needed.errors.items())
        broken = f", {words.count(needed.broken)} broken{f' ({errors})' if errors else ''}"
        lines.append(f"requisites: {words.urls(needed.urls)} that pages need{broken}")
    lines += sitemap_lines(snapshot.sitemaps)
    received = words.size(counts.get(Tally.BYTES, 0))
    requests, retries = (words.count(counts.get(name, 0)) for name in (Tally.REQUESTS, Tally.RETRIES))
    lines.append(f"{requests} requests, {retries} retries, {received} received")
    lines += [errors_text(snapshot, "errors: ")] if errors_text(snapshot) else []
    console.print(Text("\n".join(lines)))
    if snapshot.queues and not crawl.state.over:
        console.print(hosts_table(snapshot))
