"""Damaged files of the embedded store: every command and the API say so in one line, and nobody takes it for health."""

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from nephila import wiring
from nephila.api.app import make_services
from nephila.cli import app, running
from nephila.clock import SystemClock
from nephila.frontier.sqlite import SqliteDatabase
from nephila.settings import process_settings
from tests.api.served import Workers
from tests.api.served import running as serving
from tests.command import Command
from tests.patience import PATIENCE_SECONDS, until
from tests.site.fixtures import html
from tests.site.server import DEFAULT_HOST, TestWeb
from tests.unit.control.filled import SEED, fill

PAGE_BYTES = 4096
READS = (
    ("status",),
    ("status", "--json"),
    ("urls",),
    ("export",),
    ("explain", f"{SEED}later"),
    ("show", f"{SEED}x"),
    ("verify",),
    ("token", "list"),
    ("search", "title"),
)
WRITES = (
    ("token", "create", "somebody"),
    ("resume",),
    ("crawl", "http://b.test/"),
    ("delete", "1", "--yes"),
    ("migrate",),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    filled = fill(tmp_path / "data")
    filled.catalog.database.close()
    monkeypatch.setattr(running, "run_crawl", lambda *_, **__: 0)  # what damage does to a crawl that runs is below
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    return filled.folder


def make_empty(path: Path) -> None:
    path.write_bytes(b"")


def make_text(path: Path) -> None:
    path.write_text("no database, but long enough to have a header of one hundred bytes" * 100)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 20 * PAGE_BYTES])


def cut_in_the_head(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])


def garble(path: Path) -> None:
    """All pages but the first two: those of the schema."""
    kept = path.read_bytes()[: 2 * PAGE_BYTES]
    path.write_bytes(kept + random.Random(7).randbytes(path.stat().st_size - len(kept)))


def garble_the_schema(path: Path) -> None:
    stored = path.read_bytes()
    path.write_bytes(stored[:100] + random.Random(7).randbytes(4 * PAGE_BYTES - 100) + stored[4 * PAGE_BYTES :])


def make_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = (make_empty, make_text, cut, cut_in_the_head, garble, garble_the_schema, make_a_folder)


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_command_says_in_one_line_what_is_damaged(
    damage: Callable[[Path], None], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damage(folder / "nephila.db")
    whole = damage in (cut, garble)  # what is left may be enough for a command
    for command in (*READS, *WRITES):
        code = app.run([*command, "--data", str(folder)])
        out, err = capfd.readouterr()
        assert code in ((0, 1) if whole and command[0] in ("token", "migrate") else (1, 2)), (command, out, err)
        assert "everything holds" not in out
        if code:
            assert err.startswith("nephila: ") and err.count("\n") == 1 and ": " in err, (command, err)
            assert str(folder / "nephila.db") in err or "store is damaged" in err, (command, err)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["garbage", "zeros", "bits"])
def test_no_damage_leads_to_a_traceback(
    kind: str, seed: int, folder: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    chance, path = random.Random(seed), folder / "nephila.db"
    stored = bytearray(path.read_bytes())
    for _ in range(200 if kind == "bits" else 3):
        at = chance.randrange(PAGE_BYTES, len(stored))
        start = at - at % PAGE_BYTES
        if kind == "bits":
            stored[at] ^= 1 << chance.randrange(8)
        else:
            page = bytes(PAGE_BYTES) if kind == "zeros" else chance.randbytes(PAGE_BYTES)
            stored[start : start + PAGE_BYTES] = page
    path.write_bytes(stored)
    for command in (*READS, *WRITES):
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        assert app.run([*command, "--data", str(copy)]) in (0, 1, 2)
        assert len([line for line in capfd.readouterr().err.splitlines() if line.startswith("nephila: ")]) <= 1
        shutil.rmtree(copy)


@pytest.mark.parametrize("name", ["nephila.db-wal", "nephila.db-shm"])
def test_a_damaged_log_costs_no_more_than_its_transactions(
    name: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A log that nobody has open is read by its checksums; what follows the first wrong one never happened."""
    database = SqliteDatabase(folder)
    database.change("move_control")
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    database.close()
    (copy / name).write_bytes(random.Random(7).randbytes((copy / name).stat().st_size))
    for command in READS:
        code = app.run([*command, "--data", str(copy)])
        assert code == 0, (command, capfd.readouterr())


@pytest.mark.parametrize("damage", [make_empty, make_text, cut, garble, make_a_folder])
def test_a_damaged_search_index_is_made_anew_or_named(
    damage: Callable[[Path], None], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["search", "title", "--data", str(folder)]) == 0
    damage(folder / "search.db")
    capfd.readouterr()
    for command in READS:
        code = app.run([*command, "--data", str(folder)])
        err = capfd.readouterr().err
        assert code == 0 or command[0] == "search", (command, err)
        assert code == 0 or (
            err.startswith(f"nephila: the search index {folder / 'search.db'}") and err.count("\n") == 1
        )


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_api_answers_503_and_names_the_damage(damage: Callable[[Path], None], folder: Path) -> None:
    damage(folder / "nephila.db")
    settings = process_settings({"data": folder})
    services = make_services(settings, SystemClock(), lambda: wiring.open_store(settings), Workers())
    with serving(services) as url, httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as api:
        for path in ("/api/v1/crawls", "/api/v1/crawls/1/urls", "/api/v1/workers", "/api/v1/hosts"):
            answer = api.get(path)
            assert answer.status_code == 503, (path, answer.text)
            assert "nephila.db" in answer.json()["error"]["message"]
        assert api.get("/livez").status_code == 200


def site(web: TestWeb) -> str:
    links = [f"/{number}" for number in range(300)]
    web.add({DEFAULT_HOST: {"/": html(*links)} | {link: html() for link in links}})
    return web.url("/")


def garble_the_log(folder: Path) -> None:
    """Where pages of a crawl that runs are: their checksums are looked at after a crash only."""
    log = folder / "nephila.db-wal"
    with log.open("r+b") as file:
        file.seek(32)
        file.write(random.Random(7).randbytes(log.stat().st_size - 32))


def test_a_server_that_meets_damage_ends_and_says_so(tmp_path: Path, web: TestWeb) -> None:
    nephila = Command(tmp_path / "data")
    with nephila.serving("--workers", "1", "--no-index") as (process, url):
        wanted = {"seeds": [site(web)], "settings": {"fetch.allow_private": True, "polite.floor_ms": 0}}
        web.hold(after=100)
        made = httpx.post(f"{url}/api/v1/crawls", json=wanted, timeout=PATIENCE_SECONDS)
        assert made.status_code == 201, made.text
        until(lambda: web.holding)
        garble_the_log(nephila.data)
        web.go_on()
        until(lambda: process.poll() is not None)
        assert process.returncode == 1 and process.stderr is not None
        lines = process.stderr.read().splitlines()
        assert lines[-1].startswith("nephila: ") and "damaged" in lines[-1]
        assert not any("Traceback" in line for line in lines)


def test_a_crawl_that_meets_damage_stops_and_says_so(tmp_path: Path, web: TestWeb) -> None:
    nephila = Command(tmp_path / "data")
    web.hold(after=100)
    crawling = nephila.start("crawl", site(web), "--allow-private", "--delay", "0", "--quiet")
    until(lambda: web.holding)
    garble_the_log(nephila.data)
    web.go_on()
    out, err = crawling.communicate(timeout=PATIENCE_SECONDS)
    assert crawling.returncode == 1, (out, err)
    last = err.splitlines()[-1]
    assert last.startswith("nephila: ") and "damaged" in last and "backup" in last
    assert "Traceback" not in err and "completed" not in out
