"""Style that must hold: names, sizes, broad excepts, prints and sleeps. Each ban has one reason and few exceptions."""

import ast
import re
from collections import Counter

import pytest

from tests.architecture.sources import Module, calls_of, product, tests

# A thing with such a name is two things.
BANNED_NAMES = frozenset("utils util helpers helper common base core manager handler service data info misc".split())
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XXX)\b")
LINES_MAX = 600
# Files that are longer, and how long they may be: only ever lowered.
LONGER: dict[str, int] = {"worker/worker.py": 660}

# Where a fault of ours is caught whatever it is; anywhere else it must be named.
BROAD_EXCEPTS: dict[str, str] = {
    "cli/running.py": "workers without their command would go on: it pauses the crawl and raises again",
    "extract/parse_thread.py": "handed over to the visit that waits for the tree",
    "extract/parse_worker.py": "a fault, or memory that ran out, is an answer: the next page may be well",
    "frontier/sqlite/catalog.py": "ids of rows that were rolled back are forgotten; raises again",
    "frontier/sqlite/connection.py": "the transaction is rolled back; raises again",
    "frontier/sqlite/frontier.py": "ids of rows that were rolled back are forgotten; raises again",
    "wiring.py": "the end of a worker process: logged, and its exit code says it",
    "worker/worker.py": "a fault of ours ends one URL, never the crawl",
}

product_modules = pytest.mark.parametrize("module", product(), ids=lambda module: module.place)


def broad_excepts(module: Module) -> list[int]:
    broad = (None, "Exception", "BaseException")
    handlers = (node for node in ast.walk(module.tree) if isinstance(node, ast.ExceptHandler))
    return [
        handler.lineno
        for handler in handlers
        if handler.type is None or (isinstance(handler.type, ast.Name) and handler.type.id in broad)
    ]


@product_modules
def test_modules_have_names_that_say_something(module: Module) -> None:
    assert BANNED_NAMES.isdisjoint(module.name.split("."))


@product_modules
def test_files_are_short(module: Module) -> None:
    assert len(module.text.splitlines()) <= LONGER.get(module.place, LINES_MAX)


def test_no_file_is_excused_that_is_short() -> None:
    lines = {module.place: len(module.text.splitlines()) for module in product()}
    assert [place for place in LONGER if lines[place] <= LINES_MAX] == []


@pytest.mark.parametrize("module", [*product(), *tests()], ids=lambda module: module.name)
def test_nothing_is_left_unfinished(module: Module) -> None:
    assert UNFINISHED.findall(module.text) == []


@product_modules
def test_only_the_command_line_prints(module: Module) -> None:
    prints = [
        call.lineno for call in module.calls() if isinstance(call.func, ast.Name) and call.func.id in ("print", "pprint")
    ]
    assert prints == [] or module.place.startswith("cli/")


@product_modules
def test_only_the_command_line_and_control_sleep(module: Module) -> None:
    """The event loop and the flush thread never do; what control calls to wait is mostly handed in."""
    assert calls_of(module, "time", "sleep") == [] or module.place.startswith(("cli/", "control/"))


@pytest.mark.parametrize(
    "module", [module for module in tests() if module.name.startswith("tests.unit.")], ids=lambda module: module.name
)
def test_unit_tests_do_not_sleep(module: Module) -> None:
    assert calls_of(module, "time", "sleep") == []


def test_faults_are_caught_broadly_in_known_places_only() -> None:
    """One in each, so exactly one in the whole worker package."""
    found = Counter(module.place for module in product() for _ in broad_excepts(module))
    assert found == Counter(dict.fromkeys(BROAD_EXCEPTS, 1))
