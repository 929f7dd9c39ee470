"""Document 004, line by line: crawl jobs and their administration."""

import csv
import hashlib
import io
from contextlib import closing
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from nephila.api.faces.jobs import (
    JobStatus,
    NewJob,
    error_rate,
    job_status,
    settings_for,
    worker_of,
)
from nephila.clock import SystemClock
from nephila.frontier.records import WorkerRow
from nephila.frontier.store import ERRORS_PER_FLUSH, Batch, ErrorNote, Outcome, Vitals, WorkerInfo
from nephila.models import CrawlState, PageRecord, UrlState
from nephila.profiles import ScopeMode
from nephila.wiring import new_follower, open_frontier
from tests.api.faced import Face
from tests.e2e.harness import close
from tests.site.fixtures import html
from tests.site.server import Page, TestWeb

SEED = "https://example.com/"
UNKNOWN = "00000000-0000-0000-0000-000000000000"


def submit(face: Face, *seeds: str, **wishes: Any) -> str:
    answer = face.client.post("/api/crawl/jobs", json={"seedUrls": seeds or [SEED], **wishes})
    assert answer.status_code == 201, answer.text
    found: str = answer.json()["jobId"]
    return found


def crawl_of(face: Face, job: str) -> int:
    crawl = face.catalog.crawl_by_uuid(job)
    assert crawl is not None
    return crawl.id


# --- jobs -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("A-40", "S-05")
def test_a_job_is_submitted(face: Face) -> None:
    body = {
        "seedUrls": ["https://example.com"],
        "maxDepth": 3,
        "maxPages": 10000,
        "domainRestriction": "same-domain",
        "crawlDelay": 1,
    }
    answer = face.client.post("/api/crawl/jobs", json=body)
    assert answer.status_code == 201
    made = answer.json()
    assert set(made) == {"jobId", "status", "createdAt"}
    assert str(UUID(made["jobId"])) == made["jobId"]
    assert made["status"] == "pending"
    assert made["createdAt"].endswith("Z")


@pytest.mark.requirement("A-40", "A-46")
def test_left_out_parameters_are_the_documented_ones(embedded: Face) -> None:
    given = {"maxDepth": 3, "maxPages": 10000, "domainRestriction": "same-domain", "crawlDelay": 1}
    bare, full = submit(embedded), submit(embedded, **given)
    catalog = embedded.catalog
    assert catalog.crawl(crawl_of(embedded, bare)).settings == catalog.crawl(crawl_of(embedded, full)).settings


@pytest.mark.requirement("A-40", "A-46", "SC-06", "P-08", "K36", "K43")
@pytest.mark.parametrize(
    ("wishes", "group", "name", "value"),
    [
        ({}, "scope", "max_depth", 3),
        ({}, "limits", "max_pages", 10_000),
        ({}, "scope", "mode", ScopeMode.SAME_DOMAIN),
        ({}, "polite", "floor_ms", 1000),
        ({}, "fetch", "total_timeout_ms", 10_000),
        ({}, "redirects", "max_hops", 3),
        ({"maxDepth": 2}, "scope", "max_depth", 2),
        ({"maxPages": 100}, "limits", "max_pages", 100),
        ({"domainRestriction": "none"}, "scope", "mode", ScopeMode.ANY),
        ({"crawlDelay": 2}, "polite", "floor_ms", 2000),
        ({"crawlDelay": 0.25}, "polite", "floor_ms", 250),
    ],
)
def test_parameters_become_settings_of_the_jobs_profile(
    wishes: dict[str, Any], group: str, name: str, value: object
) -> None:
    settings = settings_for(NewJob.model_validate({"seedUrls": [SEED], **wishes}), allow_private=False)
    assert settings.profile == "jobs"
    assert getattr(getattr(settings, group), name) == value


