"""What is known of a crawl: its URLs, pages, graph, statistics, hosts, and the export."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from nephila.control import statistics
from nephila.control.export import FIELDS
from nephila.control.operators import ROBOTS_SHOWN_BYTES, robots_text
from nephila.control.statistics import BUCKETS_MAX, buckets, media_type
from nephila.frontier.store import Outcome, RobotsRecord
from tests.api import served as served_module
from tests.api.served import KINDS, V1, Served, served
from tests.unit.control import filled
from tests.unit.control.filled import PAGE, ROBOTS, SEED


def of(api: Served, path: str) -> str:
    return f"{V1}/crawls/{api.crawl.id}{path}"


def urls_of(client: httpx.Client, api: Served, **query: Any) -> list[str]:
    answer = client.get(of(api, "/urls"), params=query)
    assert answer.status_code == 200, answer.text
    return [row["url"].removeprefix(SEED) for row in answer.json()["urls"]]


@pytest.mark.requirement("A-13")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["", "x", "gone", "moved", "formula", "later"]),
        ({"order": "desc"}, ["later", "formula", "moved", "gone", "x", ""]),
        ({"limit": 2}, ["", "x"]),
        ({"state": "visited"}, ["", "x", "formula"]),
        ({"state": ["redirected", "not_found"]}, ["gone", "moved"]),
        ({"status": 404}, ["gone"]),
        ({"depth": 0}, [""]),
        ({"text": "or"}, ["formula"]),
        ({"host": "WWW.a.test"}, ["", "x", "gone", "moved", "formula", "later"]),
        ({"host": "b.test"}, []),
        ({"reason": "timeout"}, ["later"]),
        ({"sort": "url"}, ["", "formula", "gone", "later", "moved", "x"]),
        ({"sort": "url", "order": "desc", "limit": 2, "offset": 1}, ["moved", "later"]),
    ],
)
def test_urls_are_filtered_and_sorted(
    api: Served, client: httpx.Client, query: dict[str, Any], expected: list[str]
) -> None:
    assert urls_of(client, api, **query) == expected


def test_pages_of_urls_go_on_where_the_last_ended(api: Served, client: httpx.Client) -> None:
    seen, after = [], 0
    for _ in range(10):
        page = client.get(of(api, "/urls"), params={"after": after, "limit": 4}).json()
        seen += [row["id"] for row in page["urls"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert seen == sorted(api.ids().values())


def test_a_url_of_another_crawl_is_not_found(api: Served, client: httpx.Client) -> None:
    other = client.post(f"{V1}/crawls", json={"seeds": ["https://example.com/"]}).json()["id"]
    url_id = api.ids()["x"]
    assert client.get(of(api, f"/urls/{url_id}")).json()["url"] == f"{SEED}x"
    for path in ("", "/links", "/page", "/page/raw", "/page/rendered", "/page/ticket"):
        assert client.get(f"{V1}/crawls/{other}/urls/{url_id}{path}").status_code == 404


def test_a_page_is_shown_as_data(api: Served, client: httpx.Client) -> None:
    page = client.get(of(api, f"/urls/{api.ids()['moved']}/page")).json()
    assert (page["status"], page["body"], page["truncated"]) == (200, PAGE.decode(), False)
    assert ["Content-Type", "text/html"] in page["headers"]
    assert [target["url"] for target in page["redirects"]] == [f"{SEED}x"]
    missing = client.get(of(api, f"/urls/{api.ids()['later']}/page"))
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_archived")


def test_a_raw_page_never_runs_as_ours(api: Served, client: httpx.Client) -> None:
    answer = client.get(of(api, f"/urls/{api.ids()['x']}/page/raw"))
    assert answer.content == PAGE
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["x-archived-content-type"] == "text/html"


def test_a_rendered_page_is_caged(api: Served, client: httpx.Client) -> None:
    answer = client.get(of(api, f"/urls/{api.ids()['x']}/page/rendered"))
    assert answer.text == PAGE.decode()
    assert answer.headers["content-type"].startswith("text/html")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none';") and "allow" not in policy and "script" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_lost_archive_file_is_no_fault(api: Served, client: httpx.Client) -> None:
    for file in api.settings.archive_folder.glob("*.warc.gz"):
        file.unlink()
    answer = client.get(of(api, f"/urls/{api.ids()['x']}/page"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_archived")


def test_every_answer_has_safe_headers(client: httpx.Client) -> None:
    for path in ("/crawls", "/nowhere", "/crawls?limit=0"):
        headers = client.get(V1 + path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "access-control-allow-origin" not in headers and "server" not in headers


def test_a_url_is_explained(api: Served, client: httpx.Client) -> None:
    found = client.get(of(api, "/explain"), params={"url": f"{SEED}later"}).json()
    assert "will be tried again" in found["verdict"]
    assert found["row"]["state"] == "queued"
    assert [parent["url"] for parent in found["parents"]] == [SEED]
    assert found["host"]["rest_reason"] == "backoff"
    unknown = client.get(of(api, "/explain"), params={"url": "https://b.test/"}).json()
    assert unknown["row"] is None and "refused (scope)" in unknown["verdict"]


@pytest.mark.requirement("A-24", "G-01", "G-03")
def test_the_discovery_graph_comes_in_pages(api: Served, client: httpx.Client) -> None:
    first = client.get(of(api, "/graph"), params={"limit": 3}).json()
    rest = client.get(of(api, "/graph"), params={"after": first["next"]}).json()
    nodes = first["nodes"] + rest["nodes"]
    root = api.ids()[""]
    assert [node["id"] for node in nodes] == sorted(api.ids().values())
    assert nodes[0].keys() >= {"domain", "depth", "state", "status", "ip"}
    assert first["edges"] + rest["edges"] == [[root, node["id"]] for node in nodes[1:]]
    assert client.get(of(api, "/graph"), params={"after": rest["next"]}).json() == {
        "nodes": [],
        "edges": [],
        "next": None,
    }


@pytest.mark.requirement("A-25", "A-29", "Q-02")
def test_statistics_count_by_everything(api: Served, client: httpx.Client) -> None:
    found = client.get(of(api, "/stats")).json()
    assert (found["total_urls"], found["unique_domains"], found["max_depth_reached"]) == (6, 1, 1)
    assert found["status_counts"] == {"queued": 1, "visited": 3, "redirected": 1, "not_found": 1}
    assert found["depths"] == {"0": 1, "1": 5}
    assert found["hosts"] == {"a.test": 6}
    assert found["content_types"] == {"text/html": 5}
    assert found["statuses"] == {"200": 3, "301": 1, "404": 1}
    assert found["refusals"] == {"scope": 3, "extension": 2}
    assert [bucket["pages"] for bucket in found["times"]] == [5]
    assert (found["counted"], found["sampled"]) == (6, False)


def test_a_large_crawl_is_sampled_and_says_so(
    api: Served, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "ROWS_MAX", 4)
    monkeypatch.setattr(statistics, "SLICE_ROWS", 1)
    found = client.get(of(api, "/stats")).json()
    assert (found["total_urls"], found["counted"], found["sampled"]) == (6, 4, True)
    assert sum(found["status_counts"].values()) == 6, "states are exact"


@pytest.mark.parametrize(
    ("seconds", "size", "counts"),
    [
        ({}, 1, []),
        ({5: 2, 7: 1}, 1, [2, 1]),
        ({0: 1, 1999: 1}, 10, [1, 1]),
        ({0: 1, 5: 1, 2000: 3}, 60, [2, 3]),
    ],
)
def test_times_fall_into_few_buckets(seconds: dict[int, int], size: int, counts: list[int]) -> None:
    chosen, found = buckets(seconds)
    assert (chosen, list(found.values())) == (size, counts)
    assert len(buckets(dict.fromkeys(range(0, 10**9, 10**6), 1))[1]) <= BUCKETS_MAX


def test_media_types_are_compared_without_their_parameters() -> None:
    kinds = ("Text/HTML; charset=utf-8", None, "")
    assert [media_type(kind) for kind in kinds] == ["text/html", "none", "none"]


@pytest.mark.requirement("X-01")
def test_the_export_has_every_row_in_every_format(api: Served, client: httpx.Client) -> None:
    lines = client.get(of(api, "/export"))
    assert lines.headers["content-type"] == "application/x-ndjson"
    records = [json.loads(line) for line in lines.text.splitlines()]
    assert [record["id"] for record in records] == sorted(api.ids().values())
    assert client.get(of(api, "/export"), params={"format": "json"}).json() == records
    table = client.get(of(api, "/export"), params={"format": "csv"})
    assert tuple(next(csv.reader(io.StringIO(table.text)))) == FIELDS
    some = client.get(of(api, "/export"), params={"state": "not_found"})
    assert [json.loads(line)["url"] for line in some.text.splitlines()] == [f"{SEED}gone"]


def test_the_csv_is_safe_for_spreadsheets(api: Served, client: httpx.Client) -> None:
    table = client.get(of(api, "/export"), params={"format": "csv"}).text
    row = next(row for row in csv.DictReader(io.StringIO(table)) if row["url"].endswith("formula"))
    assert (row["raw_url"], row["title"]) == ("'=cmd()", "'+1")


@pytest.mark.requirement("P-19", "AD-09")
def test_hosts_show_their_clock_and_queue(api: Served, client: httpx.Client) -> None:
    (host,) = client.get(of(api, "/hosts")).json()["hosts"]
    assert (host["queue"]["host"], host["queue"]["open"], host["robots_access"]) == ("a.test", 1, "rules")
    assert (host["clock"]["delay_ms"], host["clock"]["rest_reason"], host["clock"]["pace"]["errors"]) == (
        1500,
        "backoff",
        1,
    )
    assert client.get(of(api, "/hosts"), params={"after": "a.test"}).json()["hosts"] == []
    facts = client.get(f"{V1}/hosts/www.a.test").json()
    assert (facts["host"], facts["rule"], facts["robots"][0]["status"]) == ("a.test", None, 200)


@pytest.mark.requirement("P-19", "AD-09")
def test_hosts_of_all_crawls_are_listed_with_what_operators_say(api: Served, client: httpx.Client) -> None:
    client.put(f"{V1}/hosts/a.test", json={"delay_ms": 9000, "reason": "asked"})
    listed = client.get(f"{V1}/hosts").json()
    (host,) = listed["hosts"]
    assert (listed["next"], host["robots_version"], host["robots_access"]) == (None, 1, "rules")
    assert (host["clock"]["host"], host["clock"]["requests"], host["clock"]["rest_reason"]) == ("a.test", 7, "backoff")
    assert (host["rule"]["delay_ms"], host["rule"]["reason"]) == (9000, "asked")
    client.delete(f"{V1}/hosts/a.test")
    assert client.get(f"{V1}/hosts", params={"text": "A.T"}).json()["hosts"][0]["rule"] is None
    for nothing in ({"text": "b"}, {"after": "a.test"}):
        assert client.get(f"{V1}/hosts", params=nothing).json() == {"hosts": [], "next": None}


def test_the_text_of_robots_is_shown(api: Served, client: httpx.Client) -> None:
    (robots,) = client.get(f"{V1}/hosts/www.a.test/robots").json()["robots"]
    assert (robots["origin"], robots["status"], robots["truncated"]) == ("http://a.test", 200, False)
    assert robots["text"] == ROBOTS.decode()


@pytest.mark.parametrize(
    ("access", "body", "text", "truncated"),
    [
        ("rules", b"", "", False),
        ("allow_all", b"", None, False),
        ("hold", b"", None, False),
        ("rules", b"a\xff\x00b", "a\ufffd\x00b", False),
        ("rules", b"\xc3", "\ufffd", False),
        ("rules", b"x" * (ROBOTS_SHOWN_BYTES - 1) + "é".encode(), "x" * (ROBOTS_SHOWN_BYTES - 1), True),
    ],
    ids=["empty", "none", "unreachable", "bytes", "half a character", "long"],
)
def test_robots_as_text(access: str, body: bytes, text: str | None, truncated: bool) -> None:
    assert robots_text(RobotsRecord("http://a.test", "a.test", access, 200, body, 1)) == (text, truncated)


def test_the_links_of_a_page_are_rows(linked: Served) -> None:
    with linked.client() as client:
        ids = linked.ids()
        links = of(linked, f"/urls/{ids['']}/links")
        first = client.get(links, params={"limit": 1}).json()
        assert first == {
            "links": [{"id": ids["x"], "url": f"{SEED}x", "state": "visited", "status": 200, "depth": 1}],
            "next": ids["x"],
        }
        rest = client.get(links, params={"after": first["next"]}).json()
        assert [(link["url"], link["state"], link["status"]) for link in rest["links"]] == [
            (f"{SEED}gone", "not_found", 404)
        ]
        assert rest["next"] is None
        assert client.get(of(linked, f"/urls/{ids['x']}/links")).json() == {"links": [], "next": None}


@pytest.fixture(params=KINDS)
def linked(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The seed links to x and gone."""

    def linking(*values: Any) -> Outcome:
        outcome = filled.ended(*values)
        if outcome.children and outcome.page:
            keys = [found.key[:8] for found in outcome.children if found.url.endswith(("x", "gone"))]
            outcome.page.links = {"a.test": b"".join(keys)}
        return outcome

    monkeypatch.setattr(served_module, "ended", linking)
    with served(request.param, tmp_path) as running:
        yield running


