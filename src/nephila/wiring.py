"""Settings to objects: the only file that names a concrete backend."""

import asyncio
import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar

from nephila import __version__, log, supervision
from nephila.archive.archive import Archive
from nephila.archive.folder import FolderArchive
from nephila.blackbox import BlackBox
from nephila.clock import Clock, SystemClock
from nephila.derived.ledger import Ledger
from nephila.derived.sqlite_ledger import SqliteLedger
from nephila.errors import NephilaError, StoreDamaged, StoreUnavailable
from nephila.frontier.catalog import Catalog
from nephila.frontier.rulebook import Rulebook
from nephila.frontier.sqlite import SqliteCatalog, SqliteDatabase, SqliteFrontier, SqliteUpkeep
from nephila.frontier.store import Frontier, WorkerInfo
from nephila.frontier.tables import Patience
from nephila.frontier.tokens import Tokens
from nephila.frontier.upkeep import Upkeep
from nephila.links.index import LinkIndex
from nephila.links.sqlite_links import SqliteLinks
from nephila.machine import files_for_connections, raise_file_limit
from nephila.search.index import SearchIndex
from nephila.search.sqlite_fts import SqliteIndex
from nephila.settings import ProcessSettings, process_settings, usable_cores

if TYPE_CHECKING:
    from nephila.control.follower import Follower
    from nephila.fetch.curl import CurlFetcher
    from nephila.fetch.resolver import Resolver
    from nephila.frontier.postgres import PostgresDatabase
    from nephila.worker.metering import Metering
    from nephila.worker.worker import Worker

T = TypeVar("T")

# M_MMAP_THRESHOLD, M_TRIM_THRESHOLD of glibc. What is larger than 4 MB, as sitemaps are, goes back when it is freed.
MALLOC_OPTIONS = {-3: 4 << 20, -1: 64 << 20}
GC_THRESHOLDS = (20_000, 20, 100)
# -P: a file in the current folder (json.py, say) is not taken for the module of that name
WORKER_COMMAND = [sys.executable, "-P", "-m", "nephila.wiring"]
FOLLOWER_COMMAND = [*WORKER_COMMAND, "follow"]
FOLLOWER_NICE = 10  # workers go first
STORE_RETRY_SECONDS_MIN, STORE_RETRY_SECONDS_MAX = 0.5, 5.0  # between two attempts to open a store at the start
FOLLOWER_BYTES_MAX = 2 << 30  # of memory


@dataclass(frozen=True, slots=True)
class Store:
    """The store as the command line uses it, in one thread."""

    catalog: Catalog
    upkeep: Upkeep
    rulebook: Rulebook
    tokens: Tokens
    index: SearchIndex
    links: LinkIndex
    ledger: Ledger
    archive: Archive
    patience: Patience = field(default_factory=Patience)


def open_store(settings: ProcessSettings, *, create: bool = False, patience: Patience | None = None) -> Store:
    """`patience`: how long writes wait for other writers of an embedded store. PostgreSQL has deadlines of its own."""
    if settings.store is not None:
        from nephila.derived.postgres_ledger import PostgresLedger
        from nephila.frontier.postgres import PostgresCatalog, PostgresUpkeep
        from nephila.links.postgres_links import PostgresLinks
        from nephila.search.postgres_fts import PostgresIndex

        shared = _shared_database(settings)
        stored = PostgresCatalog(shared), PostgresUpkeep(shared), Rulebook(shared), Tokens(shared)
        derived = PostgresIndex(shared), PostgresLinks(shared), PostgresLedger(shared)
        return Store(*stored, *derived, open_archive(settings))
    patience = patience or Patience()
    database = SqliteDatabase(settings.data, create=create, patience=patience)
    own = SqliteCatalog(database), SqliteUpkeep(database), Rulebook(database), Tokens(database)
    beside = SqliteIndex(settings.data), SqliteLinks(settings.data), SqliteLedger(settings.data)
    return Store(*own, *beside, open_archive(settings), patience)


def open_archive(settings: ProcessSettings) -> Archive:
    archive = settings.archive_folder, SystemClock(), settings.warc_bytes_max
    return FolderArchive(*archive, format=settings.warc_format)


def open_frontier(settings: ProcessSettings) -> Frontier:
    if settings.store is not None:
        from nephila.frontier.postgres import PostgresFrontier

        return PostgresFrontier(_shared_database(settings))
    return SqliteFrontier(SqliteDatabase(settings.data))


