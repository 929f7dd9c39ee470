"""A cluster as its operator has it: `nephila worker` commands, each a machine, on one PostgreSQL."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nephila.frontier.records import WorkerRow
from nephila.frontier.store import Crawl
from nephila.models import PARTITIONS
from nephila.worker.worker import DRAIN_MS
from tests.e2e.harness import Place, await_end
from tests.patience import PATIENCE_SECONDS, until

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def pass_by(seconds: float) -> None:
    """Sleep: the test proves what real time does, like leases that end or a rest in which nothing happens."""
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
        lease: float | None = None,
        private: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._place = place
        self.name = name
        self.agent = f"Nephila/0 ({name})"
        self.log_path = place.folder / f"{name}.log"
        place.folder.mkdir(parents=True, exist_ok=True)
        settings = place.settings()
        command = [sys.executable, "-m", "nephila", "worker", "--store", url or place.url or ""]
        command += ["--data", str(place.folder / name), "--archive", str(settings.archive_folder)]
        command += ["--workers", str(workers), "--lease", str(lease or place.lease)]
        command += ["--log-level", "warning", "--log-format", "json"]
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

    def kill_workers(self) -> None:
        """Kill its workers like a fault of theirs would; the command replaces them."""
        pids = self.workers
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        until(lambda: not set(pids) & set(self.workers), "its command knows that they are dead")
        for pid in pids:
            self._place.bury(pid)

    def terminate(self) -> None:
        self.process.terminate()

    def wait(self) -> int:
        return self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """Kill the command and all processes below it at once, like a power cut."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def cpu_seconds(self) -> float:
        """CPU of all its living processes."""
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

    def retire(self, machine: Machine) -> bool:
        """Let it go in peace. False: it cut off requests, since it needed longer than DRAIN_MS to read their answers.

        That is the way on a machine that is too busy; the answers had come at once.
        """
        began = time.monotonic()
        machine.terminate()
        until(lambda: self.share(machine) == 0, "it has handed back")
        in_time = time.monotonic() - began < DRAIN_MS / 1000
        assert machine.wait() == 0
        return in_time

    def alive(self) -> list[WorkerRow]:
        return [worker for worker in self.place.store().catalog.workers() if worker.alive]

    def shares(self) -> list[int]:
        return [worker.partitions for worker in self.alive()]

    def share(self, machine: Machine) -> int:
        return sum(worker.partitions for worker in self.alive() if worker.pid in machine.workers)

    def ready(self, workers: int) -> None:
        """Wait until all have joined, every partition has an owner and every worker a share."""

        def settled() -> bool:
            shares = self.shares()
            return len(shares) == workers and sum(shares) == PARTITIONS and min(shares) >= PARTITIONS // workers // 2

        until(settled, f"{workers} workers with a share each")

    def run_crawl(self, crawl_id: int) -> Crawl:
        return await_end(self.place.store().catalog, crawl_id, lambda: self.describe(crawl_id))

    def hurry(self, crawl: Crawl) -> None:
        """Let the rest of the crawl run without delays, once the test has seen what it needs."""
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
