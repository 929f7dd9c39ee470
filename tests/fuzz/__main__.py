"""`make soak`: every target in turn, by coverage, each in a process of its own; ends with the input that broke one.

python -m tests.fuzz [--seconds 60] [TARGET...]
"""

import argparse
import subprocess
import sys
from importlib.util import find_spec

from tests.fuzz.targets import PIECES, TARGETS

LENGTH_MAX = 65_536
SECONDS_EACH_MAX = 5  # an input that takes longer is a fault
MEGABYTES_MAX = 2048


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the readers of foreign bytes, by coverage (atheris).")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of: {', '.join(TARGETS)}; none: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    asked = parser.parse_args()
    unknown = sorted(set(asked.targets) - set(TARGETS))
    if unknown:
        parser.error(f"there is no target {unknown[0]}")
    if find_spec("atheris") is None:
        print("atheris is not installed: `make soak` does it", file=sys.stderr)
        return 2
    failed = [name for name in asked.targets or TARGETS if not _held(name, asked.seconds)]
    print(f"broken: {', '.join(failed)}" if failed else "everything held")
    return 1 if failed else 0


def _held(name: str, seconds: int) -> bool:
    print(f"{name}: {seconds} s", flush=True)
    command = [sys.executable, "-c", f"from tests.fuzz.__main__ import fuzz; fuzz({name!r}, {seconds})"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        print(ended.stdout[-4000:] + ended.stderr[-4000:], file=sys.stderr)
    return ended.returncode == 0


def fuzz(name: str, seconds: int) -> None:
    """Draw inputs until the time is over (exit code 0) or one breaks the target."""
    import atheris  # only here: `make test` works without it

    atheris.instrument_all()
    options = [f"-max_total_time={seconds}", f"-max_len={LENGTH_MAX}", f"-timeout={SECONDS_EACH_MAX}"]
    options += [f"-rss_limit_mb={MEGABYTES_MAX}", "-artifact_prefix=/tmp/"]
    atheris.Setup([name, *options], TARGETS[name], custom_mutator=_mutator(atheris, name))
    atheris.Fuzz()


def _mutator(atheris, name):  # type: ignore[no-untyped-def]  # atheris has no types
    """Every other time a piece of the target's language is put in, so that the rules behind it are reached."""
    pieces = PIECES[name]

    def mutate(data: bytes, size_max: int, seed: int) -> bytes:
        if seed % 2:
            return bytes(atheris.Mutate(data, size_max))
        at = seed // 2 % (len(data) + 1)
        return (data[:at] + pieces[seed % len(pieces)] + data[at:])[:size_max]

    return mutate


if __name__ == "__main__":
    sys.exit(main())
