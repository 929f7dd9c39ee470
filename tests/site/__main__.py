"""`python -m tests.site NAME [--port N] [--log FILE]`: the test web as a process, for tests that kill process groups.

NAME is one of fixtures.FIXTURES, or `graph:SEED:PAGES:HOSTS`. The port is the first line of standard output.
"""

import argparse
from pathlib import Path

from tests.site.fixtures import FIXTURES
from tests.site.graphs import generate
from tests.site.server import Sites, TestWeb


def sites_of(name: str, port: int) -> Sites:
    if name.startswith("graph:"):
        seed, pages, hosts = map(int, name.removeprefix("graph:").split(":"))
        return generate(seed, pages, port, hosts).sites
    return FIXTURES[name](port).sites


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.site")
    parser.add_argument("name")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    chosen = parser.parse_args()
    web = TestWeb(port=chosen.port, log=chosen.log)
    web.add(sites_of(chosen.name, web.port))
    web.serve_until_killed()


if __name__ == "__main__":
    main()
