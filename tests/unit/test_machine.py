"""The limit of open files: raised, and turned into connections."""

import resource
import subprocess
import sys

import pytest

from nephila.errors import UsageError
from nephila.machine import FILES_MIN, FILES_RESERVED, files_for_connections, out_of_files

RAISED = """
import resource
from nephila.machine import raise_file_limit
print(raise_file_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_the_soft_limit_is_raised_as_far_as_the_hard_one() -> None:
    hard = min(5000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    command = ["sh", "-c", f'ulimit -Sn 256; ulimit -Hn {hard}; exec "$0" -c "$1"', sys.executable, RAISED]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == [str(hard)] * 3


def test_connections_are_what_is_left_of_the_files() -> None:
    assert files_for_connections(1024) == 1024 - FILES_RESERVED
    with pytest.raises(UsageError, match="ulimit -n"):
        files_for_connections(FILES_MIN - 1)


def test_there_are_files_left() -> None:
    assert not out_of_files()
