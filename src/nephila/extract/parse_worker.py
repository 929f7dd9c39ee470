"""A helper process of the parse pool: `python -m nephila.extract.parse_worker FD MEMORY_BYTES`.

Reads jobs from the socket FD, answers in order, and ends when the other side is gone.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C goes to the whole group; before the slow imports, so that it cannot hit them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

import os
import pickle
import socket
import sys
from contextlib import suppress
from time import thread_time

from nephila.extract.frames import READY, RULES_CACHED, LinkEncoder, frame_of, received
from nephila.extract.page import PageJob, read_page
from nephila.extract.reader import PageRules
from nephila.extract.spawned import bind_to_parent
from nephila.profiles import settings_from_json
from nephila.urls.admission import Admission

ERROR_CHARS_MAX = 300


class JobReader:
    """Answers jobs by the rules that this helper knows."""

    def __init__(self) -> None:
        self._rules: dict[int | str, tuple[Admission, bool]] = {}
        self._encoder = LinkEncoder()

    def learn(self, rules_id: int | str, new: PageRules | tuple[str, ...]) -> None:
        """Take in rules, or hosts that joined the scope of rules that are known."""
        if isinstance(new, PageRules):
            if len(self._rules) >= RULES_CACHED:
                self._rules.clear()
            admission = Admission(settings_from_json(new.settings_json), new.seeds, new.joined_hosts)
            self._rules[rules_id] = admission, new.obey_robots_meta
        elif new:
            admission, obey_robots_meta = self._rules[rules_id]
            self._rules[rules_id] = admission.with_hosts(new), obey_robots_meta

    def answer(self, rules_id: int | str, new: PageRules | tuple[str, ...], job: PageJob) -> bytes:
        """The frame of the reading, with the seconds of CPU it took.

        A fault of ours, or a lack of memory, is an answer: the next job may succeed.
        """
        began = thread_time()
        try:
            self.learn(rules_id, new)
            admission, obey_robots_meta = self._rules[rules_id]
            reading = read_page(job, admission, obey_robots_meta=obey_robots_meta)
            return frame_of(("reading", self._encoder.packed(reading), thread_time() - began))
        except Exception as error:
            self._encoder.forget()
            return frame_of(("error", f"{type(error).__name__}: {error}"[:ERROR_CHARS_MAX], thread_time() - began))


def serve(connection: socket.socket) -> None:
    reader = JobReader()
    connection.sendall(frame_of(READY))
    while answer_next(connection, reader):
        pass


def answer_next(connection: socket.socket, reader: JobReader) -> bool:
    """Answer one job; False: the other side is gone. Nothing of the job is kept beside the next one: a sitemap has up
    to 50 MB."""
    message = received(connection)
    body = None if message is None else received(connection)
    if message is None or body is None:
        return False
    rules_id, new, fields = pickle.loads(message)
    connection.sendall(reader.answer(rules_id, new, PageJob(body, *fields)))
    return True


def main() -> None:
    fd, memory_bytes_max = int(sys.argv[1]), int(sys.argv[2])
    bind_to_parent(fd, memory_bytes_max)
    with socket.socket(fileno=fd) as connection, suppress(OSError):  # OSError: the other side is gone
        serve(connection)
    os._exit(0)  # no tear-down: nothing here has to be saved


if __name__ == "__main__":
    main()
