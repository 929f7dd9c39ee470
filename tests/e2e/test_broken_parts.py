"""Parts of worker and follower processes that break: the process goes on or is replaced, and nothing is lost."""

import json
import os
import signal
from pathlib import Path

import httpx
import pytest

from tests.command import Command, children_of
from tests.patience import PATIENCE_SECONDS, until
from tests.site.server import DEFAULT_HOST, Page, TestWeb

BROKEN = Path(__file__).parent / "broken"
PAGES = 20


@pytest.fixture
def root(web: TestWeb) -> str:
    pages = {f"/{number}": Page(b"<title>x</title>") for number in range(PAGES)}
    links = "".join(f"<a href={path}>x</a>" for path in pages).encode()
    web.add({DEFAULT_HOST: {"/": Page(links), "/robots.txt": Page(status=404), **pages}})
    return f"http://{DEFAULT_HOST}:{web.port}/"


def breaking(folder: Path, what: str) -> Command:
    nephila = Command(folder / "data")
    found = os.pathsep.join(filter(None, (str(BROKEN), os.environ.get("PYTHONPATH", ""))))
    mark = {"NEPHILA_TEST_BREAK": what, "NEPHILA_TEST_BREAK_MARK": str(folder / "broken")}
    nephila.environment |= {"PYTHONPATH": found, "NEPHILA_LOG_FORMAT": "json", **mark}
    return nephila


def test_a_fault_in_a_callback_of_the_loop_ends_the_worker_and_the_next_one_goes_on(tmp_path: Path, root: str) -> None:
    """The row that the scheduler had given out would never be sent: a crawl that waits for ever, and nobody knows."""
    nephila = breaking(tmp_path, "callback")
    code, told, said = nephila("crawl", root, "--allow-private", "--delay", "0", "--json")
    assert code == 0, said
    assert '"loop_broke"' in said and "RuntimeError: unexpected" in said and '"worker_died"' in said
    assert (tmp_path / "broken").exists()
    assert json.loads(told.splitlines()[-1])["states"]["visited"] == PAGES + 1


def test_a_worker_whose_watch_on_its_parent_broke_ends_with_it_all_the_same(
    tmp_path: Path, web: TestWeb, root: str
) -> None:
    nephila = breaking(tmp_path, "parent")
    process = nephila.start("worker", "--workers", "1")
    try:
        until((tmp_path / "broken").exists)
        (worker,) = until(lambda: children_of(process.pid))
    finally:
        os.kill(process.pid, signal.SIGKILL)
    until(lambda: not alive(worker))
    assert '"part_broke"' in process.communicate(timeout=PATIENCE_SECONDS)[1]


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_follower_that_died_is_shown_and_replaced(tmp_path: Path, root: str) -> None:
    nephila = breaking(tmp_path, "follower")
    with nephila.serving("--workers", "0") as (process, url):

        def ready() -> dict[str, object]:
            found: dict[str, object] = httpx.get(f"{url}/readyz", timeout=PATIENCE_SECONDS).json()
            return found

        assert until(lambda: ready().get("troubles")) == {"follower 0": "it died with exit code 1"}
        assert ready()["status"] == "ok", "search is old, all else is well"
        until(lambda: len(children_of(process.pid)) == 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr is not None
        said = process.stderr.read()
    assert '"part_broke"' in said and '"follower_died"' in said and "Too many open files" in said
