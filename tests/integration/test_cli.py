"""`nephila` as a user runs it: a process of its own with workers, on our own test web."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from nephila import wiring
from nephila.errors import StoreUnavailable
from nephila.settings import process_settings
from tests import postgres
from tests.command import Command, children_of
from tests.patience import PATIENCE_MS, PATIENCE_SECONDS, until
from tests.site.fixtures import site_cycle
from tests.site.server import DEFAULT_HOST, Page, TestWeb

PAGES = 2000
FAST = ("--allow-private", "--delay", "0", "--sitemaps", "off")  # requests are counted


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
    again = shlex.join(["nephila", "crawl", "URL", *nephila.place])
    assert nephila("resume") == (2, "", f"nephila: there is no unfinished crawl here: start with `{again}`\n")


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
        timeout=PATIENCE_SECONDS,
    )
    assert process.returncode == 0 and "3 pages visited" in process.stdout


def test_no_page_at_all_is_a_failure(nephila: Command, web: TestWeb) -> None:
    code, out, _ = nephila("crawl", web.url("/nothing"), *FAST)
    assert code == 1 and "0 pages visited of 1 URLs" in out and "not_found" in out


@pytest.mark.requirement("RC-04", "RC-06", "RC-09")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_pauses_and_the_same_command_goes_on(nephila: Command, web: TestWeb, number: int) -> None:
    arguments = ("crawl", tree(web), "--allow-private", "--delay", "0.05", "--max-pages", "60")
    web.hold(after=10)
    process = nephila.start(*arguments)
    until(lambda: web.holding)
    process.send_signal(number)
    assert process.stderr is not None and "stopping:" in process.stderr.readline()
    web.go_on()
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert f"go on with: nephila resume 1 --data {nephila.data}" in out
    before = len(web.hits())
    status = nephila.status()
    assert (status["state"], status["reason"]) == ("paused", "interrupted by the user")
    assert len(web.hits()) == before  # no worker is left
    code, out, _ = nephila(*arguments)
    assert code == 0 and "crawl 1: goes on with" in out and "60 pages visited" in out
    assert nephila("verify")[0] == 0


def test_a_second_interrupt_ends_at_once_without_loss(nephila: Command, web: TestWeb) -> None:
    web.add({DEFAULT_HOST: {"/": Page(b"<a href=/slow>x</a>"), "/slow": Page(delay_ms=PATIENCE_MS)}})
    process = nephila.start("crawl", web.url(), *FAST)
    until(lambda: any(hit.path == "/slow" for hit in web.hits()))
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None and "stopping:" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_SECONDS / 2)  # it does not wait for the page
    assert process.returncode == 130
    states = [json.loads(line)["state"] for line in nephila("urls", "--json")[1].splitlines()]
    assert states == ["visited", "queued"]


def test_a_killed_worker_is_replaced(nephila: Command, web: TestWeb) -> None:
    web.hold(after=10)
    process = nephila.start("crawl", tree(web), "--allow-private", "--delay", "0.02", "--max-pages", "100")
    until(lambda: web.holding)
    (worker,) = children_of(process.pid)
    os.kill(worker, signal.SIGKILL)
    until(lambda: worker not in children_of(process.pid))
    if nephila.store:
        postgres.end_lease(nephila.store, worker)
    web.go_on()
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0 and "100 pages visited" in out
    assert nephila("verify")[0] == 0


def test_a_closed_pipe_ends_quietly(nephila: Command, web: TestWeb) -> None:
    nephila("crawl", tree(web), *FAST, "--max-pages", "400", "--quiet")
    for command in ("export", "status"):  # more than a pipe holds, and less
        reader, pipe = os.pipe()
        os.close(reader)  # before the start: a command that is over has no pipe to break
        process = subprocess.run(
            [sys.executable, "-m", "nephila", command, *nephila.place],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            env=nephila.environment,
            timeout=PATIENCE_SECONDS,
        )
        os.close(pipe)
        assert (process.stderr, process.returncode) == ("", 128 + signal.SIGPIPE)


def test_a_crawl_whose_reader_goes_away_is_paused(nephila: Command, web: TestWeb) -> None:
    process = nephila.start("crawl", tree(web), "--allow-private", "--delay", "0.05", "--json")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    process.wait(PATIENCE_SECONDS)
    assert "Traceback" not in process.stderr.read()
    assert nephila.status()["state"] == "paused"


def test_workers_end_with_a_killed_command(nephila: Command, web: TestWeb) -> None:
    process = nephila.start("crawl", tree(web), "--allow-private", "--delay", "0.05")
    until(lambda: len(web.hits()) > 5)
    process.kill()
    process.communicate(timeout=PATIENCE_SECONDS)
    until(lambda: json.loads(nephila("status", "--json")[1])["workers"] == [])
    # In a cluster it waits for other workers; an embedded store has none.
    assert nephila.status()["state"] == ("running" if nephila.store else "paused")
    process = nephila.start("resume")  # what was killed can be gone on with
    before = len(web.hits())
    until(lambda: len(web.hits()) > before + 5)
    process.terminate()
    process.communicate(timeout=PATIENCE_SECONDS)
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


AWAY = "postgresql://postgres:secret@127.0.0.1:1/x"


@pytest.mark.parametrize(
    ("verb", "store", "words"),
    [("worker", "mysql://somewhere/x", "postgresql://user@host/name"), ("status", AWAY, "does not answer")],
)
def test_a_store_that_cannot_be_used_is_one_clear_line(verb: str, store: str, words: str, tmp_path: Path) -> None:
    code, out, err = Command(tmp_path / "data", store)(verb)
    assert code in (1, 2) and out == "" and err.count("\n") == 1
    assert err.startswith("nephila: ") and words in err and "secret" not in err


@pytest.mark.parametrize("verb", ["worker", "serve"])
def test_a_service_that_waits_for_its_database_says_so_and_ends_at_a_signal(verb: str, tmp_path: Path) -> None:
    process = Command(tmp_path / "data", AWAY).start(verb)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("nephila: waiting: ") and "does not answer" in line and "secret" not in line
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.communicate()


# --- workers


@pytest.mark.requirement("W-06", "W-10")
def test_a_worker_command_shows_its_health_and_the_name_that_its_environment_gives(tmp_path: Path) -> None:
    nephila = Command(tmp_path / "data")
    nephila.environment["WORKER_ID"] = "worker1"
    process = nephila.start("worker", "--health-port", "0")
    try:
        assert process.stdout is not None
        place = re.search(r"health at (\S+)/health;", process.stdout.readline())
        assert place is not None

        def ready() -> bool:
            try:
                with urlopen(f"{place[1]}/readyz", timeout=PATIENCE_SECONDS) as answer:
                    return bool(json.load(answer)["workers"] == 1)
            except HTTPError:
                return False

        until(ready)
        with urlopen(f"{place[1]}/health", timeout=PATIENCE_SECONDS) as answer:
            assert json.load(answer)["status"] == "ok"
        catalog = wiring.open_store(process_settings({"data": nephila.data})).catalog
        until(lambda: [worker.name for worker in catalog.workers()] == ["worker1"])
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0


def test_a_wrong_variable_of_the_documents_is_one_line(tmp_path: Path) -> None:
    for command in (("crawl", "https://example.com/"), ("serve", "--port", "0"), ("worker",)):
        nephila = Command(tmp_path / "data")
        name = "FETCH_CONCURRENCY" if command == ("worker",) else "FETCH_GAP_JITTER_MS"
        nephila.environment[name] = "much"
        code, out, err = nephila(*command)
        assert (code, out) == (2, "")
        assert err.startswith(f"nephila: setting {name} cannot be 'much': ") and err.count("\n") == 1


# --- foreign hosts


def gaps_ms(web: TestWeb) -> list[float]:
    """Milliseconds between two requests for pages, in their order."""
    moments = [hit.started for hit in web.hits() if hit.path != "/robots.txt"]
    return [1000 * (later - earlier) for earlier, later in pairwise(moments)]


@pytest.mark.requirement("K06", "K34")
def test_the_strict_profile_spares_foreign_hosts_and_says_so(tmp_path: Path, web: TestWeb) -> None:
    """The name stands for a public host: that it leads to this machine is known to the fetcher alone."""
    web.add({"shop.example": {"/": Page(b"<a href=/a>a</a>"), "/a": Page(b"a"), "/robots.txt": Page(b"")}})
    nephila = Command(tmp_path / "data")
    nephila.environment["NEPHILA_RESOLVE"] = "shop.example=127.0.0.1"
    crawl = ("crawl", web.url("/", "shop.example"), "--profile", "strict", "--allow-private")
    code, _, err = nephila(*crawl)
    assert code == 0
    assert "restrained" in err and "shop.example is not your own" in err and "at least 1 s between" in err
    assert "no_contact" in err and "NEPHILA_CONTACT" in err
    assert [hit.path for hit in web.hits()] == ["/robots.txt", "/", "/a"]
    assert min(gaps_ms(web)) >= 1000

    own = Command(tmp_path / "own")
    own.environment = nephila.environment | {"NEPHILA_OWN_HOSTS": "shop.example"}
    code, _, err = own(*crawl)
    assert (code, err) == (0, "")
    assert [hit.path for hit in web.hits()][3:] == ["/", "/a"], "robots.txt is not even asked for"


@pytest.mark.requirement("K10")
def test_a_crawl_delay_above_the_cap_is_forced_for_ones_own_site_and_leaves_a_trail(
    tmp_path: Path, web: TestWeb
) -> None:
    robots = Page(b"User-agent: *\nCrawl-delay: 100\n", content_type="text/plain")
    web.add({DEFAULT_HOST: {"/": Page(b"<a href=/a>a</a>"), "/a": Page(b"a"), "/robots.txt": robots}})
    nephila = Command(tmp_path / "data")
    capped = ("crawl", web.url("/"), *FAST, "--set", "polite.crawl_delay_cap_ms=300")
    code, _, err = nephila(*capped)
    assert (code, err) == (1, "") and nephila.status()["errors"] == {}
    assert [hit.path for hit in web.hits()] == ["/robots.txt"]
    code, _, err = nephila(*capped, "--set", "robots.force=true")
    assert code == 0
    assert "robots_forced" in err, "who started it is told"
    assert nephila("status", "2")[0] == 0
    assert min(gaps_ms(web)) >= 300
    why = nephila("explain", web.url("/a"))[1]
    assert "it asks for 100 s between requests, robots.force makes that 0.3 s" in why


def test_robots_txt_of_a_host_that_no_crawl_has_asked_is_asked_for_once(tmp_path: Path, web: TestWeb) -> None:
    robots = Page(b"User-agent: *\nDisallow: /private\n", content_type="text/plain")
    web.add({DEFAULT_HOST: {"/robots.txt": robots, "/": Page(b"hi")}})
    nephila = Command(tmp_path / "data")
    code, out, err = nephila("robots", web.url("/private/x"), web.url("/"), "--allow-private")
    assert (code, err) == (1, "") and f"DISALLOWED  {web.url('/private/x')}  Disallow: /private (line 2)" in out
    assert "asked for now" in out and [hit.path for hit in web.hits()] == ["/robots.txt"]
    assert not nephila.data.exists()


class Opening:
    """A store that opens after some attempts, and what is said and waited meanwhile."""

    def __init__(self, *troubles: str) -> None:
        self.troubles, self.said, self.waits = list(troubles), list[str](), list[float]()

    def open(self) -> str:
        if self.troubles:
            raise StoreUnavailable(self.troubles.pop(0))
        return "opened"

    def rest(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return len(self.waits) < 6


def test_a_database_that_is_away_at_the_start_is_waited_for_with_backoff() -> None:
    opening, shared = Opening("starting", "starting", "down"), process_settings({"store": "postgresql://u@h/d"})
    assert wiring.await_store(opening.open, shared, opening.said.append, opening.rest) == "opened"
    assert opening.said == ["starting", "down", ""], "each reason once, and that it is over"
    assert opening.waits == [0.5, 1.0, 2.0]
    ended = Opening(*["down"] * 9)
    assert wiring.await_store(ended.open, shared, ended.said.append, ended.rest) is None
    assert max(ended.waits) == wiring.STORE_RETRY_SECONDS_MAX


def test_an_embedded_store_is_not_waited_for(tmp_path: Path) -> None:
    opening = Opening("broken")
    with pytest.raises(StoreUnavailable):
        wiring.await_store(opening.open, process_settings({"data": tmp_path}), opening.said.append, opening.rest)
    assert opening.waits == []
