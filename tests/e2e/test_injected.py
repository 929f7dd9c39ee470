"""A fault of ours in any step of a visit ends one URL, with a bounded number of requests, and never the crawl.

On one store: what raises is the worker's.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import structlog

from nephila import log
from nephila.models import Reason, UrlState
from nephila.settings import LogFormat, LogLevel
from tests.e2e.harness import Place, run_here
from tests.site.fixtures import FAST, html, moved
from tests.site.server import Page, TestWeb

GOOD, VICTIM, ADDRESS = "good.test", "victim.test", "127.0.0.77"
RULES = b"User-agent: *\nDisallow: /closed\n# of "
POISON = (UrlState.FAILED, Reason.POISON)
UNREACHABLE = (UrlState.EXCLUDED, Reason.ROBOTS_UNREACHABLE)

# Where the fault is, and how the victim's page ends. It strikes whatever is called with something of the victim.
STEPS: dict[str, tuple[str, tuple[UrlState, Reason]]] = {
    "what becomes of the row": ("nephila.worker.dispatcher.dispatch", POISON),
    "robots.txt, its redirect": ("nephila.worker.robots_visit.robots_target", UNREACHABLE),
    "robots.txt, decoded": ("nephila.worker.robots_visit.answer_of", UNREACHABLE),
    "robots.txt, its record": ("nephila.worker.robots_visit.record_of", UNREACHABLE),
    "the visit": ("nephila.worker.crawls.LiveCrawl.request", UNREACHABLE),
    "the look-up": ("nephila.fetch.resolver.Resolver.known", UNREACHABLE),
    "the target": ("nephila.fetch.curl.target_of", UNREACHABLE),
    "the addresses": ("nephila.fetch.curl.permitted", UNREACHABLE),
    "the request": ("nephila.fetch.wire.Wire.aim", UNREACHABLE),
    "the answer": ("nephila.fetch.curl._fill", UNREACHABLE),
    "the fetch": ("nephila.fetch.curl.CurlFetcher.fetch", UNREACHABLE),
    "the meter": ("nephila.worker.metering.Metering.fetched", UNREACHABLE),
    "the verdict": ("nephila.worker.visit.verdict_of", POISON),
    "the host's pace": ("nephila.worker.visit.host_change", POISON),
    "the page to read": ("nephila.worker.visit.read_request", POISON),
    "decoding": ("nephila.extract.html_reader.undo", POISON),
    "the type": ("nephila.extract.html_reader.is_read", POISON),
    "the extraction": ("nephila.extract.html_reader.page_of", POISON),
    "the admission of links": ("nephila.extract.html_reader.judged", POISON),
    "the admission of redirects": ("nephila.urls.admission.Admission.judge", POISON),
    "the ending": ("nephila.worker.visit.ended", POISON),
    "the log": ("nephila.log.VisitLog.url_crawled", (UrlState.VISITED, Reason.NONE)),
    "the archive": ("nephila.archive.writer.WarcWriter.append", POISON),
}


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """Every visit is logged, whatever tests before have configured."""
    log.configure(LogLevel.INFO, LogFormat.JSON, io.StringIO())
    yield
    structlog.reset_defaults()


def strike(monkeypatch: pytest.MonkeyPatch, where: str, hit: Callable[[str], bool]) -> list[str]:
    """Let this function raise when any argument speaks of what `hit` names; answers when it did."""
    place, _, name = where.rpartition(".")
    owner: Any
    try:
        owner = import_module(place)
    except ImportError:
        module, _, kind = place.rpartition(".")
        owner = getattr(import_module(module), kind)
    real, struck = getattr(owner, name), []

    def raising(*given: Any, **named: Any) -> Any:
        if any(hit(repr(value)) for value in (*given, *named.values())):
            struck.append(where)
            raise RuntimeError("injected")
        return real(*given, **named)

    monkeypatch.setattr(owner, name, raising)
    return struck


@pytest.mark.parametrize("step", STEPS)
def test_a_fault_in_any_step_ends_one_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    where, ending = STEPS[step]
    page = moved("/moved") if step == "the admission of redirects" else html("/linked", body=VICTIM)
    good = {"/": html("/a", "/b"), "/a": html(), "/b": html(), "/robots.txt": Page(RULES)}
    sites = {GOOD: good, VICTIM: {"/": page, "/robots.txt": Page(RULES + VICTIM.encode())}}
    with TestWeb(sites) as web:
        place = Place(tmp_path / "data", resolve={GOOD: "127.0.0.1", VICTIM: ADDRESS})
        settings = FAST | {"robots.retry_ms": 1, "robots.attempts_max": 3, "retry.max": 1}
        seeds = [web.url("/", host) for host in (GOOD, VICTIM)]
        crawl = place.start(seeds, settings)
        struck = strike(monkeypatch, where, lambda text: VICTIM in text or ADDRESS in text)
        done = run_here(place, crawl.id)
        asked = Counter((hit.host, hit.path) for hit in web.hits())
        rows = {row.url: (row.state, row.reason) for row in place.rows(crawl.id)}
        place.close()
    assert struck, "the fault was there"
    assert done.state.over
    assert rows[web.url("/", VICTIM)] == ending
    assert {url: found for url, found in rows.items() if GOOD in url} == {
        web.url(path, GOOD): (UrlState.VISITED, "") for path in ("/", "/a", "/b")
    }
    assert max(asked.values()) <= 3 and asked[GOOD, "/"] == 1, asked
