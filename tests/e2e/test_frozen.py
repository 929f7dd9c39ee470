"""A process that is frozen inside a flush of the embedded store: readers never notice, writers say who it is."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from nephila.cli.output import EXIT_BUSY
from nephila.models import CrawlState
from tests.command import Command, children_of
from tests.e2e.harness import Cluster, Place, assert_whole
from tests.patience import PATIENCE_SECONDS, until
from tests.site.graphs import generate
from tests.site.server import TestWeb

READS = (
    ("status",),
    ("status", "--json"),
    ("urls", "1", "--limit", "3"),
    ("export", "1"),
    ("explain", "1", "{url}"),
    ("show", "1", "{url}"),
    ("token", "list"),
    ("verify",),
)
WRITES = (
    ("token", "create", "somebody"),
    ("resume", "1", "--workers", "0"),
    ("crawl", "http://127.0.0.1:9/", "--allow-private"),
    ("delete", "2", "--yes"),
)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that asks the next flush to freeze its process."""
    folder = Path(__file__).parent / "frozen"
    monkeypatch.setenv("NEPHILA_TEST_FREEZE", str(tmp_path / "freeze"))
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return tmp_path / "freeze"


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@contextmanager
def frozen(asked: Path, pids: Callable[[], list[int]]) -> Iterator[int]:
    """Freeze one of the processes inside its flush; its id."""
    asked.touch()
    pid = until(lambda: next((pid for pid in pids() if is_stopped(pid)), 0), "a worker that is frozen in its flush")
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_reading_never_waits_for_a_frozen_writer_and_writing_says_who_it_is(
    tmp_path: Path, web: TestWeb, asked: Path
) -> None:
    graph = generate(42424, 300, web.port, hosts=2)
    web.add(graph.sites)
    place = Place(tmp_path / "data")
    place.start(list(graph.seeds), graph.settings)
    place.store().catalog.steer(place.start(["http://127.0.0.1:9/never"]).id, CrawlState.PAUSED)
    nephila = Command(place.folder)
    nephila.environment |= {name: os.environ[name] for name in ("NEPHILA_TEST_FREEZE",)}
    web.hold(after=100)
    crawling = nephila.start("resume", "1", "--quiet")
    until(lambda: web.holding)
    url = until(lambda: next((row.url for row in place.rows(1) if row.state == "visited"), ""))
    with frozen(asked, lambda: children_of(crawling.pid)) as pid:
        web.go_on()  # not before: the crawl might be over when the flush is asked to freeze
        for command in READS:
            code, _, err = nephila(*(word.format(url=url) for word in command))
            assert (code, err) == (0, ""), command
        for command in WRITES:
            code, _, err = nephila(*command)
            assert code == EXIT_BUSY, (command, err)
            assert f"process {pid} (nephila worker) " in err and f"kill -CONT {pid}" in err and " since " in err
            assert "Traceback" not in err
        with (
            nephila.serving("--workers", "0", "--no-index") as (_, server),
            httpx.Client(base_url=server, timeout=PATIENCE_SECONDS) as api,
        ):
            for path in ("/api/v1/crawls", "/api/v1/crawls/1", "/api/v1/crawls/1/urls", "/api/v1/workers", "/livez"):
                assert api.get(path).status_code == 200, path
            refused = api.post("/api/v1/blocks", json={"values": ["b.test"]})
            assert refused.status_code == 503 and f"process {pid} " in refused.json()["error"]["message"]
            assert is_stopped(pid), "all this while it was frozen"
    _, err = crawling.communicate(timeout=PATIENCE_SECONDS)
    assert crawling.returncode == 0, err
    assert_whole(place, 1, graph)
    catalog = place.store().catalog
    assert [crawl.id for crawl in catalog.crawls()] == [2, 1], "the commands that gave up changed nothing"
    place.close()


def test_the_other_workers_wait_and_go_on(tmp_path: Path, web: TestWeb, asked: Path) -> None:
    graph = generate(42424, 300, web.port, hosts=4)
    web.add(graph.sites)
    place = Place(tmp_path / "data", workers=2)
    crawl = place.start(list(graph.seeds), graph.settings)
    with Cluster(place) as cluster:
        cluster.ready()
        with frozen(asked, lambda: cluster.supervisor.pids) as pid:
            until(lambda: cluster.supervisor.stalled)
            assert f"process {pid} (nephila worker) " in cluster.supervisor.stalled
            assert is_stopped(pid)
        cluster.run_crawl(crawl.id)
        until(lambda: not cluster.supervisor.stalled, "a worker that goes on")
    assert_whole(place, crawl.id, graph)
    place.close()