@pytest.mark.requirement("A-40")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "seedUrls"),
        ({"seedUrls": []}, "seedUrls"),
        ({"seedUrls": "https://example.com"}, "seedUrls"),
        ({"seedUrls": ["no address"]}, "seedUrls"),
        ({"seedUrls": [SEED], "maxDepth": -1}, "maxDepth"),
        ({"seedUrls": [SEED], "maxPages": 0}, "maxPages"),
        ({"seedUrls": [SEED], "domainRestriction": "some"}, "domainRestriction"),
        ({"seedUrls": [SEED], "crawlDelay": -1}, "crawlDelay"),
        ({"seedUrls": [SEED], "crawlDelay": "soon"}, "crawlDelay"),
        ({"seedUrls": [SEED], "speed": 1}, "speed"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_wrong_job_is_refused_with_its_field(bare: Face, body: dict[str, Any], field: str) -> None:
    answer = bare.client.post("/api/crawl/jobs", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field
    assert bare.catalog.crawls() == []


@pytest.mark.requirement("A-41", "C-05")
def test_the_status_of_a_job_that_waits(face: Face) -> None:
    job = submit(face)
    found = face.client.get(f"/api/crawl/jobs/{job}").json()
    assert (
        found.items() >= {"jobId": job, "status": "pending", "pagesCrawled": 0, "urlsInQueue": 1, "errors": 0}.items()
    )
    assert found["startedAt"] <= found["estimatedCompletion"]
    assert face.client.get(f"/api/crawl/jobs/{crawl_of(face, job)}").json()["jobId"] == job


@pytest.mark.requirement("A-41")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"/api/crawl/jobs/{UNKNOWN}"),
        ("GET", f"/api/crawl/jobs/{UNKNOWN}/export"),
        ("GET", f"/api/crawl/search?q=x&jobId={UNKNOWN}"),
        ("POST", f"/api/admin/jobs/{UNKNOWN}/pause"),
        ("POST", f"/api/admin/jobs/{UNKNOWN}/resume"),
        ("POST", f"/api/admin/jobs/{UNKNOWN}/cancel"),
    ],
)
def test_an_unknown_job_is_not_found(bare: Face, method: str, path: str) -> None:
    answer = bare.client.request(method, path)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.requirement("A-41", "S-05")
@pytest.mark.parametrize(
    ("state", "reason", "begun", "status"),
    [
        (CrawlState.RUNNING, "", False, JobStatus.PENDING),
        (CrawlState.RUNNING, "", True, JobStatus.RUNNING),
        (CrawlState.PAUSED, "", True, JobStatus.PENDING),
        (CrawlState.ENDING, "limit_pages", True, JobStatus.RUNNING),
        (CrawlState.ENDING, "cancelled", True, JobStatus.FAILED),
        (CrawlState.COMPLETED, "", True, JobStatus.COMPLETED),
        (CrawlState.CANCELLED, "cancelled", True, JobStatus.FAILED),
        (CrawlState.FAILED, "", False, JobStatus.FAILED),
    ],
)
def test_words_of_jobs(state: CrawlState, reason: str, begun: bool, status: JobStatus) -> None:
    assert job_status(state, reason, begun=begun) is status


# --- search ---------------------------------------------------------------------------------------------------------


def indexed(face: Face) -> None:
    store = face.place.store()
    follower = new_follower(store, SystemClock())
    with closing(follower):
        while follower.step():
            pass


@pytest.mark.requirement("A-42", "Q-01")
def test_crawled_pages_are_searched(face: Face, web: TestWeb) -> None:
    words = "some other words " * 30
    web.add(
        {
            "127.0.0.1": {
                "/robots.txt": Page(status=404),
                "/": html("/page1", "/page2"),
                "/page1": Page(f"<title>Example Page</title><p>{words} the keyword in context {words}</p>".encode()),
                "/page2": Page(b"<p>without a title: keyword</p>"),
            }
        }
    )
    jobs = [submit(face, web.url("/"), crawlDelay=0) for _ in range(2)]
    for job in jobs:
        face.crawl(crawl_of(face, job))
    indexed(face)
    found = face.client.get("/api/crawl/search", params={"q": "keyword", "jobId": jobs[0], "limit": 10}).json()
    assert set(found) == {"results", "total"}
    assert (found["total"], len(found["results"])) == (2, 2)
    by_url = {page["url"]: page for page in found["results"]}
    page = by_url[web.url("/page1")]
    assert set(page) == {"url", "title", "snippet", "crawledAt"}
    assert page["title"] == "Example Page"
    assert page["snippet"].startswith("...") and page["snippet"].endswith("...")
    assert "the keyword in context" in page["snippet"]
    exported = face.client.get(f"/api/crawl/jobs/{jobs[0]}/export").json()
    assert page["crawledAt"] == next(row["crawledAt"] for row in exported if row["url"] == page["url"])
    assert by_url[web.url("/page2")]["title"] is None
    everywhere = face.client.get("/api/crawl/search", params={"q": "keyword", "limit": 3}).json()
    assert (everywhere["total"], len(everywhere["results"])) == (4, 3)


