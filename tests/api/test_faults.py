"""A store that goes away gives 503 with Retry-After, and everything goes on when it is back."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from nephila import wiring
from nephila.api import services as services_module
from nephila.api.services import StorePool
from nephila.errors import StoreUnavailable, UsageError
from nephila.settings import ProcessSettings
from tests import postgres
from tests.api.served import V1, Served, Workers, filled_crawl, running, served
from nephila.api.app import make_services
from nephila.clock import SystemClock
from nephila.settings import process_settings


def test_a_database_that_goes_away_gives_503_and_recovers(tmp_path: Path) -> None:
    server = postgres.Server(durable=True)
    try:
        settings = process_settings({"data": tmp_path, "store": server.url()})
        store = wiring.open_store(settings, create=True)
        crawl = filled_crawl(settings, store)
        made = make_services(settings, SystemClock(), lambda: wiring.open_store(settings), Workers())
        with running(made) as url:
            api = Served(settings, made, url, store, crawl)
            with api.client() as client:
                assert client.get(f"{V1}/crawls/1").status_code == 200
                server.stop_immediately()
                made.gate.forget()
                for path in ("/crawls", "/crawls/1", "/crawls/1/urls", "/crawls/1/export", "/stats", "/blocks"):
                    answer = client.get(V1 + path)
                    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2"), path
                    assert answer.json()["error"]["code"] == "unavailable"
                assert client.get("/livez").status_code == 200
                server.start()
                assert client.get(f"{V1}/crawls/1").json()["total"] == 6
                assert len(client.get(f"{V1}/crawls/1/export").text.splitlines()) == 6
    finally:
        server.close()


def test_a_store_that_cannot_be_opened_is_away_not_our_callers_fault(tmp_path: Path) -> None:
    broken = threading.Event()

    def opener(settings: ProcessSettings) -> Callable[[], wiring.Store]:
        def open_store() -> wiring.Store:
            if broken.is_set():
                raise UsageError("cannot write in the folder")
            return wiring.open_store(settings)

        return open_store

    with served("sqlite", tmp_path, opener) as api, api.client() as client:
        broken.set()
        answer = client.get(f"{V1}/crawls")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        broken.clear()
        assert client.get(f"{V1}/crawls").status_code == 200


def test_the_pool_lends_each_store_to_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services_module, "WAIT_SECONDS", 0.01)
    opened: list[object] = []

    def open_store() -> wiring.Store:
        opened.append(object())
        return wiring.open_store(process_settings({"data": tmp_path}), create=True)

    pool = StorePool(open_store, 2)
    with pool.use() as first, pool.use() as second:
        assert first is not second
        with pytest.raises(StoreUnavailable, match="too many"), pool.use():
            pass
    with pool.use() as third:
        assert third in (first, second), "the last used comes first"
    assert len(opened) == 2
