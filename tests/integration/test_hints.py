"""Every command that is printed as a hint is provoked and run as printed, with names that a shell could mistake."""

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nephila.cli.app import run
from nephila.control.follower import Follower
from tests import postgres
from tests.command import Command
from tests.integration.test_postgres import empty, written_by  # noqa: F401 (a fixture)
from tests.patience import PATIENCE_SECONDS, until
from tests.site.server import DEFAULT_HOST, Page, TestWeb

# Where the sources have a hint, and its command: found by tests/unit/cli/test_hints.py, which compares.
PROVOKED = {
    ("api/serving.py", "token create"),
    ("cli/options.py", "status"),
    ("cli/running.py", "resume"),
    ("cli/catching_up.py", "verify"),
    ("cli/links.py", "explain"),
    ("cli/links.py", "links"),
    ("cli/report.py", "report broken"),
    ("cli/search.py", "search"),
    ("cli/show.py", "explain"),
    ("cli/summary.py", "explain"),
    ("cli/summary.py", "export"),
    ("cli/summary.py", "resume"),
    ("cli/summary.py", "urls"),
    ("cli/token.py", "token create"),
    ("cli/token.py", "token list"),
    ("control/crawls.py", "crawl"),
    ("frontier/crawls.py", "status"),
    ("frontier/postgres/connection.py", "migrate"),
    ("frontier/sqlite/connection.py", "crawl"),
    ("errors.py", "settings"),
}
# Help texts, answers of the API, whose reader is elsewhere, what no verb can provoke, and words about a damaged store.
UNPROVOKED = {
    ("api/problems.py", "settings"),
    ("frontier/rows.py", "verify"),
    ("frontier/sqlite/backup.py", "verify"),
    ("frontier/postgres/connection.py", "crawl"),
    ("api/access.py", "token create"),
    ("api/faces/__init__.py", "serve"),
    ("api/problems.py", "settings"),
    ("api/problems.py", "token create"),
    ("api/routes/comparison.py", "compare"),
    ("api/routes/workers.py", "serve"),
    ("cli/backup.py", "verify"),  # run in tests/e2e/test_backup.py
    ("cli/crawl.py", "settings"),
    ("cli/manual.py", "settings"),
    ("frontier/rows.py", "verify"),
    ("frontier/sqlite/backup.py", "verify"),
    ("settings.py", "worker"),
}

HINT = re.compile(r"(?:^next: |^ {6}|with: )(nephila .*)$|`(nephila [^\n]*?)`(?= |,|$)", re.M)
ODD_PATH = "/it's?q=a&c=$HOME"
ODD_URL = f"http://a.test{ODD_PATH}"


def hints(text: str) -> list[str]:
    return [whole or quoted for whole, quoted in HINT.findall(text)]


