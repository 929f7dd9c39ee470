"""What is counted as it happens equals a count of the rows, at any moment."""

from collections import Counter

import pytest

from nephila.api.live import overview as crawl_overview
from nephila.clock import VirtualClock
from nephila.control.graph import StatusWord, status_word
from nephila.control.progress import Progress
from nephila.control.statistics import crawl_statistics, overview
from nephila.errors import DiskFull
from nephila.frontier.catalog import Catalog
from nephila.frontier.statements import migrations
from nephila.frontier.store import ERRORS_PER_FLUSH, Crawl, ErrorNote, Outcome, Row
from nephila.models import (
    DEPTHS_MAX,
    ERRORS,
    EXPLAINED_ERRORS,
    TERMINAL,
    Kind,
    PageRecord,
    Reason,
    UrlState,
    counted_type,
)
from tests.contract.backend import Backend, PostgresBackend, SqliteBackend
from tests.contract.counts import COUNTED, breakdown, counted_rows
from tests.contract.session import Session, all_urls, child, ended, seeded

A = "http://a.test/"


def answered(
    row: Row, crawl: Crawl, status: int, content_type: str | None, state: UrlState, reason: str = ""
) -> Outcome:
    page = PageRecord(status=status, content_type=content_type, fetched_at=1)
    return Outcome(row.id, crawl.id, state, reason, 1, page)


def test_urls_are_counted_by_state_reason_status_type_and_depth(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, *(f"{A}{number}" for number in range(9)))
    session = Session(backend)
    rows = session.load()
    session.flush(
        outcomes=[
            ended(rows[0], crawl, f"{A}x", f"{A}y", f"{A}1"),
            answered(rows[1], crawl, 404, "Text/HTML; charset=utf-8", UrlState.NOT_FOUND),
            answered(rows[2], crawl, 404, None, UrlState.NOT_FOUND),
            answered(rows[3], crawl, 503, "application/json", UrlState.HTTP_ERROR, Reason.HTTP_5XX),
            Outcome(rows[4].id, crawl.id, UrlState.FAILED, Reason.TLS, 1, PageRecord(error="expired")),
            Outcome(rows[5].id, crawl.id, UrlState.EXCLUDED, Reason.ROBOTS, 0),
        ],
        children=[
            child(crawl, f"{A}far", depth=DEPTHS_MAX + 7),
            child(crawl, f"{A}2", depth=9),
            child(crawl, "http://b.test/robots.txt", depth=3, kind=Kind.ROBOTS),
        ],
    )
    found = breakdown(catalog, crawl)
    assert found == counted_rows(catalog, crawl) == {
        "urls": 13, "visited": 1, "not_found": 2, "http_error": 1, "failed": 1, "excluded": 1,
        "reason:http_5xx": 1, "reason:tls": 1, "reason:robots": 1,
        "status:200": 1, "status:404": 2, "status:503": 1,
        "type:text/html": 2, "type:none": 1, "type:application/json": 1,
        "depth:0": 9, "depth:1": 2, "depth:deeper": 1,
    }  # fmt: skip
    shown = crawl_statistics(catalog, crawl)
    assert shown.statuses == {"200": 1, "404": 2, "503": 1}
    assert shown.content_types == {"text/html": 2, "application/json": 1, "none": 1}
    assert shown.depths == {"0": 9, "1": 2, "deeper": 1}


def test_what_had_no_permit_is_not_counted(backend: Backend, catalog: Catalog) -> None:
    """A row that somebody ended meanwhile keeps that end: its reason, status and type count once."""
    crawl = seeded(catalog, A, f"{A}2")
    session = Session(backend)
    one, two = session.load()
    first = [ended(one, crawl)]
    session.flush(outcomes=first)
    late = answered(one, crawl, 503, "text/plain", UrlState.HTTP_ERROR, Reason.HTTP_5XX)
    session.flush(outcomes=[late, answered(two, crawl, 404, "text/plain", UrlState.NOT_FOUND)])
    assert breakdown(catalog, crawl) == counted_rows(catalog, crawl)
    assert "status:503" not in catalog.tallies(crawl.id)


