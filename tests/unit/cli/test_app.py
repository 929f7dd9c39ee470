"""The verbs on a filled store, in this process; what runs workers is in tests/integration/test_cli.py."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nephila import __version__
from nephila.cli import running
from nephila.cli.app import command_line, run
from nephila.control.sitemaps import SitemapFigures
from nephila.frontier.statements import migrations
from nephila.models import CrawlState, UrlState
from tests.contract.session import seeded
from tests.unit.control.filled import HEAD, PAGE, SEED, Filled, need

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


def test_a_shell_completes_verbs_and_options(nephila: Nephila, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_NEPHILA_COMPLETE", "complete_bash")
    for words, completed in (("nephila pa", "pause"), ("nephila resume --max-p", "--max-pages")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        code, out, err = nephila(data=False)
        assert (code, out.split(), err) == (0, [completed], "")


def test_a_command_loads_only_what_it_needs_and_collects_garbage_while_it_works(filled: Filled) -> None:
    """What it would load besides takes longer than all that it does."""
    code = """
import gc, sys
from nephila.cli import app, status
collecting, opened = [], status.open_store
status.open_store = lambda settings: collecting.append(gc.isenabled()) or opened(settings)
try:
    app.main()
finally:
    costly = {"structlog", "psycopg", "uvicorn", "fastapi", "pycurl", "rich.markdown"}
    print(collecting, sorted(costly & sys.modules.keys()), file=sys.stderr)
