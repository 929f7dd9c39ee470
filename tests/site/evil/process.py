"""The evil web in a process of its own: what it opens and uses is not counted with what is tested."""

import json
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Self

from tests.patience import PATIENCE_SECONDS
from tests.site.process import ROOT


class EvilProcess:
    """`with EvilProcess(folder) as web`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca_file = folder / "ca.crt"

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.site.evil", str(self.folder)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def report(self) -> dict[str, Any]:
        """Connections that are `open`; bytes `sent`, `requests` for pages and for `robots` by case."""
        client = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        client.request("GET", "/")
        found: dict[str, Any] = json.loads(client.getresponse().read())
        client.close()
        return found
