"""The test web in a process and session of its own, so that a crawler's whole process group can be killed beside it."""

import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Self

from tests.site.server import SETTLE_HOST, TURN_SECONDS_MAX, Hit, read_hits

ROOT = Path(__file__).parents[2]
END_SECONDS_MAX = 10


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
        self.process.wait(END_SECONDS_MAX)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def hits(self) -> list[Hit]:
        """The requests that have ended, by start."""
        self._settle()
        return read_hits(self.log)

    def _settle(self) -> None:
        """The server does one thing at a time: once this is answered, all that was answered before it is in the log."""
        if self.process.poll() is not None:
            return
        client = HTTPConnection("127.0.0.1", self.port, timeout=TURN_SECONDS_MAX)
        client.request("GET", "/", headers={"Host": SETTLE_HOST})
        client.getresponse().read()
        client.close()
