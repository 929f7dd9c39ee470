import pytest

from nephila.models import Kind
from nephila.policy.priority import priority_of


@pytest.mark.requirement("K23")
def test_breadth_first_and_robots_before_all() -> None:
    rows = [(3, Kind.PAGE), (0, Kind.PAGE), (50, Kind.ROBOTS), (1, Kind.PAGE)]
    assert sorted(rows, key=lambda row: priority_of(*row)) == [
        (50, Kind.ROBOTS),
        (0, Kind.PAGE),
        (1, Kind.PAGE),
        (3, Kind.PAGE),
    ]
