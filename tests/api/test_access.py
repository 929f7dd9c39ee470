"""Who may do what: every route of the OpenAPI description against every kind of token, and the ways around tokens."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nephila.api.access import CACHED_MS, Gate, is_local, is_loopback, own_origin, socket_secret
from nephila.api.app import create_app
from nephila.api.services import StorePool
from nephila.api.serving import check_address
from nephila.clock import VirtualClock
from nephila.control.access import RANK, make_token, revoke_token
from nephila.errors import UsageError
from nephila.frontier.tokens import Access
from nephila.profiles import crawl_settings
from tests.api.served import KINDS, V1, Served, served

OPEN_PATHS = {"/health", "/livez", "/readyz"}  # an orchestrator has no token
CALLERS: tuple[Access | str | None, ...] = (None, "revoked", "nonsense", *Access)


@pytest.fixture(scope="module", params=KINDS)
def guarded_api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(request.param, tmp_path_factory.mktemp("access")) as running:
        yield running


def operations(api: Served) -> list[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of each, those that purge and revoke last."""
    described = create_app(api.services).openapi()
    found = [
        (method.upper(), path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    return sorted(found, key=lambda operation: operation[0] == "DELETE")


def path_of(template: str) -> str:
    """With names that lead nowhere: whoever is let in meets a 4xx and changes nothing."""
    return re.sub(r"{\w+}", "404404", template.replace("{host}", "never.test"))


def test_every_route_is_guarded_as_openapi_says(guarded_api: Served) -> None:
    api = guarded_api
    secrets: dict[Any, str | None] = {access: api.token(access.value, access) for access in Access}
    token, secrets["revoked"] = make_token(api.store.tokens, "gone", Access.ADMIN)
    revoke_token(api.store.tokens, token.id)
    secrets |= {None: None, "nonsense": "nph_" + "x" * 43}
    wrong = []
    for caller in CALLERS:
        with api.client(secrets[caller]) as client:
            for method, template, operation in operations(api):
                needed = operation.get("x-access")
                assert (needed is None) == (template in OPEN_PATHS), template
                status = client.request(method, path_of(template), json={"bogus": 1}).status_code
                if not _as_expected(status, needed, caller):
                    wrong.append((str(caller), method, template, status))
    assert wrong == []


def _as_expected(status: int, needed: str | None, caller: Access | str | None) -> bool:
    if needed is None:
        return status < 400
    if not isinstance(caller, Access):
        return status == 401
    if RANK[caller] < RANK[Access(needed)]:
        return status == 403
    return status not in (401, 403) and status < 500


def test_openapi_names_the_scheme_and_every_refusal(guarded_api: Served) -> None:
    described = create_app(guarded_api.services).openapi()
    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    for method, path, operation in operations(guarded_api):
        if path.startswith(V1):
            assert operation["security"] == [{"token": []}], (method, path)
            assert operation["responses"].keys() >= {"401", "403", "422", "503"}, (method, path)


def test_a_401_says_how_to_ask(guarded_api: Served) -> None:
    guarded_api.token("some", Access.READ)
    with guarded_api.client() as client:
        answer = client.get(f"{V1}/crawls", headers={"Authorization": "Basic eDp5"})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "nephila token create" in answer.json()["error"]["hint"]


@pytest.mark.parametrize(
    ("headers", "method", "status"),
    [
        ({}, "GET", 200),
        ({"Host": "localhost:3000"}, "GET", 200),
        ({"Host": "[::1]:3000"}, "GET", 200),
        ({"Host": "evil.example"}, "GET", 401),  # DNS rebinding
        ({"X-Forwarded-For": "203.0.113.9"}, "GET", 401),  # a proxy hands on what others ask
        ({"Forwarded": "for=203.0.113.9"}, "GET", 401),
        ({"Origin": "https://evil.example"}, "POST", 403),  # a form of another site
        ({"Origin": "null"}, "POST", 403),
        ({"Host": "localhost:3000", "Origin": "http://localhost:3000"}, "POST", 200),
    ],
)
def test_without_a_token_only_this_machine_is_served(
    tmp_path: Path, headers: dict[str, str], method: str, status: int
) -> None:
    with served("sqlite", tmp_path) as api, api.client() as client:
        path = f"{V1}/crawls" if method == "GET" else f"{V1}/crawls/{api.crawl.id}/pause"
        assert client.request(method, path, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("origin", "allowed"), [("https://ui.example", "https://ui.example"), ("https://evil.example", None)]
)
def test_other_sites_are_let_in_by_name_only(tmp_path: Path, origin: str, allowed: str | None) -> None:
    asked = {"Origin": origin, "Access-Control-Request-Method": "GET"}
    with served("sqlite", tmp_path, cors_origins=("https://ui.example",)) as api, api.client() as client:
        answer = client.options(f"{V1}/crawls", headers=asked)
        assert answer.headers.get("access-control-allow-origin") == allowed


def test_a_public_address_needs_a_token(tmp_path: Path) -> None:
    with served("sqlite", tmp_path) as api:
        check_address("127.0.0.1", api.store.tokens)
        with pytest.raises(UsageError, match="nephila token create"):
            check_address("0.0.0.0", api.store.tokens)
        api.token("some", Access.READ)
        check_address("0.0.0.0", api.store.tokens)


def test_a_revoked_token_ends_when_the_cache_does(tmp_path: Path, clock: VirtualClock) -> None:
    with served("sqlite", tmp_path) as api:
        gate = Gate(StorePool(lambda: api.store, 1), clock)
        token, secret = make_token(api.store.tokens, "some", Access.READ)
        assert gate.token(secret) == token
        revoke_token(api.store.tokens, token.id)
        clock.advance(CACHED_MS - 1)
        assert gate.token(secret) == token
        clock.advance(1)
        assert gate.token(secret) is None


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("", False),
    ],
)
def test_loopback_addresses(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback


@pytest.mark.parametrize(
    ("peer", "host", "local"),
    [
        ("127.0.0.1", "127.0.0.1:3000", True),
        ("127.0.0.1", "localhost", True),
        ("::1", "[::1]", True),
        ("127.0.0.1", "", False),
        ("203.0.113.9", "localhost", False),
    ],
)
def test_local_requests(peer: str, host: str, local: bool) -> None:
    assert is_local(peer, {"host": host} if host else {}) is local


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({"host": "a:1"}, True),
        ({"host": "a:1", "origin": "http://a:1"}, True),
        ({"host": "a:1", "origin": "http://a:2"}, False),
        ({"host": "a:1", "origin": "https://ui.example"}, True),
        ({"host": "a:1", "origin": "null"}, False),
        ({"host": "", "origin": "null"}, False),
    ],
)
def test_origins(headers: dict[str, str], own: bool) -> None:
    assert own_origin(headers, ("https://ui.example",)) is own


