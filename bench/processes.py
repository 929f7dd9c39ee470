"""What Linux says of a process: its CPU time, its memory, and the processes below it. One that has ended has none."""

import os
import re
from contextlib import suppress
from pathlib import Path

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Of the process and of its children that have ended."""
    return sum(_ticks(pid)) / TICKS_A_SECOND


def own_cpu_seconds(pid: int) -> float:
    return sum(_ticks(pid)[:2]) / TICKS_A_SECOND


def rss_mib(pid: int) -> int:
    """What it has in memory now."""
    return _status_mib(pid, "VmRSS")


def peak_rss_mib(pid: int) -> int:
    """The most that it ever had in memory."""
    return _status_mib(pid, "VmHWM")


def below(pid: int) -> list[int]:
    """Its children, their children, and so on."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *below(child)]
    return found


def _ticks(pid: int) -> list[int]:
    """User and system time, then that of ended children."""
    return [int(ticks) for ticks in _text(pid, "stat").rpartition(")")[2].split()[11:15]]


def _status_mib(pid: int, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+)", _text(pid, "status"), re.MULTILINE)
    return int(found[1]) // 1024 if found else 0


def _text(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""
