"""`nephila pause`, `cancel` and `resume` beside a `crawl` or a `serve` that runs in another process."""

import json
import os
import shlex
import signal
from urllib.request import Request, urlopen

import pytest

from tests import postgres
from tests.command import Command, children_of
from tests.patience import PATIENCE_SECONDS, until
from tests.site.server import DEFAULT_HOST, Page, TestWeb

PAGES = 300
FAST = ("--allow-private", "--delay", "0", "--sitemaps", "off")  # requests are counted
SLOW = ("--allow-private", "--delay", "0.02", "--sitemaps", "off")
NEARLY_ALL = PAGES - 50  # answers after which the web holds: no crawl is over before a slow command has met it


def tree(web: TestWeb) -> str:
    """Each page links to two more, PAGES in all."""
    pages = {
        f"/{number}": Page(b"".join(f"<a href=/{n}>x</a>".encode() for n in (2 * number, 2 * number + 1) if n <= PAGES))
        for number in range(1, PAGES + 1)
    }
    web.add({DEFAULT_HOST: {**pages, "/": Page(b"<a href=/1>1</a>")}})
    return web.url()


def pages_of(web: TestWeb) -> list[str]:
    return [hit.path for hit in web.hits() if hit.path != "/robots.txt"]


def each_page_was_had_once(web: TestWeb) -> bool:
    """A request that the end of its worker cut off is sent again: that page was not had."""
    had = [hit.path for hit in web.hits() if hit.complete and hit.path != "/robots.txt"]
    return len(set(had)) == len(had) == PAGES + 1


def interrupt(nephila: Command, web: TestWeb, *arguments: str) -> None:
    """A crawl that is paused after some pages, and whose command has ended."""
    web.hold(after=10)
    process = nephila.start("crawl", tree(web), *SLOW, *arguments)
    until(lambda: web.holding)
    process.terminate()
    process.communicate(timeout=PATIENCE_SECONDS)
    web.go_on()
    assert process.returncode == 130


# --- pause and cancel


@pytest.mark.requirement("S-05")
def test_pause_ends_the_command_that_crawls_and_resume_goes_on(nephila: Command, web: TestWeb) -> None:
    web.hold(after=NEARLY_ALL)
    process = nephila.start("crawl", tree(web), *SLOW)
    until(lambda: len(web.hits()) > 10)
    code, out, err = nephila("pause")
    web.go_on()
    before = len(web.hits())
    assert (code, err) == (0, "")
    assert out.startswith("crawl 1 paused (by a command): ")
    assert out.endswith(f"go on with: {shlex.join(['nephila', 'resume', '1', *nephila.place])}\n")
    said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130 and "crawl 1 paused (by a command): " in said
    assert len(web.hits()) <= before + 1, "at most the one that was in flight came after the pause"
    status = nephila.status()
    assert (status["state"], status["reason"]) == ("paused", "by a command")
    code, again, _ = nephila("pause", "1")
    assert code == 0 and again.startswith("crawl 1 paused (by a command): "), "once more changes nothing"
    code, out, _ = nephila("resume")
    assert code == 0 and f"{PAGES + 1} pages visited" in out
    assert each_page_was_had_once(web)


@pytest.mark.requirement("S-05")
def test_cancel_ends_the_command_that_crawls(nephila: Command, web: TestWeb) -> None:
    web.hold(after=NEARLY_ALL)
    process = nephila.start("crawl", tree(web), *SLOW)
    until(lambda: len(web.hits()) > 10)
    code, out, err = nephila("cancel", "1")
    web.go_on()
    before = len(web.hits())
    assert (code, err) == (0, "") and out.startswith(
        ("crawl 1 is being cancelled: its workers", "crawl 1 is cancelled")
    )
    said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0 and "crawl 1 cancelled after" in said
    assert len(web.hits()) <= before + 1, "at most the one that was in flight came after it"
    assert nephila.status()["state"] == "cancelled" and nephila.status()["queued"] == 0
    assert "crawl 1 is cancelled: it cannot be cancelled any more" in nephila("cancel", "1")[2]
    assert "crawl 1 is cancelled: it cannot be paused any more" in nephila("pause", "1")[2]
    assert "there is nothing to go on with" in nephila("resume", "1")[2]


