"""What is known of a crawl: its URLs, pages, graph, statistics, hosts, and the export."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from nephila.control import statistics
from nephila.control.export import FIELDS
from nephila.control.operators import ROBOTS_SHOWN_BYTES, robots_text
from nephila.control.statistics import BUCKETS_MAX, buckets
from nephila.derived.ledger import Derived
from nephila.frontier.store import Outcome, RobotsRecord
from nephila.models import Child, FailedRecord, Kind
from nephila.search.index import VERSION
from nephila.urls.identity import requisite_key
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


def test_two_crawls_are_compared_stretch_by_stretch(api: Served, client: httpx.Client) -> None:
    other = client.post(f"{V1}/crawls", json={"seeds": [SEED, f"{SEED}new"]}).json()
    found, counts, after, looked_at = [], Counter[str](), "first:0", 0
    while after:
        asked = {"to": other["crawl_id"], "limit": 2, "after": after}
        part = client.get(of(api, "/differences"), params=asked).json()
        assert (part["first"], part["second"], part["total"]) == (api.crawl.id, other["id"], 8)
        assert part["comparable"] is True and len(part["differences"]) <= 2
        found += part["differences"]
        counts.update(part["counts"])
        looked_at += part["looked_at"]
        after = part["next"]
    assert looked_at == 8
    assert counts == {"gone": 5, "added": 1, "state": 1, "content": 0, "same": 0}
    assert Counter(each["change"] for each in found) == {"gone": 5, "added": 1, "state": 1}
    (seed,) = (each for each in found if each["change"] == "state")
    assert (seed["url"], seed["first"]["state"], seed["second"]["state"]) == (SEED, "visited", "queued")
    assert client.get(of(api, f"/urls/{seed['first']['id']}")).json()["url"] == SEED
    (added,) = (each for each in found if each["change"] == "added")
    assert added["first"] is None and added["url"] == f"{SEED}new"


def test_a_comparison_lists_what_is_asked_for_and_counts_all(api: Served, client: httpx.Client) -> None:
    other = client.post(f"{V1}/crawls", json={"seeds": [SEED], "settings": {"norm.fold_www": True}}).json()["id"]
    asked = {"to": other, "by": "urls", "change": "state"}
    part = client.get(of(api, "/differences"), params=asked).json()
    assert (part["differences"], part["comparable"]) == ([], False)
    assert part["counts"] == {"gone": 5, "added": 0, "state": 0, "content": 0, "same": 1}
    assert client.get(of(api, "/differences"), params={"to": other, "limit": 0}).json()["differences"] == []
    assert client.get(of(api, "/differences"), params={"to": 999}).status_code == 404
    assert client.get(of(api, "/differences"), params={"to": other, "after": "third:1"}).status_code == 422


def test_the_history_of_a_crawl_is_told(api: Served, client: httpx.Client) -> None:
    assert client.get(of(api, "/history")).json() == {"samples": []}
    api.store.upkeep.run_once()
    (sample,) = client.get(of(api, "/history")).json()["samples"]
    tallies = api.store.catalog.tallies(api.crawl.id)
    assert (sample["ended"], sample["queued"], sample["failed"]) == (5, 1, 1)
    assert sample["answered"] == tallies.get("answered", 0) and sample["at"].endswith("Z")
    assert client.get(f"{V1}/crawls/999/history").status_code == 404


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
    assert nodes[0]["id"] == root
    assert {node["id"] for node in nodes} == set(api.ids().values())
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
    assert found["states"] == {"queued": 1, "visited": 3, "redirected": 1, "not_found": 1}
    assert found["status_counts"] == {"PENDING": 1, "IN-PROGRESS": 0, "COMPLETED": 4, "FAILED": 1, "CANCELLED": 0}
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
    for exact, urls in {"status_counts": 6, "depths": 6, "statuses": 5, "content_types": 5}.items():
        assert sum(found[exact].values()) == urls


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
        found = client.get(f"{V1}/hosts", params=nothing).json()
        assert (found["hosts"], found["next"]) == ([], None)


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
    search, links = found["derivations"]
    lag = sum(size for _, size in api.store.catalog.archive_sizes())
    assert search == {"name": "search", "version": VERSION, "pages": 0, "pending_bytes": lag, "skipped": 0}
    assert (links["name"], links["pages"], links["pending_bytes"]) == ("links", 0, lag)
    assert lag > 0, "nobody has derived anything yet"
    what = Derived("search", VERSION)
    api.store.ledger.note(what, [FailedRecord("a", 5, 1, 3, True, "it ended"), FailedRecord("a", 7, 2, 1, False, "")])
    assert client.get(f"{V1}/stats").json()["derivations"][0]["skipped"] == 1, "not what is tried again"
    scraped = client.get("/metrics").text
    assert f'derivation_pending_bytes{{derivation="search"}} {float(lag)}' in scraped
    assert 'derivation_skipped_records{derivation="search"} 1.0' in scraped


@pytest.mark.requirement("AD-06")
def test_errors_are_listed_with_their_worker(api: Served, client: httpx.Client) -> None:
    (error,) = client.get(f"{V1}/errors", params={"crawl": api.crawl.uuid}).json()["errors"]
    assert (error["url"], error["reason"], error["detail"], error["tries"]) == (SEED, "timeout", "no answer in 20 s", 1)
    assert client.get(f"{V1}/workers").json()["workers"][0]["id"] == error["worker"]


@pytest.mark.requirement("AD-09")
def test_hosts_with_the_most_errors_come_first(api: Served, client: httpx.Client) -> None:
    (host,) = client.get(f"{V1}/errors/hosts").json()["hosts"]
    assert (host["host"], host["errors"], host["last_reason"]) == ("a.test", 1, "timeout")
    assert client.get(f"{V1}/errors/hosts", params={"limit": 0}).status_code == 422


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


# --- what pages need


def test_requisites_are_listed_by_kind_and_counted_apart(tmp_path: Path) -> None:
    for kind in KINDS:
        with served(kind, tmp_path / kind) as api, api.client() as client:
            urls = [f"{SEED}a.png", f"{SEED}b.css"]
            rows = [
                Child(api.crawl.id, "a.test", requisite_key(url), url, 0, -1, 1, url, kind=Kind.REQUISITE)
                for url in urls
            ]
            api.store.catalog.add_seeds(api.crawl.id, rows)
            assert urls_of(client, api, kind="requisite") == ["a.png", "b.css"]
            assert urls_of(client, api, kind="requisite", sort="url", order="desc") == ["b.css", "a.png"]
            assert urls_of(client, api) == urls_of(client, api, kind="page")
            assert "a.png" not in urls_of(client, api)
            row = client.get(of(api, "/urls"), params={"kind": "requisite"}).json()["urls"][0]
            assert (row["kind"], row["discovered_from"], row["state"]) == ("requisite", 1, "queued")
            assert client.get(of(api, f"/urls/{row['id']}")).json()["kind"] == "requisite"
            assert client.get(of(api, "/urls"), params={"kind": "robots"}).status_code == 422
            after = client.get(of(api, "")).json()
            assert (after["total"], after["pending"]) == (6, 1)
            expected = {"urls": 2, "queued": 2, "in_progress": 0, "states": {}, "broken": 0, "errors": {}}
            assert after["requisites"] == expected
            assert client.get(of(api, "/progress")).json()["requisites"] == expected
            statistics_now = client.get(of(api, "/stats")).json()
            assert (statistics_now["total_urls"], statistics_now["requisites"]) == (6, expected)
            assert {node["url"] for node in client.get(of(api, "/graph")).json()["nodes"]}.isdisjoint(urls)
            exported = client.get(of(api, "/export"), params={"kind": "requisite"}).text.splitlines()
            assert [json.loads(line)["url"] for line in exported] == urls
            assert len(client.get(of(api, "/export")).text.splitlines()) == 6
            told = client.get(of(api, "/explain"), params={"url": urls[0]}).json()
            assert told["row"]["kind"] == "requisite" and "It is a requisite" in told["verdict"]
