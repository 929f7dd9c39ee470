"""Health of a worker command: what it answers to an orchestrator's probes."""

import json
import socket
from types import SimpleNamespace
from typing import Any, cast
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from nephila.clock import VirtualClock
from nephila.control.crew import Crew
from nephila.control.health import STEP_MS_MAX, Health, serve_health
from nephila.control.upkeep import Duty
from nephila.errors import UsageError
from tests.patience import PATIENCE_SECONDS


def crew_with(clock: VirtualClock, *codes: int | None, stalled: str = "") -> Crew:
    """A crew whose worker processes have ended with these codes; None: it lives."""
    processes = [SimpleNamespace(popen=SimpleNamespace(returncode=code)) for code in codes]
    processes.append(SimpleNamespace(popen=None))  # about to be started again
    supervisor: Any = SimpleNamespace(processes=processes, stalled=stalled, poll=lambda: None, troubles={})
    duty = cast(Duty, SimpleNamespace(run_once=lambda: {"ended": 0}))
    return Crew(supervisor, duty, clock)


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize(
    ("codes", "stalled", "status", "said"),
    [
        ((None, None), "", 200, "ok"),
        ((None, 1), "", 200, "ok"),
        ((1,), "", 503, "no worker process lives"),
        ((None,), "the database is away", 503, "the database is away"),
    ],
)
def test_ready_is_who_can_work(
    clock: VirtualClock, codes: tuple[int | None, ...], stalled: str, status: int, said: str
) -> None:
    found, body = Health(crew_with(clock, *codes, stalled=stalled), clock).answer("/readyz")
    assert (found, body["status"], body["workers"]) == (status, said, codes.count(None))


@pytest.mark.requirement("W-06")
@pytest.mark.parametrize("path", ["/health", "/livez", "/health?probe=1"])
def test_alive_is_whose_loop_steps(clock: VirtualClock, path: str) -> None:
    crew = crew_with(clock, 1, stalled="the database is away")
    health = Health(crew, clock)
    assert health.answer(path)[0] == 200, "a store that is away is no reason to restart"
    clock.advance(STEP_MS_MAX + 1)
    assert health.answer(path)[0] == 503
    crew.step()
    assert health.answer(path)[0] == 200


@pytest.mark.requirement("W-06")
def test_it_is_served_and_a_taken_port_is_one_line(clock: VirtualClock) -> None:
    server = serve_health(Health(crew_with(clock, 1), clock).answer, "127.0.0.1", 0)
    try:
        place = f"http://127.0.0.1:{server.server_port}"
        with urlopen(f"{place}/health", timeout=PATIENCE_SECONDS) as answer:
            body = json.load(answer)
        assert (body["status"], body["workers"]) == ("ok", 0) and body["version"]
        for path, status in (("/readyz", 503), ("/else", 404)):
            with pytest.raises(HTTPError) as refused:
                urlopen(place + path, timeout=PATIENCE_SECONDS)
            assert refused.value.code == status
        with pytest.raises(UsageError, match=rf"^health cannot be served at 127.0.0.1:{server.server_port}: "):
            serve_health(lambda path: (200, {}), "127.0.0.1", server.server_port)
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_it_is_served_at_an_ipv6_address(clock: VirtualClock) -> None:
    server = serve_health(lambda path: (200, {}), "::1", 0)
    with urlopen(f"http://[::1]:{server.server_port}/health", timeout=PATIENCE_SECONDS) as answer:
        assert answer.status == 200
    server.shutdown()
    server.server_close()
