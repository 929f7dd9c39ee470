"""How many connections a worker keeps open for the next turn of their hosts."""

import pytest

from nephila.fetch.curl import CONNECTION_BYTES, CONNECTIONS_MAX, MEMORY_SHARE, connections_kept

MUCH = 1 << 40


@pytest.mark.parametrize(
    ("files", "memory", "workers", "kept"),
    [
        (65_440, MUCH, 1, CONNECTIONS_MAX),
        (928, MUCH, 1, 464),  # ulimit -n 1024
        (65_440, 1000 * CONNECTION_BYTES * MEMORY_SHARE, 1, 1000),
        (65_440, 1000 * CONNECTION_BYTES * MEMORY_SHARE, 4, 250),  # they share the memory; files are each one's own
        (32, 1 << 20, 1, 1),
    ],
)
def test_as_files_and_memory_permit(files: int, memory: int, workers: int, kept: int) -> None:
    assert connections_kept(files, memory, workers) == kept
