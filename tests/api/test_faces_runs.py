"""Document 000, line by line: every endpoint, field, default and word of its API text."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from nephila.api.faces.run_records import (
    ENVIRONMENT,
    RunSettings,
    Word,
    allowed_hosts,
    counts_of,
    filter_of,
    floor_of,
    merged,
    run_status,
    settings_for,
    word_of,
)
from nephila.api.faces.runs import RECENT_MS, RunWatch
from nephila.api.services import StorePool
from nephila.clock import VirtualClock
from nephila.errors import StoreUnavailable, UsageError
from nephila.frontier.records import UrlFilter
from nephila.frontier.tokens import Access
from nephila.models import CrawlState, Kind, UrlState
from nephila.profiles import RedirectMode, crawl_settings
from nephila.wiring import Store
from tests.api.faced import Face, FrontierOf, faced
from tests.api.served import served
from tests.contract.session import Session, child, ended
from tests.patience import PATIENCE_MS
from tests.site.fixtures import OTHER_HOST, html, moved
from tests.site.server import Page, TestWeb
from tests.unit.control.filled import Filled, fill

DOCUMENTED = {
    "maxPages": 5000,
    "maxDepth": 25,
    "scopeMode": "same_host",
    "includeDocuments": False,
    "followRedirects": True,
    "demoDelayMs": 0,
    "requestTimeoutMs": 5000,
    "maxRetries": 2,
}
OTHERS = {
    "maxPages": 7,
    "maxDepth": 3,
    "scopeMode": "same_domain",
    "includeDocuments": True,
    "followRedirects": False,
    "demoDelayMs": 250,
    "requestTimeoutMs": 1500,
    "maxRetries": 0,
}
ECHOED = ("id", "seed_url", "normalized_seed_url", "allowed_hosts", "run_config", "root_url")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Face, Filled]]:
    """A crawl of a.test, half done, for all tests that only look."""
    folder = tmp_path_factory.mktemp("filled")
    made = fill(folder)
    with faced("sqlite", folder) as face:
        yield face, made


def post_run(face: Face, seed: str, **settings: Any) -> dict[str, Any]:
    answer = face.client.post("/crawl-runs", json={"seedUrl": seed, "settings": settings})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


# --- starting a run -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("A-01", "A-02", "A-03", "N-12", "SC-01", "SC-02", "K43")
def test_a_run_is_created_with_the_documented_defaults(face: Face) -> None:
    answer = face.client.post("/crawl-runs", json={"seedUrl": "https://example.com/#top"})
    assert answer.status_code == 201
    run = answer.json()
    assert run["seed_url"] == "https://example.com/#top"
    assert run["normalized_seed_url"] == run["root_url"] == "https://example.com/"
    assert run["allowed_hosts"] == ["example.com", "www.example.com"]
    assert run["run_config"].items() >= DOCUMENTED.items()
    assert run["status"] == "RUNNING"
    (row,) = face.client.get(f"/crawl-runs/{run['id']}/urls").json()["urls"]
    assert (row["normalized_url"], row["status"], row["depth"]) == ("https://example.com/", "QUEUED", 0)


@pytest.mark.requirement("A-02", "A-12", "W-04", "R-12", "P-15")
@pytest.mark.parametrize("name", OTHERS)
def test_each_setting_is_stored_and_echoed(embedded: Face, name: str) -> None:
    run = post_run(embedded, "https://example.com/", **{name: OTHERS[name]})
    assert run["run_config"].items() >= (DOCUMENTED | {name: OTHERS[name]}).items()
    for path in ("", "/summary"):
        echoed = embedded.client.get(f"/crawl-runs/{run['id']}{path}").json()
        assert {field: echoed[field] for field in ECHOED} == {field: run[field] for field in ECHOED}


@pytest.mark.requirement("A-12")
def test_what_is_left_out_comes_from_the_environment(embedded: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    for field, value in OTHERS.items():
        monkeypatch.setenv(ENVIRONMENT[field], str(value).lower())
    run = post_run(embedded, "https://example.com/", maxDepth=9)
    assert run["run_config"].items() >= (OTHERS | {"maxDepth": 9}).items()
    assert embedded.client.get(f"/crawl-runs/{run['id']}").json()["run_config"] == run["run_config"]


@pytest.mark.requirement("A-12")
@pytest.mark.parametrize(("name", "value"), [("CRAWL_MAX_PAGES", "many"), ("MAX_RETRIES", "-1")])
def test_a_wrong_environment_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=name):
        merged(RunSettings(), {name: value})


@pytest.mark.requirement("A-02", "A-46", "P-15", "SC-03", "SC-04", "W-04")
def test_settings_become_those_of_the_strict_profile() -> None:
    run = RunSettings.model_validate(OTHERS)
    settings = settings_for(run, "http://127.0.0.1/", allow_private=True)
    assert settings.profile == "strict"
    assert settings.limits.max_urls == 7
    assert settings.limits.max_pages is None
    assert settings.scope.max_depth == 3
    assert settings.scope.include_documents
    assert settings.redirects.mode is RedirectMode.RECORD
    assert (settings.polite.floor_ms, settings.polite.pause_ms) == (40, 250)
    assert settings.fetch.total_timeout_ms == 1500
    assert settings.retry.max == 0
    assert settings.robots.mode == "ignore"


@pytest.mark.parametrize(
    ("seed", "gap_ms"),
    [("http://127.0.0.1:9/", 40), ("http://localhost/", 40), ("http://10.1.2.3/", 40), ("https://example.com/", 1000)],
)
def test_only_private_hosts_are_hurried(seed: str, gap_ms: int) -> None:
    assert floor_of(seed) == gap_ms


@pytest.mark.requirement("SC-01")
@pytest.mark.parametrize(
    ("seed", "overrides", "hosts"),
    [
        ("https://example.com/", {}, ["example.com", "www.example.com"]),
        ("https://www.example.com/", {}, ["www.example.com", "example.com"]),
        ("http://127.0.0.1/", {}, ["127.0.0.1"]),
        ("https://a.example.co.uk/", {"scope.mode": "same_domain"}, ["example.co.uk"]),
        ("https://a.test/", {"scope.mode": "list", "scope.hosts": [".b.test"]}, [".b.test"]),
        ("https://a.test/", {"scope.mode": "any"}, []),
    ],
)
def test_allowed_hosts(tmp_path: Path, seed: str, overrides: dict[str, Any], hosts: list[str]) -> None:
    catalog = fill(tmp_path).catalog
    crawl = catalog.create_crawl([seed], crawl_settings("strict", overrides), "mark")
    assert allowed_hosts(crawl) == hosts


@pytest.mark.requirement("SC-01", "ST-01", "N-12")
@pytest.mark.parametrize("sent", ["HTTPS://Example.COM:443/a?q#top", " example.com", "https://example.com/"])
def test_the_seed_and_the_allowed_hosts_are_stored(face: Face, sent: str) -> None:
    run = post_run(face, sent)
    (stored,) = face.catalog.tables.read("SELECT seed_sent, allowed_hosts FROM crawls", {})
    hosts = stored[1] if isinstance(stored[1], list) else json.loads(stored[1])
    assert (stored[0], hosts) == (sent, ["example.com", "www.example.com"])
    for shown in (
        run,
        face.client.get(f"/crawl-runs/{run['id']}").json(),
        *face.client.get("/crawl-runs").json()["runs"],
    ):
        assert (shown["seed_url"], shown["allowed_hosts"]) == (sent, hosts)
        assert shown["root_url"].startswith("https://example.com/")


@pytest.mark.requirement("SC-01")
def test_hosts_that_join_later_are_allowed_too(tmp_path: Path) -> None:
    crawl = replace(fill(tmp_path).crawl, joined_hosts=("b.test",))
    assert allowed_hosts(crawl) == ["a.test", "www.a.test", "b.test", "www.b.test"]


BAD_RUNS: list[tuple[Any, str]] = [
    ({}, "seedUrl"),
    ({"seedUrl": ""}, "seedUrl"),
    ({"seedUrl": 7}, "seedUrl"),
    ({"seedUrl": "no address"}, "no address"),
    ({"seedUrl": "ftp://example.com/"}, "ftp"),
    ({"seedUrl": "https://example.com/", "depth": 3}, "depth"),
    ({"seedUrl": "https://example.com/", "settings": {"maxDepth": -1}}, "settings.maxDepth"),
    ({"seedUrl": "https://example.com/", "settings": {"maxPages": 0}}, "settings.maxPages"),
    ({"seedUrl": "https://example.com/", "settings": {"maxPages": "5"}}, "settings.maxPages"),
    ({"seedUrl": "https://example.com/", "settings": {"includeDocuments": 1}}, "settings.includeDocuments"),
    ({"seedUrl": "https://example.com/", "settings": {"scopeMode": "everything"}}, "settings.scopeMode"),
    ({"seedUrl": "https://example.com/", "settings": {"speed": 1}}, "settings.speed"),
    ({"seedUrl": "https://example.com/", "settings": []}, "settings"),
    ([], "dictionary"),
]


@pytest.mark.requirement("A-15")
@pytest.mark.parametrize(("body", "named"), BAD_RUNS, ids=lambda value: str(value)[:60])
def test_a_wrong_request_makes_no_run_and_names_the_field(bare: Face, body: Any, named: str) -> None:
    answer = bare.client.post("/crawl-runs", json=body)
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]
    assert named in answer.json()["error"]
    assert bare.client.get("/crawl-runs").json() == {"runs": []}


@pytest.mark.requirement("A-15")
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/crawl-runs/7", 404),
        ("GET", "/crawl-runs/7/summary", 404),
        ("GET", "/crawl-runs/7/urls", 404),
        ("GET", "/crawl-runs/7/export", 404),
        ("GET", "/crawl-runs/7/graph", 404),
        ("GET", "/crawl-runs/7/graph-delta", 404),
        ("POST", "/crawl-runs/7/cancel", 404),
        ("GET", "/crawl-runs/seven", 400),
        ("GET", "/crawl-runs/0", 400),
        ("GET", "/crawl-runs/99999999999999999999", 400),
        ("GET", "/crawl-runs?limit=101", 400),
        ("GET", "/crawl-runs?colour=red", 400),
        ("GET", "/crawl-runs/7/urls?status=GONE", 400),
        ("GET", "/crawl-runs/7/urls?limit=0", 400),
        ("GET", "/crawl-runs/7/urls?offset=-1", 400),
        ("GET", "/crawl-runs/7/urls?sort=colour", 400),
        ("GET", "/crawl-runs/7/urls?order=up", 400),
        ("GET", "/crawl-runs/7/export?format=xml", 400),
    ],
)
def test_errors_have_the_documents_body(bare: Face, method: str, path: str, status: int) -> None:
    answer = bare.client.request(method, path)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert status != 404 or answer.json() == {"error": "Run not found"}


@pytest.mark.requirement("A-15")
def test_access_is_refused_in_the_documents_body(tmp_path: Path) -> None:
    with served("sqlite", tmp_path, token_crawls_max=2, allow_private=True) as api:
        reader, writer = api.token("reader", Access.READ), api.token("writer", Access.WRITE)
        body = {"seedUrl": "https://example.com/"}
        asked = [(None, body), ("nph_wrong", body), (reader, body), (writer, body), (writer, body), (writer, body)]
        answers = []
        for secret, sent in asked:
            with api.client(secret) as client:
                answers.append(client.post("/crawl-runs", json=sent))
        assert [answer.status_code for answer in answers] == [401, 401, 403, 201, 201, 429]
        refused = [answer for answer in answers if answer.status_code >= 400]
        assert all(isinstance(answer.json()["error"], str) for answer in refused)
        assert "WWW-Authenticate" in answers[0].headers


@pytest.mark.requirement("A-15")
@pytest.mark.parametrize(("access", "status"), [(Access.WRITE, 400), (Access.ADMIN, 201)])
def test_private_addresses_are_an_admins_where_the_operator_permits_them(
    tmp_path: Path, access: Access, status: int
) -> None:
    with served("sqlite", tmp_path, allow_private=True) as api, api.client(api.token("some", access)) as client:
        assert client.post("/crawl-runs", json={"seedUrl": "http://127.0.0.1/"}).status_code == status


@pytest.mark.requirement("A-15", "K06")
@pytest.mark.parametrize("path", ["/crawl-runs", "/api/crawl/jobs"])
@pytest.mark.parametrize(
    ("permitted", "access", "way"),
    [(False, Access.ADMIN, "NEPHILA_ALLOW_PRIVATE"), (True, Access.WRITE, "a token with access admin")],
)
def test_the_refusal_of_a_private_seed_names_a_way_that_these_apis_have(
    tmp_path: Path, path: str, permitted: bool, access: Access, way: str
) -> None:
    body = {"seedUrl": "http://127.0.0.1/"} if path == "/crawl-runs" else {"seedUrls": ["http://127.0.0.1/"]}
    with served("sqlite", tmp_path, allow_private=permitted) as api, api.client(api.token("some", access)) as client:
        error = client.post(path, json=body).json()["error"]
    message = error if isinstance(error, str) else error["message"]
    assert "private address" in message and way in message
    assert "--allow-private" not in message.replace("nephila serve --allow-private", "") and "fetch." not in message


@pytest.mark.requirement("A-15")
def test_a_store_that_is_away_is_said_in_the_documents_body(tmp_path: Path) -> None:
    def away() -> Store:
        raise StoreUnavailable("the database does not answer")

    with served("sqlite", tmp_path, opener=lambda settings: away) as api, api.client() as client:
        answer = client.get("/crawl-runs/1")
        assert (answer.status_code, answer.json()) == (503, {"error": "the database does not answer"})
        assert int(answer.headers["Retry-After"]) > 0


# --- looking at a run -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("A-04", "A-05", "S-03")
def test_status_and_summary_have_counters(filled: tuple[Face, Filled]) -> None:
    face, made = filled
    run = face.client.get(f"/crawl-runs/{made.crawl.id}").json()
    expected = {"VISITED": 3, "NOT_FOUND": 1, "REDIRECT_301": 1, "QUEUED": 1}
    assert {word: count for word, count in run["counters"].items() if count} == expected
    assert set(run["counters"]) == set(Word)
    assert run["total_urls"] == 6
    summary = face.client.get(f"/crawl-runs/{made.crawl.id}/summary").json()
    assert summary.items() >= run.items()
    assert (summary["terminal_urls"], summary["requests"], summary["retries"]) == (5, 7, 1)
    assert summary["errors"] == {"not_found": 1}


@pytest.mark.requirement("A-06", "A-07", "A-13")
@pytest.mark.parametrize(
    ("query", "names", "total"),
    [
        ("", ["", "x", "gone", "moved", "formula", "later"], 6),
        ("limit=2", ["", "x"], 6),
        ("limit=2&offset=5", ["later"], 6),
        ("offset=6", [], 6),
        ("order=desc&limit=2", ["later", "formula"], 6),
        ("sort=normalized_url&order=desc&limit=2", ["x", "moved"], 6),
        ("status=VISITED&sort=visited_at&order=asc", ["", "x", "formula"], 3),
        ("status=VISITED&limit=1&sort=updated_at", [""], 3),
        ("status=QUEUED", ["later"], 1),
        ("status=REDIRECT_301", ["moved"], 1),
        ("status=REDIRECT_FOLLOWED", [], 0),
        ("status=HTTP_TERMINAL&sort=normalized_url", [], 0),
    ],
)
def test_urls_are_listed_in_pages(filled: tuple[Face, Filled], query: str, names: list[str], total: int) -> None:
    face, made = filled
    answer = face.client.get(f"/crawl-runs/{made.crawl.id}/urls?{query}").json()
    assert [row["normalized_url"].removeprefix("http://a.test/") for row in answer["urls"]] == names
    page = answer["pagination"]
    assert (page["total"], page["returned"]) == (total, len(names))
    assert page["has_more"] is (bool(names) and page["offset"] + len(names) < total)


@pytest.mark.requirement("A-13", "R-14")
def test_a_row_has_its_lineage_and_its_http_metadata(filled: tuple[Face, Filled]) -> None:
    face, made = filled
    rows = face.client.get(f"/crawl-runs/{made.crawl.id}/urls").json()["urls"]
    by_name = {row["normalized_url"].removeprefix("http://a.test/"): row for row in rows}
    assert by_name["gone"]["discovered_from_url_id"] == by_name[""]["id"]
    assert by_name["gone"]["raw_url"] == "http://a.test/gone#top"
    assert (by_name["gone"]["http_status"], by_name["gone"]["content_type"]) == (404, "text/html")
    assert by_name["gone"]["visited_at"] == "2023-11-14T22:13:20.123Z"
    assert all(row["updated_at"] > "2024" for row in rows), "when the store was changed"
    assert by_name["moved"]["redirect_to"] == "http://a.test/x"
    assert (by_name["later"]["retry_count"], by_name["later"]["error_class"]) == (1, "timeout")
    assert {"claimed_at", "claimed_by_worker"} <= by_name[""].keys()


@pytest.mark.requirement("A-08", "A-13", "X-01")
def test_export_as_json_and_csv(filled: tuple[Face, Filled]) -> None:
    face, made = filled
    path = f"/crawl-runs/{made.crawl.id}"
    listed = face.client.get(f"{path}/urls").json()["urls"]
    assert face.client.get(f"{path}/export?format=json&limit=50000").json() == listed
    assert face.client.get(f"{path}/export").json() == listed
    assert face.client.get(f"{path}/export?limit=2").json() == listed[:2]
    answer = face.client.get(f"{path}/export?format=csv&limit=50000")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert list(rows[0]) == list(listed[0])
    assert [row["normalized_url"] for row in rows] == [row["normalized_url"] for row in listed]
    formula = next(row for row in rows if row["normalized_url"].endswith("formula"))
    assert (formula["raw_url"], formula["title"]) == ("'=cmd()", "'+1")


@pytest.mark.requirement("A-08", "K44")
@pytest.mark.parametrize(("limit", "cut"), [(5, True), (6, False), (7, False)])
def test_an_export_that_is_cut_says_so(filled: tuple[Face, Filled], limit: int, cut: bool) -> None:
    face, made = filled
    with capture_logs() as lines:
        answer = face.client.get(f"/crawl-runs/{made.crawl.id}/export?limit={limit}")
    assert len(answer.json()) == min(limit, 6)
    assert (answer.headers["X-Truncated"], answer.headers["X-Total-Count"]) == (str(cut).lower(), "6")
    said = [line for line in lines if line["event"] == "export_truncated"]
    assert [(line["crawl"], line["rows"], line["urls"]) for line in said] == [(made.crawl.id, limit, 6)] * cut
    assert lines[-1:] == said[-1:] or not cut


@pytest.mark.requirement("A-08")
def test_a_robots_txt_is_no_row_of_an_export_and_does_not_cut_it(face: Face) -> None:
    run = post_run(face, "https://example.com/")["id"]
    crawl = face.catalog.crawl(run)
    face.catalog.add_seeds(run, [child(crawl, "https://example.com/robots.txt", kind=Kind.ROBOTS)])
    answer = face.client.get(f"/crawl-runs/{run}/export?limit=1")
    assert (len(answer.json()), answer.headers["X-Truncated"]) == (1, "false")


@pytest.mark.requirement("A-09", "A-14", "G-01")
def test_graph_and_its_delta(filled: tuple[Face, Filled]) -> None:
    face, made = filled
    path = f"/crawl-runs/{made.crawl.id}"
    rows = face.client.get(f"{path}/urls").json()["urls"]
    edges = [{"discovered_from_url_id": rows[0]["id"], "id": row["id"]} for row in rows[1:]]
    assert face.client.get(f"{path}/graph?limit=100000").json()["edges"] == edges
    short = face.client.get(f"{path}/graph?limit=2").json()
    assert (short["edges"], short["has_more"]) == (edges[:2], True)
    first = face.client.get(f"{path}/graph-delta?after_version=0&limit=4").json()
    rest = face.client.get(f"{path}/graph-delta?after_version={first['version']}").json()
    assert (len(first["nodes"]), first["has_more"], rest["has_more"]) == (4, True, False)
    nodes = {node["id"]: node["status"] for node in first["nodes"] + rest["nodes"]}
    assert nodes == {row["id"]: row["status"] for row in rows}
    told = {edge["id"]: edge for edge in first["edges"] + rest["edges"]}  # one that was tried again comes again
    assert [told[id] for id in sorted(told)] == edges
    nothing = face.client.get(f"{path}/graph-delta?after_version={rest['version']}").json()
    assert (nothing["nodes"], nothing["version"]) == ([], rest["version"])


@pytest.mark.requirement("A-14")
def test_runs_are_listed_the_latest_first(embedded: Face) -> None:
    made = [post_run(embedded, f"https://site{number}.test/")["id"] for number in range(22)]
    assert [run["id"] for run in embedded.client.get("/crawl-runs").json()["runs"]] == made[:1:-1]
    assert [run["id"] for run in embedded.client.get("/crawl-runs?limit=100").json()["runs"]] == made[::-1]


@pytest.mark.requirement("A-14", "S-02")
def test_cancel(face: Face) -> None:
    run = post_run(face, "https://example.com/")["id"]
    path = f"/crawl-runs/{run}"
    assert face.client.get(path).json()["status"] == "RUNNING"
    answer = face.client.post(f"{path}/cancel").json()
    assert answer == {"status": "CANCELLED", "changed": True, "cancelled_url_count": 1}
    assert face.client.post(f"{path}/cancel").json() == answer | {"changed": False}
    assert face.client.get(path).json()["status"] == "CANCELLED"
    face.crawl(run)
    assert face.client.post(f"{path}/cancel").json() == answer | {"changed": False}
    assert face.client.get(f"{path}/urls?status=CANCELLED").json()["pagination"]["total"] == 1


@pytest.mark.requirement("A-10", "A-11")
@pytest.mark.parametrize("path", ["/health", "/metrics"])
def test_health_and_metrics(bare: Face, path: str) -> None:
    assert bare.client.get(path).status_code == 200


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("S-01", "S-02", "R-04", "R-10")
@pytest.mark.parametrize(
    ("status", "reason", "mode", "word"),
    [
        (301, "", RedirectMode.ENQUEUE, Word.REDIRECT_301),
        (301, "redirect_out_of_scope", RedirectMode.ENQUEUE, Word.REDIRECT_301),
        (301, "", RedirectMode.RECORD, Word.REDIRECT_301),
        (302, "", RedirectMode.ENQUEUE, Word.REDIRECT_FOLLOWED),
        (308, "", RedirectMode.FOLLOW, Word.REDIRECT_FOLLOWED),
        (302, "redirect_out_of_scope", RedirectMode.ENQUEUE, Word.REDIRECT_OUT_OF_SCOPE),
        (302, "redirect_loop", RedirectMode.ENQUEUE, Word.HTTP_TERMINAL),
        (302, "", RedirectMode.RECORD, Word.HTTP_TERMINAL),
        (302, "redirect_out_of_scope", RedirectMode.RECORD, Word.HTTP_TERMINAL),
    ],
)
def test_words_of_redirects(tmp_path: Path, status: int, reason: str, mode: RedirectMode, word: Word) -> None:
    made = fill(tmp_path)
    (row,) = made.catalog.urls(made.crawl.id, 0, 9, UrlFilter(states=(UrlState.REDIRECTED,)))
    assert word_of(replace(row, status=status, reason=reason), mode) is word


@pytest.mark.requirement("S-01", "S-02")
@pytest.mark.parametrize("mode", RedirectMode)
def test_every_state_has_a_word_and_every_word_a_filter(mode: RedirectMode) -> None:
    without = {word for word in Word if filter_of(word, mode) is None}
    only_followed = {Word.REDIRECT_FOLLOWED, Word.REDIRECT_OUT_OF_SCOPE}
    assert without == (only_followed if mode is RedirectMode.RECORD else set())
    assert filter_of(None, mode) == UrlFilter(kind=Kind.PAGE)


@pytest.mark.requirement("A-06", "S-01", "S-02")
@pytest.mark.parametrize("follow", [True, False])
def test_a_filter_by_word_lists_exactly_the_rows_of_that_word(face: Face, follow: bool) -> None:
    run = post_run(face, "https://a.test/", followRedirects=follow)["id"]
    crawl, session = face.catalog.crawl(run), Session(FrontierOf(face))
    endings = {
        "/": (UrlState.VISITED, 200, ""),
        "/1": (UrlState.REDIRECTED, 301, "redirect_out_of_scope"),
        "/2": (UrlState.REDIRECTED, 302, ""),
        "/3": (UrlState.REDIRECTED, 307, "redirect_out_of_scope"),
        "/4": (UrlState.REDIRECTED, 302, "redirect_loop"),
        "/5": (UrlState.HTTP_ERROR, 410, "http_4xx"),
        "/6": (UrlState.HTTP_ERROR, 304, ""),
    }
    session.flush(children=[child(crawl, f"https://a.test{path}") for path in endings])
    session.load()
    outcomes = []
    for path, (state, status, reason) in endings.items():
        outcome = ended(session.row(f"https://a.test{path}"), crawl, state=state, reason=reason)
        assert outcome.page is not None
        outcome.page.status = status
        outcomes.append(outcome)
    session.flush(outcomes=outcomes)
    every = face.client.get(f"/crawl-runs/{run}/urls").json()["urls"]
    counters = face.client.get(f"/crawl-runs/{run}").json()["counters"]
    for word in Word:
        page = face.client.get(f"/crawl-runs/{run}/urls?status={word}&sort=normalized_url").json()
        assert page["urls"] == [row for row in every if row["status"] == word]
        assert counters[word] == page["pagination"]["total"] == len(page["urls"])


@pytest.mark.requirement("S-03")
@pytest.mark.parametrize(
    ("state", "reason", "word"),
    [
        (CrawlState.RUNNING, "", "RUNNING"),
        (CrawlState.PAUSED, "", "PAUSED"),
        (CrawlState.ENDING, "cancelled", "CANCELLED"),
        (CrawlState.ENDING, "limit_time", "RUNNING"),
        (CrawlState.COMPLETED, "", "COMPLETED"),
        (CrawlState.CANCELLED, "cancelled", "CANCELLED"),
        (CrawlState.FAILED, "", "FAILED"),
    ],
)
def test_words_of_runs(tmp_path: Path, state: CrawlState, reason: str, word: str) -> None:
    assert run_status(replace(fill(tmp_path).crawl, state=state, reason=reason)) == word


# --- polling --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("A-04")
def test_polling_asks_the_store_once_a_second(tmp_path: Path) -> None:
    made, clock, passes = fill(tmp_path), VirtualClock(), 0

    def run_once() -> None:
        nonlocal passes
        passes += 1

    store = SimpleNamespace(catalog=made.catalog, upkeep=SimpleNamespace(run_once=run_once))
    watch = RunWatch(StorePool(lambda: store), clock)  # type: ignore[arg-type, return-value]
    look = watch.look(made.crawl.id)
    done = []
    for advance in (0.0, 1.0, RECENT_MS - 2, 1.0, 1.0):
        clock.advance(advance)
        watch.maintain()
        done.append(passes)
        assert (watch.look(made.crawl.id) is look) is (clock.tick_ms() < RECENT_MS)
    assert done == [1, 1, 1, 2, 2]


@pytest.mark.requirement("A-04", "C-02")
def test_polling_neither_ends_nor_rushes_a_run_with_open_urls(face: Face) -> None:
    run = post_run(face, "https://example.com/")["id"]
    for _ in range(20):
        assert face.client.get(f"/crawl-runs/{run}").json()["status"] == "RUNNING"
    assert face.catalog.crawl(run).state is CrawlState.RUNNING


# --- a whole run ----------------------------------------------------------------------------------------------------


def documents_site() -> dict[str, Any]:
    """One page for each line of the document's table of outcomes."""
    return {
        "/": html(
            "/a.html",
            "/a.html#part",
            "/text",
            "/moved",
            "/found",
            "/leaves",
            "/forbidden",
            "/missing",
            "/gone",
            "/broken",
            "/mute",
            f"http://{OTHER_HOST}/",
            "mailto:a@b.test",
        ),
        "/a.html": html("/", "/a.html", "/b.html"),
        "/b.html": html(),
        "/text": Page(b"text", content_type="text/plain"),
        "/moved": moved("/target.html"),
        "/target.html": html(),
        "/found": moved("/a.html", 302),
        "/leaves": moved(f"http://{OTHER_HOST}/", 302),
        "/forbidden": Page(status=403),
        "/gone": Page(status=410),
        "/broken": Page(status=500),
        "/mute": Page(raw=b"not HTTP at all\r\n\r\n"),
    }


