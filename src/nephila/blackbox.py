"""Eight bytes of shared memory that say which URL is being parsed: they outlive a crash of the parser."""

import mmap
import struct
from pathlib import Path

SIZE = 8


class BlackBox:
    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)
        self.write(0)

    def write(self, url_id: int) -> None:
        struct.pack_into("<q", self._map, 0, url_id)


def last_entry(path: Path) -> int:
    """The URL that was being parsed when the process died; 0: none."""
    data = path.read_bytes() if path.exists() else b""
    return int(struct.unpack("<q", data)[0]) if len(data) == SIZE else 0
