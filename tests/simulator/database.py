"""The store: Nephila's own SQLite store in memory, with ways for its calls to fail.

`SimulatedDatabase` is `SqliteDatabase` without files: transactions, statements and schema are the real ones, only
locks, the life of a session and the failures of a call are the simulator's. Where the scenario wants leases, a
session lives as on PostgreSQL: until its lease is over by the store's clock, however dead or frozen its process is.
"""

import os
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from nephila.errors import Fenced
from nephila.frontier.sqlite import SqliteFrontier
from nephila.frontier.sqlite.connection import SqliteDatabase
from nephila.frontier.statements import migrations
from nephila.frontier.store import Batch, Flushed, Vitals, WorkerInfo
from nephila.frontier.tables import Values
from nephila.policy.balance import Lease
from tests.simulator.world import START_MS, World

if TYPE_CHECKING:
    from tests.simulator.machine import Machine

NOWHERE = Path("/nonexistent/simulator")
LEASE_USED = 0.9  # as on PostgreSQL
DUPLICATE_MS_MAX = 3000.0


class Fault(Enum):
    """What goes wrong with one call of the store."""

    NONE = auto()
    UNREACHABLE = auto()  # nothing was done
    FULL = auto()  # no space: rolled back
    ROLLED_BACK = auto()  # it breaks at the commit
    ANSWER_LOST = auto()  # it is committed, and nobody hears of it
    DIES_BEFORE = auto()  # the process, before the commit
    DIES_AFTER = auto()  # the process, behind it


class Died(BaseException):
    """The process that made the call is dead: there is nobody to answer."""


class StoreClock:
    def __init__(self, world: World) -> None:
        self._world = world
        self.forward_ms = 0

    def now_ms(self) -> int:
        return START_MS + int(self._world.now_ms) + self.forward_ms

    def tick_ms(self) -> float:
        return self._world.now_ms


@cache
def empty_store(partitions: int) -> bytes:
    """A new store, as bytes: to make its tables takes longer than a small crawl."""
    database = SimulatedDatabase.__new__(SimulatedDatabase)
    database.db = apsw.Connection(":memory:")
    database._migrate(migrations("sqlite"), 0)
    database.db.execute("DELETE FROM partitions WHERE part >= ?", (partitions,))
    return bytes(database.db.serialize("main"))


@cache
def connection() -> apsw.Connection:
    """One for all seeds: its statements stay prepared."""
    return apsw.Connection(":memory:")


class SimulatedDatabase(SqliteDatabase):
    clock: StoreClock

    def __init__(self, world: World, partitions: int, lease_ms: float | None) -> None:
        self.folder = NOWHERE
        self.path = NOWHERE / "nephila.db"
        self.clock = StoreClock(world)
        self.world = world
        self.lease_ms = lease_ms
        self.fault = Fault.NONE  # of the call that is being made
        self.caller: Machine | None = None
        self.renewing = ""  # the session whose lease this transaction renews
        self.commits = 0
        self._lives: dict[str, tuple[Machine | None, float]] = {}  # session -> its process, end of its lease
        self._lock_fd = -1
        self._descriptors: set[int] = set()
        self.db = connection()
        self.db.deserialize("main", empty_store(partitions))

    # --- failures

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        fault, self.fault = self.fault, Fault.NONE
        self._fail(fault, Fault.UNREACHABLE)
        self.renewing = ""
        with super()._transaction():
            yield
            self._fail(fault, Fault.ROLLED_BACK, Fault.FULL, Fault.DIES_BEFORE)
        self.commits += 1
        if self.renewing:
            self._renew(self.renewing)
        self._fail(fault, Fault.ANSWER_LOST, Fault.DIES_AFTER)

    def read(self, sql: str, values: Any = ()) -> list[Values]:
        if self.fault is Fault.UNREACHABLE and self.db.get_autocommit():
            raise self.translated(apsw.IOError("simulated: UNREACHABLE"))
        return super().read(sql, values)

    def _fail(self, fault: Fault, *now: Fault) -> None:
        if fault is Fault.NONE or fault not in now:
            return
        if fault in (Fault.DIES_BEFORE, Fault.DIES_AFTER):
            assert self.caller is not None
            self.caller.kill(str(fault))
            raise Died
        raise apsw.FullError("full") if fault is Fault.FULL else apsw.IOError(f"simulated: {fault.name}")

    # --- sessions

    def _renew(self, session: str) -> None:
        machine, _ = self._lives.get(session, (self.caller, 0.0))
        self._lives[session] = machine, self.world.now_ms + (self.lease_ms or 0.0)

    def hold_session(self, name: str) -> None:
        """The process that looks after the crawls never dies here."""

    def held_sessions(self) -> set[str]:
        return set()

    def release_sessions(self, names: Iterable[str]) -> None: ...

    def remove_session_files(self, kept: Container[str]) -> None: ...

    def lock_session(self, session: str) -> int:
        self._lives[session] = self.caller, self.world.now_ms + (self.lease_ms or 0.0)
        descriptor = os.open(os.devnull, os.O_RDONLY)
        self._descriptors.add(descriptor)
        return descriptor

    def released(self, descriptor: int) -> None:
        self._descriptors.discard(descriptor)

    def session_alive(self, session: str) -> bool:
        machine, until = self._lives.get(session, (None, 0.0))
        if self.lease_ms is not None:
            return self.world.now_ms + self.clock.forward_ms < until
        return machine is None or not machine.over

    def session_file(self, session: str) -> Path:
        return NOWHERE / session

    def close(self) -> None:
        """The connection stays for the next seed."""
        for descriptor in self._descriptors:
            os.close(descriptor)


