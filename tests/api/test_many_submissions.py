"""A hundred clients that submit at the same moment: each gets a crawl of its own, and none is lost."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

import httpx
import pytest

from nephila import wiring
from nephila.api import services
from nephila.frontier.tables import Patience
from tests import postgres
from tests.api.live_server import live_server, settings_of
from tests.api.served import KINDS
from tests.patience import PATIENCE_SECONDS

CLIENTS = 100


@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_at_once(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The last waits for all others, on a busy machine for longer than the product does: those would be answered 503.
    monkeypatch.setattr(services, "WAIT_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(wiring, "Patience", partial(Patience, PATIENCE_SECONDS))
    together = Barrier(CLIENTS)
    with (
        postgres.command(kind, tmp_path) as place,
        live_server(settings_of(data=tmp_path, store=place.store)) as server,
    ):

        def submit(number: int) -> tuple[int, int]:
            body = {"seeds": [f"https://{number}.example/"]}
            together.wait(PATIENCE_SECONDS)
            answer = httpx.post(f"{server.url}/api/v1/crawls", json=body, timeout=PATIENCE_SECONDS)
            return answer.status_code, answer.json().get("id", 0)

        with ThreadPoolExecutor(CLIENTS) as clients:
            answers = list(clients.map(submit, range(CLIENTS)))
        stored = {server.store.catalog.crawl(number).seeds[0] for _, number in answers}
    assert {status for status, _ in answers} == {201}
    assert stored == {f"https://{number}.example/" for number in range(CLIENTS)}
