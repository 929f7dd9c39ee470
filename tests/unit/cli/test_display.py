import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from nephila.cli.display import Json, Plain, Screen, SeedProgress, chosen, seeds_text
from nephila.cli.summary import FrequentError, summary_lines, top_errors
from nephila.clock import VirtualClock
from nephila.control.crawls import Begin
from nephila.control.progress import Progress, Snapshot, refusals_by_reason
from nephila.frontier.records import QueueRow
from nephila.models import CrawlState
from nephila.settings import process_settings
from tests.unit.control.filled import SEED, Filled


@pytest.fixture
def snapshot(filled: Filled, clock: VirtualClock) -> Snapshot:
    return Progress(filled.catalog, filled.crawl.id, clock).snapshot()


@pytest.mark.requirement("L-05")
def test_screen_shows_everything_that_matters(snapshot: Snapshot) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=40)
    hosts = tuple(QueueRow(f"h{number}.test", 100 - number, 0, None, 0, 1000 * number, "") for number in range(20))
    with Screen(console) as screen:
        screen.begin(snapshot.crawl, Begin.NEW)
        screen.show(replace(snapshot, queues=hosts))
    text = out.getvalue()
    for part in (f"crawl 1: begins with {SEED}", "5 of about 6 URLs", "queued", "in flight", "not_found 1", "2.0 kB"):
        assert part in text
    assert "h0.test" in text and "h4.test" in text and "h5.test" not in text  # busiest
    assert "slowest hosts" in text and "h19.test" in text and "h16.test" not in text


def test_plain_lines_come_every_few_seconds(
    snapshot: Snapshot, clock: VirtualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    display = Plain(clock)
    display.begin(snapshot.crawl, Begin.RESUMED)
    for second in range(12):
        display.show(replace(snapshot, waiting="full" if second in (3, 4) else ""))
        clock.advance(1000)
    begin, *lines = capsys.readouterr().out.splitlines()
    assert begin == f"crawl 1: goes on with {SEED}"
    # at 3 s it begins to wait, at 5 s it goes on, at 10 s a turn is due
    assert ["full" in line for line in lines] == [True, False, False]
    assert lines[-1].endswith("errors: not_found 1")


@pytest.mark.parametrize("quiet", [False, True])
def test_seeds_are_told_of_every_few_seconds(
    quiet: bool, clock: VirtualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    tell = SeedProgress(12_000, clock, quiet=quiet)
    for done in range(1, 13):
        clock.advance(1000)
        tell("stored", 1000 * done)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ([] if quiet else ["seeds: 5,000 of 12,000 stored", "seeds: 10,000 of 12,000 stored"])


def test_json_is_one_object_a_snapshot(snapshot: Snapshot, capsys: pytest.CaptureFixture[str]) -> None:
    Json().show(snapshot)
    Json().show(snapshot)
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["final"] for line in lines] == [False, False]


def test_the_display_follows_the_terminal(clock: VirtualClock) -> None:
    assert isinstance(chosen(json=True, quiet=False, clock=clock), Json)
    assert isinstance(chosen(json=False, quiet=False, clock=clock), Plain)
    assert not chosen(json=False, quiet=True, clock=clock).live


def test_many_seeds_are_counted() -> None:
    assert seeds_text(("a", "b")) == "a, b"
    assert seeds_text(("a", "b", "c", "d")) == "a, b and 2 more"


def test_summary(filled: Filled, snapshot: Snapshot) -> None:
    crawl = replace(filled.crawl, state=CrawlState.COMPLETED, limited_by="max_pages", active_ms=2000)
    settings = process_settings({"data": filled.folder})
    errors = top_errors(filled.catalog, snapshot)
    refusals = refusals_by_reason([("b.test", "scope", 3), ("c.test", "scope", 4), ("a.test", "extension", 2)])
    lines = summary_lines(replace(snapshot, crawl=crawl), errors, refusals, settings)
    assert errors == [FrequentError("not_found", 1, SEED + "gone")]
    assert lines[0] == (
        "crawl 1 completed at its limit (--max-pages) after 2 s: 3 pages visited of 6 URLs, 2.0 kB in 7 requests, 3.5/s"
    )
    assert "  visited     3" in lines and f"  not_found  1  {SEED}gone" in lines
    assert refusals == [("scope", 7), ("extension", 2)]
    assert f"data: {filled.folder}/nephila.db, responses in {filled.folder}/warc" in lines
    assert f"next: nephila urls 1 --data {filled.folder}" in lines
