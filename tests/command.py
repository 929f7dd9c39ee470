"""`nephila` as a user runs it: a process of its own, or a server that is ended with the test."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE_SECONDS


class Command:
    """`nephila` on one data folder and its store."""

    def __init__(self, data: Path, store: str | None = None) -> None:
        self.data, self.store = data, store
        self.place = ["--data", str(data), *(("--store", store) if store else ())]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("NEPHILA_")}
        own = {"NEPHILA_ALLOW_PRIVATE": "true"} if store else {}
        self.environment = inherited | own | {"NEPHILA_LOG_LEVEL": "warning"}
        self.files_max: int | None = None  # hard limit of open files; None: as this process has it

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        limited = ["sh", "-c", f'ulimit -n {self.files_max}; exec "$0" "$@"'] if self.files_max else []
        return subprocess.Popen(
            [*limited, sys.executable, "-m", "nephila", *arguments, *self.place],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            start_new_session=True,
        )

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, out, err

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self("status", "--json")[1])
        return found

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
            # The test may have failed because the server died: then its last output explains it best.
            if process.poll() is not None:
                print(f"the server had ended, code {process.returncode}: {process.stderr.read()}", file=sys.stderr)
            raise
        finally:
            if process.poll() is None:  # else its number may be another's by now
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def children_of(pid: int) -> list[int]:
    """The processes that any thread of it has started; those of a thread that ends meanwhile are not its any more."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            found += [int(child) for child in (task / "children").read_text().split()]
    return found
