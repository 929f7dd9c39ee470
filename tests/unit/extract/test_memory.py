from pathlib import Path

import pytest

from nephila.extract.memory import HELPER_BYTES_MAX, HELPER_BYTES_MIN, UNKNOWN_BYTES, helper_bytes, memory_bytes

GIB, MIB = 1 << 30, 1 << 20


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


MEMINFO = {"proc/meminfo": "MemTotal:        8388608 kB\nMemFree:          1000 kB\n"}
V2 = MEMINFO | {"proc/self/cgroup": "0::/pod/box\n"}
V1 = MEMINFO | {"proc/self/cgroup": "5:cpu,cpuacct:/pod\n3:memory:/pod/box\n0::/\n"}


@pytest.mark.requirement("W-16")
@pytest.mark.parametrize(
    ("files", "found"),
    [
        (MEMINFO, 8 * GIB),
        (V2 | {"sys/fs/cgroup/pod/box/memory.max": f"{GIB}\n"}, GIB),
        (V2 | {"sys/fs/cgroup/pod/box/memory.max": "max\n"}, 8 * GIB),
        (V2 | {"sys/fs/cgroup/pod/box/memory.max": "max\n", "sys/fs/cgroup/pod/memory.max": f"{2 * GIB}\n"}, 2 * GIB),
        (V2 | {"sys/fs/cgroup/pod/box/memory.max": f"{3 * GIB}", "sys/fs/cgroup/pod/memory.max": f"{GIB}"}, GIB),
        (V2 | {"sys/fs/cgroup/memory.max": f"{GIB}\n"}, GIB),  # the path is the host's, the mount the container's
        (V2 | {"sys/fs/cgroup/pod/box/memory.max": f"{64 * GIB}\n"}, 8 * GIB),
        (V1 | {"sys/fs/cgroup/memory/pod/box/memory.limit_in_bytes": f"{GIB}\n"}, GIB),
        (V1 | {"sys/fs/cgroup/memory/pod/box/memory.limit_in_bytes": "9223372036854771712\n"}, 8 * GIB),
        (V1 | {"sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2 * GIB}\n"}, 2 * GIB),
        ({}, UNKNOWN_BYTES),
    ],
)
def test_the_smallest_limit_holds(tmp_path: Path, files: dict[str, str], found: int) -> None:
    assert memory_bytes(machine(tmp_path, files)) == found


@pytest.mark.requirement("W-16")
@pytest.mark.parametrize(
    ("available", "percent", "helpers", "limit"),
    [
        (GIB, 70, 1, GIB * 70 // 100),
        (2 * GIB, 70, 2, 2 * GIB * 70 // 100 // 2),
        (2 * GIB, 50, 1, GIB),
        (64 * GIB, 70, 2, HELPER_BYTES_MAX),
        (256 * MIB, 70, 4, HELPER_BYTES_MIN),
        (UNKNOWN_BYTES, 70, 1, HELPER_BYTES_MAX),
    ],
)
def test_helpers_share_a_part_of_it(available: int, percent: int, helpers: int, limit: int) -> None:
    assert helper_bytes(available, percent, helpers) == limit


def test_this_machine_has_memory() -> None:
    assert 64 * MIB < memory_bytes() < UNKNOWN_BYTES
