"""Settings to objects: the only file that names a concrete backend."""

import asyncio
import ctypes
import gc
import json
import os
import resource
import signal
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

from nephila import __version__, log
from nephila.blackbox import BlackBox
from nephila.clock import SystemClock
from nephila.errors import NephilaError
from nephila.frontier.operators import Rulebook
from nephila.frontier.sqlite import Database, SqliteCatalog, SqliteFrontier, SqliteRulebook, SqliteUpkeep
from nephila.frontier.store import Catalog, Frontier, Upkeep, WorkerInfo
from nephila.search.index import SearchIndex
from nephila.search.sqlite_fts import SqliteIndex
from nephila.settings import ProcessSettings, process_settings

if TYPE_CHECKING:
    from nephila.frontier.postgres import Database as PostgresDatabase
    from nephila.worker.worker import Worker

MALLOC_OPTIONS = {-3: 32 << 20, -1: 64 << 20}  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD of glibc
GC_THRESHOLDS = (20_000, 20, 100)
# -P: a file in the current folder (json.py, say) is not taken for the module of that name
WORKER_COMMAND = [sys.executable, "-P", "-m", "nephila.wiring"]
INDEXER_COMMAND = [*WORKER_COMMAND, "index"]
INDEXER_NICE = 10  # workers go first
INDEXER_BYTES_MAX = 2 << 30  # of memory: a mad page is then a fault of one page


@dataclass(frozen=True, slots=True)
class Store:
    """The store as the command line uses it, in one thread."""

    catalog: Catalog
    upkeep: Upkeep
    rulebook: Rulebook
    index: SearchIndex


def open_store(settings: ProcessSettings, *, create: bool = False) -> Store:
    if settings.store is not None:
        from nephila.frontier.postgres import PostgresCatalog, PostgresRulebook, PostgresUpkeep
        from nephila.search.postgres_fts import PostgresIndex

        shared = _shared_database(settings)
        stored = PostgresCatalog(shared), PostgresUpkeep(shared), PostgresRulebook(shared)
        return Store(*stored, PostgresIndex(shared))
    database = Database(settings.data, create=create)
    own = SqliteCatalog(database), SqliteUpkeep(database), SqliteRulebook(database)
    return Store(*own, SqliteIndex(settings.data))


def open_frontier(settings: ProcessSettings) -> Frontier:
    if settings.store is not None:
        from nephila.frontier.postgres import PostgresFrontier

        return PostgresFrontier(_shared_database(settings))
    return SqliteFrontier(Database(settings.data))


def migrate(settings: ProcessSettings) -> int:
    """The schema's version afterwards. An embedded store is brought up to date whenever it is opened."""
    if settings.store is None:
        return Database(settings.data, create=False).version
    return _shared_database(settings, any_version=True).migrate()


def _shared_database(settings: ProcessSettings, *, any_version: bool = False) -> "PostgresDatabase":
    # Here, because psycopg takes 0.1 s to load and an embedded store does not need it.
    from nephila.frontier.postgres import Database as PostgresDatabase

    assert settings.store is not None
    return PostgresDatabase(settings.store, lease_ms=round(settings.lease_seconds * 1000), any_version=any_version)


def worker_environment(settings: ProcessSettings) -> dict[str, str]:
    """What a worker process is told: the settings of the process that starts it."""
    return os.environ | {"NEPHILA_WORKER_SETTINGS": settings.model_dump_json(exclude_unset=True)}


def run_worker(settings: ProcessSettings, blackbox: Path | None) -> None:
    """The whole of a worker process. It ends when its parent's pipe closes, whatever happened to the parent."""
    # Here, because no verb of the command line needs them and they take 0.2 s.
    import uvloop

    from nephila.metrics import Meter, Place
    from nephila.worker.metering import Metering, serve_metrics
    from nephila.worker.worker import Worker

    log.configure(settings.log_level, settings.log_format, sys.stderr, settings.log_file)
    info = WorkerInfo(socket.gethostname(), os.getpid(), __version__)
    metering = Metering(Meter(Place.WORKER), SystemClock())
    slot = int(os.environ.get("NEPHILA_WORKER_SLOT", "0"))
    serve_metrics(metering.meter, settings.metrics_host, settings.metrics_port, slot)
    worker = Worker(
        open_frontier(settings),
        settings,
        SystemClock(),
        info,
        blackbox=BlackBox(blackbox) if blackbox else None,
        report=_report,
        metering=metering,
    )

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, worker.stop)
        threading.Thread(target=_watch_parent, args=(loop, worker), daemon=True).start()
        await worker.run()

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    keep_memory()
    # What is loaded by now stays; rows and results come and go by counting alone, so the collector may look seldom.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    code = 1
    try:
        uvloop.run(main())
        code = 0
    except Exception:
        log.component_log("worker").exception("worker_broke")
    log.flush()
    sys.stdout.flush()
    os._exit(code)  # at once: taking a whole interpreter apart would be a second of waiting for nothing


def run_indexer(settings: ProcessSettings) -> None:
    """The whole of the indexer's process. Whatever ends it, at any moment, costs nothing but time."""
    from nephila.control.indexing import Indexer, follow

    def end(*_: object) -> None:
        log.flush()
        os._exit(0)

    def watch_parent() -> None:
        _await_parents_end()
        end()

    log.configure(settings.log_level, settings.log_format, sys.stderr, settings.log_file)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=watch_parent, daemon=True).start()
    os.nice(INDEXER_NICE)
    resource.setrlimit(resource.RLIMIT_DATA, (INDEXER_BYTES_MAX, INDEXER_BYTES_MAX))
    try:
        store = open_store(settings)
        follow(Indexer(store.catalog, store.index, settings.archive_folder, SystemClock()), lambda: False, sleep)
    except NephilaError as error:  # its keeper starts another
        log.component_log("indexer").error("indexer_broke", error=str(error))
    log.flush()
    os._exit(1)


def keep_memory() -> None:
    """Freed memory stays ours: else each page's tree is mapped and unmapped anew (6 page faults of 7, 25 us a page)."""
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for option, size in MALLOC_OPTIONS.items():
            mallopt(option, size)


def _report(event: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def _await_parents_end() -> None:
    while os.read(0, 1024):
        pass


def _watch_parent(loop: asyncio.AbstractEventLoop, worker: "Worker") -> None:
    _await_parents_end()
    loop.call_soon_threadsafe(worker.stop)
    loop.call_soon_threadsafe(worker.stop)


def main() -> None:
    given = json.loads(os.environ.get("NEPHILA_WORKER_SETTINGS", "{}"))
    if sys.argv[1:] == ["index"]:
        run_indexer(process_settings(given))
        return
    blackbox = os.environ.get("NEPHILA_BLACKBOX")
    run_worker(process_settings(given), Path(blackbox) if blackbox else None)


if __name__ == "__main__":
    main()
