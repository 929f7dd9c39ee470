"""What every test may use, and the account of which requirement lines the tests prove."""

import os
import re
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from nephila.clock import VirtualClock
from tests.site.server import TestWeb

REQUIREMENTS = Path(__file__).parents[2] / "shared" / "requirements.md"
ID_LINE = re.compile(r"^([A-Z]+-\d+) \|", re.MULTILINE)
NEEDS = "Skipped: needs "

PROVEN = pytest.StashKey[Counter[str]]()


@pytest.fixture
def web() -> Iterator[TestWeb]:
    with TestWeb() as running:
        yield running


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def known_ids(text: str) -> set[str]:
    return set(ID_LINE.findall(text))


def proven_ids(items: list[pytest.Item]) -> Counter[str]:
    """How many tests carry each id. A test counts once for an id, however many of its marks name it."""
    return Counter(
        found for item in items for found in {name for mark in item.iter_markers("requirement") for name in mark.args}
    )


def report_lines(proven: Counter[str], known: set[str]) -> list[str]:
    lines = [f"{name:<6} {count}" for name, count in sorted(proven.items(), key=lambda pair: _order(pair[0]))]
    unproven = sorted(known - proven.keys(), key=_order)
    if unproven:
        lines.append("unproven: " + " ".join(unproven))
    return [*lines, f"{len(proven)} of {len(known)} requirement ids proven" if known else f"{len(proven)} ids proven"]


def _order(name: str) -> tuple[str, int]:
    group, _, number = name.partition("-")
    return group, int(number)


def _known() -> set[str]:
    """Empty where the list is not beside the repository: then nothing can be compared."""
    return known_ids(REQUIREMENTS.read_text()) if REQUIREMENTS.exists() else set()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--proven-requirements", action="store_true", help="list the requirement ids that tests prove; runs none"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--proven-requirements"):
        config.option.collectonly = True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    proven, known = proven_ids(items), _known()
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
    for line in report_lines(session.config.stash[PROVEN], _known()):
        print(line)


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
    if reason.startswith(NEEDS):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: skipped on CI, where nothing may be missing: {reason}"