def await_store(
    open_: Callable[[], T], settings: ProcessSettings, tell: Callable[[str], None], rest: Callable[[float], bool]
) -> T | None:
    """Open the store; a database that does not answer is asked again with backoff. `tell` hears why, and nothing ("")
    when it answers at last.

    None: `rest`, which takes seconds, answered that nobody waits any more. An embedded store is not waited for: what
    is wrong with a file stays wrong.
    """
    wait, said = STORE_RETRY_SECONDS_MIN, ""
    while True:
        try:
            opened = open_()
            if said:
                tell("")
            return opened
        except StoreUnavailable as error:
            if settings.store is None:
                raise
            if str(error) != said:
                tell(said := str(error))
        if not rest(wait):
            return None
        wait = min(wait * 2, STORE_RETRY_SECONDS_MAX)


def copy_store(settings: ProcessSettings, path: Path, tell: Callable[[int, int], None]) -> list[tuple[str, int]]:
    """Copy the embedded store into a new file; answers the archive files that the rows of the copy name."""
    from nephila.frontier.sqlite import backup

    return backup.copy_store(SqliteDatabase(settings.data, create=False), path, tell)


def migrate(settings: ProcessSettings) -> int:
    """Bring the schema up to date; answers its version. An embedded store is brought up to date when it is opened."""
    if settings.store is None:
        return SqliteDatabase(settings.data, create=False).version
    return _shared_database(settings, any_version=True).migrate()


def _shared_database(settings: ProcessSettings, *, any_version: bool = False) -> "PostgresDatabase":
    # Here, because psycopg takes 0.1 s to load and an embedded store does not need it.
    from nephila.frontier.postgres import PostgresDatabase

    assert settings.store is not None
    return PostgresDatabase(settings.store, lease_ms=round(settings.lease_seconds * 1000), any_version=any_version)


def worker_environment(settings: ProcessSettings) -> dict[str, str]:
    """The environment of a worker process: it gets the settings of the process that starts it.

    UsageError: a worker could not work here.
    """
    files_for_connections(raise_file_limit())
    return os.environ | {"NEPHILA_WORKER_SETTINGS": settings.model_dump_json(exclude_unset=True)}


