"""Starts worker processes, replaces those that die, stops them."""

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nephila import log
from nephila.blackbox import last_entries
from nephila.errors import NephilaError

RESTART_SECONDS_MIN, RESTART_SECONDS_MAX = 0.1, 5.0
SHORT_LIFE_SECONDS = 3.0
SHORT_LIVES_MAX = 5  # in a row: then the fault is ours or the machine's, and a restart does not heal it
STOP_SECONDS = 10.0


@dataclass(slots=True)
class Process:
    slot: int
    blackbox: Path
    popen: "subprocess.Popen[bytes] | None" = None
    started: float = 0.0
    short_lives: int = 0
    restart_at: float = 0.0
    stalled: str = ""
    reader: threading.Thread | None = field(default=None, repr=False)


class Supervisor:
    """Poll it: it has no thread of its own besides the readers of its workers' reports."""

    def __init__(
        self,
        command: list[str],
        environment: dict[str, str],
        count: int,
        suspect: Callable[[int], None],
        say: Callable[[str], None] | None = None,
    ) -> None:
        """`say` takes the log lines of the workers, from threads; without it they go to our standard error."""
        self._command = command
        self._environment = environment
        self._suspect = suspect
        self._say = say
        self._folder = tempfile.TemporaryDirectory(prefix="nephila-")
        self.processes = [Process(slot, Path(self._folder.name) / f"worker-{slot}") for slot in range(count)]
        self.restarts = 0
        self._stopping = False

    def start(self) -> None:
        for process in self.processes:
            self._launch(process)

    def poll(self) -> None:
        """Replace the dead; a page that was being parsed when its worker died becomes a suspect."""
        now = time.monotonic()
        for process in self.processes:
            if process.popen is not None and process.popen.poll() is not None and not self._stopping:
                self._bury(process, now)
            if process.popen is None and now >= process.restart_at and not self._stopping:
                self._launch(process)

    @property
    def stalled(self) -> str:
        return next((process.stalled for process in self.processes if process.stalled), "")

    @property
    def pids(self) -> list[int]:
        return [process.popen.pid for process in self.processes if process.popen is not None]

    def stop(self) -> None:
        """Ask them to drain; asked again, they end what is in flight."""
        self._stopping = True
        for process in self.processes:
            if process.popen is not None and process.popen.poll() is None:
                process.popen.terminate()

    def wait(self, seconds: float) -> bool:
        """True when all have ended."""
        end = time.monotonic() + seconds
        for process in self.processes:
            if process.popen is not None:
                try:
                    process.popen.wait(max(0.0, end - time.monotonic()))
                except subprocess.TimeoutExpired:
                    return False
        return True

    def close(self) -> None:
        """Drain, and end by force what does not; nothing is lost by that either."""
        self.stop()
        if not self.wait(STOP_SECONDS):
            for process in self.processes:
                if process.popen is not None and process.popen.poll() is None:
                    process.popen.kill()
                    process.popen.wait()
        for process in self.processes:
            if process.popen is not None:
                self._close_pipes(process)
        self._folder.cleanup()

    def _launch(self, process: Process) -> None:
        environment = self._environment | {
            "NEPHILA_BLACKBOX": str(process.blackbox),
            "NEPHILA_WORKER_SLOT": str(process.slot),
        }
        stderr = subprocess.PIPE if self._say else None
        process.popen = subprocess.Popen(
            self._command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        )
        process.started = time.monotonic()
        process.reader = threading.Thread(target=self._read_reports, args=(process, process.popen), daemon=True)
        process.reader.start()
        if self._say:
            threading.Thread(target=self._read_log, args=(process.popen, self._say), daemon=True).start()

    def _bury(self, process: Process, now: float) -> None:
        assert process.popen is not None
        code = process.popen.returncode
        log.component_log("supervisor").warning("worker_died", pid=process.popen.pid, code=code)
        self._close_pipes(process)
        suspects = last_entries(process.blackbox)
        for url_id in suspects:
            self._suspect(url_id)
        process.short_lives = process.short_lives + 1 if now - process.started < SHORT_LIFE_SECONDS else 0
        if process.short_lives >= SHORT_LIVES_MAX and not suspects and code > 0:
            raise NephilaError(
                f"a worker ended {process.short_lives} times right after its start (exit code {code}): its log says why"
            )
        process.restart_at = now + min(RESTART_SECONDS_MIN * 2**process.short_lives, RESTART_SECONDS_MAX)
        process.popen = None
        process.stalled = ""
        self.restarts += 1

    def put_off(self, seconds: float) -> None:
        """What has died is not started before then, and its short lives are forgiven."""
        for process in self.processes:
            if process.popen is not None and process.popen.poll() is not None:
                process.popen, process.short_lives = None, 0
                process.restart_at = time.monotonic() + seconds

    def _close_pipes(self, process: Process) -> None:
        assert process.popen is not None and process.popen.stdin is not None
        process.popen.stdin.close()
        if process.reader is not None:
            process.reader.join(1.0)

    def _read_log(self, popen: "subprocess.Popen[bytes]", say: Callable[[str], None]) -> None:
        assert popen.stderr is not None
        with popen.stderr:
            for line in popen.stderr:
                say(line.decode("utf-8", "replace").rstrip("\n"))

    def _read_reports(self, process: Process, popen: "subprocess.Popen[bytes]") -> None:
        assert popen.stdout is not None
        with popen.stdout:
            for line in popen.stdout:
                try:
                    event: dict[str, Any] = json.loads(line)
                except ValueError:
                    os.write(2, line)
                    continue
                if event.get("event") in ("stalled", "going_on"):
                    process.stalled = event.get("reason", "")