def test_a_flush_that_failed_and_is_repeated_counts_once(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    batch = session.batch(outcomes=[ended(row, crawl, f"{A}2")], children=[child(crawl, f"{A}3", depth=4)])
    with backend.full_disk(session.frontier, after=3), pytest.raises(DiskFull):
        session.send(batch)
    for _ in range(2):
        session.send(batch)
        assert breakdown(catalog, crawl) == counted_rows(catalog, crawl)


def test_content_types_have_few_names_whatever_servers_say(
    backend: Backend, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nephila.frontier.session.TYPES_MAX", 3)
    crawl = seeded(catalog, *(f"{A}{number}" for number in range(20)))
    session = Session(backend)
    rows = session.load()
    said = ["a/1", "a/2", "x" * 101, "a/3", "a/1", "a/4", "zeichen/ß", "a/5"]
    session.flush(outcomes=[answered(row, crawl, 200, said[n], UrlState.VISITED) for n, row in enumerate(rows[:8])])
    known = {"a/1": 2, "a/2": 1, "other": 5}
    assert crawl_statistics(catalog, crawl).content_types == known
    backend.kill(session.frontier)
    heir = Session(backend)
    again = ["b/1", "b/2", "a/1"]
    left = heir.load()
    heir.flush(
        outcomes=[answered(row, crawl, 200, said, UrlState.VISITED) for row, said in zip(left, again, strict=False)]
    )
    assert crawl_statistics(catalog, crawl).content_types == {"a/1": 3, "a/2": 1, "other": 7}


def test_crawls_of_an_older_version_are_counted_once_by_the_migration(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, *(f"{A}{number}" for number in range(80)))
    session = Session(backend)
    rows = session.load()
    kinds = ["text/html", "TEXT/html ;charset=x", None, "", "image/png,image/png", "ß/ß", "y" * 101]
    outcomes = [answered(row, crawl, 200 + n, kinds[n], UrlState.VISITED) for n, row in enumerate(rows[:7])]
    outcomes[0].children = [child(crawl, f"{A}d{depth}", depth=depth) for depth in (1, 2, 2, 5000)]
    session.flush(outcomes=outcomes, children=[child(crawl, f"{A}robots.txt", depth=2, kind=Kind.ROBOTS)])
    counted = breakdown(catalog, crawl)
    assert isinstance(backend, SqliteBackend | PostgresBackend)
    with backend.database().write() as db:
        for prefix in COUNTED:
            db.execute(f"DELETE FROM tallies WHERE name LIKE '{prefix}%'")
    assert breakdown(catalog, crawl) != counted
    steps = migrations("sqlite" if isinstance(backend, SqliteBackend) else "postgres")
    (step,) = [step for step in steps if "status:" in step]
    with backend.database().write() as db:
        db.execute(step)
    assert breakdown(catalog, crawl) == counted


# --- every figure of a large crawl ------------------------------------------------------------------------------------

URLS, HOSTS = 50_000, 5
ENDINGS = (  # what becomes of a URL by its number, and how its last answer looked
    (UrlState.VISITED, "", 200, "text/html"),
    (UrlState.VISITED, "", 200, "text/html; charset=utf-8"),
    (UrlState.VISITED, Reason.CONTENT_TYPE, 200, "image/png"),
    (UrlState.NOT_FOUND, "", 404, "text/html"),
    (UrlState.FORBIDDEN, "", 403, None),
    (UrlState.REDIRECTED, "", 301, None),
    (UrlState.REDIRECTED, Reason.REDIRECT_LOOP, 302, None),
    (UrlState.HTTP_ERROR, Reason.HTTP_5XX, 503, "application/json"),
    (UrlState.HTTP_ERROR, "", 304, None),
    (UrlState.FAILED, Reason.TIMEOUT, None, None),
    (UrlState.EXCLUDED, Reason.ROBOTS, None, None),
    (UrlState.EXCLUDED, Reason.ROBOTS_UNREACHABLE, None, None),
    (UrlState.VISITED, "", 200, "text/html"),
)


def large_crawl(catalog: Catalog) -> Crawl:
    crawl = seeded(catalog, *(f"http://h{number}.test/" for number in range(HOSTS)))
    for start in range(HOSTS, URLS, 10_000):
        numbers = range(start, min(URLS, start + 10_000))
        catalog.add_seeds(crawl.id, [child(crawl, f"http://h{n % HOSTS}.test/{n}", depth=n % 7 + 1) for n in numbers])
    return crawl


class Life:
    """A worker that ends what it holds in all ways there are, and counts as a worker does."""

    def __init__(self, backend: Backend, crawl: Crawl) -> None:
        self.session, self.crawl = Session(backend), crawl
        self.session.load(window=URLS)
        self.asked: Counter[int] = Counter()

    def end(self, rows: list[Row], in_flight: list[Row]) -> None:
        for start in range(0, len(rows), 5000):
            part = rows[start : start + 5000]
            outcomes = [self._outcome(row) for row in part]
            tries = [outcome for outcome in outcomes if outcome.state is not UrlState.EXCLUDED]
            wrong = [o for o in outcomes if o.state in (UrlState.HTTP_ERROR, UrlState.FAILED)]
            noted = [ErrorNote(self.crawl.id, o.url_id, o.reason or o.state, "", 1) for o in wrong]
            asked = {outcome.url_id for outcome in tries}
            for window in self.session.held.values():
                self.asked[window.queue] += sum(row.id in asked for row in window.rows)
            self.session.flush(
                outcomes=outcomes,
                tallies={(self.crawl.id, "requests"): len(tries), (self.crawl.id, "bytes"): 10 * len(tries)},
                errors=noted[:ERRORS_PER_FLUSH],
                errors_more=max(0, len(noted) - ERRORS_PER_FLUSH),
                fetched=list(self.asked.items()),
                in_flight=[(row.id, 1) for row in in_flight],
            )

    def _outcome(self, row: Row) -> Outcome:
        state, reason, status, content_type = ENDINGS[row.id % len(ENDINGS)]
        if state is UrlState.EXCLUDED:
            return Outcome(row.id, self.crawl.id, state, reason, 0)
        page = PageRecord(status=status, content_type=content_type, body_bytes=10, fetched_at=1)
        return Outcome(row.id, self.crawl.id, state, reason, 1, page)


def shown(catalog: Catalog, crawl: Crawl) -> dict[str, object]:
    """Every figure of the crawl's overview, of its Hosts tab and of the strip over all crawls."""
    found = Progress(catalog, crawl.id, VirtualClock()).snapshot().as_json()
    known, counts, all_crawls = crawl_statistics(catalog, crawl), catalog.tallies(crawl.id), overview(catalog)
    fields = ("total", "completed", "pending", "in_progress", "failed")
    hosts = [view.queue for view in catalog.crawl_hosts(crawl.id, "", 100).hosts]
    return {
        **{name: found[name] for name in ("urls", "queued", "in_progress", "pages", "requests", "bytes", "errors")},
        "states": {str(state): n for state, n in found["states"].items()},
        "document 001": [crawl_overview(crawl, counts)[name] for name in fields],
        "status_counts": {str(word): n for word, n in known.status_counts.items()},
        "depths": known.depths,
        "statuses": known.statuses,
        "types": known.content_types,
        "depth_max": known.depth_max,
        "hosts": {queue.host: (queue.open, queue.fetched, queue.open_more) for queue in hosts},
        "hosts_count": known.hosts_count,
        "all crawls": (all_crawls.queued, all_crawls.in_progress, all_crawls.errors_last_hour, all_crawls.sizes.pages),
    }


def counted(catalog: Catalog, crawl: Crawl) -> dict[str, object]:
    """The same, of the rows alone."""
    rows = list(all_urls(catalog, crawl).values())
    states = Counter(row.state for row in rows)
    tried = [row for row in rows if row.state.terminal and row.state is not UrlState.EXCLUDED]
    failed = [row for row in rows if row.state in ERRORS]
    wrong = [row for row in rows if row.reason in (Reason.ROBOTS_UNREACHABLE, Reason.REDIRECT_LOOP)]
    kinds = [str(row.state) if row.state in EXPLAINED_ERRORS else row.reason or str(row.state) for row in failed]
    ended = sum(states[state] for state in TERMINAL)
    hosts = {row.host for row in rows}
    opened, asked = Counter(row.host for row in rows if not row.state.terminal), Counter(row.host for row in tried)
    noted = [row for row in failed if row.state not in EXPLAINED_ERRORS]
    words = Counter(str(status_word(row.state)) for row in rows)
    types = Counter(counted_type(row.content_type) for row in rows if row.status is not None)
    return {
        "urls": len(rows),
        "queued": states[UrlState.QUEUED],
        "in_progress": states[UrlState.IN_PROGRESS],
        "pages": sum(row.state is UrlState.VISITED and row.reason != Reason.CONTENT_TYPE for row in rows),
        "requests": len(tried),
        "bytes": sum(10 for _ in tried),
        "errors": dict(Counter([*kinds, *(row.reason for row in wrong)])),
        "states": {str(state): n for state, n in states.items() if state.terminal},
        "document 001": [
            len(rows), ended - len(failed), states[UrlState.QUEUED], states[UrlState.IN_PROGRESS], len(failed)
        ],
        "status_counts": {str(word): words[word] for word in StatusWord},
        "depths": {str(depth): n for depth, n in sorted(Counter(row.depth for row in rows).items())},
        "statuses": {str(status): n for status, n in Counter(row.status for row in rows if row.status).items()},
        "types": dict(types),
        "depth_max": max(row.depth for row in rows),
        "hosts": {host: (opened[host], asked[host], False) for host in hosts},
        "hosts_count": len(hosts),
        "all crawls": (states[UrlState.QUEUED], states[UrlState.IN_PROGRESS], len(noted), states[UrlState.VISITED]),
    }  # fmt: skip


def test_every_figure_of_a_large_crawl_is_a_count_of_its_rows(backend: Backend, catalog: Catalog) -> None:
    crawl = large_crawl(catalog)
    life = Life(backend, crawl)
    rows = [row for window in life.session.held.values() for row in window.rows]
    assert len(rows) == URLS
    life.end(rows[: URLS // 2], in_flight=rows[URLS // 2 :][:64])
    during = shown(catalog, crawl)
    assert during == counted(catalog, crawl)
    assert (during["urls"], during["in_progress"]) == (URLS, 64)
    life.end(rows[URLS // 2 :], in_flight=[])
    after = shown(catalog, crawl)
    assert after == counted(catalog, crawl)
    assert after["queued"] == 0
