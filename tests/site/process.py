"""The test web in a process and session of its own, so that a crawler's whole process group can be killed beside it."""

import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Self

from tests.patience import PATIENCE_SECONDS
from tests.site.server import SETTLE_HOST, Hit, read_hits

ROOT = Path(__file__).parents[2]


class WebProcess:
    """`with WebProcess("cycle", log) as web`; build the same fixture with `web.port` for what to expect."""

    def __init__(self, name: str, log: Path, port: int = 0) -> None:
        self.command = [sys.executable, "-m", "tests.site", name, "--log", str(log), "--port", str(port)]
        self.log = log

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self.command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        self._settle()
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def hits(self) -> list[Hit]:
        """The requests that have ended, by start."""
        self._settle()
        return read_hits(self.log)

    def _settle(self) -> None:
        """Wait for the log: the server does one thing at a time, so when this is answered it has all before it."""
        if self.process.poll() is not None:
            return
        client = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        client.request("GET", "/", headers={"Host": SETTLE_HOST})
        client.getresponse().read()
        client.close()
