"""The test web can be reached from other machines, and by the name that they know it by."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.site.server import TestWeb

ROOT = Path(__file__).parents[3]
SHOW = """
from tests.site.fixtures import FIXTURES
from tests.site.graphs import generate
from tests.site.server import TestWeb
with TestWeb() as web:
    print(web.url("/x").replace(str(web.port), "PORT"))
    print(generate(42424, 11, web.port).seeds[0].replace(str(web.port), "PORT"))
"""


@pytest.mark.requirement("T-05")
def test_it_listens_at_every_address_of_the_machine(web: TestWeb) -> None:
    assert web.socket.getsockname() == ("0.0.0.0", web.port)


@pytest.mark.requirement("T-05")
@pytest.mark.parametrize("host", ["host.docker.internal", None])
def test_another_name_is_set_from_outside(host: str | None) -> None:
    env = {name: value for name, value in os.environ.items() if name != "E2E_FIXTURE_HOST"}
    env |= {"E2E_FIXTURE_HOST": host} if host else {}
    done = subprocess.run([sys.executable, "-c", SHOW], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"http://{host or '127.0.0.1'}:PORT{path}" for path in ("/x", "/")]
