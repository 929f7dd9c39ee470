"""A helper process of the follower: `python -m nephila.control.derive_worker` with the numbers of its socket and of
its black box, and the limits of CPU time and memory.

It reads records of the archive, each once, and answers what is derived of each, in order. A page that takes more than
the limits ends it.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C goes to the whole group; before the slow imports, so that it cannot hit them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

import gc
import os
import pickle
import socket
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from nephila.archive.archive import Archive
from nephila.blackbox import BlackBox
from nephila.control.derivers import DERIVERS, DeriveJob
from nephila.control.pages import PageContent, page_at
from nephila.errors import ArchiveError
from nephila.extract.frames import LENGTH, received
from nephila.extract.spawned import bind_to_parent
from nephila.extract.text import HTML_BYTES_MAX
from nephila.models import ArchivePlace

OUT_OF_MEMORY = 3  # exit code
GATHERED_BYTES, GATHERED_SECONDS = 1 << 17, 1.0  # of answers, before they are sent
GC_THRESHOLDS = (20_000, 20, 100)
LAST, MORE = b"\1", b"\0"  # whether an answer is the last of its trip


class Trip(NamedTuple):
    """Records of one file, and how many bytes of values may be answered: the page that goes beyond is the last."""

    file: str
    jobs: list[DeriveJob]
    bytes_max: int


class DerivedValue(NamedTuple):
    """What came of one derivation of one page."""

    value: Any  # None: there is nothing to derive
    fault: str = ""  # why it could not be made


def results_of(archive: Archive, file: str, job: DeriveJob) -> list[DerivedValue]:
    """A fault of ours, or a record that cannot be read, is an answer: the next page may be well. A lack of memory is
    none: a fresh helper may have enough."""
    page: PageContent | None = None
    results = []
    for name in job.names:
        try:
            page = page or _page(archive, file, job)
            results.append(DerivedValue(DERIVERS[name](page, job)))
        except MemoryError:
            raise
        except Exception as error:
            results.append(DerivedValue(None, said(error)))
    return results


def _page(archive: Archive, file: str, job: DeriveJob) -> PageContent:
    return page_at(archive, ArchivePlace(file, job.offset, job.length), min(job.rules.body_bytes_max, HTML_BYTES_MAX))


def said(error: Exception) -> str:
    return str(error) if isinstance(error, ArchiveError) else f"{type(error).__name__}: {error}"


def serve(connection: socket.socket, box: BlackBox, cpu_seconds_max: int) -> None:
    if (message := received(connection)) is None:
        return
    archive: Archive = pickle.loads(message)
    # What is loaded by now stays; what pages leave is freed by reference counts (5 % of the time of a page).
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    connection.sendall(LENGTH.pack(0))  # it is there
    while (message := received(connection)) is not None:
        _travel(connection, box, archive, Trip(*pickle.loads(message)), cpu_seconds_max)


def _travel(connection: socket.socket, box: BlackBox, archive: Archive, trip: Trip, cpu_seconds_max: int) -> None:
    """Answers gather before they are sent: to wake the follower for each page takes 10 % of the page's time. The black
    box says which page is in work, whatever was not sent."""
    bytes_left, gathered, sent_at = trip.bytes_max, bytearray(), monotonic()
    for number, job in enumerate(trip.jobs, 1):
        box.write(number)
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds_max)
        results = results_of(archive, trip.file, job)
        answer = pickle.dumps([tuple(result) for result in results], protocol=5)
        if any(result.value is not None for result in results):
            bytes_left -= len(answer)
        last = bytes_left < 0 or number == len(trip.jobs)
        gathered += LENGTH.pack(len(answer) + 1) + (LAST if last else MORE) + answer
        if last or len(gathered) > GATHERED_BYTES or monotonic() > sent_at + GATHERED_SECONDS:
            connection.sendall(gathered)
            gathered.clear()
            sent_at = monotonic()
        if last:
            break
    signal.setitimer(signal.ITIMER_PROF, 0)
    box.write(0)


def main() -> None:
    fd, box_fd, cpu_seconds_max, memory_bytes_max = map(int, sys.argv[1:5])
    bind_to_parent(fd, memory_bytes_max)
    connection = socket.socket(fileno=fd)  # open until the end: whoever sees it closed finds the exit code
    code = 0
    with suppress(ConnectionError):  # the follower has ended
        try:
            serve(connection, BlackBox(Path(f"/proc/self/fd/{box_fd}")), cpu_seconds_max)
        except MemoryError:
            code = OUT_OF_MEMORY
    os._exit(code)  # no tear-down: nothing here has to be saved


if __name__ == "__main__":
    main()
