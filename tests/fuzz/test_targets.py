"""No reader of foreign bytes raises anything but our own errors, and none takes more than linear time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import FOUND, PIECES, TARGETS

EXAMPLES = 150


@pytest.mark.parametrize("name", TARGETS)
def test_anything_may_come(name: str) -> None:
    pieces = st.sampled_from(PIECES[name]) | st.binary(max_size=12)

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True)  # at random: make soak
    @given(st.lists(pieces, max_size=30).map(b"".join))
    def meets(data: bytes) -> None:
        TARGETS[name](data)

    meets()


@pytest.mark.parametrize(("name", "data"), FOUND, ids=lambda value: value if isinstance(value, str) else "")
def test_what_was_found_once_stays_mended(name: str, data: bytes) -> None:
    TARGETS[name](data)
