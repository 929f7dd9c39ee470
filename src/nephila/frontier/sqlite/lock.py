"""`WriteLock`: writers of an embedded store take turns, in the order in which they came. Nobody waits for ever, and
whoever gives up says who writes and since when."""

import fcntl
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nephila.clock import Clock
from nephila.errors import StoreBusy
from nephila.frontier.tables import Patience

SAY_SECONDS = 5.0
SECONDS_MIN = 0.5  # that a writer waits even where the holder has had its time already
NOTE_BYTES = 128  # of the lock's file: who holds it
STOPPED = ("T", "t")  # states of /proc


@dataclass(frozen=True, slots=True)
class Holder:
    pid: int
    since: int  # ms since 1970
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})"

    def advice(self) -> str:
        """What helps; empty where no such process is on this machine."""
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return ""
        end = f"`kill -KILL {self.pid}` ends it, without loss"
        return (
            f"it is stopped: `kill -CONT {self.pid}` lets it go on, {end}"
            if state in STOPPED
            else f"if it hangs, {end}"
        )


class WriteLock:
    """The lock of one connection on the file beside its store. The kernel queues those who wait and frees it at any
    death of its holder, whose name stands in the file."""

    def __init__(self, path: Path, store: Path, clock: Clock, patience: Patience) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self._store = store
        self._clock = clock
        self._patience = patience
        self._mutex = threading.Lock()
        self._turn: _Turn | None = None  # that was asked for and is not taken yet

    @contextmanager
    def held(self) -> Iterator[None]:
        """StoreBusy: another has held it for longer than we wait."""
        self._take()
        try:
            yield
        finally:
            # Else whoever comes before the next holder has signed would count the time since our turn as that holder's.
            self._sign("")
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._fd)

    def _take(self) -> None:
        turn = self._asked()
        if turn is not None and not self._came(turn):
            raise StoreBusy(self._complaint("try again later"))
        self._sign(f"{os.getpid()} {self._clock.now_ms()} {own_command()}")

    def _sign(self, note: str) -> None:
        with suppress(OSError):  # a full disk: then it has no name
            os.pwrite(self._fd, note.encode()[:NOTE_BYTES].ljust(NOTE_BYTES), 0)

    def _asked(self) -> "_Turn | None":
        """The turn to wait for; None: the lock is ours already."""
        with self._mutex:
            if self._turn is None:
                with suppress(BlockingIOError):
                    fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return None
                self._turn = _Turn(os.dup(self._fd), self)
                self._turn.start()
            self._turn.wanted = True
            return self._turn

    def _came(self, turn: "_Turn") -> bool:
        """Wait for the turn; whether it came in time, and the lock is ours."""
        waited = False
        try:
            self._await(turn)
            waited = True
        finally:
            with self._mutex:
                came, turn.wanted = turn.came.is_set(), False
                if came:
                    self._turn = None
                if came and not waited:  # interrupted just now
                    fcntl.flock(self._fd, fcntl.LOCK_UN)
        if turn.error is not None:
            raise turn.error
        return came

    def comes(self, turn: "_Turn") -> None:
        """Called by the turn that has come: hand the lock over, or free it where nobody waits for it any more."""
        with self._mutex:
            turn.came.set()
            if not turn.wanted:
                self._turn = None
                turn.free()

    def _await(self, turn: "_Turn") -> None:
        limit, said_after = self._limits()
        say = self._patience.say
        if say is not None and said_after < limit:
            if turn.came.wait(said_after):
                return
            say(self._complaint("waiting"))
            limit -= said_after
        turn.came.wait(limit)

    def _limits(self) -> tuple[float, float]:
        """Seconds to wait, and after which to say so. The time that the holder has had counts: while one hangs, those
        who come later soon know."""
        holder = self.holder()
        had = (self._clock.now_ms() - holder.since) / 1000 if holder else 0.0
        seconds = self._patience.seconds
        return max(SECONDS_MIN, seconds - max(had, 0.0)), max(SECONDS_MIN, SAY_SECONDS - max(had, 0.0))

    def holder(self) -> Holder | None:
        """Who holds the lock; None where the file does not say."""
        try:
            pid, since, command = os.pread(self._fd, NOTE_BYTES, 0).decode().strip().split(" ", 2)
            return Holder(int(pid), int(since), command)
        except (OSError, ValueError):
            return None

    def _complaint(self, next_step: str) -> str:
        holder = self.holder()
        if holder is None:
            return f"another process is writing to {self._store}: {next_step}"
        since = datetime.fromtimestamp(holder.since / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        seconds = max(0, self._clock.now_ms() - holder.since) / 1000
        advice = holder.advice()
        said = f"{holder} has been writing to {self._store} since {since}, for {seconds:.0f} s: {next_step}"
        return f"{said} ({advice})" if advice else said


class _Turn(threading.Thread):
    """Waits for the lock in a thread of its own, because the kernel's wait has no limit.

    It keeps its place in the queue when its writer gives up: the next attempt takes it over, and if none does, the lock
    is freed as soon as it comes.
    """

    def __init__(self, fd: int, lock: WriteLock) -> None:
        super().__init__(daemon=True, name="turn")
        self.came = threading.Event()
        self.wanted = False  # guarded by the mutex of the lock, as whether it came
        self.error: OSError | None = None
        self._fd = fd  # the same lock under another number, which nobody closes meanwhile
        self._lock = lock

    def run(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        except OSError as error:
            self.error = error
        self._lock.comes(self)
        os.close(self._fd)

    def free(self) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_UN)


def own_command() -> str:
    """How this process is named to others: the verb alone, since arguments may hold secrets."""
    program, *words = sys.argv or [""]
    name = Path(program).name
    if name == "wiring.py":
        return "nephila worker"
    verb = next((word for word in words if not word.startswith("-")), "")
    return f"nephila {verb}".strip() if name in ("nephila", "__main__.py") else name
