"""A store that goes away gives 503 with Retry-After, and everything goes on when it is back."""

from pathlib import Path

import pytest

from nephila import wiring
from nephila.api import services as services_module
from nephila.api.app import make_services
from nephila.api.services import StorePool
from nephila.clock import SystemClock
from nephila.errors import StoreUnavailable, UsageError
from nephila.settings import process_settings
from tests import postgres
from tests.api.served import V1, Served, Workers, filled_crawl, running


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
                assert client.get(f"{V1}/blocks").status_code == 200  # the progress of a crawl is kept for a second
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


def test_a_store_that_cannot_be_opened_is_away_not_the_callers_fault() -> None:
    def open_store() -> wiring.Store:
        raise UsageError("cannot write in the folder")

    pool = StorePool(open_store, 1)
    for _ in range(2):  # the place in the pool is not lost
        with pytest.raises(StoreUnavailable, match="cannot write"), pool.use():
            pass


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
