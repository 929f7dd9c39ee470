"""The follower's side of its helper process: hands it records, and takes what is derived of them.

A page that ends the helper, or from which it does not come back, is told; the next trip has another helper.
"""

import os
import pickle
import signal
import socket
import subprocess
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from nephila.archive.archive import Archive
from nephila.blackbox import last_entries
from nephila.control.derive_worker import LAST, OUT_OF_MEMORY, DerivedValue, Trip
from nephila.errors import StoreUnavailable
from nephila.extract.frames import frame_of, received
from nephila.extract.memory import HELPER_BYTES_MAX
from nephila.extract.spawned import start_connected

HELPER_MODULE = "nephila.control.derive_worker"
START_SECONDS_MAX = 60.0
END_SECONDS_MAX = 10.0  # from its last word to its end: gigabytes are given back meanwhile
CPU_SECONDS_MAX = 10  # for a page. Not of the clock: a busy machine lets a page wait, and the page is not to blame
PAGE_SECONDS_MAX = 120.0  # of the clock: for a disk that does not answer


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a page, by derivation; `bytes` that its values took."""

    results: list[DerivedValue]
    bytes: int
    last: bool  # of the trip, though there may be more pages


@dataclass(frozen=True, slots=True)
class HelperEnded:
    """A page ended its helper, or was not derived in time. `ahead`: pages before it whose answers are lost with it."""

    why: str
    ahead: int = 0


class DerivingProcess:
    """One helper at a time, started when it is first needed."""

    def __init__(
        self,
        archive: Archive,
        cpu_seconds_max: int = CPU_SECONDS_MAX,
        page_seconds_max: float = PAGE_SECONDS_MAX,
        memory_bytes_max: int = HELPER_BYTES_MAX,
    ) -> None:
        self._archive = archive
        self._cpu_seconds_max = cpu_seconds_max
        self._page_seconds_max = page_seconds_max
        self._memory_bytes_max = memory_bytes_max
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._box = -1  # file of the helper's black box

    def answers(self, trip: Trip) -> Generator[Answered | HelperEnded]:
        """An answer for each page in order, up to the last of the trip, or until a page has ended the helper.

        Whoever stops before that closes this: what the helper would still say is about nothing.
        """
        connection = self._sent(trip)
        answered, over = 0, False
        try:
            while not over:
                answer = self._answer(connection, answered)
                if isinstance(answer, HelperEnded):
                    self.close()
                    over = True
                else:
                    answered, over = answered + 1, answer.last
                yield answer
        finally:
            if not over:
                self.close()

    def close(self) -> None:
        """End the helper. The next trip starts another."""
        process, self._process = self._process, None
        if self._box >= 0:
            os.close(self._box)
            self._box = -1
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if process is not None:
            process.kill()
            process.wait()

    def _sent(self, trip: Trip) -> socket.socket:
        """Hand a trip to the helper. One that has died since the last trip did so for no page: another is started."""
        for _ in range(2):
            connection = self._started()
            try:
                connection.sendall(frame_of(tuple(trip)))
                return connection
            except OSError:
                self.close()
        raise StoreUnavailable("a helper process ended before it was told what to do: was it killed?")

    def _started(self) -> socket.socket:
        if self._connection is not None:
            return self._connection
        try:
            self._box = os.memfd_create("nephila-box")
            limits = (self._box, self._cpu_seconds_max, self._memory_bytes_max)
            self._connection, self._process = start_connected(HELPER_MODULE, *limits, more_fds=(self._box,))
            self._connection.settimeout(START_SECONDS_MAX)
            self._connection.sendall(frame_of(self._archive))
            if received(self._connection) is not None:
                self._connection.settimeout(self._page_seconds_max)
                return self._connection
            said = "it ended at once"
        except OSError as error:
            said = str(error)
        self.close()
        raise StoreUnavailable(f"no helper process can be started ({said}): tried again")

    def _answer(self, connection: socket.socket, answered: int) -> Answered | HelperEnded:
        try:
            message = received(connection)
        except TimeoutError:
            return HelperEnded(f"not derived within {self._page_seconds_max:g} s", self._ahead(answered))
        except ConnectionError:
            message = None
        if message is None:
            return HelperEnded(self._why_ended(), self._ahead(answered))
        results = [DerivedValue(*fields) for fields in pickle.loads(memoryview(message)[1:])]
        return Answered(results, len(message), message.startswith(LAST))

    def _ahead(self, answered: int) -> int:
        """How many pages the helper was done with, of those that are not answered."""
        return max([0, *(number - 1 - answered for number in last_entries(Path(f"/proc/self/fd/{self._box}")))])

    def _why_ended(self) -> str:
        assert self._process is not None, "it was started"
        try:
            code = self._process.wait(END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            return "the helper closed its socket"
        if code == -signal.SIGPROF:
            return f"it takes more than {self._cpu_seconds_max} s of CPU"
        if code == OUT_OF_MEMORY:
            return f"it needs more than the {self._memory_bytes_max >> 20} MB that a helper may have"
        return f"the helper ended ({signal_name(code) if code < 0 else f'exit code {code}'})"


def signal_name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
