"""Style that must hold: names, sizes, broad excepts, prints and sleeps. Each ban has one reason and few exceptions."""

import ast
import re
from collections import Counter

from tests.architecture.sources import ROOT, Module, calls_of, modules_of_tests, product

# A thing with such a name is two things.
BANNED_NAMES = frozenset(
    ("utils", "util", "helpers", "helper", "common", "base", "core", "manager", "handler", "service", "data", "info")
)
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b")  # in two pieces, or this file would be found
LINES_MAX = 600
UI_LINES_MIN = 5
# Files that are longer, and how long they may be: only ever lowered.
LONGER: dict[str, int] = {}

# Where a fault of ours is caught whatever it is; anywhere else it must be named.
BROAD_EXCEPTS: dict[str, str] = {
    "api/recent.py": "whoever waits for the answer hears of the fault, too; raises again",
    "cli/running.py": "workers without their command would go on: it pauses the crawl and raises again",
    "control/derive_worker.py": "a fault of ours skips one page, never what is derived of others",
    "extract/parse_worker.py": "a fault, or memory that ran out, is an answer: the next page may be well",
    "frontier/postgres/connection.py": "what was learnt in a transaction that failed is forgotten; raises again",
    "frontier/sqlite/connection.py": "the transaction is rolled back; raises again",
    "frontier/sqlite/frontier.py": "ids of rows that were rolled back are forgotten; raises again",
    "supervision.py": "no fault of ours may end a part unseen: it is logged, shown, and the part rests and goes on",
    "wiring.py": "the end of a worker process: logged, and its exit code says it",
    "worker/dispatcher.py": "a fault of ours ends one URL, never the crawl",
    "worker/lookups.py": "a fault of ours ahead of a turn leaves the name to its fetch, which ends one URL",
    "worker/pending.py": "a record that cannot be made ends one URL, never the worker",
}

# Limits of waiting, by their keyword and, by the name of what is called, by their place among the arguments.
LIMITS = ("timeout", "open_timeout", "close_timeout")
LIMITED = {"timeout": 0, "wait": 0, "wait_for": 1, "create_connection": 1, "urlopen": 2}
ASKING = ("get", "post", "put", "delete", "stream", "Client", "AsyncClient")


def broad_excepts(module: Module) -> list[int]:
    handlers = (node for node in ast.walk(module.tree) if isinstance(node, ast.ExceptHandler))
    return [handler.lineno for handler in handlers if handler.type is None or _is_broad(handler.type)]


def _is_broad(caught: ast.expr) -> bool:
    """Also as one of several in a tuple."""
    return any(isinstance(node, ast.Name) and node.id in ("Exception", "BaseException") for node in ast.walk(caught))


def prints(module: Module) -> list[int]:
    return [call.lineno for call in module.calls() if isinstance(call.func, ast.Name) and call.func.id == "print"]


def sleeps(module: Module) -> list[int]:
    return calls_of(module, "time", "sleep")


def test_modules_have_names_that_say_something() -> None:
    assert [module.place for module in product() if not BANNED_NAMES.isdisjoint(module.name.split("."))] == []


def test_files_are_short() -> None:
    lines = {module.place: len(module.text.splitlines()) for module in product()}
    assert {place: count for place, count in lines.items() if count >= LONGER.get(place, LINES_MAX)} == {}
    assert [place for place in LONGER if lines[place] < LINES_MAX] == [], "it needs no excuse any more"


def test_a_file_of_the_ui_is_more_than_one_constant() -> None:
    """Such a file joins a neighbour; what only declares types is read by the compiler alone."""
    files = [path for path in (ROOT / "ui" / "src" / "screens").rglob("*.ts*") if not path.name.endswith(".d.ts")]
    assert [path.name for path in files if len(path.read_text().splitlines()) < UI_LINES_MIN] == []


def test_nothing_is_left_unfinished() -> None:
    assert [module.name for module in (*product(), *modules_of_tests()) if UNFINISHED.search(module.text)] == []


def test_only_the_command_line_prints() -> None:
    assert {m.place: prints(m) for m in product() if prints(m) and not m.place.startswith("cli/")} == {}


def test_only_the_command_line_and_control_sleep() -> None:
    """The event loop and the flush thread never do."""
    assert {m.place: sleeps(m) for m in product() if sleeps(m) and not m.place.startswith(("cli/", "control/"))} == {}


def test_unit_tests_do_not_sleep() -> None:
    assert {m.name: sleeps(m) for m in modules_of_tests() if sleeps(m) and m.name.startswith("tests.unit.")} == {}


def limits(module: Module) -> list[int]:
    """Lines that limit a wait, but not by the patience of all tests."""
    found = []
    for call in module.calls():
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        given = [word.value for word in call.keywords if word.arg in LIMITS]
        given += call.args[LIMITED[name] :] if name in LIMITED else []
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(owner, ast.Name) and owner.id == "httpx" and name in ASKING and not given:
            found.append(call.lineno)  # by its own limit of 5 s
        found += [value.lineno for value in given if _is_own_limit(value)]
    return found


def _is_own_limit(value: ast.expr) -> bool:
    """A number, or a constant that is not the patience of all tests."""
    named = isinstance(value, ast.Name) and value.id.isupper() and "PATIENCE" not in value.id
    return named or (isinstance(value, ast.Constant) and isinstance(value.value, int | float))


def test_tests_wait_as_long_as_all_tests_do() -> None:
    """A limit of its own is a test that fails on a busy machine."""
    assert {m.name: limits(m) for m in modules_of_tests() if limits(m)} == {}


def test_faults_are_caught_broadly_in_known_places_only() -> None:
    """One in each, so one in the worker's flush thread, and three on its loop: where a row is sent, in its
    visit, and ahead of both."""
    found = Counter(module.place for module in product() for _ in broad_excepts(module))
    assert found == Counter(dict.fromkeys(BROAD_EXCEPTS, 1)) | {"worker/dispatcher.py": 2}