def told(record: Batch | Flushed) -> str:
    """What it says beyond its defaults."""
    blank = Flushed() if isinstance(record, Flushed) else Batch(0)
    parts = ((name, getattr(record, name)) for name in record.__slots__)
    return ", ".join(f"{name}={value!r}" for name, value in parts if value != getattr(blank, name))


class SimulatedFrontier(SqliteFrontier):
    """The real frontier of one process. With leases it answers how long they are good for, as that of PostgreSQL."""

    database: SimulatedDatabase

    def __init__(self, database: SimulatedDatabase, machine: "Machine", ended: Callable[[int], None]) -> None:
        super().__init__(database)
        self.machine = machine
        self._ended = ended

    @property
    def valid_ms(self) -> float | None:
        lease_ms = self.database.lease_ms
        return None if lease_ms is None else lease_ms * LEASE_USED

    def join(self, info: WorkerInfo) -> int:
        worker = super().join(info)
        self.database.world.say(f"{self.machine.name} joins as worker {worker}")
        return worker

    def lease(self, loads: dict[int, float], vitals: Vitals = Vitals()) -> Lease:
        lease = super().lease(loads, Vitals())
        lease.valid_ms = self.valid_ms
        self.database.world.detail(lambda: f"{self.machine.name} leases {lease}")
        return lease

    def _prove_unfenced(self, db: apsw.Connection) -> None:
        super()._prove_unfenced(db)
        self.database.renewing = self._session

    def flush(self, batch: Batch) -> Flushed:
        committed = self.database.commits
        try:
            answer = super().flush(batch)
        finally:
            if self.database.commits > committed:
                for outcome in batch.outcomes:
                    self._ended(outcome.url_id)
        if not answer.repeated:
            answer.valid_ms = self.valid_ms
        self.database.world.detail(lambda: f"{self.machine.name} flushes {told(batch)}, hears {told(answer)}")
        return answer

    def _fence(self, db: apsw.Connection, batch: Batch, now: int) -> bool:
        fresh = super()._fence(db, batch, now)
        if fresh:
            self.database.renewing = self._session
        return fresh

    def leave(self) -> None:
        super().leave()
        self.database.released(self._lock_fd)

    def deliver_again(self, batch: Batch) -> Callable[[], None]:
        """The same flush, as a network might deliver it once more: nobody hears the answer, and nothing may change."""
        worker, session, world = self.worker, self._session, self.database.world

        def again() -> None:
            ghost = SimulatedFrontier(self.database, self.machine, lambda url_id: None)
            ghost.worker, ghost._session = worker, session
            before = self.database.db.total_changes()
            try:
                repeated = ghost.flush(batch).repeated
            except Fenced:
                repeated = True
            if not repeated or self.database.db.total_changes() != before:
                world.blame(f"flush {batch.seq} of worker {worker} was applied twice")

        return again
