"""Crawls through the API: started, listed, steered, ended; the same request twice makes one."""

from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from nephila.api.routes.crawls import Limits
from nephila.api.routes.new_crawls import root_problem
from nephila.frontier.records import UrlRow
from nephila.frontier.tokens import Access
from nephila.models import CrawlState, UrlState
from nephila.profiles import LimitSettings
from tests.api.served import V1, WORDS_001, Served

SEEDS = {"seeds": ["https://example.com/", "example.org"]}


def started(client: httpx.Client, body: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
    answer = client.post(f"{V1}/crawls", json=body or SEEDS, headers=headers)
    assert answer.status_code == 201, answer.text
    return cast(dict[str, Any], answer.json())


@pytest.mark.requirement("A-20", "A-22", "A-23", "K35")
def test_a_crawl_is_started_and_found_by_number_and_uuid(client: httpx.Client) -> None:
    made = started(client, SEEDS | {"settings": {"polite.floor_ms": 500}})
    assert made["seeds"] == ["https://example.com/", "https://example.org/"]
    assert made["settings"]["polite"]["floor_ms"] == 500
    for name in (made["id"], made["crawl_id"], made["crawl_id"].upper()):
        found = client.get(f"{V1}/crawls/{name}").json()
        assert (found["id"], found["status"], found["total"], found["pending"]) == (made["id"], "running", 2, 2)
    listed = client.get(f"{V1}/crawls").json()["crawls"]
    assert listed[0]["id"] == made["id"]
    assert listed[0].keys() >= {"total", "completed", "pending", "in_progress", "failed", "root_url", "requested_depth"}


@pytest.mark.requirement("A-29")
def test_one_url_with_a_depth_is_a_crawl_of_the_graph_profile(client: httpx.Client) -> None:
    answer = client.post(f"{V1}/crawls", params={"wait": 0}, json={"url": "https://example.com/", "depth": 3})
    assert answer.status_code == 201
    assert (answer.json()["profile"], answer.json()["requested_depth"]) == ("graph", 3)


@pytest.mark.requirement("A-29")
def test_a_root_that_nobody_fetches_in_time_is_a_timeout_and_no_crawl(api: Served, client: httpx.Client) -> None:
    answer = client.post(f"{V1}/crawls", params={"wait": 1}, json={"url": "https://example.com/"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "gateway_timeout")
    left = api.store.catalog.crawls()
    assert [crawl.id for crawl in left] == [1], "only that of the fixture"


def root(state: UrlState, reason: str = "", status: int | None = None) -> UrlRow:
    return cast(UrlRow, SimpleNamespace(state=state, reason=reason, status=status, url="http://a.test/", error=None))


@pytest.mark.requirement("A-29")
@pytest.mark.parametrize(
    ("row", "expired", "status"),
    [
        (root(UrlState.VISITED, status=200), False, None),
        (root(UrlState.REDIRECTED, status=301), False, None),
        (root(UrlState.EXCLUDED, "robots"), False, None),
        (root(UrlState.NOT_FOUND, status=404), False, 404),
        (root(UrlState.FORBIDDEN, status=403), False, 502),
        (root(UrlState.HTTP_ERROR, "http_5xx", 500), False, 502),
        (root(UrlState.FAILED, "nxdomain"), False, 502),
        (root(UrlState.FAILED, "timeout"), False, 504),
        (root(UrlState.QUEUED), False, None),
        (root(UrlState.QUEUED), True, 504),
        (root(UrlState.QUEUED, "connect"), True, 502),
        (root(UrlState.IN_PROGRESS), True, 504),
        (None, False, None),
        (None, True, 504),
    ],
)
def test_what_becomes_of_a_root_page(row: UrlRow | None, expired: bool, status: int | None) -> None:
    problem = root_problem(row, expired=expired)
    assert (problem.status if problem else None) == status


def test_a_crawl_runs_again_with_its_seeds_and_settings(client: httpx.Client) -> None:
    chosen = {"limits.max_pages": 5, "scope.exclude": ["*/private/*"], "polite.jitter_ms": 7}
    first = started(client, SEEDS | {"profile": "broad", "settings": chosen})
    client.post(f"{V1}/crawls/{first['id']}/cancel")
    again = client.post(f"{V1}/crawls/{first['id']}/again")
    assert again.status_code == 201, again.text
    second = again.json()
    assert second["id"] != first["id"] and second["status"] == "running"
    assert (second["seeds"], second["settings"]) == (first["seeds"], first["settings"])
    other = client.post(f"{V1}/crawls/{first['crawl_id']}/again", json={"settings": {"limits.max_pages": 50}}).json()
    assert other["settings"]["limits"] == first["settings"]["limits"] | {"max_pages": 50}
    assert other["settings"]["scope"] == first["settings"]["scope"]
    wrong = client.post(f"{V1}/crawls/{first['id']}/again", json={"settings": {"limits.max_pages": 0}})
    assert (wrong.status_code, wrong.json()["error"]["field"]) == (422, "settings.limits.max_pages")
    assert client.post(f"{V1}/crawls/999/again").status_code == 404


def test_what_only_an_admin_may_start_only_an_admin_runs_again(api: Served, client: httpx.Client) -> None:
    secret = started(client, SEEDS | {"settings": {"fetch.headers": [["Authorization", "Bearer x"]]}})
    loose = started(client, SEEDS | {"settings": {"polite.floor_ms": 0}})
    private = started(client, {"seeds": ["http://127.0.0.1/"], "settings": {"fetch.allow_private": True}})
    plain = started(client)
    for access, statuses in ((Access.WRITE, [403, 403, 403, 201]), (Access.ADMIN, [201] * 4)):
        with api.client(api.token(f"runs as {access}", access)) as other:
            answers = [other.post(f"{V1}/crawls/{each['id']}/again") for each in (secret, loose, private, plain)]
            assert [answer.status_code for answer in answers] == statuses, [answer.text for answer in answers]


def test_the_same_key_makes_one_crawl(client: httpx.Client) -> None:
    key = {"Idempotency-Key": "k1"}
    first, second = started(client, **key), started(client, **key)
    assert first["id"] == second["id"]
    assert started(client)["id"] != first["id"], "without a key each request makes one"
    answer = client.post(f"{V1}/crawls", json={"seeds": ["https://other.example/"]}, headers=key)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")


def test_the_list_goes_on_where_it_ended(client: httpx.Client) -> None:
    for _ in range(3):
        started(client)
    first = client.get(f"{V1}/crawls", params={"limit": 2}).json()
    rest = client.get(f"{V1}/crawls", params={"limit": 2, "after": first["next"]}).json()
    assert [crawl["id"] for page in (first, rest) for crawl in page["crawls"]] == [4, 3, 2, 1]
    assert rest["next"] is None
    paged = client.get(f"{V1}/crawls", params={"limit": 2, "offset": 2}).json()
    assert [crawl["id"] for crawl in paged["crawls"]] == [2, 1]
    none = client.get(f"{V1}/crawls", params={"status": "completed"}).json()
    assert none == {"crawls": [], "next": None, "total": 0, "unsortable": ""}


@pytest.mark.requirement("S-05", "A-27")
def test_a_crawl_is_paused_resumed_and_cancelled(api: Served, client: httpx.Client) -> None:
    crawl = started(client)["id"]
    assert client.post(f"{V1}/crawls/{crawl}/pause").json()["status"] == "paused"
    assert client.post(f"{V1}/crawls/{crawl}/resume").json()["status"] == "running"
    assert client.delete(f"{V1}/crawls/{crawl}").json()["status"] in ("ending", "cancelled")
    assert client.post(f"{V1}/crawls/{crawl}/pause").status_code == 409, "it is ending"


def test_what_is_over_cannot_be_steered_but_purged(api: Served, client: httpx.Client) -> None:
    crawl = api.crawl.id
    api.store.catalog.steer(crawl, CrawlState.CANCELLED)
    for method, path, body in (
        ("POST", "/pause", None),
        ("POST", "/resume", None),
        ("POST", "/cancel", None),
        ("PATCH", "/pace", {"floor_ms": 1}),
        ("PATCH", "/limits", {"max_pages": 1}),
        ("DELETE", "", None),
    ):
        answer = client.request(method, f"{V1}/crawls/{crawl}{path}", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict"), path
    purged = client.delete(f"{V1}/crawls/{crawl}", params={"purge": True}).json()
    assert purged["rows"] > 0 and purged["files"] == 1
    assert client.get(f"{V1}/crawls/{crawl}").status_code == 404


def test_a_running_crawl_is_not_purged(client: httpx.Client) -> None:
    crawl = started(client)["id"]
    assert client.delete(f"{V1}/crawls/{crawl}", params={"purge": True}).status_code == 409
    assert client.get(f"{V1}/crawls/{crawl}").json()["status"] == "running"


def test_a_crawl_that_ended_at_a_limit_is_resumed_with_a_higher_one(api: Served, client: httpx.Client) -> None:
    path = f"{V1}/crawls/{api.crawl.id}"
    client.patch(f"{path}/limits", json={"max_pages": 1})
    with api.store.catalog.database.write() as db:
        db.execute("UPDATE crawls SET state = 'completed', reason = 'limit_pages', limited_by = 'max_pages'")
    for body in (None, {"max_pages": 1}, {"max_bytes": 10**9}, {"max_pages": 99, "max_urls": 99}):
        answer = client.post(f"{path}/resume", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict"), body
    assert client.post(f"{path}/resume", json={}).status_code == 422
    assert client.post(f"{path}/resume", json={"max_pages": 0}).status_code == 422
    assert client.get(path).json()["status"] == "completed"
    resumed = client.post(f"{path}/resume", json={"max_pages": 99}).json()
    assert (resumed["status"], resumed["limited_by"], resumed["seeding"]) == ("running", "", False)
    assert resumed["settings"]["limits"]["max_pages"] == 99


@pytest.mark.requirement("P-17")
def test_the_pace_changes_while_it_runs(api: Served, client: httpx.Client) -> None:
    pace = {"floor_ms": 7, "adaptive": False, "max_inflight": 3}
    changed = client.patch(f"{V1}/crawls/{api.crawl.id}/pace", json=pace).json()["settings"]["polite"]
    assert changed.items() >= pace.items()
    assert changed["jitter_ms"] == 0
    assert api.store.catalog.crawl(api.crawl.id).settings.polite.floor_ms == 7


@pytest.mark.requirement("SC-04")
def test_limits_change_while_it_runs(api: Served, client: httpx.Client) -> None:
    path = f"{V1}/crawls/{api.crawl.id}/limits"
    changed = client.patch(path, json={"max_pages": 50, "max_seconds": 60, "max_urls_per_host": 9}).json()
    assert changed["settings"]["limits"] == {
        "max_pages": 50,
        "max_urls": None,
        "max_frontier": None,
        "evict": False,
        "max_urls_per_host": 9,
        "max_seconds": 60,
        "max_bytes": None,
    }
    removed = client.patch(path, json={"max_seconds": None}).json()["settings"]["limits"]
    assert (removed["max_seconds"], removed["max_pages"]) == (None, 50)
    assert api.store.catalog.crawl(api.crawl.id).settings.limits.max_pages == 50
    refused = client.patch(path, json={"max_urls": 5})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")


def test_the_limits_of_the_api_are_those_of_the_settings() -> None:
    settings = LimitSettings.model_json_schema()["properties"]
    for name, field in Limits.model_json_schema()["properties"].items():
        kinds = {kind: settings[name].get(kind) for kind in ("anyOf", "type", "minimum", "maximum")}
        assert {kind: field.get(kind) for kind in kinds} == kinds, name
        assert "default" not in field, "what is left out does not change"
    assert Limits.model_fields.keys() == LimitSettings.model_fields.keys() - {"evict"}, (
        "that is for the life of a crawl"
    )


@pytest.mark.requirement("L-01")
def test_progress_has_the_words_of_the_crawl(api: Served, client: httpx.Client) -> None:
    api.store.catalog.look_after(api.crawl.id)
    progress = client.get(f"{V1}/crawls/{api.crawl.id}/progress").json()
    crawl = client.get(f"{V1}/crawls/{api.crawl.id}").json()
    assert {name: progress[name] for name in WORDS_001} == {name: crawl[name] for name in WORDS_001}
    assert (progress["total"], progress["completed"], progress["failed"], progress["final"]) == (6, 4, 1, False)


# --- names and labels

NAMED = {"name": "Docs, weekly", "labels": ["team=docs", "nightly"]}


def test_a_crawl_is_called_as_its_request_says_and_as_it_is_renamed(client: httpx.Client) -> None:
    made = started(client, SEEDS | NAMED)
    assert (made["name"], made["labels"]) == ("Docs, weekly", ["nightly", "team=docs"])
    path = f"{V1}/crawls/{made['id']}"
    renamed = client.patch(path, json={"name": " <b>bold</b> "}).json()
    assert (renamed["name"], renamed["labels"]) == ("<b>bold</b>", ["nightly", "team=docs"])
    relabelled = client.patch(path, json={"labels": ["weekly"]}).json()
    assert (relabelled["name"], relabelled["labels"]) == ("<b>bold</b>", ["weekly"])
    progress = client.get(f"{path}/progress").json()
    assert (progress["name"], progress["labels"]) == ("<b>bold</b>", ["weekly"])
    assert client.patch(path, json={"name": "", "labels": []}).json()["name"] == ""


def test_a_crawl_that_runs_again_keeps_its_name_and_labels_unless_others_are_given(client: httpx.Client) -> None:
    made = started(client, SEEDS | NAMED)
    again = client.post(f"{V1}/crawls/{made['id']}/again").json()
    assert (again["name"], again["labels"]) == (made["name"], made["labels"])
    other = client.post(f"{V1}/crawls/{made['id']}/again", json={"name": "Once more", "labels": []}).json()
    assert (other["name"], other["labels"]) == ("Once more", [])


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({"name": "x" * 101}, "name", "at most 100"),
        ({"name": "a\nb"}, "name", "U+000A"),
        ({"name": None}, "name", "string"),
        ({"labels": ["two words"]}, "labels", "is no label"),
        ({"labels": ["a=1", "a=2"]}, "labels", "same key"),
        ({"labels": "nightly"}, "labels", "list"),
        ({"labels": [str(n) for n in range(21)]}, "labels", "at most 20"),
        ({}, None, "at least one of name, labels"),
        ({"title": "x"}, "title", "no field title"),
    ],
)
def test_what_is_no_name_or_label_is_refused_in_one_line(
    client: httpx.Client, body: dict[str, Any], field: str | None, says: str
) -> None:
    answer = client.patch(f"{V1}/crawls/1", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["field"]) == (422, field)
    assert says in error["message"] and "\n" not in error["message"]
    if field not in (None, "title") and body[field] is not None:
        assert client.post(f"{V1}/crawls", json=SEEDS | body).status_code == 422


def test_renaming_takes_access_write(api: Served) -> None:
    reader = api.client(api.token("reader", Access.READ))
    assert reader.patch(f"{V1}/crawls/1", json={"name": "x"}).status_code == 403


def test_crawls_are_found_by_label_text_and_status(client: httpx.Client) -> None:
    first = started(client, SEEDS | NAMED)["id"]
    second = started(client, {"seeds": ["https://example.net/docs"], "labels": ["team=web"]})["id"]

    def found(**query: Any) -> list[int]:
        answer = client.get(f"{V1}/crawls", params=query).json()
        assert answer["total"] == len(answer["crawls"])
        return [crawl["id"] for crawl in answer["crawls"]]

    assert found(label="team") == [second, first]
    assert found(label=["team", "nightly"]) == [first]
    assert found(label="team=web") == [second]
    assert found(text="WEEKLY") == [first]
    assert found(text="example.net/docs", status="running") == [second]
    assert found(sort="name", order="asc") == [first, 1, second]
    refused = client.get(f"{V1}/crawls", params={"label": "no label"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "label")


def test_sorted_crawls_go_on_behind_the_last_one(client: httpx.Client) -> None:
    made = [1, *(started(client)["id"] for _ in range(4))]
    seen: list[int] = []
    after: int | None = 0
    while after is not None:
        page = client.get(f"{V1}/crawls", params={"sort": "bytes", "limit": 2, "after": after}).json()
        assert page["crawls"] and page["total"] == 5
        seen += [crawl["id"] for crawl in page["crawls"]]
        after = page["next"]
    assert sorted(seen) == made and seen[0] == 1
