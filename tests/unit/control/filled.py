"""A store and an archive as a worker leaves them, made through the same calls: one crawl of a.test, half done."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nephila.archive.archive import ArchiveWriter, Exchange
from nephila.archive.folder import FolderArchive
from nephila.clock import Clock, SystemClock
from nephila.frontier.records import UrlFilter
from nephila.frontier.sqlite import SqliteCatalog, SqliteDatabase, SqliteFrontier, SqliteUpkeep
from nephila.frontier.store import (
    Batch,
    Crawl,
    HostClock,
    Outcome,
    RefusedLink,
    Release,
    Retry,
    RobotsRecord,
    Row,
    WorkerInfo,
)
from nephila.models import Child, Kind, PageRecord, Reason, Refusal, Timing, UrlState
from nephila.policy.politeness import Pace
from nephila.profiles import crawl_settings
from nephila.urls.identity import host_of, requisite_key, url_key

SEED = "http://a.test/"
PAGE = b"<title>A</title><a href=x>x</a>" + b" " * 400
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
FETCHED_AT = 1_700_000_000_123
PDFS = "paths that end in .pdf are skipped"
ROBOTS = b"User-agent: *\nDisallow: /private\n"


@dataclass(slots=True)
class Filled:
    folder: Path
    catalog: SqliteCatalog
    upkeep: SqliteUpkeep
    crawl: Crawl
    archive: FolderArchive

    def only_archive_file(self) -> Path:
        (found,) = self.archive.files()
        return self.folder / "warc" / found


def fill(folder: Path, opened: Callable[[Path, Clock], FolderArchive] = FolderArchive) -> Filled:
    """Seed visited, x visited, gone 404, moved redirected to x, formula visited, later queued for a retry."""
    database = SqliteDatabase(folder)
    catalog, upkeep = SqliteCatalog(database), SqliteUpkeep(database)
    crawl = catalog.create_crawl([SEED], crawl_settings(), "mark")
    catalog.add_seeds(crawl.id, [child(crawl.id, SEED, None, 0)])
    catalog.seeded(crawl.id)
    archive = opened(folder / "warc", SystemClock())
    frontier, writer = SqliteFrontier(SqliteDatabase(folder)), archive.writer("0" * 16)
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
    return Filled(folder, catalog, upkeep, catalog.crawl(crawl.id), archive)


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
        refused_rules={(crawl, Refusal.EXTENSION, PDFS): 2},
        refused_links=[
            RefusedLink(crawl, Refusal.EXTENSION, PDFS, "a.test", f"{SEED}a.pdf", rows["x"].id),
            RefusedLink(crawl, Refusal.SCOPE, "", "b.test", "http://b.test/", rows["x"].id),
        ],
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


def need(filled: Filled, *names: str) -> None:
    """What the seed needs, waiting for its turn."""
    urls = [SEED + name for name in names]
    parts = [(url, requisite_key(url)) for url in urls]
    rows = [Child(filled.crawl.id, host_of(url), key, url, 0, -1, 1, url, kind=Kind.REQUISITE) for url, key in parts]
    filled.catalog.add_seeds(filled.crawl.id, rows)


def child(crawl: int, url: str, parent: int | None, depth: int) -> Child:
    raw = "=cmd()" if url.endswith("formula") else f"{url}#top"
    return Child(crawl, host_of(url), url_key(url), url, depth, depth, parent, raw)