"""
    command = [sys.executable, "-c", code, "status", "--data", str(filled.folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "[True] []\n")


def test_every_verb_has_help(nephila: Nephila) -> None:
    verbs = {command.callback.__name__ for command in command_line().registered_commands if command.callback}
    assert verbs >= VERBS
    for verb in verbs:
        code, out, _ = nephila(verb, "--help", data=False)
        assert code == 0 and f"nephila {verb}" in out


@pytest.mark.parametrize(
    ("verb", "level"), [("crawl", "warning"), ("resume", "warning"), ("serve", "info"), ("worker", "info")]
)
def test_the_help_shows_the_log_level_that_the_verb_has(nephila: Nephila, verb: str, level: str) -> None:
    _, out, _ = nephila(verb, "--help", data=False)
    assert f"[default: ({level})]" in " ".join(out.replace("│", " ").split())


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
        (("refused", "7"), "there is no crawl 7"),
        (("refused", "--reason", "typo"), "'typo' is none of: "),
        (("robots",), "Missing argument"),
        (("robots", "mailto:x@a.test"), "no web address"),
        (("robots", SEED, "--agent", "123"), "'123' names no crawler"),
        (("robots", SEED, "--file", "/nowhere"), "the file /nowhere cannot be read: No such file"),
        (("robots", "http://127.0.0.1/"), "127.0.0.1 is loopback): say --allow-private"),
        (("show", "http://b.test/"), "does not know"),
        (("show", SEED + "later"), "nothing is archived"),
        (("show", SEED, "--body", "--raw"), "exclude each other"),
        (("delete",), f"delete needs the number of a crawl: the latest is 1 ({SEED})"),
        (("delete", "--yes"), "delete needs the number of a crawl"),
        (("delete", "1"), "say --yes"),
        (("worker", "--workers", "0"), "--workers 1 or more"),
        (("worker", "--lease", "0"), "--lease cannot be 0"),
        (("status", "--store", "mysql://x"), "write postgresql://"),
        (("migrate", "--store", "postgresql://me:secret@nowhere.invalid/x"), "check host and database"),
        (("export", "--output", "/proc/nowhere/x.csv"), "cannot be written"),
        (("export", "--output", "/tmp/nowhere/x"), "let it end in .jsonl, .json or .csv"),
        (("export", "--output", "x.csv.zip"), "no format is known by the name x.csv.zip"),
        (("export", "--output", ".gz"), "or say --format"),
        (("settings", "--profile", "x"), "--profile cannot be 'x'"),
        (("crawl",), "nothing to crawl"),
        (("crawl", "no url"), "no web address"),
        (("crawl", "mailto:x@a.test"), "no web address"),
        (("crawl", "--seeds", "/nowhere"), "cannot be read: No such file"),
        (("crawl", "a.test", "--delay", "-1"), "--delay cannot be '-1'"),
        (("crawl", "a.test", "--profile", "x"), "--profile cannot be 'x': choose one of"),
        (("crawl", "a.test", "--set", "x.y=1"), "--set names an unknown setting 'x.y': `nephila settings"),
        (("crawl", "a.test", "--set", "polite.floor_ms=-1"), "--set polite.floor_ms cannot be '-1'"),
        (("crawl", "a.test", "--scope", "x"), "--scope"),
        (("crawl", "a.test", "--max-depth", "-1"), "--max-depth cannot be -1"),
        (("crawl", "a.test", "--max-pages", "0"), "--max-pages cannot be 0"),
        (("crawl", "a.test", "--max-time", "soon"), "--max-time"),
        (("crawl", "a.test", "--max-time", "0"), "--max-time (limits.max_seconds) cannot be 0: "),
        (("crawl", "a.test", "--delay", "1000h"), "--delay (polite.floor_ms) cannot be 3600000000: "),
        (("crawl", "a.test", "--max-depth", "1", "--set", "scope.max_depth=-1"), "--set scope.max_depth cannot be"),
        (("crawl", "a.test", "--set", "scope.hosts=[x"), "--set scope.hosts cannot be '[x': write a,b,c or JSON"),
        (("crawl", "a.test", "--set", "robots.force=true"), "--set robots.force cannot be true: it is for sites of"),
        (("urls", "--reason", "x"), "--reason: 'x' is no reason of a URL: give one of robots, "),
        (("resume", "--max-bytes", "0"), "--max-bytes (limits.max_bytes) cannot be 0: "),
        (("crawl", "a.test", "--max-bytes", "much"), "--max-bytes"),
        (("crawl", "a.test", "--header", "x"), "--header"),
        (("crawl", "a.test", "--proxy", "x"), "--proxy"),
        (("crawl", "a.test", "--workers", "-1"), "--workers cannot be -1"),
        (("crawl", "http://127.0.0.1/"), "say --allow-private"),
        (("crawl", "http://a.test/x.pdf"), "refused by the crawl's own rules"),
        (("crawl", "a.test", "--log-file", "/proc/nowhere/x"), "log file"),
        (("crawl", "a.test", "--archive", "/proc/nowhere"), "archive folder"),
        (("resume", "7"), "there is no crawl 7"),
        (("pause", "7"), "there is no crawl 7"),
        (("cancel", "7"), "there is no crawl 7"),
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


def test_a_reason_that_is_none_is_refused(nephila: Nephila) -> None:
    code, out, err = nephila("urls", "--reason", "typo")
    assert (code, out) == (2, "") and "'typo'" in err and "timeout, reset" in err


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


def test_refused(nephila: Nephila) -> None:
    code, out, err = nephila("refused")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "scope: 3 links, scope.mode = same_host"
    assert "            3  b.test" in lines
    assert any(line.startswith("    http://b.test/  (found on the page with id ") for line in lines)
    (extension,) = json.loads(nephila("refused", "1", "--reason", "extension", "--json")[1])
    assert (extension["count"], extension["setting"]) == (2, "scope.skip_extensions")
    assert [rule["name"] for rule in extension["rules"]] == ["paths that end in .pdf are skipped"]
    assert "crawl 1 has refused nothing for the reason depth" in nephila("refused", "--reason", "depth")[1]


def test_robots_of_the_store(nephila: Nephila) -> None:
    code, out, err = nephila("robots", SEED + "private/x", SEED)
    assert (code, err) == (1, "")
    assert out.splitlines()[:4] == [
        f"DISALLOWED  {SEED}private/x  Disallow: /private (line 2)",
        f"allowed  {SEED}  no rule matches",
        "  robots.txt   of http://a.test, from the store, 2023-11-14T22:13:20.123Z, status 200",
        "  group        * (line 1), for Nephila",
    ]
    assert nephila("robots", SEED)[0] == 0


def test_robots_of_a_file(nephila: Nephila, tmp_path: Path) -> None:
    text, nowhere = tmp_path / "robots.txt", str(tmp_path / "nowhere")
    text.write_text("User-agent: Other\nCrawl-delay: 1.5\nDisallow: /\nSitemap: https://b.test/map.xml")
    asked = ("robots", "b.test/x", "c.test", "--file", str(text), "--data", nowhere)
    code, out, _ = nephila(*asked, "--agent", "Other/2.0", "--json", data=False)
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 1 and [each["origin"] for each in found] == ["https://b.test", "https://c.test"]
    assert found[0]["urls"][0] == {
        "url": "https://b.test/x",
        "allowed": False,
        "rule": "Disallow: /",
        "line": 3,
        "detail": "Disallow: / (line 3)",
    }
    known = ("source", "agent", "group", "group_lines", "crawl_delay_ms", "sitemaps")
    assert [found[0][name] for name in known] == ["file", "Other", "other", [1], 1500, ["https://b.test/map.xml"]]
    code, out, _ = nephila(*asked, data=False)
    assert code == 0 and "crawl-delay" not in out and "  group        none, for Nephila" in out


def test_show(nephila: Nephila) -> None:
    whole = (HEAD + PAGE).decode()
    assert nephila("show", SEED) == (0, whole, "")
    assert nephila("show", "1", SEED + "x", "--raw")[1] == whole
    assert nephila("show", SEED, "--headers")[1] == HEAD.decode()
    assert nephila("show", SEED, "--body")[1] == PAGE.decode()


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


def test_compare_takes_numbers_of_crawls_and_files(
    nephila: Nephila, filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = seeded(filled.catalog, SEED, f"{SEED}new")
    other = seeded(filled.catalog, SEED, f"{SEED}new", mark="www", norm__fold_www=True)
    assert (again.id, other.id) == (2, 3)
    for second in ("2", "3"):  # by the store, and in memory
        code, out, _ = nephila("compare", "1", second)
        lines = out.splitlines()
        assert code == 1 and f"> {SEED}new" in lines and f"~ {SEED} visited -> queued" in lines
        assert lines[-1].startswith("5 only in crawl 1 (<), 1 only in crawl ") and lines[-1].endswith(" 0 the same")
    code, out, _ = nephila("compare", "2", "3")
    assert code == 0 and out.startswith("0 only in crawl 2 (<), 0 only in crawl 3 (>), 0 in another state (~)")
    code, out, _ = nephila("compare", "1", "2", "--by", "urls", "--json")
    *found, counts = map(json.loads, out.splitlines())
    assert code == 1 and counts == {"gone": 5, "added": 1, "same": 1}
    assert {"change": "added", "url": f"{SEED}new", "first": None, "second": "queued"} in found
    monkeypatch.chdir(tmp_path)
    nephila("export", "1", "-o", "1.jsonl")
    assert nephila("compare", "1.jsonl", "1")[0] == 0
    (tmp_path / "1.jsonl").rename(tmp_path / "2")
    assert nephila("compare", "1", "2")[1].endswith("6 the same\n")  # a file that is there
    assert nephila("compare", "1", "9")[2].startswith("nephila: there is no crawl 9")
    assert nephila("compare", "1", "nowhere.csv")[0] == 2


@pytest.mark.parametrize(
    ("name", "said", "begins"),
    [
        ("x.csv", [], b"id,url,"),
        ("x.CSV.GZ", [], b"id,url,"),
        ("x.json", [], b"[\n{"),
        ("x.json.gz", [], b"[\n{"),
        ("x.jsonl", [], b'{"id"'),
        ("x.ndjson.gz", [], b'{"id"'),
        ("x.csv", ["--format", "json"], b"[\n{"),
        ("x.txt.gz", ["--format", "csv"], b"id,url,"),
        ("no ending", ["--format", "jsonl"], b'{"id"'),
    ],
)
def test_an_export_has_the_format_that_its_name_or_the_user_says(
    nephila: Nephila, tmp_path: Path, name: str, said: list[str], begins: bytes
) -> None:
    path = tmp_path / name
    assert nephila("export", "--output", str(path), *said)[0] == 0
    written = path.read_bytes()
    assert (gzip.decompress(written) if name.lower().endswith(".gz") else written).startswith(begins)
    nephila("export", "--output", str(tmp_path / "plain.jsonl"))
    assert nephila("compare", str(path), str(tmp_path / "plain.jsonl"), data=False)[0] == 0


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
    monkeypatch.setenv("FETCH_GAP_JITTER_MS", "9")
    found = json.loads(nephila("settings", "--json")[1])
    line = next(line for line in found["crawl"] if line["name"] == "polite.jitter_ms")
    assert (line["value"], line["source"]) == (9, "env FETCH_GAP_JITTER_MS")


def test_migrate_says_which_schema_the_store_has(nephila: Nephila, filled: Filled) -> None:
    code, out, err = nephila("migrate")
    assert (code, err) == (0, "")
    assert out == f"{filled.folder / 'nephila.db'} has schema {len(migrations('sqlite'))}\n"


def test_requisites_are_listed_and_counted_where_they_are_asked_for(nephila: Nephila, filled: Filled) -> None:
    need(filled, "a.png", "b.css")
    assert len(nephila("urls")[1].splitlines()) == 6
    listed = nephila("urls", "--kind", "requisite")[1].splitlines()
    assert [line.split()[-1] for line in listed] == [f"{SEED}a.png", f"{SEED}b.css"]
    assert nephila("urls", "--kind", "requisite", "--state", "visited") == (0, "", "")
    assert len(nephila("export", "--kind", "requisite")[1].splitlines()) == 2
    assert len(nephila("export")[1].splitlines()) == 6
    out = nephila("status")[1]
    assert "requisites: 2 URLs that pages need, 0 broken" in out and "0 of about 2 requisites" in out
    shown = json.loads(nephila("status", "--json")[1])
    assert (shown["urls"], shown["requisites"]["urls"], shown["requisites"]["queued"]) == (6, 2, 2)
    explained = nephila("explain", f"{SEED}a.png")[1]
    assert "It is a requisite" in explained and f"found on     {SEED} (id 1" in explained
    code, _, err = nephila("urls", "--kind", "robots")
    assert code == 2 and "'robots' is not one of 'page', 'requisite'" in err


# --- names and labels


def test_a_crawl_gets_a_name_and_labels(nephila: Nephila, filled: Filled) -> None:
    code, out, _ = nephila("label", "1", "team=docs", "nightly", "--name", " Docs,  weekly ")
    assert (code, out) == (0, f'crawl 1 "Docs, weekly": {SEED}\nlabels: nightly, team=docs\n')
    assert nephila("label", "1", "team=web", "--remove", "nightly")[1].endswith("labels: team=web\n")
    shown = json.loads(nephila("label", "1", "--json")[1])
    assert shown == {"crawl": 1, "name": "Docs, weekly", "labels": ["team=web"]}
    assert 'crawl 1 "Docs, weekly" is paused' in (status := nephila("status")[1]) and "labels: team=web" in status
    assert nephila("label", "1", "--name", "", "--remove", "team")[1] == f"crawl 1: {SEED}\nit has no labels\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("label", "1", "two words"), "LABEL: 'two words' is no label: give a word like nightly"),
        (("label", "1", "--remove", "weekly"), "LABEL: it has no label weekly to be removed: it has none at all"),
        (("label", "1", "--name", "x" * 101), "--name: a name has at most 100 characters: this one has 101"),
        (("label", "9", "x"), "there is no crawl 9"),
        (("status", "--label", "a b"), "--label: 'a b' is no label"),
        (("status", "--label", "weekly"), "no crawl has the label weekly"),
        (("status", "1", "--label", "weekly"), "--label is for the list of crawls"),
        (("crawl", "example.com", "--name", "a\x1bb"), "--name: a name is one line of text"),
        (("crawl", "example.com", "--label", "a=1", "--label", "a=2"), "--label: the labels a=1 and a=2 have the same"),
    ],
)
def test_what_is_no_name_or_label_is_one_clear_line(
    nephila: Nephila, filled: Filled, arguments: tuple[str, ...], says: str
) -> None:
    code, out, err = nephila(*arguments)
    assert (code, out) == (2, "") and says in err and len(err.splitlines()) == 1
    assert len(filled.catalog.crawls()) == 1


def test_status_lists_names_and_labels_and_finds_by_them(
    nephila: Nephila, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # as wide as it needs, which test processes narrow
    seeded(filled.catalog, "http://z.test/", mark="other")
    assert "labels" not in nephila("status")[1], "a column without a cell is none"
    nephila("label", "2", "team=docs", "--name", "Docs")
    assert "Docs" in (out := nephila("status")[1]) and "team=docs" in out and len(out.splitlines()) == 3
    assert len(nephila("status", "--label", "team")[1].splitlines()) == 2
    (found,) = json.loads(nephila("status", "--label", "team=docs", "--json")[1])
    assert (found["crawl"], found["name"], found["labels"]) == (2, "Docs", ["team=docs"])
    assert json.loads(nephila("status", "--label", "weekly", "--json")[1]) == []


def test_sitemaps_are_listed_and_compared_with_links(nephila: Nephila, filled: Filled) -> None:
    assert nephila("sitemaps") == (0, f"crawl {filled.crawl.id} has met no sitemap\n", "")
    assert nephila("sitemaps", "--json")[1] == "[]\n"
    for what in ("--unlinked", "--unlisted"):
        assert nephila("sitemaps", what) == (0, "", "")
    code, _, said = nephila("sitemaps", "--unlinked", "--unlisted")
    assert code == 2 and "one of --unlinked and --unlisted" in said


def test_a_sitemap_says_what_it_lists_beside_urls(nephila: Nephila, monkeypatch: pytest.MonkeyPatch) -> None:
    known = (3, "https://a.test/map.xml", UrlState.VISITED, "", 200, "given by hand", None, "urlset", 12, 9)
    found = [SitemapFigures(*known, 1200, 0, 4, 0, ""), SitemapFigures(*known, 0, 0, 0, 0, "broken: cut off")]
    monkeypatch.setattr("nephila.cli.sitemaps.list_sitemaps", lambda *_: found)
    assert nephila("sitemaps")[1].splitlines() == [
        "https://a.test/map.xml",
        "    urlset, 12 URLs, 9 admitted; 1,200 images, 4 news; given by hand",
        "https://a.test/map.xml",
        "    urlset, 12 URLs, 9 admitted; given by hand",
        "    broken: cut off",
    ]
    assert json.loads(nephila("sitemaps", "--json")[1])[0]["images"] == 1200


def test_a_crawl_begins_with_a_sitemap_or_needs_a_seed(nephila: Nephila) -> None:
    code, _, said = nephila("crawl", "--sitemap", "mailto:x@y")
    assert code == 2 and "no web address" in said
    code, _, said = nephila("crawl")
    assert code == 2 and "--sitemap URL" in said


# --- links both ways


def test_links_tells_who_links_to_a_url_and_what_it_links_to(nephila: Nephila) -> None:
    code, out, _ = nephila("links", f"{SEED}x")
    assert (code, out.splitlines()[0]) == (0, f"3 pages link to {SEED}x"), "itself does not count"
    code, out, _ = nephila("links", f"{SEED}x", "--json", "--limit", "1")
    found = json.loads(out)
    assert (code, found["total"], len(found["links"]), found["links"][0]["text"]) == (0, 3, 1, "x")
    code, out, _ = nephila("links", SEED, "--out")
    assert (code, out.splitlines()) == (0, [f"{SEED} links to 1 URL", "", f"{SEED}x", "    “x”; visited"])
    code, out, _ = nephila("links", "https://other.test/")
    assert (code, out.strip()) == (1, "no page links to https://other.test/")


def test_links_without_an_update_takes_what_is_indexed(nephila: Nephila) -> None:
    code, out, _ = nephila("links", f"{SEED}x", "--no-update")
    assert (code, out.strip()) == (1, f"no page links to {SEED}x")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("links", "mailto:a@b"), "is no web address"),
        (("links", f"{SEED}unknown", "--out"), "does not know"),
        (("links", "99", SEED), "99"),
        (("report", "broken", "99"), "99"),
        (("report", "nonsense"), "nonsense"),
    ],
)
def test_links_and_reports_of_what_is_not_there(nephila: Nephila, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = nephila(*arguments)
    assert (code, out) == (2, "")
    assert said in err and len(err.splitlines()) == 1


def test_report_broken_names_what_cannot_be_had(nephila: Nephila) -> None:
    code, out, _ = nephila("report", "broken")
    lines = out.splitlines()
    assert (code, lines[0], lines[-1]) == (1, f"{SEED}gone", "1 broken URL in crawl 1")
    assert lines[1].startswith("  not_found (status 404), seen 20")
    assert "no page links there" in lines[2]
    code, out, _ = nephila("report", "broken", "--json")
    broken = json.loads(out)
    assert (code, broken["url"], broken["status"], broken["linked"]["total"]) == (1, f"{SEED}gone", 404, 0)