OUTCOMES = {
    "/": "VISITED",
    "/a.html": "VISITED",
    "/b.html": "VISITED",
    "/text": "VISITED",
    "/moved": "REDIRECT_301",
    "/target.html": "VISITED",
    "/found": "REDIRECT_FOLLOWED",
    "/leaves": "REDIRECT_OUT_OF_SCOPE",
    "/forbidden": "FORBIDDEN",
    "/missing": "NOT_FOUND",
    "/gone": "HTTP_TERMINAL",
    "/broken": "HTTP_TERMINAL",
    "/mute": "FAILED",
}


@pytest.mark.requirement(
    "A-01", "A-04", "A-05", "A-06", "A-08", "A-09", "S-01", "S-02", "S-03", "R-02", "R-03", "R-04", "R-05", "R-06",
    "R-10", "RB-09", "X-01",
)  # fmt: skip
def test_a_run_from_start_to_end(face: Face, web: TestWeb) -> None:
    web.add({"127.0.0.1": documents_site(), OTHER_HOST: {"/": html()}})
    run = post_run(face, web.url("/"), maxRetries=0, requestTimeoutMs=PATIENCE_MS)
    assert run["allowed_hosts"] == ["127.0.0.1"]
    path = f"/crawl-runs/{run['id']}"
    face.crawl(run["id"])

    ended = face.client.get(path).json()
    assert ended["status"] == "COMPLETED"
    assert ended["completed_at"] is not None
    exported = face.client.get(f"{path}/export").json()
    root = web.url("")
    assert {row["normalized_url"].removeprefix(root): row["status"] for row in exported} == OUTCOMES
    words = list(OUTCOMES.values())
    summary = face.client.get(f"{path}/summary").json()
    assert summary["counters"] == {word: words.count(word) for word in Word}
    assert summary["total_urls"] == summary["terminal_urls"] == len(OUTCOMES)
    for word in Word:
        assert face.client.get(f"{path}/urls?status={word}").json()["pagination"]["total"] == words.count(word)
    edges = face.client.get(f"{path}/graph").json()["edges"]
    parents = {row["id"]: row["discovered_from_url_id"] for row in exported if row["discovered_from_url_id"]}
    assert {edge["id"]: edge["discovered_from_url_id"] for edge in edges} == parents
    assert not [hit for hit in web.hits() if hit.path == "/robots.txt" or hit.host == OTHER_HOST]


