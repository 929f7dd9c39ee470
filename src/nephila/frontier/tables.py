"""`Tables`, what the catalogue needs of a database: statements by name, four verbs, transactions, liveness.

The verbs are rows, row, value and change. Both dialects have a statement of every name that is used here, with the same
parameters and the same columns (tests/unit/frontier/test_statements.py); how it finds its rows is the dialect's own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from nephila.frontier.store_clock import StoreClock
from nephila.log import component_log

WAIT_SECONDS = 5.0  # a flush takes far below 0.5 s

Values = tuple[Any, ...]
T = TypeVar("T")


@dataclass(slots=True)
class Patience:
    """How long a write waits for another writer of an embedded store. Its owner may change it at any time."""

    seconds: float = WAIT_SECONDS
    say: Callable[[str], None] | None = None  # is told whom a long wait is for

    def shorten(self) -> None:
        """From now on writes wait as those of a worker do: their caller shows the trouble and tries again."""
        self.seconds, self.say = WAIT_SECONDS, None


class TableReader(ABC):
    """The three verbs that read, each by the name of a statement and its parameters."""

    sql: Mapping[str, str]  # the statements of the dialect

    @abstractmethod
    def read(self, sql: str, values: Mapping[str, Any]) -> list[Values]:
        """Read by the text of a statement. Listings put theirs together from pieces."""

    def rows(self, name: str, /, **values: Any) -> list[Values]:
        return self.read(self.sql[name], values)

    def row(self, name: str, /, **values: Any) -> Values | None:
        found = self.rows(name, **values)
        return found[0] if found else None

    def value(self, name: str, /, **values: Any) -> Any:
        """The first column of the first row; None where there is none."""
        found = self.row(name, **values)
        return found[0] if found else None


class TableWriter(TableReader):
    """One transaction."""

    @abstractmethod
    def change(self, name: str, /, **values: Any) -> int:
        """Write; answers how many rows were written."""


class Tables(TableReader):
    """One connection. Not shared between threads."""

    @abstractmethod
    def injected_now(self) -> int | None:
        """The clock that statements take; None: they ask that of the database."""

    def now(self) -> int:
        """Milliseconds since 1970 by the store's clock, which never goes back."""
        clock_ms, clock = self._time()
        return clock.now(clock_ms)

    def note_time(self) -> int:
        """Note the time now and then, as whoever works in the store has to; answers it."""
        clock_ms, known = self._time()
        noted = known.noted(clock_ms)
        set_back_ms = noted.offset_ms - known.offset_ms
        if noted.differs(known):
            was = {"known_offset_ms": known.offset_ms, "known_at": known.seen_at}
            first = self.change("note_time", offset_ms=noted.offset_ms, seen_at=noted.seen_at, **was)
            if first and set_back_ms > 0:
                component_log("store").warning("clock_set_back", by_ms=set_back_ms)
        return noted.now(clock_ms)

    def _time(self) -> tuple[int, StoreClock]:
        ((clock_ms, *known),) = self.rows("time", now=self.injected_now())
        return clock_ms, StoreClock(*known)

    @abstractmethod
    def transact(self, work: Callable[[TableWriter], T], undo: Callable[[], None] | None = None) -> T:
        """Commit what `work` does, or nothing. `undo`: forgets what was learnt in a transaction that failed."""

    def change(self, name: str, /, **values: Any) -> int:
        """Write by one statement in a transaction of its own; answers how many rows were written."""
        return self.transact(lambda tables: tables.change(name, **values))

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[TableReader]:
        """A reader without deadlines, for the few looks that read every row."""

    # --- how the dialect passes lists

    @abstractmethod
    def ints(self, numbers: Iterable[int]) -> Any: ...
    @abstractmethod
    def texts(self, texts: Iterable[str]) -> Any: ...

    # --- processes

    @abstractmethod
    def hold_session(self, name: str) -> None:
        """Let a session of this name live as long as this process."""

    @abstractmethod
    def session_alive(self, session: str) -> bool:
        """Whether the process behind a session lives, where a statement took the session for living."""


class OverTables:
    def __init__(self, tables: Tables) -> None:
        self.tables = tables


def move_control(tables: TableWriter) -> int:
    """Move the control version on; answers the new one. Workers then read crawls and rulings anew.

    The last step of a transaction: everybody who steers wants the lock of that row.
    """
    return int(tables.value("move_control"))
