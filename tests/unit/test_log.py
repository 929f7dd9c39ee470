import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from nephila import log
from nephila.clock import VirtualClock
from nephila.errors import UsageError
from nephila.models import UrlState
from nephila.settings import LogFormat, LogLevel

NOON_MS = 1_700_049_600_000  # 2023-11-15T12:00:00Z


@pytest.fixture(autouse=True)
def structlog_as_it_was() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(NOON_MS)


def visit(worker: log.VisitLog, url: str = "http://a.test/") -> None:
    worker.url_crawled(url, 2, 77, 200, UrlState.VISITED, 12.5, links=3, bytes=512)


def visit_log(level: LogLevel = LogLevel.INFO, format: LogFormat = LogFormat.JSON, **sinks: object) -> log.VisitLog:
    log.configure(level, format, **sinks)
    return log.VisitLog(log.worker_log(4))


@pytest.mark.requirement("LG-03")
def test_a_visit_is_one_json_line_with_every_field(clock: VirtualClock) -> None:
    stream = io.StringIO()
    visit(visit_log(stream=stream, clock=clock))
    assert json.loads(stream.getvalue()) == {
        "event": "url_crawled",
        "level": "info",
        "time": "2023-11-15T12:00:00.000+00:00",
        "workerId": 4,
        "crawl": 2,
        "url_id": 77,
        "url": "http://a.test/",
        "statusCode": 200,
        "state": "visited",
        "duration": 12.5,
        "linksFound": 3,
        "bytes": 512,
    }


@pytest.mark.requirement("LG-03")
def test_a_failure_names_its_error_and_retries(clock: VirtualClock) -> None:
    stream = io.StringIO()
    visit_log(stream=stream, clock=clock).crawl_failed("http://a.test/", 2, 77, "timeout", "5 s without an answer", 1)
    event = json.loads(stream.getvalue())
    assert {name: event[name] for name in ("event", "url", "workerId", "reason", "error", "retryCount")} == {
        "event": "crawl_failed",
        "url": "http://a.test/",
        "workerId": 4,
        "reason": "timeout",
        "error": "5 s without an answer",
        "retryCount": 1,
    }


@pytest.mark.requirement("LG-02")
def test_console_line_of_a_worker(clock: VirtualClock) -> None:
    stream = io.StringIO()
    visit(visit_log(format=LogFormat.CONSOLE, stream=stream, clock=clock))
    assert stream.getvalue() == (
        "12:00:00.000 info    [worker worker_id=4 crawl_run=2 url_id=77] url_crawled"
        " url=http://a.test/ statusCode=200 state=visited duration=12.5 linksFound=3 bytes=512\n"
    )


@pytest.mark.requirement("LG-01")
def test_console_line_of_the_control_plane(clock: VirtualClock) -> None:
    stream = io.StringIO()
    log.configure(LogLevel.INFO, LogFormat.CONSOLE, stream, clock=clock)
    log.component_log("control-plane").info("crawl_started", crawl=2, note="two words", empty="")
    expected = "12:00:00.000 info    [component=control-plane] crawl_run=2 crawl_started note='two words' empty=''\n"
    assert stream.getvalue() == expected


def test_a_url_cannot_write_to_the_terminal_or_break_a_line(clock: VirtualClock) -> None:
    stream = io.StringIO()
    visit(visit_log(format=LogFormat.CONSOLE, stream=stream, clock=clock), "http://a.test/\x1b[2J\nfake \udc80")
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


def test_half_a_surrogate_pair_does_not_break_json(clock: VirtualClock) -> None:
    stream = io.StringIO()
    visit(visit_log(stream=stream, clock=clock), "http://a.test/\udc80")
    assert json.loads(stream.getvalue())["url"].startswith("http://a.test/")


@pytest.mark.parametrize("level", [LogLevel.WARNING, LogLevel.ERROR])
def test_visits_are_left_out_above_info(level: LogLevel, clock: VirtualClock) -> None:
    stream = io.StringIO()
    left_out = visit_log(level, stream=stream, clock=clock)
    visit(left_out)
    assert not left_out.wanted
    log.worker_log(4).info("ignored")
    log.flush()
    assert stream.getvalue() == ""


def test_stream_and_file_get_the_same_lines(tmp_path: Path, clock: VirtualClock) -> None:
    stream, file = io.StringIO(), tmp_path / "logs" / "crawler.log"
    visit(visit_log(stream=stream, file=file, clock=clock))
    log.flush()
    assert file.read_text() == stream.getvalue() != ""


def test_a_file_is_continued(tmp_path: Path, clock: VirtualClock) -> None:
    file = tmp_path / "crawler.log"
    for _ in range(2):
        visit(visit_log(stream=None, file=file, clock=clock))
        log.flush()
    assert len(file.read_text().splitlines()) == 2


def test_lines_wait_up_to_a_second_for_company(clock: VirtualClock) -> None:
    stream = io.StringIO()
    worker = visit_log(stream=stream, clock=clock)
    visit(worker)  # the first is written at once and starts the second
    visit(worker)
    visit(worker)
    assert stream.getvalue().count("\n") == 1
    clock.advance(log.FLUSH_MS)
    visit(worker)
    assert stream.getvalue().count("\n") == 4


def test_the_buffer_is_bounded(clock: VirtualClock) -> None:
    written: list[bytes] = []
    lines = log.Lines((written.append,), clock)
    for _ in range(1000):
        lines.add(b"x" * 1024, urgent=False)
    assert max(len(chunk) for chunk in written) == log.BUFFER_BYTES_MAX


def test_an_error_is_written_at_once_with_its_traceback(clock: VirtualClock) -> None:
    stream = io.StringIO()
    log.configure(LogLevel.INFO, LogFormat.CONSOLE, stream, clock=clock)
    worker = log.worker_log(4)
    worker.info("first")
    try:
        raise ValueError("ours")
    except ValueError:
        worker.exception("batch_dropped")
    assert "batch_dropped\nTraceback" in stream.getvalue()
    assert stream.getvalue().endswith("ValueError: ours\n")


def test_a_sink_that_fails_loses_lines_and_nothing_else(clock: VirtualClock) -> None:
    stream = io.StringIO()
    lines = log.configure(LogLevel.INFO, LogFormat.JSON, stream, clock=clock)
    stream.close()
    log.worker_log(4).warning("unheard")
    assert lines.lost_writes == 1


def test_a_log_file_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written: Is a directory"):
        log.configure(LogLevel.INFO, LogFormat.JSON, None, tmp_path)
