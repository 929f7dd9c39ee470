"""A real nginx in front of a folder: what redirects of ordinary web servers look like."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import until

COMMON = """
daemon off; master_process off; error_log stderr crit; pid {folder}/nginx.pid;
events {{ }}
http {{
  access_log {folder}/access.log;
  types {{ text/html html; text/plain txt; }}
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  {servers}
}}
"""


def own_address() -> str:
    """A loopback address that no other test process uses: there the well-known ports are free."""
    number = os.getpid()
    return f"127.{64 + (number >> 16) % 64}.{(number >> 8) % 256}.{number % 256}"


@contextmanager
def nginx(folder: Path, address: tuple[str, int], servers: str) -> Iterator[None]:
    """Runs with these server blocks, of which one listens at `address`, and answers until the end of the block."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("needs nginx: install the package nginx")
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "nginx.conf"
    config.write_text(COMMON.format(folder=folder, servers=servers))
    command = [program, "-c", str(config), "-p", str(folder), "-e", "stderr"]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    running = subprocess.Popen(command)
    try:
        until(lambda: _listens(address) or running.poll() is not None, "nginx listens")
        assert running.poll() is None, "nginx did not start"
        yield
    finally:
        running.terminate()
        running.wait()


def _listens(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address).close()
    except ConnectionError:
        return False
    return True