@pytest.mark.requirement("P-15", "A-02")
def test_a_run_pauses_after_each_request_and_the_gap_of_its_host_stays(face: Face, web: TestWeb) -> None:
    web.add({"127.0.0.1": {"/": html("/a", "/b", "/c"), "/a": html(), "/b": html(), "/c": html()}})
    run = post_run(face, web.url("/"), demoDelayMs=400, requestTimeoutMs=PATIENCE_MS)
    assert run["run_config"].items() >= {"demoDelayMs": 400, "minGapPerHostMs": 40}.items()
    face.crawl(run["id"])
    starts = sorted(hit.started for hit in web.hits())
    assert len(starts) == 4
    assert min(later - earlier for earlier, later in pairwise(starts)) > 0.2, "40 ms is the gap of the host"
    clock = face.catalog.host("127.0.0.1")
    assert clock is not None and clock.delay_ms == 40


@pytest.mark.requirement("A-06")
def test_urls_are_sorted_by_their_last_change(face: Face, web: TestWeb) -> None:
    web.add({"127.0.0.1": {"/": html("/a", "/b"), "/a": html("/c"), "/b": Page(status=404), "/c": html()}})
    run = post_run(face, web.url("/"), maxDepth=1)["id"]
    face.crawl(run)
    path = f"/crawl-runs/{run}/urls?sort=updated_at"
    rows = face.client.get(path).json()["urls"]
    times = [row["updated_at"] for row in rows]
    assert times == sorted(times) and all(row["updated_at"] >= row["visited_at"] for row in rows)
    assert face.client.get(f"{path}&order=desc").json()["urls"] == rows[::-1]