def test_cancel_ends_a_crawl_that_nobody_works_on(nephila: Command, web: TestWeb) -> None:
    interrupt(nephila, web)
    before = len(web.hits())
    code, out, err = nephila("cancel")
    assert (code, err) == (0, "")
    status = nephila.status()
    states = status["states"]
    assert status["state"] == "cancelled" and set(states) == {"visited", "cancelled"}
    assert out == f"crawl 1 is cancelled: {states['cancelled']} URLs were open, {states['visited']} had ended before\n"
    assert len(web.hits()) == before
    assert nephila("verify")[0] == 0


def test_pause_and_cancel_beside_a_server(nephila: Command, web: TestWeb) -> None:
    url = tree(web)
    web.hold(after=NEARLY_ALL)
    with nephila.serving("--allow-private") as (_, address):
        settings = {"polite.floor_ms": 50, "polite.adaptive": False, "fetch.allow_private": True}
        for _ in range(2):
            body = json.dumps({"seeds": [url], "settings": settings}).encode()
            with urlopen(Request(f"{address}/api/v1/crawls", body, {"Content-Type": "application/json"})):
                pass
        until(lambda: len(web.hits()) > 10)
        code, out, err = nephila("pause")
        assert (code, out) == (2, "") and "several crawls are running: give the number of one (1, 2)" in err
        assert nephila("pause", "1")[0] == 0
        assert nephila("pause", "2")[0] == 0
        web.go_on()
        before = len(web.hits())
        assert nephila("pause")[0] == 2, "none is running"
        assert nephila("cancel", "1")[0] == 0
        until(lambda: json.loads(nephila("status", "1", "--json")[1])["state"] == "cancelled")
        assert len(web.hits()) <= before + 1
        assert json.loads(nephila("status", "2", "--json")[1])["state"] == "paused"


# --- going on after a limit


def test_a_crawl_that_ended_at_a_limit_goes_on_with_a_higher_one(nephila: Command, web: TestWeb) -> None:
    code, out, _ = nephila("crawl", tree(web), *FAST, "--max-pages", "20")
    assert code == 0 and "crawl 1 completed at its limit (--max-pages)" in out and "20 pages visited" in out
    assert nephila("resume")[0] == 2, "none is unfinished"
    code, out, err = nephila("resume", "1")
    assert (code, out) == (2, "") and "has used 20 of --max-pages: give a higher --max-pages" in err
    assert "give a higher --max-pages" in nephila("resume", "1", "--max-pages", "20")[2]
    assert "--max-pages cannot be 0" in nephila("resume", "1", "--max-pages", "0")[2]
    assert (
        "--max-urls can be raised or lowered, but neither set nor removed"
        in nephila("resume", "1", "--max-pages", "40", "--max-urls", "90")[2]
    )
    assert nephila.status()["state"] == "completed", "no mistake changes it"
    code, out, _ = nephila("resume", "1", "--max-pages", "50")
    assert code == 0 and "crawl 1: goes on with" in out and "50 pages visited" in out
    code, out, _ = nephila("resume", "1", "--max-pages", "1000")
    assert code == 0 and "crawl 1 completed after" in out and f"{PAGES + 1} pages visited of {PAGES + 1} URLs" in out
    assert nephila.status()["states"] == {"visited": PAGES + 1}
    assert sorted(set(pages_of(web))) == sorted(pages_of(web)), "each page was asked for once"
    assert "there is nothing to go on with" in nephila("resume", "1", "--max-pages", "2000")[2]
    assert nephila("verify")[0] == 0


def test_resume_changes_the_limits_of_a_paused_crawl(nephila: Command, web: TestWeb) -> None:
    interrupt(nephila, web, "--max-pages", "200")
    code, out, _ = nephila("resume", "--max-pages", "30")
    assert code == 0 and "30 pages visited" in out


def test_a_command_that_is_killed_while_urls_are_opened_is_gone_on_with(nephila: Command, web: TestWeb) -> None:
    """Killed as soon as the crawl runs again, which is before, while or after its URLs are opened."""
    nephila("crawl", tree(web), *FAST, "--max-pages", "20", "--quiet")
    web.hold()  # it is not completed again before the look
    process = nephila.start("resume", "1", "--max-pages", "50")
    until(lambda: nephila.status()["state"] != "completed")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    web.go_on()
    code, out, _ = nephila("resume", "1")
    assert code == 0 and "50 pages visited" in out
    assert nephila("verify")[0] == 0


