"""A worker that counts the bytecodes that each of its functions executes: python -P bench/counted.py FILE

Started by bench.instructions in the place of `python -m nephila.wiring`. It writes {function: bytecodes} as JSON when
it ends.
"""

import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import uvloop

from nephila import wiring
from nephila.extract import html_reader

executed: Counter[CodeType] = Counter()


def trace(frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
    code = frame.f_code
    frame.f_trace_opcodes, frame.f_trace_lines = True, False

    def count(frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        if event == "opcode":
            executed[code] += 1
        return count

    return count


def name_of(code: CodeType) -> str:
    """Where a function is; one that was compiled at run time, such as a dataclass's `__init__`, has its arguments."""
    if code.co_filename == "<string>":
        return f"{code.co_qualname}{code.co_varnames[: code.co_argcount]}"
    return f"{code.co_filename.rpartition('/src/')[2].rpartition('site-packages/')[2]}:{code.co_qualname}"


def main() -> None:
    html_reader.SLOW_SECONDS = 3600.0  # as in bench.instructions
    end, run = os._exit, uvloop.run

    def write_and_end(code: int) -> None:
        sys.settrace(None)
        found: Counter[str] = Counter()
        for function, count in executed.items():
            found[name_of(function)] += count
        Path(sys.argv[1]).write_text(json.dumps(found))
        end(code)

    def run_traced(worker: Any) -> None:
        threading.settrace(trace)  # the flush thread
        sys.settrace(trace)
        run(worker)

    os._exit, uvloop.run = write_and_end, run_traced  # type: ignore[assignment]
    wiring.main()


if __name__ == "__main__":
    main()
