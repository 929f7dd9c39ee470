"""`Scratch`: a folder for the files of one process. It goes with the process, or with the next one after a kill."""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "nephila-"
LOCK = "lock"


class Scratch:
    def __init__(self) -> None:
        _remove_left()
        self._make()
        while not os.fstat(self._fd).st_nlink:  # another process came before the lock, and took the folder for left
            os.close(self._fd)
            self._make()

    def _make(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._fd = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _remove_left() -> None:
    """Remove the folders whose process is gone: their locks are free. Folders of other users stay."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError):
            fd = os.open(lock, os.O_RDWR)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)
            finally:
                os.close(fd)
