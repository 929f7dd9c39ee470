"""Processes that check stretches of the archive: one per core where there is much to read, else this one alone.

They are spawned with a socket each and end when it closes, so none is left whatever ends their parent. A fault of one
ends the command. They are in process groups of their own: Ctrl-C at the terminal is for their parent to deal with.
"""

import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection, wait

from nephila.archive.archive import Archive
from nephila.control.stretch import Checked, Stretch, check_stretch
from nephila.errors import NephilaError
from nephila.extract.spawned import start_connected

# A process takes 0.2 s to start, and checks so many bytes in the same time.
BYTES_PER_PROCESS = 16 << 20


def check_all(
    archive: Archive, limits: list[int], stretches: Iterable[Stretch], size: int, cores: int
) -> Generator[Checked]:
    """Check the stretches, in any order; `size` is of all of them together. Closing this ends all processes."""
    processes = min(cores, size // BYTES_PER_PROCESS)
    if processes < 2:
        for stretch in stretches:
            yield check_stretch(archive, limits, stretch)
        return
    with ExitStack() as stack:
        checkers = [_start(stack, archive, limits) for _ in range(processes)]
        yield from _hand_out(checkers, iter(stretches))


def _hand_out(checkers: list[Connection], stretches: Iterator[Stretch]) -> Iterator[Checked]:
    """One stretch at a time for each: two who write to each other at once would wait for each other."""
    busy: list[Connection] = []
    free = checkers
    ready = next(stretches, None)  # cut while they work
    while busy or ready is not None:
        while free and ready is not None:
            checker = free.pop()
            with _failing_clearly():
                checker.send(ready)
            busy.append(checker)
            ready = next(stretches, None)
        heard = wait(busy)
        for checker in [each for each in busy if each in heard]:
            with _failing_clearly():
                checked: Checked = checker.recv()
            yield checked
            busy.remove(checker)
            free.append(checker)


@contextmanager
def _failing_clearly() -> Iterator[None]:
    """A checker that is gone is one clear line."""
    try:
        yield
    except (EOFError, ConnectionError):
        raise NephilaError("a process that checked the archive has ended: was it killed, or out of memory?") from None


def _start(stack: ExitStack, archive: Archive, limits: list[int]) -> Connection:
    ours, process = start_connected("nephila.control.checkers")
    connection = Connection(ours.detach())
    stack.callback(connection.close)
    stack.callback(process.wait)
    stack.callback(process.kill)
    with _failing_clearly():
        connection.send((archive, limits))
    return connection


def main(connection: Connection) -> None:
    try:
        archive, limits = connection.recv()
        while True:
            connection.send(check_stretch(archive, limits, connection.recv()))
    except (EOFError, ConnectionError):  # the command has ended
        return


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
