"""Loaded by the processes of tests/e2e/test_broken_parts.py: one part breaks, once, as a bug might make it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

WHAT, MARK = os.environ.get("NEPHILA_TEST_BREAK", ""), os.environ.get("NEPHILA_TEST_BREAK_MARK", "")


def breaking(function: Callable[..., Any], fault: Exception) -> Callable[..., Any]:
    def broken(*values: Any, **named: Any) -> Any:
        try:
            os.close(os.open(MARK, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return function(*values, **named)
        raise fault

    return broken


if WHAT == "callback":
    from nephila.worker.dispatcher import Dispatcher

    Dispatcher._send = breaking(Dispatcher._send, RuntimeError("unexpected"))  # type: ignore[method-assign]
elif WHAT == "parent" and "nephila.wiring" in sys.orig_argv:
    real = os.read
    broken = breaking(real, OSError(5, "Input/output error"))
    os.read = lambda fd, size: broken(fd, size) if fd == 0 else real(fd, size)
elif WHAT == "deadly":  # a page ends the helper of the follower that derives it
    import signal

    from nephila.control.derivers import DERIVERS

    def deadly(derive: Callable[..., Any]) -> Callable[..., Any]:
        def derived(page: Any, job: Any) -> Any:
            if b"deadly" in page.body:
                with Path(MARK).open("a") as file:
                    file.write(",".join(job.names) + "\n")
                os.kill(os.getpid(), signal.SIGKILL)
            while b"endless" in page.body:
                pass
            if b"greedy" in page.body:
                bytearray(1 << 45)
            return derive(page, job)

        return derived

    DERIVERS.update({name: deadly(derive) for name, derive in DERIVERS.items()})
elif WHAT == "follower":
    from nephila.control.follower import Follower

    Follower.step = breaking(Follower.step, OSError(24, "Too many open files"))  # type: ignore[method-assign]
