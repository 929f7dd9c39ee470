"""A cluster as its operator has it: `nephila worker` commands, each a machine, on one PostgreSQL."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nephila.frontier.store import Crawl, WorkerRow
from nephila.models import PARTITIONS
from tests.e2e.harness import LEASE_SECONDS, Place

START_SECONDS_MAX = 30.0
EXIT_SECONDS_MAX = 10.0  # after SIGTERM: the promise of `nephila worker`
POLL_SECONDS = 0.02
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def until(condition: Callable[[], object], seconds: float, what: str) -> float:
    """How long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + seconds, f"not within {seconds} s: {what}"
        time.sleep(POLL_SECONDS)
    return time.monotonic() - began


def pass_by(seconds: float) -> None:
    """What is proven needs real time: leases end, nothing happens."""
    time.sleep(seconds)


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("NEPHILA_")}


class Machine:
    """One `nephila worker` with its processes, in a session of its own. Its name is in each User-Agent it sends."""

    def __init__(
        self,
        place: Place,
        name: str,
        *,
        workers: int = 1,
        url: str | None = None,
        lease: float = LEASE_SECONDS,
        private: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.agent = f"Nephila/0 ({name})"
        self.log_path = place.folder / f"{name}.log"
        place.folder.mkdir(parents=True, exist_ok=True)
        settings = place.settings()
        command = [sys.executable, "-m", "nephila", "worker", "--store", url or place.url or ""]
        command += ["--data", str(place.folder / name), "--archive", str(settings.archive_folder)]
        command += ["--workers", str(workers), "--lease", str(lease), "--log-level", "warning", "--log-format", "json"]
        command += ["--allow-private"] if private else []
        more = {"NEPHILA_USER_AGENT": self.agent, "NEPHILA_PARSERS": "1", **(environment or {})}
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env=clean_environment() | more,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )

    @property
    def workers(self) -> list[int]:
        """The worker processes: the children of the command."""
        pid = self.process.pid
        try:
            return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except OSError:
            return []

    def log(self) -> str:
        return self.log_path.read_text()

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = (json.loads(line) for line in self.log().splitlines() if line.startswith("{"))
        return [line for line in lines if line.get("event") == name]

    def signal_workers(self, number: int) -> None:
        for pid in self.workers:
            os.kill(pid, number)

    def terminate(self) -> None:
        self.process.terminate()

    def wait(self, seconds: float = EXIT_SECONDS_MAX) -> int:
        return self.process.wait(seconds)

    def kill(self) -> None:
        """As a power cut: the command and all below it."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def cpu_seconds(self) -> float:
        """Of all its living processes."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self.process.pid:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS_PER_SECOND


class Fleet:
    """The machines of one test, and what its catalogue says. They end with it, whatever happened."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.machines: list[Machine] = []

    def start(self, name: str, **more: Any) -> Machine:
        machine = Machine(self.place, name, **more)
        self.machines.append(machine)
        return machine

    def start_all(self, count: int, **more: Any) -> list[Machine]:
        started = [self.start(f"machine-{number}", **more) for number in range(count)]
        self.ready(count)
        return started

    def alive(self) -> list[WorkerRow]:
        return [worker for worker in self.place.store().catalog.workers() if worker.alive]

    def shares(self) -> list[int]:
        return [worker.partitions for worker in self.alive()]

    def share(self, machine: Machine) -> int:
        return sum(worker.partitions for worker in self.alive() if worker.pid in machine.workers)

    def ready(self, workers: int) -> None:
        """All have joined, every partition has an owner and every worker a share."""

        def settled() -> bool:
            shares = self.shares()
            return len(shares) == workers and sum(shares) == PARTITIONS and min(shares) >= PARTITIONS // workers // 2

        until(settled, START_SECONDS_MAX, f"{workers} workers with a share each")

    def run_crawl(self, crawl_id: int, seconds: float = 60) -> Crawl:
        catalog = self.place.store().catalog
        end = time.monotonic() + seconds
        while not (crawl := catalog.crawl(crawl_id)).state.over:
            assert time.monotonic() < end, f"not over after {seconds} s: {self.describe(crawl_id)}"
            time.sleep(POLL_SECONDS)
        return crawl

    def hurry(self, crawl: Crawl) -> None:
        """All has been seen: what is left is done without rest."""
        polite = crawl.settings.polite.model_copy(update={"floor_ms": 0, "max_inflight": 4})
        self.place.store().catalog.change_settings(crawl.id, crawl.settings.model_copy(update={"polite": polite}))

    def over(self, crawl_id: int) -> bool:
        return self.place.store().catalog.crawl(crawl_id).state.over

    def describe(self, crawl_id: int) -> str:
        catalog = self.place.store().catalog
        workers = [(worker.pid, worker.alive, worker.partitions, worker.in_flight) for worker in catalog.workers()]
        logs = {machine.name: machine.log()[-2000:] for machine in self.machines}
        return f"{catalog.tallies(crawl_id)} {workers} {catalog.queues(crawl_id, 5)} {logs}"

    def close(self) -> None:
        for machine in self.machines:
            machine.kill()
