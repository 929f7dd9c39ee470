"""Nothing works in the background unseen: threads, tasks and processes are started by nephila.supervision, or by one of
the few places below, which say why what they start cannot end unseen."""

import ast
import re

from nephila.control.follower import FollowerKeeper
from nephila.control.supervisor import Supervisor
from tests.architecture.sources import ROOT, Module, product

# Calls that start something that goes on by itself.
STARTERS = frozenset(
    (
        *("Thread", "Timer", "start_new_thread", "ThreadPoolExecutor", "ProcessPoolExecutor", "run_in_executor"),
        *("create_task", "ensure_future", "TaskGroup", "run_coroutine_threadsafe", "to_thread"),
        *("Popen", "Process", "create_subprocess_exec", "create_subprocess_shell", "spawn", "fork", "posix_spawn"),
        *("serve_forever", "start_http_server", "ThreadingHTTPServer", "BackgroundTask", "BackgroundTasks"),
    )
)
SEAM = "supervision.py"
SEAMS = ("start_thread", "start_task")
ITS_CALLER = "whoever calls it waits for it, and hears of its fault"

# By file: each call that starts something, and why it cannot end unseen.
ELSEWHERE: dict[str, dict[str, str]] = {
    "api/limits.py": {"ensure_future": ITS_CALLER},
    "api/live.py": {
        "create_task": "until_over waits for its parts and logs what they raise",
        "ThreadPoolExecutor": "its thread outlives every fault; " + ITS_CALLER,
    },
    "control/supervisor.py": {
        "Process": "a record of ours",
        "Popen": "poll replaces it, says worker_died, and troubles shows it",
    },
    "extract/parse_pool.py": {
        "create_task": "_spawn tries again and answers those who wait; _reap only takes leave of the dead",
        "to_thread": ITS_CALLER,
    },
    "extract/spawned.py": {
        "Popen": "whoever started it finds its socket closed: pool and follower replace it, checkers end the command",
        "Thread": "whatever ends it ends its process, which is replaced",
    },
    "fetch/curl.py": {"ensure_future": ITS_CALLER},
    "fetch/resolver.py": {"create_task": ITS_CALLER + "; _log_fault logs that of a renewal, for which nobody waits"},
    "probes.py": {"serve_forever": "run by start_thread"},
    "worker/dispatcher.py": {
        "create_task": "a visit has its broad except; what that cannot handle ends the worker (end_with_faults)"
    },
    "worker/lookups.py": {"create_task": "_ended logs what it raises, and starts the next"},
    "worker/right.py": {
        "ThreadPoolExecutor": "its thread outlives every fault; " + ITS_CALLER,
        "run_in_executor": ITS_CALLER,
    },
}


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def started(module: Module) -> set[str]:
    return {name for call in module.calls() if (name := name_of(call)) in STARTERS}


def names_of_parts() -> set[str]:
    """The first word of the name of every part."""
    found = set()
    for module in product():
        for call in module.calls():
            if name_of(call) in (*SEAMS, "serve_probes", "BackgroundPart") and call.args:
                text = call.args[0].values[0] if isinstance(call.args[0], ast.JoinedStr) else call.args[0]
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    found.add(text.value.strip())
    return found


def test_what_works_in_the_background_is_supervised() -> None:
    found = {module.place: started(module) for module in product() if module.place != SEAM}
    unknown = {place: names - ELSEWHERE.get(place, {}).keys() for place, names in found.items()}
    assert {place: names for place, names in unknown.items() if names} == {}, (
        "start it with start_thread or start_task of nephila.supervision"
    )


def test_the_exceptions_are_needed() -> None:
    found = {module.place: started(module) for module in product()}
    assert {place: stale for place, names in ELSEWHERE.items() if (stale := names.keys() - found[place])} == {}


def test_a_new_thread_is_found() -> None:
    tree = ast.parse("import threading\nthreading.Thread(target=print).start()\nloop.create_task(f())")
    assert {name_of(node) for node in ast.walk(tree) if isinstance(node, ast.Call)} & STARTERS == {
        "Thread",
        "create_task",
    }


def test_every_part_is_in_the_table_of_the_operator() -> None:
    _, _, after = (ROOT / "docs" / "operations.md").read_text().partition("| part |")
    shown = re.findall(r"^\| `([^`]+)`", after.partition("\n\n")[0], re.MULTILINE)
    names = names_of_parts()
    assert len(names) >= 10
    assert [name for name in names if not any(line.startswith(name) for line in shown)] == []
    processes = {kept.kind for kept in (Supervisor, FollowerKeeper)}
    assert [line for line in shown if not any(line.startswith(name) for name in names | processes)] == []
