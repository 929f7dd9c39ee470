"""The delay that a crawl would really have, through the API."""

import httpx

from nephila.frontier.tokens import Access
from tests.api.served import V1, Served

PATH = f"{V1}/delays"
SEEDS = ["https://shop.example/"]


def test_the_delay_that_holds(api: Served, client: httpx.Client) -> None:
    found = client.post(PATH, json={"seeds": SEEDS, "settings": {"polite.floor_ms": 2000}}).json()
    assert found["restrained"] is False
    (host,) = found["hosts"]
    assert (host["host"], host["delay_ms"], host["asked"]) == ("shop.example", 2000, False)
    assert [part["name"] for part in host["parts"]] == ["floor", "adaptive"]
    client.put(f"{V1}/floor", json={"floor_ms": 7000})
    (host,) = client.post(PATH, json={"seeds": SEEDS}).json()["hosts"]
    assert (host["delay_ms"], host["parts"][0]["name"]) == (7000, "floor_of_all_crawls")


def test_a_profile_is_restrained_on_foreign_hosts_and_a_person_needs_access(api: Served, client: httpx.Client) -> None:
    found = client.post(PATH, json={"seeds": SEEDS, "profile": "strict"}).json()
    assert (found["restrained"], found["hosts"][0]["delay_ms"]) == (True, 1000)
    with api.client(api.token("writes", Access.WRITE)) as writer:
        refused = writer.post(PATH, json={"seeds": SEEDS, "settings": {"polite.floor_ms": 10}})
    assert (refused.status_code, refused.json()["error"]["field"]) == (403, "settings.polite.floor_ms")


def test_what_cannot_be_crawled_names_its_field(client: httpx.Client) -> None:
    for body, field in (({"seeds": ["mailto:x@a.test"]}, "seeds"), ({"seeds": SEEDS, "profile": "x"}, "profile")):
        answer = client.post(PATH, json=body)
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
