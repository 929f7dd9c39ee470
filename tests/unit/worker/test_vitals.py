import pytest

from nephila.clock import VirtualClock
from nephila.worker.vitals import VitalSigns


@pytest.mark.requirement("AD-07")
def test_rates_are_those_since_the_last_look(clock: VirtualClock) -> None:
    signs = VitalSigns(clock, (1000.0, 10.0))
    signs.pages = 20
    clock.advance(2000)
    first = signs.take((5000.0, 30.0))
    assert (first.pages, first.pages_per_s, first.received_per_s, first.sent_per_s) == (20, 10.0, 2000.0, 10.0)
    assert first.rss_bytes > 0
    clock.advance(1000)
    second = signs.take((5000.0, 30.0))
    assert (second.pages_per_s, second.received_per_s, second.sent_per_s) == (0.0, 0.0, 0.0)
