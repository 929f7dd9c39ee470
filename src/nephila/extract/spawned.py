"""Processes that work for their parent at the other end of a socket: how they are started, and what they do first.

They are spawned, never forked, and end when the socket closes: none is left, whatever ends their parent.
"""

import os
import resource
import select
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack


def start_process(
    module: str, fd: int, *arguments: int, more_fds: tuple[int, ...] = (), process_group: int | None = None
) -> "subprocess.Popen[bytes]":
    """Run a module of ours with the number of its socket and what else it is told. `more_fds`: files it has, too."""
    # -P: a file in the current folder (json.py, say) is not taken for the module of that name
    command = [sys.executable, "-P", "-m", module, str(fd), *map(str, arguments)]
    quiet, fds = subprocess.DEVNULL, (fd, *more_fds)
    return subprocess.Popen(command, pass_fds=fds, stdin=quiet, stdout=quiet, process_group=process_group)


def start_connected(
    module: str, *arguments: int, more_fds: tuple[int, ...] = ()
) -> "tuple[socket.socket, subprocess.Popen[bytes]]":
    """Start a process in a group of its own: Ctrl-C at the terminal is for its parent to deal with."""
    ours, theirs = socket.socketpair()
    with theirs, ExitStack() as undo:
        undo.callback(ours.close)
        process = start_process(module, theirs.fileno(), *arguments, more_fds=more_fds, process_group=0)
        undo.pop_all()
    return ours, process


def bind_to_parent(fd: int, memory_bytes_max: int) -> None:
    """Limit the memory of this process, and end it when the other side of its socket is gone."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes_max, memory_bytes_max))
    threading.Thread(target=_end_with_parent, args=(fd,), daemon=True).start()


def _end_with_parent(fd: int) -> None:
    """End the process when its parent is gone. Noticed between two steps of a page: within a second or two."""
    try:
        poller = select.poll()
        poller.register(fd, select.POLLRDHUP)
        poller.poll()
    finally:  # also where it cannot watch: the parent starts another
        os._exit(0)
