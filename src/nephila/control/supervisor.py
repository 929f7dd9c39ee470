"""The supervisor: starts worker processes, replaces those that die, stops them."""

import itertools
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from nephila import log
from nephila.blackbox import last_entries
from nephila.control.scratch import Scratch
from nephila.errors import NephilaError, StoreDamaged
from nephila.supervision import BackgroundPart, start_thread

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
    parts: dict[str, BackgroundPart] = field(default_factory=dict)  # those that broke, by name; the process itself, too
    damaged: str = ""  # what it found damaged, which ended it
    reader: threading.Thread | None = field(default=None, repr=False)


class Supervisor:
    """Its owner calls `poll` regularly: its only threads read what the workers report and log."""

    kind = "worker"  # what its processes are

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
        self._scratch = Scratch()
        self._slots = itertools.count()
        self.wanted = count  # processes; any thread may change it, `poll` follows
        self.processes = [self._new_process() for _ in range(count)]
        self._leaving: list[Process] = []  # surplus processes that finish what is in flight
        self.restarts = 0
        self._stopping = False

    def start(self) -> None:
        for process in self.processes:
            if process.popen is None:  # else it was started before a fault ended this loop
                self._launch(process)

    def poll(self) -> None:
        """Replace dead workers; a page that was being parsed when its worker died becomes a suspect."""
        now = time.monotonic()
        for process in self.processes:
            if process.popen is not None and process.popen.poll() is not None and not self._stopping:
                self._after_death(process, now)
            if process.popen is None and now >= process.restart_at and not self._stopping:
                self._launch(process)
        if not self._stopping:
            self._resize()

    def _resize(self) -> None:
        while len(self.processes) < self.wanted:
            self.processes.append(self._new_process())
            self._launch(self.processes[-1])
        while len(self.processes) > self.wanted:
            process = self.processes.pop()
            if process.popen is not None:
                process.popen.terminate()
                self._leaving.append(process)
        for process in self._leaving[:]:
            if process.popen is not None and process.popen.poll() is not None:
                self._close_pipes(process)
                self._leaving.remove(process)

    def _new_process(self) -> Process:
        slot = next(self._slots)
        return Process(slot, self._scratch.path / f"worker-{slot}")

    @property
    def stalled(self) -> str:
        return next((process.stalled for process in self.processes if process.stalled), "")

    @property
    def troubles(self) -> dict[str, str]:
        found = {part.name: part.trouble for process in self.processes for part in list(process.parts.values())}
        return {name: trouble for name, trouble in found.items() if trouble}

    @property
    def pids(self) -> list[int]:
        return [process.popen.pid for process in self.processes if process.popen is not None]

    def stop(self) -> None:
        """Ask the workers to drain; asked again, they cut off what is in flight."""
        self._stopping = True
        self.processes += self._leaving
        self._leaving = []
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
        """Drain the workers and kill those that do not end in time; that loses nothing either."""
        self.stop()
        if not self.wait(STOP_SECONDS):
            for process in self.processes:
                if process.popen is not None and process.popen.poll() is None:
                    process.popen.kill()
                    process.popen.wait()
        for process in self.processes:
            if process.popen is not None:
                self._close_pipes(process)
        self._scratch.remove()

    def _launch(self, process: Process) -> None:
        environment = self._environment | {
            "NEPHILA_BLACKBOX": str(process.blackbox),
            "NEPHILA_WORKER_SLOT": str(process.slot),
        }
        stderr = subprocess.PIPE if self._say else None
        popen = subprocess.Popen(
            self._command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        )
        try:
            if self._say:
                start_thread(f"log of {self.kind} {process.slot}", partial(self._read_log, popen, self._say))
            read = partial(self._read_reports, process, popen)
            process.reader = start_thread(f"reports of {self.kind} {process.slot}", read)
        except RuntimeError:  # no thread can be started now: a worker that nobody reads would soon stand still
            _kill(popen)
            raise
        process.popen = popen
        process.started = time.monotonic()

    def _after_death(self, process: Process, now: float) -> None:
        assert process.popen is not None
        code = process.popen.returncode
        self._say_died(pid=process.popen.pid, code=code)
        self._part(process).note(f"it died with exit code {code}")
        self._close_pipes(process)
        if process.damaged:
            raise StoreDamaged(process.damaged)
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

    def _say_died(self, **fields: int) -> None:
        log.component_log("supervisor").warning("worker_died", **fields)

    def put_off(self, seconds: float) -> None:
        """Start dead processes again only after so many seconds, and forget their short lives."""
        for process in self.processes:
            if process.popen is not None and process.popen.poll() is not None:
                process.popen, process.short_lives = None, 0
                process.restart_at = time.monotonic() + seconds

    def _close_pipes(self, process: Process) -> None:
        assert process.popen is not None and process.popen.stdin is not None
        process.popen.stdin.close()
        if process.reader is not None:
            process.reader.join(1.0)

    def _part(self, process: Process, name: str = "") -> BackgroundPart:
        """A part of a process; without a name the process itself."""
        whole = f"{self.kind} {process.slot}"
        return process.parts.setdefault(name, BackgroundPart(f"{whole}: {name}" if name else whole))

    # A line that breaks us is lost. Whoever read no more would stop the worker: its pipe would be full.

    def _read_log(self, popen: "subprocess.Popen[bytes]", say: Callable[[str], None], part: BackgroundPart) -> None:
        assert popen.stderr is not None
        while line := b"" if popen.stderr.closed else popen.stderr.readline():
            with part.guarded():
                say(line.decode("utf-8", "replace").rstrip("\n"))
        popen.stderr.close()

    def _read_reports(self, process: Process, popen: "subprocess.Popen[bytes]", part: BackgroundPart) -> None:
        assert popen.stdout is not None
        while line := b"" if popen.stdout.closed else popen.stdout.readline():
            with part.guarded():
                self._take_report(process, line)
        popen.stdout.close()

    def _take_report(self, process: Process, line: bytes) -> None:
        try:
            event: dict[str, Any] = json.loads(line)
        except ValueError:
            os.write(2, line)
            return
        match event.get("event"):
            case "stalled" | "going_on":
                process.stalled = event.get("reason", "")
            case "damaged":
                process.damaged = event.get("reason", "")
            case "part_broke":
                self._part(process, str(event["part"])).note(str(event["trouble"]))


def _kill(popen: "subprocess.Popen[bytes]") -> None:
    popen.kill()
    popen.wait()
    for pipe in (popen.stdin, popen.stdout, popen.stderr):
        if pipe is not None:
            pipe.close()