@pytest.mark.requirement("A-02", "SC-04", "R-04", "R-10")
def test_a_run_that_follows_no_redirect_and_has_limits(embedded: Face, web: TestWeb) -> None:
    pages = {f"/{number}": html(f"/{number + 1}", f"/{number}x") for number in range(9)}
    web.add(
        {"127.0.0.1": {"/": html("/moved", "/found", "/0"), "/moved": moved("/9"), "/found": moved("/9", 302)} | pages}
    )
    patient = {"maxRetries": 0, "requestTimeoutMs": PATIENCE_MS}
    deep = post_run(embedded, web.url("/"), followRedirects=False, maxDepth=2, **patient)["id"]
    few = post_run(embedded, web.url("/"), maxPages=3, **patient)["id"]
    embedded.crawl(deep)
    embedded.crawl(few)
    rows = embedded.client.get(f"/crawl-runs/{deep}/urls").json()["urls"]
    words = {row["normalized_url"].removeprefix(web.url("")): row["status"] for row in rows}
    assert (words["/moved"], words["/found"]) == ("REDIRECT_301", "HTTP_TERMINAL")
    assert max(row["depth"] for row in rows) == 2
    assert "/9" not in words
    summary = embedded.client.get(f"/crawl-runs/{deep}/summary").json()
    assert summary["counters"]["HTTP_TERMINAL"] == 1
    assert embedded.client.get(f"/crawl-runs/{few}/summary").json()["total_urls"] == 3


def test_counts_need_no_look_at_rows_without_redirects(tmp_path: Path) -> None:
    made = fill(tmp_path)
    counts = counts_of(None, made.crawl, {"visited": 4, "http_error": 2})  # type: ignore[arg-type]
    assert {word: count for word, count in counts.items() if count} == {Word.VISITED: 4, Word.HTTP_TERMINAL: 2}
