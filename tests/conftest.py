"""What every test may use, and the account of which requirement lines the tests prove."""

import os
import re
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from nephila.clock import VirtualClock
from tests import postgres
from tests.site.server import TestWeb

REQUIREMENTS = Path(__file__).parents[2] / "shared" / "requirements.md"
ID_LINE = re.compile(r"^(?:([A-Z]+-\d+) \||\| (K\d+) \|)", re.MULTILINE)  # a line of part 1, a row of part 2
PART_3 = "## Part 3"  # its rows name the lines that are kept in another form than their words
SETTLED_ROW = re.compile(r"^\| ((?:[A-Z]+-?\d+(?:, )?)+) \|", re.MULTILINE)
SKIPPED = "Skipped: "
NEEDS = "needs "

# By default an example that takes 200 ms fails its test, and so do examples that take long to make.
settings.register_profile("patient", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

PROVEN = pytest.StashKey[Counter[str]]()


@pytest.fixture(scope="session", autouse=True)
def _servers() -> Iterator[None]:
    yield
    postgres.stop_servers()


@pytest.fixture
def web() -> Iterator[TestWeb]:
    with TestWeb() as running:
        yield running


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def known_ids(text: str) -> set[str]:
    return {line or row for line, row in ID_LINE.findall(text)}


def settled_ids(text: str) -> set[str]:
    return {name for row in SETTLED_ROW.findall(text.partition(PART_3)[2]) for name in row.split(", ")}


def proven_ids(items: list[pytest.Item]) -> Counter[str]:
    """How many tests carry each id. A test counts once for an id, however many of its marks name it."""
    return Counter(
        found for item in items for found in {name for mark in item.iter_markers("requirement") for name in mark.args}
    )


def report_lines(proven: Counter[str], known: set[str], settled: set[str]) -> list[str]:
    lines = [f"{name:<6} {count}" for name, count in sorted(proven.items(), key=lambda pair: _order(pair[0]))]
    unproven = known - proven.keys()
    for said, names in (("unproven", unproven - settled), ("unproven, kept in another form", unproven & settled)):
        if names:
            lines.append(f"{said}: {' '.join(sorted(names, key=_order))}")
    return [*lines, f"{len(proven)} of {len(known)} requirement ids proven" if known else f"{len(proven)} ids proven"]


def _order(name: str) -> tuple[str, int]:
    group = name.rstrip("0123456789")
    return group, int(name[len(group) :])


def _requirements() -> str:
    """Their text; empty if the list is not beside the repository, and nothing can be compared."""
    return REQUIREMENTS.read_text() if REQUIREMENTS.exists() else ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--proven-requirements", action="store_true", help="list the requirement ids that tests prove; runs none"
    )


def pytest_configure(config: pytest.Config) -> None:
    # A run that a shell starts in the background ignores Ctrl-C, and every process below it would do so, too.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--proven-requirements"):
        config.option.collectonly = True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    proven, known = proven_ids(items), known_ids(_requirements())
    strangers = sorted(proven.keys() - known) if known else []
    if strangers:
        raise pytest.UsageError(f"not in requirements.md: {', '.join(strangers)}")
    config.stash[PROVEN] = proven
    # First, because they wait most of their time while other tests compute.
    items.sort(key=lambda item: not item.path.name.startswith("test_cluster_"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    if not session.config.getoption("--proven-requirements") or PROVEN not in session.config.stash:
        return
    # The terminal lists session.items; pytest keeps its own list for the count and the exit code.
    session.items = []
    text = _requirements()
    for line in report_lines(session.config.stash[PROVEN], known_ids(text), settled_ids(text)):
        print(line)


def skipped_line(reasons: list[str]) -> str:
    """One line about the tests that were skipped because the machine lacks something: how many, and what they need."""
    needs = Counter(reason.removeprefix(SKIPPED) for reason in reasons if reason.startswith(SKIPPED + NEEDS))
    count = needs.total()
    listed = "; ".join(need if len(needs) == 1 else f"{times} {need}" for need, times in needs.most_common())
    return f"{count} {'tests' if count > 1 else 'test'} skipped: {listed}" if needs else ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    line = skipped_line([report.longrepr[2] for report in terminalreporter.stats.get("skipped", ())])
    if line:
        terminalreporter.write_line(line, yellow=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_needed(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_needed(report)
    return report


def _fail_if_needed(report: pytest.TestReport | pytest.CollectReport) -> None:
    """On a laptop a missing server or corpus skips its tests; CI has everything, so there it is a failure."""
    if os.environ.get("CI") != "true" or report.outcome != "skipped" or not isinstance(report.longrepr, tuple):
        return
    reason = report.longrepr[2]
    if reason.startswith(SKIPPED + NEEDS):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: skipped on CI, where nothing may be missing: {reason}"
