from nephila.models import KIND_TRAITS, Kind
from nephila.worker.visits import VISITS


def test_every_kind_of_row_is_described_and_visited() -> None:
    assert set(KIND_TRAITS) == set(VISITS) == set(Kind)