@pytest.mark.requirement("A-42")
def test_a_search_without_a_word_is_refused(bare: Face) -> None:
    for query in ("", "q=", "q=%2A", "q=-keyword"):
        answer = bare.client.get(f"/api/crawl/search?{query}")
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "q")


# --- administration -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("AD-03", "S-05")
def test_pause_resume_and_cancel(face: Face) -> None:
    job = submit(face)
    path = f"/api/admin/jobs/{job}"
    steps = [("pause", "paused", "pending"), ("resume", "running", "pending"), ("cancel", "cancelled", "failed")]
    for verb, state, status in steps:
        answer = face.client.post(f"{path}/{verb}")
        assert answer.status_code == 200, answer.text
        assert (answer.json()["state"], answer.json()["status"]) == (state, status)
        shown = face.client.get(f"/api/crawl/jobs/{job}").json()
        assert (shown["state"], shown["status"]) == (state, status)
    assert shown["reason"] == "cancelled"
    assert face.client.post(f"{path}/pause").status_code == 409
    face.crawl(crawl_of(face, job))
    assert face.client.get(f"/api/crawl/jobs/{job}").json()["state"] == "cancelled"
    for verb in ("pause", "resume", "cancel"):
        assert face.client.post(f"{path}/{verb}").status_code == 409


@pytest.mark.requirement("AD-04", "AD-10", "SC-11")
@pytest.mark.parametrize("reason", ["spam", "illegal content"])
def test_blacklist(face: Face, reason: str) -> None:
    answer = face.client.post("/api/admin/blacklist", json={"domain": "Spam-Site.com", "reason": reason})
    assert answer.status_code == 201
    assert answer.json().items() >= {"domain": "spam-site.com", "reason": reason}.items()
    (rule,) = face.place.store().rulebook.rulings().blocks
    assert (rule.kind, rule.value, rule.reason) == ("domain", "spam-site.com", reason)


@pytest.mark.requirement("AD-04")
@pytest.mark.parametrize(
    "body", [{}, {"domain": ""}, {"domain": "a b"}, {"domain": "a.test/x"}, {"domain": "a", "x": 1}]
)
def test_a_wrong_blacklisting_is_refused(bare: Face, body: dict[str, Any]) -> None:
    assert bare.client.post("/api/admin/blacklist", json=body).status_code == 422
    assert bare.place.store().rulebook.rulings().blocks == ()


@pytest.mark.requirement("AD-05", "P-17", "K36")
def test_the_global_rate_limit_is_in_seconds(face: Face) -> None:
    answer = face.client.post("/api/admin/config/rate-limit", json={"defaultCrawlDelay": 2})
    assert (answer.status_code, answer.json()) == (200, {"defaultCrawlDelay": 2})
    assert face.place.store().rulebook.rulings().floor_ms == 2000


@pytest.mark.requirement("AD-05")
@pytest.mark.parametrize("body", [{}, {"defaultCrawlDelay": -1}, {"defaultCrawlDelay": "x"}, {"floor": 1}])
def test_a_wrong_rate_limit_is_refused(bare: Face, body: dict[str, Any]) -> None:
    assert bare.client.post("/api/admin/config/rate-limit", json=body).status_code == 422
    assert bare.place.store().rulebook.rulings().floor_ms == 0


@pytest.mark.requirement("AD-01")
def test_statistics_have_the_documented_fields(face: Face) -> None:
    submit(face)
    found = face.client.get("/api/admin/stats").json()
    assert {group: set(values) for group, values in found.items()} == {
        "workers": {"active", "total"},
        "queue": {"pendingUrls", "visitedUrls"},
        "throughput": {"pagesPerSecond", "last1min", "last5min"},
        "errors": {"last1hour", "errorRate"},
        "storage": {"totalPages", "totalSizeGB"},
    }
    assert found["queue"] == {"pendingUrls": 1, "visitedUrls": 0}
    assert found["workers"] == {"active": 0, "total": 0}


@pytest.mark.requirement("AD-01")
@pytest.mark.parametrize(("pages", "errors", "rate"), [(98, 2, 0.02), (0, 0, 0.0), (0, 5, 1.0)])
def test_error_rate(pages: int, errors: int, rate: float) -> None:
    assert error_rate(pages, errors) == rate


