"""Document 004, line by line: crawl jobs and their administration."""

import csv
import hashlib
import io
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from nephila.api.faces.jobs import (
    HOUR_MS,
    MINUTE_MS,
    SAMPLE_MS,
    SAMPLES_MAX,
    JobStatus,
    NewJob,
    Sample,
    Throughput,
    error_rate,
    job_status,
    settings_for,
    worker_of,
)
from nephila.clock import SystemClock
from nephila.control.indexing import Indexer
from nephila.frontier.store import Batch, ErrorNote, Vitals, WorkerInfo, WorkerRow
from nephila.models import CrawlState
from nephila.profiles import ScopeMode
from nephila.wiring import open_frontier
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


@pytest.mark.requirement("A-40", "A-46", "SC-06", "P-08")
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
    indexer = Indexer(store.catalog, store.index, face.place.settings().archive_folder, SystemClock())
    while indexer.step():
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
    steps = [("pause", "paused", "pending"), ("resume", "running", "pending"), ("cancel", "ending", "failed")]
    for verb, state, status in steps:
        answer = face.client.post(f"{path}/{verb}")
        assert answer.status_code == 200, answer.text
        assert (answer.json()["state"], answer.json()["status"]) == (state, status)
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


@pytest.mark.requirement("AD-05", "P-17")
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
def test_throughput_of_windows() -> None:
    watched = Throughput()
    for second in range(0, 600, 5):
        watched.take(Sample(second * 1000.0, second * 10, second // 60))
    now = Sample(600_000.0, 6000, 10)
    assert watched.since(now, MINUTE_MS) == (600, 1)
    assert watched.since(now, 5 * MINUTE_MS) == (3000, 5)
    assert watched.since(now, HOUR_MS) == (6000, 10)
    assert watched.since(Sample(600_000.0, 0, 0), HOUR_MS) == (0, 0)
    assert Throughput().since(now, HOUR_MS) == (0, 0)


@pytest.mark.requirement("AD-01")
def test_samples_are_bounded_by_number_and_by_rate() -> None:
    watched = Throughput()
    for tick in range(20_000):
        watched.take(Sample(tick * SAMPLE_MS / 2, tick, 0))
    assert len(watched._samples) == SAMPLES_MAX
    assert watched._samples[-1].tick_ms - watched._samples[0].tick_ms == HOUR_MS


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
        vitals=Vitals(pages=5234, pages_per_s=3.0, cpu=0.5, rss_bytes=1 << 20),
        current=("https://example.com/page123",),
    )
    assert worker_of(row, 1_700_003_600_000).model_dump(by_alias=True) == {
        "workerId": "worker1",
        "status": "active",
        "currentUrl": "https://example.com/page123",
        "pagesCrawled": 5234,
        "uptimeSeconds": 3600,
        "lastHeartbeat": "2023-11-14T22:14:20.000Z",
        "cpu": 0.5,
        "memoryBytes": 1 << 20,
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