@pytest.mark.requirement("AD-07")
def test_the_overview_adds_everything_up(api: Served, client: httpx.Client) -> None:
    found = client.get(f"{V1}/stats").json()
    assert (found["crawls"]["running"], found["queued"], found["workers_known"]) == (1, 1, 1)
    assert (found["sizes"]["urls"], found["sizes"]["pages"], found["errors_last_hour"]) == (6, 3, 1)
    assert found["process"]["rss_bytes"] > 0


@pytest.mark.requirement("AD-06")
def test_errors_are_listed_with_their_worker(api: Served, client: httpx.Client) -> None:
    (error,) = client.get(f"{V1}/errors", params={"crawl": api.crawl.uuid}).json()["errors"]
    assert (error["url"], error["reason"], error["detail"], error["tries"]) == (SEED, "timeout", "no answer in 20 s", 1)
    assert client.get(f"{V1}/workers").json()["workers"][0]["id"] == error["worker"]


@pytest.mark.requirement("A-46")
def test_settings_have_help_and_types_for_a_form(client: httpx.Client) -> None:
    found = client.get(f"{V1}/settings").json()
    by_name = {line["name"]: line for line in found["crawl"]}
    assert by_name["polite.floor_ms"]["type"].items() >= {"type": "integer", "minimum": 0}.items()
    assert by_name["scope.mode"]["type"]["enum"] == ["same_host", "same_domain", "list", "any"]
    assert by_name["fetch.allow_private"]["admin"] and not by_name["fetch.http2"]["admin"]
    assert all(line["help"] or line["name"] for line in found["crawl"])
    assert found["profiles"]["smallweb"]["polite.floor_ms"] == 10_000
    assert "store" in [line["name"] for line in found["process"]]
