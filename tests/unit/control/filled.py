"""A store and an archive as a worker leaves them, made through the same calls: one crawl of a.test, half done."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nephila.archive.writer import ArchiveWriter, Exchange
from nephila.clock import SystemClock
from nephila.frontier.sqlite import Database, SqliteCatalog, SqliteFrontier, SqliteUpkeep
from nephila.frontier.store import (
    Batch,
    Crawl,
    HostClock,
    Outcome,
    Release,
    Retry,
    RobotsRecord,
    Row,
    UrlFilter,
    WorkerInfo,
)
from nephila.models import Child, PageRecord, Reason, Refusal, Timing, UrlState
from nephila.policy.politeness import Pace
from nephila.profiles import crawl_settings
from nephila.urls.identity import host_of, url_key

SEED = "http://a.test/"
PAGE = b"<title>A</title><a href=x>x</a>" + b" " * 400
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
FETCHED_AT = 1_700_000_000_123
ROBOTS = b"User-agent: *\nDisallow: /private\n"


@dataclass(slots=True)
class Filled:
    folder: Path
    catalog: SqliteCatalog
    upkeep: SqliteUpkeep
    crawl: Crawl

    @property
    def archive(self) -> Path:
        return self.folder / "warc"

    def only_archive_file(self) -> Path:
        (found,) = self.archive.glob("*.warc.gz")
        return found


def fill(folder: Path) -> Filled:
    """Seed visited, x visited, gone 404, moved redirected to x, formula visited, later queued for a retry."""
    database = Database(folder)
    catalog, upkeep = SqliteCatalog(database), SqliteUpkeep(database)
    crawl = catalog.create_crawl([SEED], crawl_settings(), "mark")
    catalog.add_seeds(crawl.id, [child(crawl.id, SEED, None, 0)])
    catalog.seeded(crawl.id)
    frontier, writer = SqliteFrontier(Database(folder)), ArchiveWriter(folder / "warc", "0" * 16, SystemClock())
    frontier.join(WorkerInfo("here", 1, "0"))
    frontier.lease({})
    (window,) = frontier.flush(Batch(1, new_queues=10, window=10)).windows
    (seed,) = window.rows
    children = [child(crawl.id, SEED + name, seed.id, 1) for name in ("x", "gone", "moved", "formula", "later")]
    first = ended(writer, crawl.id, seed, UrlState.VISITED, 200, children)
    frontier.flush(Batch(2, outcomes=[first], archive_files=list(writer.files.items())))
    writer.committed()
    frontier.flush(_second(writer, crawl.id, _open_rows(catalog, crawl.id), window.queue))
    writer.close()
    frontier.leave()
    return Filled(folder, catalog, upkeep, catalog.crawl(crawl.id))


def _second(writer: ArchiveWriter, crawl: int, rows: dict[str, Row], queue: int) -> Batch:
    outcomes = [
        ended(writer, crawl, rows["x"], UrlState.VISITED, 200),
        ended(writer, crawl, rows["gone"], UrlState.NOT_FOUND, 404),
        ended(writer, crawl, rows["moved"], UrlState.REDIRECTED, 301),
        ended(writer, crawl, rows["formula"], UrlState.VISITED, 200),
    ]
    return Batch(
        3,
        outcomes=outcomes,
        retries=[Retry(rows["later"].id, crawl, 60_000, 1, 0, Reason.TIMEOUT)],
        released=[Release(queue, 0, 5)],
        clocks=[HostClock("a.test", 5000, 1500, Pace(latency_ms=300.0, errors=1), "backoff", 7)],
        robots=[RobotsRecord("http://a.test", "a.test", "rules", 200, ROBOTS, 86_400_000, 0, "", FETCHED_AT)],
        tallies={(crawl, "requests"): 7, (crawl, "bytes"): 2000, (crawl, "retries"): 1},
        refusals={(crawl, "b.test", Refusal.SCOPE): 3, (crawl, "a.test", Refusal.EXTENSION): 2},
        archive_files=list(writer.files.items()),
    )


def ended(
    writer: ArchiveWriter, crawl: int, row: Row, state: UrlState, status: int, children: Sequence[Child] = ()
) -> Outcome:
    exchange = Exchange(row.url, FETCHED_AT, "127.0.0.1", "http/1.1", b"GET / HTTP/1.1\r\n\r\n", HEAD, PAGE)
    page = PageRecord(
        status=status,
        content_type="text/html",
        body_bytes=len(PAGE),
        wire_bytes=len(PAGE),
        fetched_at=FETCHED_AT,
        timing=Timing(total_ms=12.34),
        title="+1" if row.url.endswith("formula") else f"Title of {row.url}",
        content_hash=hashlib.sha256(PAGE).digest(),
        redirect_to=f"{SEED}x" if state is UrlState.REDIRECTED else None,
        archive=writer.append(exchange),
    )
    writer.sync()
    return Outcome(row.id, crawl, state, "", 1, page, list(children))


def _open_rows(catalog: SqliteCatalog, crawl: int) -> dict[str, Row]:
    rows = catalog.urls(crawl, 0, 100, UrlFilter(states=(UrlState.QUEUED,)))
    return {row.url.removeprefix(SEED): Row(row.id, row.url, row.depth, row.kind, 0, 0, 0, row.raw_url) for row in rows}


def child(crawl: int, url: str, parent: int | None, depth: int) -> Child:
    raw = "=cmd()" if url.endswith("formula") else f"{url}#top"
    return Child(crawl, host_of(url), url_key(url), url, depth, depth, parent, raw)
