"""The watchdog of a connection to PostgreSQL: it ends a call that takes too long, also after a fault of its own."""

import errno
import socket
import threading
import time

import pytest

from nephila import supervision
from nephila.frontier.postgres import connection
from nephila.frontier.postgres.connection import Watchdog
from tests.patience import PATIENCE_SECONDS, until


@pytest.mark.parametrize("fault", [RuntimeError("unexpected"), OSError(errno.EMFILE, "Too many open files")])
def test_it_goes_on_after_a_fault(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    faults = [fault] * 2

    def broken() -> float:
        if faults and threading.current_thread() is watchdog._thread:  # other tests may have left theirs behind
            raise faults.pop()
        return time.monotonic()

    monkeypatch.setattr(supervision, "REST_MS", 1.0)
    monkeypatch.setattr(connection, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(connection, "CALL_SECONDS_MAX", 0.1)
    ours, theirs = socket.socketpair()
    watchdog = Watchdog()
    with ours, theirs:
        watchdog.watch(ours.fileno())
        watchdog.arm()
        monkeypatch.setattr(connection, "monotonic", broken)
        until(lambda: not faults)
        ours.settimeout(PATIENCE_SECONDS)
        assert ours.recv(1) == b"", "a server that never answers"
        watchdog.close()
