"""`nephila` as a user runs it: a process of its own with workers, on our own test web."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import postgres
from tests.command import children_of
from tests.site.fixtures import site_cycle
from tests.site.server import DEFAULT_HOST, Page, TestWeb

WAIT_SECONDS = 30.0
PAGES = 2000
FAST = ("--allow-private", "--delay", "0")


class Command:
    """One data folder with its store, and `nephila` on it."""

    def __init__(self, data: Path, store: str | None = None) -> None:
        self.data = data
        self.store = store
        self.place = ["--data", str(data), *(("--store", store) if store else ())]
        # A killed command's workers are gone when their leases are.
        self.environment = {"NEPHILA_LEASE_SECONDS": "1", "NEPHILA_ALLOW_PRIVATE": "true"} if store else {}

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "nephila", *arguments, *self.place]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("NEPHILA_")}
        environment = inherited | self.environment
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=WAIT_SECONDS)
        return process.returncode, out, err

    def status(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self("status", "--json")[1])
        return found


@pytest.fixture(params=["sqlite", "postgres"])
def nephila(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Command]:
    if request.param == "sqlite":
        yield Command(tmp_path / "data")
        return
    with postgres.database() as url:
        yield Command(tmp_path / "data", url)


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    yield
    postgres.stop_servers()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def tree(web: TestWeb) -> str:
    """Each page links to two more, PAGES in all."""
    pages = {
        f"/{number}": Page(f"<a href=/{2 * number}>a</a><a href=/{2 * number + 1}>b</a>".encode())
        for number in range(1, PAGES + 1)
    }
    web.add({DEFAULT_HOST: {**pages, "/": Page(b"<a href=/1>1</a>")}})
    return web.url()


def cycle(web: TestWeb) -> str:
    web.add(site_cycle(web.port).sites)
    return web.url()


@pytest.mark.requirement("O-05", "L-05")
def test_crawl_look_export_verify(nephila: Command, web: TestWeb) -> None:
    url = cycle(web)
    code, out, err = nephila("crawl", url, *FAST)
    assert (code, err) == (0, "")
    assert out.startswith(f"crawl 1: begins with {url}\n") and "crawl 1 completed after" in out
    assert f"data: {nephila.store or nephila.data / 'nephila.db'}" in out and "next: nephila urls 1" in out
    assert nephila.status()["state"] == "completed"
    assert [json.loads(line)["state"] for line in nephila("export")[1].splitlines()] == ["visited"] * 3
    assert nephila("show", url, "--body")[1].startswith("<")
    assert nephila("verify")[0] == 0
    assert nephila("resume") == (2, "", "nephila: there is no unfinished crawl here: start with `nephila crawl URL`\n")


def test_json_for_machines(nephila: Command, web: TestWeb) -> None:
    code, out, err = nephila("crawl", cycle(web), *FAST, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [line["final"] for line in lines] == [False] * (len(lines) - 1) + [True]
    assert lines[-1]["states"] == {"visited": 3} and lines[-1]["state"] == "completed"


def test_quiet_is_the_summary_alone(nephila: Command, web: TestWeb) -> None:
    code, out, err = nephila("crawl", cycle(web), *FAST, "--quiet")
    assert (code, err) == (0, "") and out.startswith("crawl 1 completed")


@pytest.mark.requirement("SC-10")
def test_seeds_from_standard_input(nephila: Command, web: TestWeb) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "nephila", "crawl", "--seeds", "-", *FAST, "--quiet", *nephila.place],
        input=f"# mine\n\n{cycle(web)}\n",
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert process.returncode == 0 and "3 pages visited" in process.stdout


def test_no_page_at_all_is_a_failure(nephila: Command, web: TestWeb) -> None:
    code, out, _ = nephila("crawl", web.url("/nothing"), *FAST)
    assert code == 1 and "0 pages visited of 1 URLs" in out and "not_found" in out


@pytest.mark.requirement("RC-04", "RC-06", "RC-09")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_pauses_and_the_same_command_goes_on(nephila: Command, web: TestWeb, number: int) -> None:
    arguments = ("crawl", tree(web), "--allow-private", "--delay", "0.05", "--max-pages", "60")
    process = nephila.start(*arguments)
    until(lambda: len(web.hits()) > 10)
    process.send_signal(number)
    out, err = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 130
    assert f"go on with: nephila resume 1 --data {nephila.data}" in out and "stopping:" in err
    before = len(web.hits())
    status = nephila.status()
    assert (status["state"], status["reason"]) == ("paused", "interrupted by the user")
    assert len(web.hits()) == before  # no worker is left
    code, out, _ = nephila(*arguments)
    assert code == 0 and "crawl 1: goes on with" in out and "60 pages visited" in out
    assert nephila("verify")[0] == 0


def test_a_second_interrupt_ends_at_once_without_loss(nephila: Command, web: TestWeb) -> None:
    web.add({DEFAULT_HOST: {"/": Page(b"<a href=/slow>x</a>"), "/slow": Page(delay_ms=20_000)}})
    process = nephila.start("crawl", web.url(), *FAST)
    until(lambda: any(hit.path == "/slow" for hit in web.hits()))
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None and "stopping:" in process.stderr.readline()
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 130 and time.monotonic() - began < 5
    states = [json.loads(line)["state"] for line in nephila("urls", "--json")[1].splitlines()]
    assert states == ["visited", "queued"]


def test_a_killed_worker_is_replaced(nephila: Command, web: TestWeb) -> None:
    process = nephila.start("crawl", tree(web), "--allow-private", "--delay", "0.02", "--max-pages", "100")
    until(lambda: len(web.hits()) > 10)
    (worker,) = children_of(process.pid)
    os.kill(worker, signal.SIGKILL)
    out, _ = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 0 and "100 pages visited" in out
    assert nephila("verify")[0] == 0


def test_a_closed_pipe_ends_quietly(nephila: Command, web: TestWeb) -> None:
    nephila("crawl", tree(web), *FAST, "--max-pages", "400", "--quiet")
    process = nephila.start("export")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(WAIT_SECONDS) in (0, -signal.SIGPIPE)


def test_a_crawl_whose_reader_goes_away_is_paused(nephila: Command, web: TestWeb) -> None:
    process = nephila.start("crawl", tree(web), "--allow-private", "--delay", "0.05", "--json")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    process.wait(WAIT_SECONDS)
    assert "Traceback" not in process.stderr.read()
    assert nephila.status()["state"] == "paused"


def test_workers_end_with_a_killed_command(nephila: Command, web: TestWeb) -> None:
    process = nephila.start("crawl", tree(web), "--allow-private", "--delay", "0.05")
    until(lambda: len(web.hits()) > 5)
    process.kill()
    process.communicate(timeout=WAIT_SECONDS)
    until(lambda: json.loads(nephila("status", "--json")[1])["workers"] == [])
    # In a cluster it waits for other workers; an embedded store has none.
    assert nephila.status()["state"] == ("running" if nephila.store else "paused")
    process = nephila.start("resume")  # what was killed can be gone on with
    before = len(web.hits())
    until(lambda: len(web.hits()) > before + 5)
    process.terminate()
    process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 130


@pytest.mark.requirement("ST-07", "ST-08")
def test_migrate_makes_the_schema_once_and_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    """Of a shared store: an embedded one is brought up to date whenever it is opened."""
    with postgres.server().database() as url:
        nephila = Command(tmp_path / "data", url)
        for _ in range(2):
            code, out, err = nephila("migrate")
            assert (code, err) == (0, "") and "has schema" in out
        name = url.partition("?")[0].rpartition("/")[2]
        postgres.server().execute("UPDATE nephila_schema SET version = 999", name)
        for verb in ("migrate", "status", "worker"):
            code, out, err = nephila(verb)
            assert (code, out) == (2, "") and err.count("\n") == 1 and "newer Nephila" in err
        postgres.server().execute("DROP TABLE nephila_schema", name)
        code, out, err = nephila("worker")
        assert (code, out) == (2, "") and err.count("\n") == 1 and "not Nephila's" in err


@pytest.mark.parametrize(
    ("store", "words"),
    [
        ("mysql://somewhere/x", "postgresql://user@host/name"),
        ("postgresql://postgres:secret@127.0.0.1:1/x", "does not answer"),
    ],
)
def test_a_store_that_cannot_be_used_is_one_clear_line(store: str, words: str, tmp_path: Path) -> None:
    code, out, err = Command(tmp_path / "data", store)("worker")
    assert code in (1, 2) and out == "" and err.count("\n") == 1
    assert err.startswith("nephila: ") and words in err and "secret" not in err
