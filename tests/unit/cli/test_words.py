from dataclasses import replace

import pytest

from nephila.cli import words
from nephila.clock import VirtualClock
from nephila.control.progress import Bound, Progress, Resting, Snapshot
from nephila.errors import UsageError
from nephila.frontier.records import WorkerRow
from nephila.frontier.store import Vitals
from nephila.models import CrawlState
from tests.unit.control.filled import Filled

WORKER = WorkerRow(1, "here", 42, "0", 0, 0, True, 256, 0, 1, Vitals(), ())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("0", 0),
        ("0.5", 0.5),
        ("250ms", 0.25),
        ("10m", 600),
        ("10 min", 600),
        ("1h30m", 5400),
        ("2H", 7200),
        ("1d", 86_400),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert words.parse_duration(text, "--max-time") == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "-1", "x", "1x", "10 m x", "1e3", "nan", "1:30"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--delay cannot be"):
        words.parse_duration(text, "--delay")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("5000", 5000),
        ("10MB", 10_000_000),
        ("10 mb", 10_000_000),
        ("1.5GiB", 1_610_612_736),
        ("2k", 2000),
        ("1KiB", 1024),
        ("7B", 7),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert words.parse_size(text, "--max-bytes") == size


@pytest.mark.parametrize("text", ["", "-1", "MB", "1XB", "1iB", "10MBit"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--max-bytes cannot be"):
        words.parse_size(text, "--max-bytes")


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (250, "250 ms"),
        (1000, "1 s"),
        (1500, "1.5 s"),
        (38_000, "38 s"),
        (119_000, "119 s"),
        (240_000, "4 min"),
        (7_500_000, "2 h 5 min"),
        (7_200_000, "2 h"),
        (47 * 3_600_000, "47 h"),
        (76 * 3_600_000, "3 d 4 h"),
        (72 * 3_600_000, "3 d"),
    ],
)
def test_durations_are_told(ms: float, text: str) -> None:
    assert words.duration(ms) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (14_624, "14.6 kB"),
        (123_456, "123 kB"),
        (999_600, "1.0 MB"),
        (5e9, "5.0 GB"),
    ],
)
def test_sizes_are_told(size: float, text: str) -> None:
    assert words.size(size) == text


@pytest.mark.parametrize(
    ("per_second", "text"),
    [
        (0, "0/s"),
        (0.05, "3.0/min"),
        (0.4, "0.4/s"),
        (12.3, "12/s"),
        (1360, "1,360/s"),
    ],
)
def test_rates_are_told(per_second: float, text: str) -> None:
    assert words.rate(per_second) == text


@pytest.fixture
def snapshot(filled: Filled, clock: VirtualClock) -> Snapshot:
    found = Progress(filled.catalog, filled.crawl.id, clock).snapshot()
    counts = {"urls": 3900, "visited": 1204, "queued": 2696}
    return replace(found, counts=counts, rate=12.0, eta_ms=240_000.0, bound=None, workers=(WORKER,), resting=None)


def test_progress_sentence(snapshot: Snapshot) -> None:
    bound = Bound("docs.example.org", 2310, 1000.0)
    assert words.progress(replace(snapshot, bound=bound)) == (
        "1,204 of about 3,900 URLs, 12/s, done in about 4 min; bounded by docs.example.org (1 s delay, 2,310 queued)"
    )


def test_progress_without_a_rate_or_a_bound(snapshot: Snapshot) -> None:
    assert words.progress(replace(snapshot, rate=None, eta_ms=None)) == "1,204 of about 3,900 URLs"
    assert words.progress(replace(snapshot, rate=None, workers=())).endswith("URLs, needs about 4 min more")
    assert words.progress(replace(snapshot, bound=Bound("a", 5, 0.0))).endswith("done in about 4 min")


def test_progress_says_why_nothing_moves(snapshot: Snapshot) -> None:
    assert words.progress(replace(snapshot, waiting="no space")).endswith("12/s; waiting: no space")
    resting = Resting("a.test", 110_000, "robots_unreachable")
    assert words.progress(replace(snapshot, resting=resting)).endswith(
        "waiting: a.test rests for 110 s more (robots_unreachable)"
    )
    paused = replace(snapshot.crawl, state=CrawlState.PAUSED, reason="interrupted")
    assert words.progress(replace(snapshot, crawl=paused)).endswith("; paused: interrupted")


@pytest.mark.parametrize(("number", "said"), [(0, "0 URLs"), (1, "1 URL"), (2, "2 URLs"), (1234, "1,234 URLs")])
def test_urls(number: int, said: str) -> None:
    assert words.urls(number) == said
