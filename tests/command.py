"""`nephila` as a user runs it: a process of its own, or a server that is ended with the test."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WAIT_SECONDS = 40.0


class Command:
    def __init__(self, data: Path, store: str | None) -> None:
        self.place = ["--data", str(data), *(("--store", store) if store else ())]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("NEPHILA_")}
        own = {"NEPHILA_LEASE_SECONDS": "1", "NEPHILA_ALLOW_PRIVATE": "true"} if store else {}
        self.environment = inherited | own | {"NEPHILA_LOG_LEVEL": "warning"}

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "nephila", *arguments, *self.place],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            start_new_session=True,
        )

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=WAIT_SECONDS)
        return process.returncode, out, err

    @contextmanager
    def serving(self, *arguments: str) -> "Iterator[tuple[subprocess.Popen[str], str]]":
        process = self.start("serve", "--port", "0", *arguments)
        try:
            assert process.stdout is not None and process.stderr is not None
            line = process.stdout.readline()
            found = re.search(r" at (http://\S+) ", line)
            assert found is not None, line + process.stderr.read()
            yield process, found[1]
        except BaseException:
            # What failed may have failed because of it: a dead server's last words are the best explanation.
            if process.poll() is not None:
                print(f"the server had ended, code {process.returncode}: {process.stderr.read()}", file=sys.stderr)
            raise
        finally:
            if process.poll() is None:  # else its number may be another's by now
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def until(met: Callable[[], Any]) -> Any:
    end = time.monotonic() + WAIT_SECONDS
    while not (found := met()):
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
    return found


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] + [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        if task.name != str(pid)
        for child in (task / "children").read_text().split()
    ]
