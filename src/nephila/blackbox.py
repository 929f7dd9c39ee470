"""The black box: a few bytes of shared memory that say which URL is being read. They outlive a crash of the worker."""

import mmap
import struct
from pathlib import Path

ENTRY = struct.Struct("<q")


class BlackBox:
    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(ENTRY.size))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), ENTRY.size)

    def write(self, url_id: int) -> None:
        """Note that this URL is being read; 0: none is."""
        ENTRY.pack_into(self._map, 0, url_id)


def last_entries(path: Path) -> list[int]:
    """The URL that was being read when the process died, if one was."""
    data = path.read_bytes() if path.exists() else b""
    return [url_id for (url_id,) in ENTRY.iter_unpack(data) if url_id] if len(data) == ENTRY.size else []