def test_the_server_goes_on_with_a_crawl_that_ended_at_a_limit(nephila: Command, web: TestWeb) -> None:
    nephila("crawl", tree(web), *FAST, "--max-pages", "20", "--quiet")
    with nephila.serving("--allow-private") as (_, address):
        body = json.dumps({"max_pages": 50}).encode()
        headers = {"Content-Type": "application/json"}
        with urlopen(Request(f"{address}/api/v1/crawls/1/resume", body, headers)) as answer:
            assert json.load(answer)["settings"]["limits"]["max_pages"] == 50
        until(lambda: nephila.status()["state"] == "completed")
    assert nephila.status()["states"]["visited"] == 50
    assert nephila.status()["queued"] == 0


# --- joining


def test_the_same_command_joins_a_running_crawl_and_its_interruption_ends_only_itself(
    nephila: Command, web: TestWeb
) -> None:
    arguments = ("crawl", tree(web), *SLOW)
    web.hold(after=NEARLY_ALL)
    first = nephila.start(*arguments)
    until(lambda: len(web.hits()) > 10)
    second = nephila.start(*arguments)
    assert second.stdout is not None
    assert (
        second.stdout.readline() == f"crawl 1: joins the running crawl of {web.url()}; Ctrl-C ends only this command\n"
    )
    second.send_signal(signal.SIGINT)
    out, _ = second.communicate(timeout=PATIENCE_SECONDS)
    assert second.returncode == 130 and "crawl 1 goes on without this command: " in out
    web.go_on()
    said, _ = first.communicate(timeout=PATIENCE_SECONDS)
    assert first.returncode == 0 and f"{PAGES + 1} pages visited" in said, "the first was not disturbed"
    assert each_page_was_had_once(web)


def test_who_joined_and_is_left_alone_pauses_when_it_is_interrupted(nephila: Command, web: TestWeb) -> None:
    arguments = ("crawl", tree(web), "--allow-private", "--delay", "1")
    first = nephila.start(*arguments)
    until(lambda: len(web.hits()) > 2)
    second = nephila.start(*arguments)
    assert second.stdout is not None and "joins the running crawl" in second.stdout.readline()
    (worker,) = children_of(first.pid)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    if nephila.store:
        postgres.end_lease(nephila.store, worker)
    until(lambda: [found["pid"] for found in nephila.status()["workers"]] == children_of(second.pid))
    second.send_signal(signal.SIGINT)
    out, _ = second.communicate(timeout=PATIENCE_SECONDS)
    assert second.returncode == 130 and "crawl 1 paused (interrupted by the user)" in out
    assert nephila.status()["state"] == "paused"


# --- the same again


def test_a_crawl_like_another_has_its_seeds_and_settings(nephila: Command, web: TestWeb) -> None:
    url = tree(web)
    named = ("--name", "Docs, weekly", "--label", "team=docs", "--label", "nightly")
    limits = ("--max-pages", "20", "--exclude", "*/7")
    assert nephila("crawl", url, *FAST, *limits, "--header", "X-Secret: s", *named)[0] == 0
    before = len(web.hits())
    assert nephila("crawl", "--like", "1", "--max-pages", "9", "--quiet")[0] == 0
    asked = web.hits()[before:]
    assert {hit.headers.get("x-secret") for hit in asked if hit.path != "/robots.txt"} == {"s"}
    second = json.loads(nephila("status", "2", "--json")[1])
    assert (second["states"]["visited"], len(pages_of(web))) == (9, 29)
    assert (second["name"], second["labels"]) == ("Docs, weekly", ["nightly", "team=docs"])
    assert "/7" not in pages_of(web)
    assert nephila("crawl", f"{url}299", "--like", "1", "--quiet")[0] == 0
    assert pages_of(web)[29:] == ["/299"]
    code, _, err = nephila("crawl", "--like", "1", "--profile", "strict")
    assert (code, err) == (2, "nephila: --like takes the profile of crawl 1: leave --profile out\n")
    assert nephila("crawl", "--like", "77")[2].startswith("nephila: there is no crawl 77")
