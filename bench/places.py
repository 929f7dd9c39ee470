"""Where the store of one run lives: a folder with its checkpointer, or a PostgreSQL server of our own."""

import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Protocol

import psycopg
from tests.postgres import Server

from bench.player import count_statements
from bench.processes import below, cpu_seconds
from nephila import wiring
from nephila.settings import ProcessSettings, process_settings

CHECKPOINT_EVERY_SECONDS = 0.25
# fsync, full_page_writes and synchronous_commit are on, as by default. A server that is made for this load has more
# memory than the 128 MB of the default and checkpoints by time, not by every GB of log.
SERVER = {"shared_buffers": "1GB", "max_wal_size": "4GB"}
HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")  # the server takes them where there are enough (docs/operations.md)
HUGE_PAGES_WANTED = 700  # of 2 MB: the shared buffers and what lies beside them
BY_TABLE = """
SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_total_relation_size(oid) > 1000000 ORDER BY 1
"""


class Place(Protocol):
    @property
    def settings(self) -> ProcessSettings:
        """The settings with which any process opens the store."""

    def abandon(self, worker: int, frontier: Any) -> None:
        """Make the store see that its worker is dead: its file lock is free, or its lease is over."""

    def server_cpu(self) -> float:
        """Seconds of CPU that processes of the store other than the worker have used."""

    def sizes(self) -> dict[str, int]:
        """Bytes of each part of the store."""


# --- SQLite ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SqlitePlace:
    settings: ProcessSettings
    checkpointer: int

    def abandon(self, worker: int, frontier: Any) -> None:
        os.close(frontier._lock_fd)

    def server_cpu(self) -> float:
        return cpu_seconds(self.checkpointer)

    def sizes(self) -> dict[str, int]:
        database = self.settings.data / "nephila.db"
        return {database.name: database.stat().st_size}


def fold(settings: ProcessSettings, stop: Event) -> None:
    """The process of the checkpointer."""
    upkeep = wiring.open_store(settings).upkeep
    while not stop.wait(CHECKPOINT_EVERY_SECONDS):
        upkeep.checkpoint()


@contextmanager
def sqlite(root: Path) -> Iterator[Place]:
    """A fresh folder with its checkpointer; removed afterwards."""
    settings = process_settings({"data": Path(tempfile.mkdtemp(prefix="nephila-bench-", dir=root))})
    wiring.open_store(settings, create=True)
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    checkpointer = context.Process(target=fold, args=(settings, stop), daemon=True)
    checkpointer.start()
    assert checkpointer.pid is not None
    try:
        yield SqlitePlace(settings, checkpointer.pid)
    finally:
        stop.set()
        checkpointer.join(60)
        shutil.rmtree(settings.data, ignore_errors=True)


# --- PostgreSQL -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    settings: ProcessSettings
    server: Server

    def abandon(self, worker: int, frontier: Any) -> None:
        self.query("UPDATE workers SET lease_until = 0 WHERE id = %s RETURNING id", worker)

    def server_cpu(self) -> float:
        """CPU of the postmaster, its ended children and all processes it has now."""
        mother = self.server.pid
        return sum(map(cpu_seconds, [mother, *below(mother)]))

    def sizes(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, rows, indexes in self.query(BY_TABLE):
            found |= {f"{name}, rows": rows, f"{name}, indexes": indexes}
        return found

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.settings.store or "", autocommit=True) as connection:
            return connection.execute(sql, values).fetchall()


@contextmanager
def postgres(root: Path) -> Iterator[Place]:
    """A fresh server in /tmp (`root` is not used: the path of its socket must be short); removed afterwards."""
    count_statements()
    with huge_pages(), _served() as place:
        yield place


@contextmanager
def huge_pages() -> Iterator[None]:
    """Reserve huge pages as an operator would; where we lack the right, the server runs without and a line says so."""
    before = HUGE_PAGES.read_text()
    try:
        HUGE_PAGES.write_text(str(max(HUGE_PAGES_WANTED, int(before))))
    except OSError:
        print("without huge pages: the server takes a sixth more CPU")
    try:
        yield
    finally:
        with suppress(OSError):
            HUGE_PAGES.write_text(before)


@contextmanager
def _served() -> Iterator[Place]:
    server = Server(durable=True, **SERVER)
    try:
        server.execute("CREATE DATABASE bench")
        settings = process_settings({"store": server.url("bench")})
        wiring.open_store(settings, create=True)
        yield PostgresPlace(settings, server)
    finally:
        server.close()


PLACES = {"sqlite": sqlite, "postgres": postgres}
