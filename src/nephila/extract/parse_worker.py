"""A helper process of the parse pool: `python -m nephila.extract.parse_worker FD MEMORY_BYTES`.

Reads jobs from the socket FD, answers in order, and ends when the other side is gone.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C goes to the whole group; before the slow imports, so that it cannot hit them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

import os
import pickle
import resource
import select
import socket
import sys
import threading
from contextlib import suppress

from nephila.extract.frames import LENGTH, READY, RULES_CACHED, PageRules, Telling, frame_of
from nephila.extract.page import PageJob, read_page
from nephila.profiles import settings_from_json
from nephila.urls.admission import Admission

ERROR_CHARS_MAX = 300


class Reader:
    """The rules this helper knows, and what it does with a job."""

    def __init__(self) -> None:
        self._rules: dict[int | str, tuple[Admission, bool]] = {}
        self._telling = Telling()

    def learn(self, rules: PageRules) -> None:
        if len(self._rules) >= RULES_CACHED:
            self._rules.clear()
        admission = Admission(settings_from_json(rules.settings_json), rules.seeds, rules.joined_hosts)
        self._rules[rules.id] = admission, rules.obey_robots_meta

    def answer(self, rules_id: int | str, rules: PageRules | None, job: PageJob) -> bytes:
        """A fault of ours, or memory that ran out, becomes an answer: the next job may be well."""
        try:
            if rules is not None:
                self.learn(rules)
            admission, obey_robots_meta = self._rules[rules_id]
            reading = read_page(job, admission, obey_robots_meta=obey_robots_meta)
            return frame_of(("reading", self._telling.packed(reading)))
        except Exception as error:
            self._telling.forget()
            return frame_of(("error", f"{type(error).__name__}: {error}"[:ERROR_CHARS_MAX]))


def serve(connection: socket.socket) -> None:
    reader = Reader()
    connection.sendall(frame_of(READY))
    while (message := _receive(connection)) is not None and (body := _receive(connection)) is not None:
        rules_id, rules, fields = pickle.loads(message)
        connection.sendall(reader.answer(rules_id, rules, PageJob(bytes(body), *fields)))


def _receive(connection: socket.socket) -> bytearray | None:
    """The content of a frame; None: the other side is gone."""
    head = _exactly(connection, LENGTH.size)
    return None if head is None else _exactly(connection, LENGTH.unpack(head)[0])


def _exactly(connection: socket.socket, count: int) -> bytearray | None:
    buffer = bytearray(count)
    view = memoryview(buffer)
    done = 0
    while done < count:
        received = connection.recv_into(view[done:])
        if received == 0:
            return None
        done += received
    return buffer


def _end_with_parent(fd: int) -> None:
    """Noticed between two pages, or two steps of one: the largest page is looked through within a second or two."""
    poller = select.poll()
    poller.register(fd, select.POLLRDHUP)
    poller.poll()
    os._exit(0)


def main() -> None:
    fd, memory_bytes_max = int(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes_max, memory_bytes_max))
    threading.Thread(target=_end_with_parent, args=(fd,), daemon=True).start()
    with socket.socket(fileno=fd) as connection, suppress(OSError):  # OSError: the other side is gone
        serve(connection)
    os._exit(0)  # no tear-down: nothing here has to be saved


if __name__ == "__main__":
    main()
