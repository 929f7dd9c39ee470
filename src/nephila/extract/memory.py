"""How much memory a helper process may use: a share of what the cgroup, or else the machine, has."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

# Below this a helper cannot read the largest page; above it nothing that is a page needs more.
HELPER_BYTES_MIN, HELPER_BYTES_MAX = 256 << 20, 2 << 30
UNKNOWN_BYTES = 1 << 62  # where nothing says how much there is


def helper_bytes(available: int, percent: int, helpers: int) -> int:
    """The limit of each of `helpers` processes that together may use `percent` of the memory."""
    return min(max(available * percent // 100 // max(helpers, 1), HELPER_BYTES_MIN), HELPER_BYTES_MAX)


def memory_bytes(root: Path = Path("/")) -> int:
    """The smallest limit that holds for this process: of its cgroup (v2 or v1), of those above it, of the machine."""
    return min((UNKNOWN_BYTES, *_cgroup_limits(root), *_of_machine(root)))


def _cgroup_limits(root: Path) -> Iterator[int]:
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _limits(root / "sys/fs/cgroup", path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes")


def _limits(mount: Path, path: str, name: str) -> Iterator[int]:
    """The limits of a group and of all above it. In a container the path may be the host's: then only the mount is."""
    place = PurePosixPath(path.lstrip("/"))
    for part in (place, *place.parents):
        text = _text(mount / part / name).strip()
        if text.isdecimal():  # else it is `max`, or there is no such file
            yield int(text)


def _of_machine(root: Path) -> Iterator[int]:
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            yield int(line.split()[1]) * 1024


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
