"""What operators decide through the API: blocks, host rules, the floor, local workers, tokens."""

from pathlib import Path

import httpx
import pytest

from nephila.frontier.tokens import Access
from nephila.models import CrawlState
from tests.api.faced import Face
from tests.api.served import KINDS, V1, Served, served


@pytest.mark.requirement("SC-11", "AD-04", "AD-10")
def test_blocks_are_made_listed_and_removed(api: Served, client: httpx.Client) -> None:
    made = client.post(
        f"{V1}/blocks", json={"values": ["Spam.Example", "*.spam.example", "bad.test"], "reason": "spam"}
    ).json()["blocks"]
    assert [(rule["kind"], rule["value"], rule["reason"], rule["created_by"]) for rule in made] == [
        ("domain", "spam.example", "spam", "local"),
        ("domain", "bad.test", "spam", "local"),
    ]
    again = client.post(f"{V1}/blocks", json={"values": ["spam.example"]}).json()["blocks"]
    assert again[0]["id"] == made[0]["id"], "a rule that exists is answered"
    pattern = {"kind": "pattern", "values": ["*://a.test/tag/*"]}
    assert client.post(f"{V1}/blocks", json=pattern).status_code == 201
    listed = client.get(f"{V1}/blocks").json()["blocks"]
    assert [rule["value"] for rule in listed] == ["spam.example", "bad.test", "*://a.test/tag/*"]
    assert client.delete(f"{V1}/blocks/{made[0]['id']}").status_code == 204
    assert client.delete(f"{V1}/blocks/{made[0]['id']}").status_code == 404


def test_a_host_gets_a_rule_and_loses_it(client: httpx.Client) -> None:
    rule = client.put(f"{V1}/hosts/www.a.test", json={"delay_ms": 9000, "blocked_in_ms": 60_000, "reason": "asked"})
    assert (rule.json()["host"], rule.json()["delay_ms"]) == ("a.test", 9000)
    found = client.get(f"{V1}/hosts/a.test").json()["rule"]
    assert found["reason"] == "asked" and 0 < found["blocked_in_ms"] <= 60_000
    assert client.delete(f"{V1}/hosts/a.test").status_code == 204
    assert client.get(f"{V1}/hosts/a.test").json()["rule"] is None


@pytest.mark.requirement("P-17", "AD-05")
def test_the_floor_of_all_delays_is_set(api: Served, client: httpx.Client) -> None:
    assert client.get(f"{V1}/floor").json() == {"floor_ms": 0}
    assert client.put(f"{V1}/floor", json={"floor_ms": 2000}).json() == {"floor_ms": 2000}
    assert api.store.rulebook.rulings().floor_ms == 2000


@pytest.mark.requirement("AD-08")
def test_local_workers_are_added_and_removed(api: Served, client: httpx.Client) -> None:
    assert client.put(f"{V1}/workers/local", json={"count": 3}).json()["local"] == 3
    assert api.services.crew is not None and api.services.crew.size == 3


def test_a_server_without_workers_of_its_own_cannot_add_any(bare: Face) -> None:
    assert bare.client.put(f"{V1}/workers/local", json={"count": 1}).status_code == 409


def test_a_token_is_shown_once_and_ends_when_it_is_revoked(api: Served, client: httpx.Client) -> None:
    made = client.post(f"{V1}/tokens", json={"name": "root", "access": "admin"}).json()
    secret = made["secret"]
    assert secret.startswith("nph_") and len(secret) == 47
    assert client.get(f"{V1}/tokens").status_code == 401, "from now on everybody needs one"
    with api.client(secret) as admin:
        other = admin.post(f"{V1}/tokens", json={"name": "other", "access": "read"}).json()
        twice = admin.post(f"{V1}/tokens", json={"name": "other", "access": "read"})
        assert (twice.status_code, twice.json()["error"]["field"]) == (409, "name")
        listed = admin.get(f"{V1}/tokens")
        assert secret not in listed.text and other["secret"] not in listed.text
        assert [token["name"] for token in listed.json()["tokens"]] == ["root", "other"]
        with api.client(other["secret"]) as reader:
            assert reader.get(f"{V1}/crawls").status_code == 200
            assert admin.delete(f"{V1}/tokens/{other['id']}").status_code == 204
            assert reader.get(f"{V1}/crawls").status_code == 401
        assert admin.delete(f"{V1}/tokens/{other['id']}").status_code == 404


def test_a_caller_learns_who_he_is(api: Served, client: httpx.Client) -> None:
    assert client.get(f"{V1}/me").json() == {"name": "local", "access": "admin", "token": False}
    for access in Access:
        with api.client(api.token(f"one who may {access}", access)) as caller:
            assert caller.get(f"{V1}/me").json() == {"name": f"one who may {access}", "access": access, "token": True}
    assert client.get(f"{V1}/me").status_code == 401


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_has_only_so_many_crawls_under_way(kind: str, tmp_path: Path) -> None:
    body = {"seeds": ["https://example.com/"]}
    with (
        served(kind, tmp_path, token_crawls_max=2) as api,
        api.client(api.token("writer", Access.WRITE)) as writer,
    ):
        ids = [writer.post(f"{V1}/crawls", json=body).json()["id"] for _ in range(2)]
        refused = writer.post(f"{V1}/crawls", json=body)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
        api.store.catalog.steer(ids[0], CrawlState.CANCELLED)
        assert writer.post(f"{V1}/crawls", json=body).status_code == 201


@pytest.mark.parametrize("setting", [{"fetch.allow_private": True}, {"fetch.proxy": "http://proxy.test:3128"}])
def test_only_admins_reach_into_the_servers_network(api: Served, setting: dict[str, object]) -> None:
    body = {"seeds": ["http://127.0.0.1/"], "settings": setting | {"fetch.allow_private": True}}
    with api.client(api.token("writer", Access.WRITE)) as writer:
        assert writer.post(f"{V1}/crawls", json=body).status_code == 403
    with api.client(api.token("admin", Access.ADMIN)) as admin:
        assert admin.post(f"{V1}/crawls", json=body).status_code == 201