@pytest.mark.requirement("AD-02", "AD-07", "W-09")
def test_a_worker_is_shown_with_its_health() -> None:
    row = WorkerRow(
        id=1,
        name="here",
        pid=7,
        version="1",
        started_at=1_700_000_000_000,
        seen_at=1_700_000_060_000,
        alive=True,
        partitions=256,
        in_flight=1,
        flushes=9,
        vitals=Vitals(5234, pages_per_s=3.0, cpu=0.5, rss_bytes=1 << 20, received_per_s=2e6, sent_per_s=3e4),
        current=("https://example.com/page123",),
    )
    assert worker_of(row, 1_700_003_600_000).model_dump(by_alias=True) == {
        "workerId": "worker1",
        "name": "here",
        "status": "active",
        "currentUrl": "https://example.com/page123",
        "pagesCrawled": 5234,
        "uptimeSeconds": 3600,
        "lastHeartbeat": "2023-11-14T22:14:20.000Z",
        "cpu": 0.5,
        "memoryBytes": 1 << 20,
        "receivedBytesPerSecond": 2e6,
        "sentBytesPerSecond": 3e4,
    }
    gone = worker_of(replace(row, alive=False, current=()), 1_700_003_600_000)
    assert (gone.status, gone.uptime_seconds, gone.current_url) == ("gone", 60, None)


@pytest.mark.requirement("AD-02", "AD-06")
def test_workers_and_errors_come_from_the_store(face: Face) -> None:
    job = submit(face)
    frontier = open_frontier(face.place.settings())
    number = frontier.join(WorkerInfo("here", 1, "0"))
    frontier.lease({})
    (window,) = frontier.flush(Batch(1, new_queues=10, window=10)).windows
    note = ErrorNote(crawl_of(face, job), window.rows[0].id, "timeout", "ETIMEDOUT", 3)
    frontier.flush(Batch(2, errors=[note, note]))
    workers = face.client.get("/api/admin/workers").json()
    assert [(worker["workerId"], worker["status"]) for worker in workers] == [(f"worker{number}", "active")]
    errors = face.client.get("/api/admin/errors?limit=100").json()
    assert len(errors) == 2
    assert set(errors[0]) == {"timestamp", "workerId", "url", "error", "retries"}
    assert errors[0].items() >= {"workerId": f"worker{number}", "url": SEED, "error": "ETIMEDOUT", "retries": 3}.items()
    assert len(face.client.get("/api/admin/errors?limit=1").json()) == 1
    assert face.client.get("/api/admin/stats").json()["errors"]["last1hour"] == 2
    frontier.leave()
    close(frontier)
    assert face.client.get("/api/admin/workers").json()[0]["status"] == "gone"


@pytest.mark.requirement("AD-01")
def test_the_last_hour_is_counted_exactly_whoever_asks(face: Face) -> None:
    """Errors that the list leaves out count, and so does what was before this server started."""
    job = submit(face)
    frontier = open_frontier(face.place.settings())
    frontier.join(WorkerInfo("here", 1, "0"))
    frontier.lease({})
    (window,) = frontier.flush(Batch(1, new_queues=10, window=10)).windows
    crawl, row = crawl_of(face, job), window.rows[0]
    note = ErrorNote(crawl, row.id, "timeout", "ETIMEDOUT", 3)
    frontier.flush(Batch(2, errors=[note] * ERRORS_PER_FLUSH, errors_more=1950))
    frontier.flush(Batch(3, outcomes=[Outcome(row.id, crawl, UrlState.VISITED, "", 1, PageRecord(status=200))]))
    found = face.client.get("/api/admin/stats").json()
    assert found["errors"] == {"last1hour": 2000, "errorRate": round(2000 / 2001, 4)}
    assert (found["throughput"]["last1min"], found["throughput"]["last5min"]) == (1, 1)
    assert face.client.get("/api/v1/stats").json()["errors_last_hour"] == 2000
    frontier.leave()
    close(frontier)


@pytest.mark.requirement("AD-06")
@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "colour=red"])
def test_a_wrong_question_for_errors_is_refused(bare: Face, query: str) -> None:
    assert bare.client.get(f"/api/admin/errors?{query}").status_code == 422


# --- a whole job ----------------------------------------------------------------------------------------------------