def new_worker(
    frontier: Frontier,
    settings: ProcessSettings,
    clock: Clock,
    info: WorkerInfo,
    *,
    blackbox: BlackBox | None = None,
    report: Callable[[dict[str, Any]], None] = lambda event: None,
    metering: "Metering | None" = None,
) -> "Worker":
    """A worker with all its parts. Needs a running loop."""
    from nephila.extract.html_reader import HtmlReader
    from nephila.extract.memory import helper_bytes, memory_bytes
    from nephila.extract.parse_pool import ParsePool
    from nephila.fetch.curl import connections_kept
    from nephila.metrics import Meter, Place
    from nephila.worker.metering import Metering
    from nephila.worker.parts import WorkerParts
    from nephila.worker.worker import Worker

    files, memory = files_for_connections(raise_file_limit()), memory_bytes()
    # Half of the files are for idle connections; one that is being made has two files.
    settings = settings.model_copy(update={"concurrency": min(settings.concurrency, files // 4)})
    resolver, fetcher = new_fetcher(settings, clock, connections_kept(files, memory, settings.workers))
    core_is_free = usable_cores() > max(1, settings.workers)
    helpers = settings.parsers_per_worker
    each_bytes = helper_bytes(memory, settings.memory_percent, helpers * max(settings.workers, 1))
    pool = ParsePool(helpers, memory_bytes_max=each_bytes)
    reader = HtmlReader(clock, pool, core_is_free=core_is_free, blackbox=blackbox)
    metering = metering or Metering(Meter(Place.WORKER), clock)
    adapters = (frontier, open_archive(settings), resolver, fetcher, reader)
    return Worker(WorkerParts(*adapters, settings, clock, info, metering, report))


def new_fetcher(settings: ProcessSettings, clock: Clock, connections_max: int) -> "tuple[Resolver, CurlFetcher]":
    """Needs a running loop."""
    from nephila.fetch.curl import CurlFetcher
    from nephila.fetch.resolver import Resolver

    resolver = Resolver(clock, fixed=settings.resolve, servers=settings.dns_servers or None)
    ca_file = str(settings.ca_file) if settings.ca_file else None
    private = settings.permits_private
    return resolver, CurlFetcher(
        clock, resolver, connections_max=connections_max, ca_file=ca_file, private_proxies=private
    )


def worker_name(settings: ProcessSettings, slot: int) -> str:
    """The name of the setting, with the slot where several workers would have the same; else that of the machine."""
    if settings.worker_name is None:
        return socket.gethostname()
    return f"{settings.worker_name}-{slot}" if settings.workers > 1 else settings.worker_name


def run_worker(settings: ProcessSettings, blackbox: Path | None) -> None:
    """The whole of a worker process. It ends when its parent's pipe closes, whatever happened to the parent."""
    # Here, because no verb of the command line needs them and they take 0.2 s.
    import uvloop

    from nephila.metrics import Meter, Place
    from nephila.worker.metering import Metering, serve_metrics

    log.configure(settings.log_level, settings.log_format, sys.stderr, settings.log_file)
    supervision.log_strays()
    supervision.tell_faults(lambda part, trouble: _report({"event": "part_broke", "part": part, "trouble": trouble}))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    slot = int(os.environ.get("NEPHILA_WORKER_SLOT", "0"))
    info = WorkerInfo(worker_name(settings, slot), os.getpid(), __version__)
    metering = Metering(Meter(Place.WORKER), SystemClock())
    serve_metrics(metering.meter, settings.metrics_host, settings.metrics_port, slot)
    box = BlackBox(blackbox) if blackbox else None

    async def main(frontier: Frontier) -> None:
        loop = asyncio.get_running_loop()
        worker = new_worker(frontier, settings, SystemClock(), info, blackbox=box, report=_report, metering=metering)
        # What is loaded by now stays; rows and results are freed by reference counts, so the collector may look seldom.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        loop.add_signal_handler(signal.SIGTERM, worker.stop)
        supervision.end_with_faults(loop, _end_broken)
        supervision.start_thread("parent", lambda part: _watch_parent(loop, worker))
        await worker.run()

    keep_memory()
    code = 1
    try:
        frontier = await_store(lambda: open_frontier(settings), settings, _report_store, _parent_lives)
        if frontier is not None:
            uvloop.run(main(frontier))
        code = 0
    except StoreDamaged as error:
        _report({"event": "damaged", "reason": str(error)})
        log.component_log("worker").error("store_damaged", reason=str(error))
    except Exception:
        log.component_log("worker").exception("worker_broke")
    log.flush()
    sys.stdout.flush()
    os._exit(code)  # at once: taking the interpreter apart takes a second


def new_follower(store: Store, clock: Clock, only: str | None = None) -> "Follower":
    """A follower with all derivations, or only the one of this name. Its helper process starts when it is first
    needed."""
    # Here, because a worker does not need them.
    from nephila.control.derivation import derivations_of
    from nephila.control.deriving import DerivingProcess
    from nephila.control.follower import Follower

    derivations = [each for each in derivations_of(store) if only in (None, each.what.name)]
    deriver = DerivingProcess(store.archive)
    return Follower(store.catalog, derivations, store.archive, store.ledger, deriver, clock)


def run_follower(settings: ProcessSettings) -> None:
    """The whole of the follower's process. Whatever ends it, at any moment, costs nothing but time."""
    from nephila.control.follower import follow

    def end(*_: object) -> None:
        log.flush()
        os._exit(0)

    def watch_parent() -> None:
        _await_parents_end()
        end()

    log.configure(settings.log_level, settings.log_format, sys.stderr, settings.log_file)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, end)
    supervision.log_strays()
    supervision.start_thread("parent", lambda part: watch_parent())
    os.nice(FOLLOWER_NICE)
    resource.setrlimit(resource.RLIMIT_DATA, (FOLLOWER_BYTES_MAX, FOLLOWER_BYTES_MAX))
    try:
        with supervision.BackgroundPart("follower").guarded(letting=NephilaError):
            follow(new_follower(open_store(settings), SystemClock()), lambda: False, sleep)
    except NephilaError as error:  # its keeper starts another
        log.component_log("follower").error("follower_broke", error=str(error))
    log.flush()
    os._exit(1)


def keep_memory() -> None:
    """Keep freed memory: else each page's buffers are mapped and unmapped anew (6 page faults of 7, 25 us a page)."""
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for option, size in MALLOC_OPTIONS.items():
            mallopt(option, size)


def _report(event: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def _end_broken() -> None:
    """End at once: rows that the broken part had stay open in the store, and whoever comes next takes them."""
    log.flush()
    os._exit(1)


def _report_store(trouble: str) -> None:
    """Tell the command and the log that the worker waits for its store, or that it no longer does."""
    event = {"event": "stalled", "reason": trouble} if trouble else {"event": "going_on"}
    _report(event)
    log.component_log("worker").warning(**event)
    log.flush()


def _parent_lives(seconds: float) -> bool:
    """Rest, at most until the parent's pipe closes."""
    readable, _, _ = select.select([0], [], [], seconds)
    return not readable


def _await_parents_end() -> None:
    while os.read(0, 1024):
        pass


def _watch_parent(loop: asyncio.AbstractEventLoop, worker: "Worker") -> None:
    _await_parents_end()
    loop.call_soon_threadsafe(worker.stop)
    loop.call_soon_threadsafe(worker.stop)


def main() -> None:
    given = json.loads(os.environ.get("NEPHILA_WORKER_SETTINGS", "{}"))
    if sys.argv[1:] == ["follow"]:
        run_follower(process_settings(given))
        return
    blackbox = os.environ.get("NEPHILA_BLACKBOX")
    run_worker(process_settings(given), Path(blackbox) if blackbox else None)


if __name__ == "__main__":
    main()