@pytest.mark.parametrize(
    ("headers", "subprotocols", "secret"),
    [
        ({"authorization": "Bearer s"}, [], "s"),
        ({}, ["bearer", "s"], "s"),
        ({}, ["s"], None),
        ({"authorization": "Basic s"}, [], None),
        ({}, [], None),
    ],
)
def test_the_secret_of_a_websocket(headers: dict[str, str], subprotocols: list[str], secret: str | None) -> None:
    assert socket_secret(headers, subprotocols) == secret


def test_secrets_are_in_no_log(guarded_api: Served, capfd: pytest.CaptureFixture[str]) -> None:
    secret = guarded_api.token("quiet", Access.WRITE)
    with guarded_api.client(secret) as client:
        client.get(f"{V1}/crawls")
        client.post(f"{V1}/crawls", json={"seeds": ["https://example.com/"]})
    assert secret not in "".join(capfd.readouterr())


@pytest.mark.parametrize("access", Access)
def test_credentials_of_a_crawl_are_for_admins(guarded_api: Served, access: Access) -> None:
    api = guarded_api
    headers = (("Authorization", "Bearer hunter2"), ("Cookie", "hunter2"))
    settings = crawl_settings("default", {"fetch.headers": headers, "fetch.proxy": "http://me:hunter2@proxy.test"})
    crawl = api.store.catalog.create_crawl(["https://secret.example/"], settings, "")
    try:
        with api.client(api.token(f"looks as {access}", access)) as client:
            told = client.get(f"{V1}/crawls/{crawl.id}").text
            others = [client.get(f"{V1}/crawls").text, client.get(f"{V1}/crawls/{crawl.id}/progress").text]
        assert ("hunter2" in told) == (access is Access.ADMIN)
        assert "hunter2" not in "".join(others)
    finally:
        api.store.catalog.delete(crawl.id)