def small_site() -> dict[str, Any]:
    """The document's end-to-end test: ten pages, and one that robots.txt forbids."""
    names = ["about.html", *(f"page{number}.html" for number in range(8))]
    pages: dict[str, Any] = {f"/{name}": html("/", "/index.html#top", head=f"<title>{name}</title>") for name in names}
    pages["/index.html"] = html(*(f"/{name}" for name in names), "/secret.html", "/file.pdf")
    pages["/"] = Page(status=404)
    pages["/robots.txt"] = Page(b"User-agent: *\nDisallow: /secret", content_type="text/plain")
    return pages


@pytest.mark.requirement("A-41", "A-43", "SC-08", "K32", "K19")
def test_only_html_is_a_page_of_a_job(face: Face, web: TestWeb) -> None:
    site: dict[str, Any] = {
        "/": html("/text", "/feed", "/xhtml", "/a", "/b"),
        "/text": Page(b"text", content_type="text/plain"),
        "/feed": Page(b'<a href="/never">', content_type="application/rss+xml"),
        "/xhtml": Page(b"<html><body>x</body></html>", content_type="application/xhtml+xml; charset=utf-8"),
        "/a": html("/c"),
        "/b": html(),
        "/c": html(),
        "/robots.txt": Page(status=404),
    }
    web.add({"127.0.0.1": site})
    job = submit(face, web.url("/"), crawlDelay=0, maxPages=5)
    face.crawl(crawl_of(face, job))
    found = face.client.get(f"/api/crawl/jobs/{job}").json()
    assert (found["status"], found["pagesCrawled"], found["errors"]) == ("completed", 5, 0), "maxPages counts pages"
    exported = face.client.get(f"/api/crawl/jobs/{job}/export").json()
    assert {page["url"] for page in exported} == {web.url(path) for path in ("/", "/xhtml", "/a", "/b", "/c")}
    rows = face.client.get(f"/api/v1/crawls/{job}/urls").json()["urls"]
    others = {row["url"].removeprefix(web.url("")): row for row in rows if row["reason"] == "content_type"}
    assert {path: (row["state"], row["content_type"]) for path, row in others.items()} == {
        "/text": ("visited", "text/plain"),
        "/feed": ("visited", "application/rss+xml"),
    }


@pytest.mark.requirement("A-40", "A-41", "A-43", "A-44", "A-45", "AD-01", "T-07", "RB-01", "SC-07", "X-01", "D-05")
def test_a_job_from_start_to_end(face: Face, web: TestWeb) -> None:
    site = small_site()
    web.add({"127.0.0.1": site, "127.0.0.2": {"/": html(), "/robots.txt": Page(status=404)}})
    seeds = [web.url("/index.html"), web.url("/", "127.0.0.2")]
    job, other = submit(face, *seeds, maxPages=20, crawlDelay=0), submit(face, seeds[1], crawlDelay=0)
    face.crawl(crawl_of(face, job))
    face.crawl(crawl_of(face, other))

    found = face.client.get(f"/api/crawl/jobs/{job}").json()
    assert found.items() >= {"status": "completed", "pagesCrawled": 11, "urlsInQueue": 0, "errors": 1}.items()
    assert found["startedAt"] < found["estimatedCompletion"]
    pages = face.client.get(f"/api/crawl/jobs/{job}/export?format=json").json()
    by_url = {page["url"]: page for page in pages}
    assert set(by_url) == {web.url(path) for path in site if path not in ("/", "/robots.txt")} | {seeds[1]}
    about = by_url[web.url("/about.html")]
    assert set(about) == {"url", "title", "contentHash", "crawledAt"}
    assert about["contentHash"] == hashlib.sha256(site["/about.html"].body).hexdigest()
    assert about["crawledAt"] >= found["startedAt"]
    rows = list(csv.DictReader(io.StringIO(face.client.get(f"/api/crawl/jobs/{job}/export?format=csv").text)))
    assert rows == [{name: value or "" for name, value in page.items()} for page in pages]
    assert not [hit for hit in web.hits() if hit.path in ("/secret.html", "/file.pdf")]
    stats = face.client.get("/api/admin/stats").json()
    assert stats["queue"] == {"pendingUrls": 0, "visitedUrls": 12}
    assert stats["storage"]["totalPages"] == 12
    assert len(face.client.get(f"/api/crawl/jobs/{other}/export").json()) == 1
