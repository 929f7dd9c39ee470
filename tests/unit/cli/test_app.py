"""The verbs on a filled store, in this process; what runs workers is in tests/integration/test_cli.py."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nephila import __version__
from nephila.cli import running
from nephila.cli.app import app, run
from nephila.cli.show import looks_binary
from nephila.frontier.statements import migrations
from nephila.models import CrawlState
from tests.unit.control.filled import HEAD, PAGE, SEED, Filled

LOOKING = {"status", "urls", "explain", "show", "export", "compare", "verify", "settings"}
VERBS = {"crawl", "resume", "delete", "worker", "migrate"} | LOOKING
Nephila = Callable[..., tuple[int, str, str]]


@pytest.fixture
def nephila(filled: Filled, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Nephila:
    """Call a verb on the filled store: exit code, standard output, standard error."""

    def run_nothing(*_: object, **__: object) -> int:
        raise AssertionError("no verb here may start workers")

    monkeypatch.setattr(running, "run_crawl", run_nothing)

    def call(*arguments: str, data: bool = True) -> tuple[int, str, str]:
        code = run([*arguments, *(["--data", str(filled.folder)] if data else [])])
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return call


def test_version(nephila: Nephila) -> None:
    assert nephila("--version", data=False) == (0, f"nephila {__version__}\n", "")


def test_every_verb_has_help(nephila: Nephila) -> None:
    verbs = {command.callback.__name__ for command in app.registered_commands if command.callback}
    assert verbs >= VERBS
    for verb in verbs:
        code, out, _ = nephila(verb, "--help", data=False)
        assert code == 0 and f"nephila {verb}" in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("nope",), "No such command"),
        (("urls", "--nope"), "No such option"),
        (("urls", "--state", "nope"), "'nope' is not one of 'queued'"),
        (("urls", "x"), "CRAWL"),
        (("urls", "7"), "there is no crawl 7"),
        (("status", "7"), "there is no crawl 7"),
        (("explain", "x", SEED), "'x' is no crawl"),
        (("explain", "1", "2", "3"), "one URL"),
        (("explain",), "Missing argument"),
        (("show", "http://b.test/"), "does not know"),
        (("show", SEED + "later"), "nothing is archived"),
        (("show", SEED, "--body", "--raw"), "exclude each other"),
        (("delete",), "say --yes"),
        (("worker", "--workers", "0"), "--workers 1 or more"),
        (("worker", "--lease", "0"), "lease_seconds cannot be 0"),
        (("status", "--store", "mysql://x"), "write postgresql://"),
        (("migrate", "--store", "postgresql://me:secret@nowhere.invalid/x"), "check host and database"),
        (("export", "--output", "/proc/nowhere/x"), "cannot be written"),
        (("settings", "--profile", "x"), "unknown profile"),
        (("crawl",), "nothing to crawl"),
        (("crawl", "no url"), "no web address"),
        (("crawl", "mailto:x@a.test"), "no web address"),
        (("crawl", "--seeds", "/nowhere"), "cannot be read: No such file"),
        (("crawl", "a.test", "--delay", "-1"), "--delay cannot be '-1'"),
        (("crawl", "a.test", "--profile", "x"), "unknown profile 'x'"),
        (("crawl", "a.test", "--set", "x.y=1"), "unknown setting 'x.y'"),
        (("crawl", "a.test", "--set", "polite.floor_ms=-1"), "polite.floor_ms cannot be '-1'"),
        (("crawl", "a.test", "--scope", "x"), "--scope"),
        (("crawl", "a.test", "--max-depth", "-1"), "max_depth cannot be -1"),
        (("crawl", "a.test", "--max-pages", "0"), "max_pages cannot be 0"),
        (("crawl", "a.test", "--max-time", "soon"), "--max-time"),
        (("crawl", "a.test", "--max-bytes", "much"), "--max-bytes"),
        (("crawl", "a.test", "--header", "x"), "--header"),
        (("crawl", "a.test", "--proxy", "x"), "--proxy"),
        (("crawl", "a.test", "--workers", "-1"), "workers cannot be -1"),
        (("crawl", "http://127.0.0.1/"), "say --allow-private"),
        (("crawl", "http://a.test/x.pdf"), "refused by the crawl's own rules"),
        (("crawl", "a.test", "--log-file", "/proc/nowhere/x"), "log file"),
        (("crawl", "a.test", "--archive", "/proc/nowhere"), "archive folder"),
        (("resume", "7"), "there is no crawl 7"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(nephila: Nephila, arguments: tuple[str, ...], text: str) -> None:
    code, out, err = nephila(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("nephila: ") and err.count("\n") == 1 and text in err


def test_no_mistake_makes_or_changes_a_crawl(nephila: Nephila, filled: Filled) -> None:
    nephila("crawl", "a.test", "--log-file", "/proc/nowhere/x")
    nephila("crawl", "http://127.0.0.1/")
    assert [(crawl.id, crawl.state) for crawl in filled.catalog.crawls()] == [(1, CrawlState.RUNNING)]


@pytest.mark.parametrize("verb", ["urls", "status", "resume", "verify", "export", "delete"])
def test_no_data_folder(nephila: Nephila, tmp_path: Path, verb: str) -> None:
    code, _, err = nephila(verb, "--data", str(tmp_path / "nowhere"), data=False)
    assert code == 2 and "there is no crawl data in" in err
    assert not (tmp_path / "nowhere").exists()


def test_a_store_of_a_newer_version(nephila: Nephila, filled: Filled) -> None:
    with filled.catalog.database.write() as db:
        db.execute("PRAGMA user_version = 99")
    code, _, err = nephila("urls")
    assert code == 2 and "newer Nephila" in err and err.count("\n") == 1


def test_a_finished_crawl_cannot_be_resumed(nephila: Nephila, filled: Filled) -> None:
    with filled.catalog.database.write() as db:
        db.execute("UPDATE crawls SET state = 'completed'")
    assert nephila("resume")[0] == 2
    assert "there is nothing to go on with" in nephila("resume", "1")[2]


# --- looking


def test_status_of_one_crawl(nephila: Nephila) -> None:
    code, out, _ = nephila("status")
    assert code == 0 and f"crawl 1 is paused (interrupted): {SEED}" in out
    assert "5 of about 6 URLs" in out and "a.test" in out and "errors: not_found 1" in out
    assert json.loads(nephila("status", "--json")[1])["states"]["visited"] == 3


def test_status_of_several_crawls(nephila: Nephila, filled: Filled) -> None:
    filled.catalog.create_crawl(["http://z.test/"], filled.crawl.settings, "other")
    code, out, _ = nephila("status")
    assert code == 0 and len(out.splitlines()) == 3 and "http://z.test/" in out
    assert [crawl["crawl"] for crawl in json.loads(nephila("status", "--json")[1])] == [1, 2]


def test_the_latest_crawl_is_meant(nephila: Nephila, filled: Filled) -> None:
    filled.catalog.create_crawl(["http://z.test/"], filled.crawl.settings, "other")
    assert nephila("urls") == (0, "", "")
    assert len(nephila("urls", "1")[1].splitlines()) == 6


@pytest.mark.requirement("U-05")
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ((), {"", "x", "gone", "moved", "formula", "later"}),
        (("--state", "visited"), {"", "x", "formula"}),
        (("--state", "not_found", "--state", "queued"), {"gone", "later"}),
        (("--host", "www.a.test", "--depth", "0"), {""}),
        (("--host", "b.test"), set()),
        (("--status", "301"), {"moved"}),
        (("--reason", "timeout"), {"later"}),
        (("--text", "for"), {"formula"}),
    ],
)
def test_urls_by_filter(nephila: Nephila, arguments: tuple[str, ...], names: set[str]) -> None:
    code, out, _ = nephila("urls", "--json", *arguments)
    assert code == 0
    assert {json.loads(line)["url"].removeprefix(SEED) for line in out.splitlines()} == names


def test_urls_page_by_page(nephila: Nephila) -> None:
    first = [json.loads(line)["id"] for line in nephila("urls", "--json", "--limit", "2")[1].splitlines()]
    rest = [json.loads(line)["id"] for line in nephila("urls", "--json", "--after", str(first[-1]))[1].splitlines()]
    assert first + rest == [1, 2, 3, 4, 5, 6]
    assert f"redirected  301   1  {SEED}moved -> {SEED}x" in nephila("urls", "--state", "redirected")[1]


def test_explain(nephila: Nephila) -> None:
    code, out, _ = nephila("explain", SEED + "later")
    assert code == 0
    for part in ("tried again in", "yes scope: same_host", "reason timeout", "found on", "backoff", "adaptive 1.5 s"):
        assert part in out
    assert "NO  scope: host b.test is outside scope" in nephila("explain", "1", "http://b.test/")[1]
    assert json.loads(nephila("explain", "--json", SEED)[1])["row"]["state"] == "visited"


def test_show(nephila: Nephila) -> None:
    whole = (HEAD + PAGE).decode()
    assert nephila("show", SEED) == (0, whole, "")
    assert nephila("show", "1", SEED + "x", "--raw")[1] == whole
    assert nephila("show", SEED, "--headers")[1] == HEAD.decode()
    assert nephila("show", SEED, "--body")[1] == PAGE.decode()


def test_binary_is_seen() -> None:
    assert looks_binary(b"\x89PNG\0") and not looks_binary("é".encode())


# --- data


@pytest.mark.requirement("O-02", "T-04")
def test_export_and_compare(nephila: Nephila, tmp_path: Path) -> None:
    a, b = str(tmp_path / "a.csv"), str(tmp_path / "b.json")
    assert nephila("export", "--format", "csv", "--output", a)[0] == 0
    assert nephila("export", "--format", "json", "-o", b, "--state", "visited")[2].startswith("3 URLs of crawl 1")
    assert nephila("compare", a, a, data=False)[0] == 0
    code, out, _ = nephila("compare", a, b, data=False)
    assert code == 1 and f"< {SEED}gone" in out and out.endswith("3 the same\n")
    assert len(nephila("export")[1].splitlines()) == 6


def test_verify(nephila: Nephila, filled: Filled) -> None:
    code, out, _ = nephila("verify")
    assert code == 0 and out.startswith("everything holds: 5 archived rows, 1 archive file, 0 orphan records")
    filled.only_archive_file().unlink()
    code, out, _ = nephila("verify")
    assert code == 1 and out.count("broken: URL") == 5
    assert json.loads(nephila("verify", "--json")[1])["broken"] == 5


def test_delete(nephila: Nephila, filled: Filled) -> None:
    file = filled.only_archive_file()
    code, out, _ = nephila("delete", "1", "--yes")
    assert (code, out) == (0, "crawl 1 is deleted: 6 URLs, 1 archive files\n")
    assert not file.exists() and filled.catalog.crawls() == []
    assert nephila("verify")[0] == 0


@pytest.mark.requirement("O-10")
def test_settings(nephila: Nephila, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEPHILA_CONCURRENCY", "7")
    found = json.loads(nephila("settings", "--json", "--profile", "broad")[1])
    process = {line["name"]: line for line in found["process"]}
    crawl = {line["name"]: line for line in found["crawl"]}
    assert (process["concurrency"]["value"], process["concurrency"]["source"]) == ("7", "env NEPHILA_CONCURRENCY")
    assert process["data"]["source"] == "option"
    assert (crawl["polite.floor_ms"]["value"], crawl["polite.floor_ms"]["source"]) == (250, "profile broad")
    assert "polite.floor_ms" in nephila("settings")[1]


def test_migrate_says_which_schema_the_store_has(nephila: Nephila, filled: Filled) -> None:
    code, out, err = nephila("migrate")
    assert (code, err) == (0, "")
    assert out == f"{filled.folder / 'nephila.db'} has schema {len(migrations('sqlite'))}\n"