class Shell:
    """Runs printed commands in a shell whose PATH has `nephila`; `command` is who prints them."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder, self.nephila = folder, command
        command.place += ["--archive", str(folder / "war c's")]
        (folder / "bin").mkdir()
        program = folder / "bin" / "nephila"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nephila "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.environment = command.environment | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}

    def start(self, line: str) -> "subprocess.Popen[str]":
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(["/bin/sh", "-c", f"exec {line}"], cwd=self.folder, env=self.environment, **pipes)

    def run(self, line: str) -> tuple[int, str]:
        process = self.start(line)
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, said

    def said(self, *arguments: str, archive: bool = False) -> str:
        """What a command says that fails or ends; `archive`: it takes --archive."""
        place = self.nephila.place
        if not archive:
            self.nephila.place = place[: place.index("--archive")]
        try:
            _, out, err = self.nephila(*arguments)
        finally:
            self.nephila.place = place
        return out + err


@pytest.fixture(params=["sqlite", "postgres"])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    with postgres.command(request.param, tmp_path / "it's my  data") as made:
        yield Shell(tmp_path, made)


def crawled(shell: Shell, web: TestWeb, *links: str) -> str:
    """What a crawl says at its end."""
    web.add({DEFAULT_HOST: {ODD_PATH: Page("".join(f'<a href="{link}">x</a>' for link in links).encode())}})
    return shell.said("crawl", web.url(ODD_PATH), "--allow-private", "--delay", "0", "--quiet", archive=True)


def test_at_the_end_of_a_crawl(shell: Shell, web: TestWeb) -> None:
    for links, url in (((), ODD_PATH), (("/it's/lost?a&b",), "/it's/lost?a&b")):
        found = hints(crawled(shell, web, *links))
        assert [line.split()[1] for line in found] == ["urls", "export", "explain"]
        answers = [shell.run(line) for line in found]
        assert [code for code, _ in answers] == [0, 0, 0], answers
        assert web.url(url) in answers[2][1]
    assert len((shell.folder / "crawl-2.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("limit", ["--max-pages 1", "--max-bytes 1kB"])
def test_of_a_crawl_that_ended_at_a_limit(shell: Shell, web: TestWeb, limit: str) -> None:
    links = b"".join(f"<a href=/{n}>{n}</a>".encode() for n in range(9)) + b"x" * 1000
    web.add({DEFAULT_HOST: {ODD_PATH: Page(links), **{f"/{n}": Page(b"x" * 10) for n in range(9)}}})
    arguments = (*limit.split(), "--allow-private", "--delay", "0.2", "--quiet")
    *_, line = hints(shell.said("crawl", web.url(ODD_PATH), *arguments, archive=True))
    code, said = shell.run(f"{line} --quiet")
    assert (line.split()[1], code) == ("resume", 0) and "crawl 1 completed" in said
    assert len(web.hits()) > 2


def test_of_a_crawl_that_was_interrupted(shell: Shell, web: TestWeb) -> None:
    web.add({DEFAULT_HOST: {ODD_PATH: Page(b"<a href=/1>1</a>"), "/1": Page(b"1")}})
    web.hold(after=1)
    process = shell.nephila.start("crawl", web.url(ODD_PATH), "--allow-private", "--delay", "0", "--quiet")
    until(lambda: web.holding, "it is in the middle")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    (line,) = hints(process.communicate(timeout=PATIENCE_SECONDS)[0])
    web.go_on()
    code, said = shell.run(f"{line} --quiet")
    assert (line.split()[1], code) == ("resume", 0) and "completed" in said


def test_of_a_crawl_that_others_work_on(shell: Shell, web: TestWeb) -> None:
    web.add({DEFAULT_HOST: {ODD_PATH: Page(b"here")}})
    process = shell.nephila.start("crawl", web.url(ODD_PATH), "--allow-private", "--workers", "0")
    assert process.stdout is not None
    process.stdout.readline()  # it has begun
    process.send_signal(signal.SIGINT)
    (line,) = hints(process.communicate(timeout=PATIENCE_SECONDS)[0])
    web.hold()  # the crawl is not over before it is watched
    worker = shell.nephila.start("worker")
    try:
        watching = shell.start(line)
        assert watching.stdout is not None
        # The worker may not be there yet.
        assert watching.stdout.readline().startswith(("crawl 1: joins the running crawl", "crawl 1: goes on with"))
        web.go_on()
        assert "completed" in watching.communicate(timeout=PATIENCE_SECONDS)[0]
        assert (line.split()[1], watching.returncode) == ("resume", 0)
    finally:
        worker.terminate()
        worker.communicate(timeout=PATIENCE_SECONDS)


MISTAKES = [
    (("urls", "7"), False, "status"),
    (("explain", "x", "http://a.test/"), False, "status"),
    (("show", "http://b.test/it's ?q=`x`"), True, "explain"),
    (("crawl", "a.test", "--set", "x.y=1"), True, "settings"),
    (("serve", "--host", "0.0.0.0", "--port", "0"), True, "token create"),
    (("token", "list"), False, "token create"),
    (("token", "revoke", "9"), False, "token list"),
    (("resume",), True, "crawl"),
]


def test_of_a_mistake(shell: Shell, web: TestWeb) -> None:
    crawled(shell, web)
    web.add({DEFAULT_HOST: {"/2": Page(b"2")}})
    said = [shell.said(*arguments, archive=archive) for arguments, archive, _ in MISTAKES]
    for number, ((_, _, advised), text) in enumerate(zip(MISTAKES, said, strict=True)):
        (line,) = hints(text)
        assert line.startswith(f"nephila {advised}")
        meant = line.replace(" NAME ", f" {number} ").replace(" URL ", f" {web.url('/2')} --allow-private --quiet ")
        code, answer = shell.run(meant)
        assert code == 0, (line, answer)


def test_where_there_is_no_data(shell: Shell, web: TestWeb) -> None:
    web.add({DEFAULT_HOST: {"/": Page(b"<p>here</p>")}})
    (line,) = hints(shell.said("urls"))
    assert line.startswith("nephila crawl URL")
    code, said = shell.run(line.replace(" URL ", f" {web.url()} --allow-private --quiet "))
    assert code == 0, said
    assert web.url() in shell.said("urls")


def test_of_a_backup(tmp_path: Path, web: TestWeb) -> None:
    shell = Shell(tmp_path, Command(tmp_path / "it's my data"))
    crawled(shell, web)
    (line,) = hints(shell.said("backup", str(tmp_path / "the co'py"), archive=True))
    code, said = shell.run(line)
    assert line.startswith("nephila verify") and code == 0, said


def test_of_an_old_schema(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    empty: str,  # noqa: F811
) -> None:
    shell = Shell(tmp_path, Command(tmp_path / "it's my data", empty))
    written_by(empty, 1, monkeypatch)
    (line,) = hints(shell.said("status"))
    assert line.startswith("nephila migrate")
    assert shell.run(line)[0] == 0
    assert hints(shell.said("status"))[0].startswith("nephila crawl URL ")


def interrupt(_: Follower) -> int:
    raise KeyboardInterrupt


SEARCH, LINKS, BROKEN = (
    ("search", "it's", '"here & there"', "--host", "a.test"),
    ("links", ODD_URL),
    ("report", "broken"),
)


@pytest.mark.parametrize(
    ("asked", "step", "advised", "code", "answer"),
    [
        (SEARCH, interrupt, "search", 1, "no page has"),
        (SEARCH, lambda follower: setattr(follower, "skipped", 3) or 0, "verify", 0, "holds"),
        (LINKS, interrupt, "links", 1, f"no page links to {ODD_URL}"),
        (BROKEN, interrupt, "report broken", 0, "0 broken URLs"),
    ],
)
def test_of_what_catches_up_first(
    shell: Shell,
    web: TestWeb,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    asked: tuple[str, ...],
    step: Callable[[Follower], int],
    advised: str,
    code: int,
    answer: str,
) -> None:
    """In this process, where the moment can be chosen."""
    crawled(shell, web)
    monkeypatch.setattr(Follower, "step", step)
    for name, value in shell.nephila.environment.items():
        monkeypatch.setenv(name, value)
    run([*asked, *shell.nephila.place])
    (line,) = hints(capfd.readouterr().err)
    ended, said = shell.run(line)
    assert line.startswith(f"nephila {advised}")
    assert (ended, answer in said) == (code, True), said


def test_of_links_of_a_page_that_is_not_there(shell: Shell, web: TestWeb) -> None:
    crawled(shell, web)
    (line,) = hints(shell.said("links", web.url("/unknown"), "--out", archive=True))
    code, said = shell.run(line)
    assert (line.split()[1], code) == ("explain", 0), said
