"""pgbouncer before a server of tests: each transaction on any of a few connections to it."""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Self

import pytest

from tests import postgres
from tests.patience import until

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"  # where Debian has it


class Bouncer:
    """`with Bouncer(server, "transaction") as bouncer`: its URLs lead through it."""

    def __init__(self, server: postgres.Server, mode: str, connections: int = 1) -> None:
        found = shutil.which("pgbouncer", path=PATH)
        if found is None:
            pytest.skip("needs pgbouncer")
        self.folder = Path(tempfile.mkdtemp(prefix="npb-", dir="/tmp"))  # short: a socket's path has 107 bytes
        settings = {
            "listen_port": str(postgres.PORT),  # of the name of the socket; nothing listens on TCP
            "unix_socket_dir": str(self.folder),
            "auth_type": "any",
            "pool_mode": mode,
            "default_pool_size": str(connections),
            "server_tls_sslmode": "disable",
        }
        lines = ["[databases]", f"* = host={server.folder} user=postgres", "[pgbouncer]"]
        lines += [f"{name} = {value}" for name, value in settings.items()]
        (self.folder / "ini").write_text("\n".join(lines))
        if postgres.USER is not None:
            shutil.chown(self.folder, postgres.USER)
        self._command = [found, "-q", str(self.folder / "ini")]

    def __enter__(self) -> Self:
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(self._command, user=postgres.USER, stdout=log, stderr=log)
        until(self._listens, "pgbouncer listens")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.folder)

    def _listens(self) -> bool:
        """Its socket is there a moment before it listens."""
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.folder / f".s.PGSQL.{postgres.PORT}")) == 0

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"
