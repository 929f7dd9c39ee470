"""make bench: every benchmark as a table with its targets; `python -m bench store`: one; --record: RESULTS.md."""

import argparse
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"
# What takes long at full size.
SIZED = {f"bench.{name}" for name in ("store", "api", "ui", "search", "links", "ends")}
COMMANDS = {
    "crawl": ["bench.crawl"],
    "heldout": ["bench.heldout"],
    "broad": ["bench.broad"],
    "store": ["bench.store"],
    "postgres": ["bench.store", "--store", "postgres"],
    "scale": ["bench.scale"],
    "cluster": ["bench.cluster"],
    "hostile": ["bench.hostile"],
    "evil": ["bench.evil"],
    "api": ["bench.api"],
    "ui": ["bench.ui"],
    "search": ["bench.search"],
    "links": ["bench.links"],
    "ends": ["bench.ends"],
}


def machine() -> str:
    cpu = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown CPU",
    )
    return (
        f"{cpu}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()}, Python {platform.python_version()}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("which", nargs="*", choices=[*COMMANDS, []], help="default: all")
    parser.add_argument("--record", action="store_true", help="write the result to bench/RESULTS.md")
    parser.add_argument("--full", action="store_true", help="both stores at 1, 5 and 10 million URLs (some two hours)")
    options = parser.parse_args()
    texts = []
    for name in options.which or COMMANDS:
        command = [sys.executable, "-m", *COMMANDS[name]]
        if SIZED & set(command) and not options.full:
            command.append("--quick")
        done = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert done.stdout is not None
        lines = []
        for line in done.stdout:
            print(line, end="", flush=True)
            lines.append(line)
        if done.wait():
            sys.exit(done.returncode)
        texts.append(f"## {name}\n\n{''.join(lines)}")
    if options.record:
        head = f"# Benchmark results\n\n{datetime.now(UTC):%Y-%m-%d}, {machine()}. Printed by `make bench`;"
        head += " absolute figures differ from run to run, compare the ratios.\n\n"
        RESULTS.write_text(head + "\n".join(texts))


if __name__ == "__main__":
    main()
