"""The small server of health and metrics: it survives faults, silent clients and a lack of files."""

import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from nephila import supervision
from nephila.probes import CONNECTIONS_MAX, ProbeAnswer, ProbeServer, serve_probes
from tests.patience import PATIENCE_SECONDS, until


def answer(path: str, _accept: str) -> ProbeAnswer:
    if path == "/broken":
        raise RuntimeError("unexpected")
    return ProbeAnswer(200 if path == "/" else 404, "text/plain", b"well")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProbeServer]:
    monkeypatch.setattr(supervision, "REST_MS", 1.0)
    made = serve_probes("probes of a test", answer, "127.0.0.1", 0)
    yield made
    made.shutdown()
    made.server_close()


def asked(server: ProbeServer, path: str = "/") -> int:
    try:
        with urlopen(f"http://127.0.0.1:{server.server_port}{path}", timeout=PATIENCE_SECONDS) as found:
            status: int = found.status
            return status
    except HTTPError as error:
        return error.code


def test_it_answers(server: ProbeServer) -> None:
    assert (asked(server), asked(server, "/else")) == (200, 404)


def test_a_fault_of_an_answer_costs_that_answer(server: ProbeServer) -> None:
    with pytest.raises(OSError):
        asked(server, "/broken")
    assert asked(server) == 200


@pytest.mark.parametrize("fault", [RuntimeError("unexpected"), OSError(errno.EMFILE, "Too many open files")])
def test_its_thread_goes_on_after_a_fault(
    server: ProbeServer, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    faults = [fault]

    def broken() -> None:
        if faults:
            raise faults.pop()

    monkeypatch.setattr(server, "service_actions", broken)
    asked(server)
    until(lambda: "probes of a test" in supervision.troubles())
    assert asked(server) == 200


def test_a_connection_that_cannot_be_accepted_is_passed_over(
    server: ProbeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept, faults = socket.socket.accept, [OSError(errno.EMFILE, "Too many open files")] * 3

    def accepted(self: socket.socket) -> Any:
        if faults and self.getsockname()[1] == server.server_port:
            raise faults.pop()
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", accepted)
    assert asked(server) == 200 and faults == []


def test_silent_clients_keep_nobody_away(server: ProbeServer) -> None:
    with ExitStack() as stack:
        silent = []
        for _ in range(2 * CONNECTIONS_MAX):
            silent.append(stack.enter_context(socket.socket()))
            silent[-1].connect(("127.0.0.1", server.server_port))
        assert asked(server) == 200
        silent[0].settimeout(PATIENCE_SECONDS)
        assert silent[0].recv(1) == b"", "the oldest gave way"
        assert len(server._open) <= CONNECTIONS_MAX
