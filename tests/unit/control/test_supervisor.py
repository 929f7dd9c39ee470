"""The supervisor's number of processes: it follows what is wanted, and stays as it is once it stops."""

import errno
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from nephila.control import supervisor as supervisor_module
from nephila.control.follower import FollowerKeeper
from nephila.control.supervisor import Supervisor
from nephila.errors import StoreDamaged
from nephila.supervision import BackgroundPart
from tests.patience import PATIENCE_SECONDS, until

UNTIL_INPUT_ENDS = [sys.executable, "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    """Its processes inherit that SIGTERM is ignored: whoever is asked to leave stays until the test kills it."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    made = Supervisor(UNTIL_INPUT_ENDS, {}, 1, suspect=lambda url_id: None)
    made.start()
    yield made
    for process in made.processes:
        if process.popen is not None:
            process.popen.kill()
    made.close()
    signal.signal(signal.SIGTERM, before)


def resize(supervisor: Supervisor, count: int) -> None:
    supervisor.wanted = count
    supervisor.poll()


def test_it_follows_the_number_that_is_wanted(supervisor: Supervisor) -> None:
    (first,) = supervisor.pids
    resize(supervisor, 3)
    assert len(supervisor.pids) == 3 and supervisor.pids[0] == first
    assert len({process.blackbox for process in supervisor.processes}) == 3
    resize(supervisor, 2)
    (leaving,) = supervisor._leaving
    assert len(supervisor.pids) == 2 and leaving.popen is not None
    leaving.popen.kill()
    leaving.popen.wait()
    supervisor.poll()
    assert (len(supervisor.pids), supervisor._leaving, supervisor.restarts) == (2, [], 0)


def test_once_it_stops_it_waits_for_all_and_resizes_no_more(supervisor: Supervisor) -> None:
    resize(supervisor, 2)
    resize(supervisor, 1)
    supervisor.stop()
    supervisor.poll()
    assert (len(supervisor.processes), supervisor._leaving) == (2, [])


def test_a_worker_that_found_the_store_damaged_ends_the_run() -> None:
    report = (
        "import json; print(json.dumps({'event': 'damaged', 'reason': 'nephila.db is damaged'})); raise SystemExit(1)"
    )
    made = Supervisor([sys.executable, "-c", report], {}, 1, suspect=lambda url_id: None)
    made.start()
    assert made.wait(PATIENCE_SECONDS)
    until(lambda: made.processes[0].damaged)
    with pytest.raises(StoreDamaged, match=r"nephila\.db is damaged"):
        made.poll()
    made.close()


# --- faults


def saying(*lines: str) -> list[str]:
    """A process that writes these lines to both of its outputs and waits."""
    text = "".join(f"{line}\n" for line in lines)
    program = f"import sys; sys.stderr.write({text!r}); sys.stderr.flush(); print({text!r}, end='', flush=True)"
    return [sys.executable, "-c", f"{program}; sys.stdin.read()"]


def test_a_report_that_breaks_its_reader_is_lost_and_the_next_is_read() -> None:
    """Whoever reads no more stops the worker, once its pipe is full."""
    stalled = json.dumps({"event": "stalled", "reason": "the disk is full"})
    made = Supervisor(saying("5", "[1]", '{"event": "part_broke"}', stalled), {}, 1, suspect=lambda url_id: None)
    made.start()
    try:
        assert until(lambda: made.stalled) == "the disk is full"
    finally:
        made.close()


def test_a_log_line_that_breaks_its_reader_is_lost_and_the_next_is_read() -> None:
    said: list[str] = []

    def say(line: str) -> None:
        if line == "first":
            raise OSError(errno.EIO, "Input/output error")
        said.append(line)

    made = Supervisor(saying("first", "second"), {}, 1, suspect=lambda url_id: None, say=say)
    made.start()
    try:
        until(lambda: said == ["second"])
    finally:
        made.close()


def test_a_process_whose_reader_cannot_be_started_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen, start_thread = subprocess.Popen, supervisor_module.start_thread

    def noted(*values: Any, **named: Any) -> "subprocess.Popen[bytes]":
        started.append(popen(*values, **named))
        return started[-1]

    def no_thread(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(subprocess, "Popen", noted)
    monkeypatch.setattr(supervisor_module, "start_thread", no_thread)
    made = Supervisor(UNTIL_INPUT_ENDS, {}, 1, suspect=lambda url_id: None)
    with pytest.raises(RuntimeError):
        made.start()
    assert [one.returncode for one in started] == [-signal.SIGKILL] and made.pids == []
    monkeypatch.setattr(supervisor_module, "start_thread", start_thread)
    made.poll()
    made.start()  # those that run stay
    assert made.pids == [started[1].pid] and len(started) == 2
    made.close()


@pytest.mark.parametrize("kind", [Supervisor, FollowerKeeper])
def test_a_process_that_died_and_a_part_of_it_that_broke_are_shown(kind: type[Supervisor]) -> None:
    broke = json.dumps({"event": "part_broke", "part": "parse helper", "trouble": "a fault of ours"})
    command = saying(broke)
    made = FollowerKeeper(command, {}) if kind is FollowerKeeper else Supervisor(command, {}, 1, lambda url_id: None)
    made.start()
    try:
        whole = f"{made.kind} 0"
        assert until(lambda: made.troubles) == {f"{whole}: parse helper": "a fault of ours"}
        (process,) = made.processes
        assert process.popen is not None
        process.popen.kill()
        until(lambda: made.poll() or made.restarts)
        assert made.troubles[whole] == "it died with exit code -9"
        for part in process.parts.values():
            part.well()
        assert made.troubles == {}
    finally:
        made.close()


def test_the_trouble_of_a_process_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nephila.supervision.CALM_MS", 0.0)
    part = BackgroundPart("worker 0", rest_ms=1.0)
    part.note("it died with exit code -9")
    until(lambda: not part.trouble)
