"""What a crawl has refused, through the API."""

import httpx

from tests.api.served import V1, Served
from tests.unit.control.filled import PDFS, SEED


def test_what_was_refused_by_reason_host_and_rule(api: Served, client: httpx.Client) -> None:
    path = f"{V1}/crawls/{api.crawl.id}/refused"
    scope, extension = client.get(path).json()["refused"]
    assert (scope["what"], scope["reason"], scope["count"]) == ("link", "scope", 3)
    assert (scope["decided_by"], scope["setting"], scope["value"]) == ("setting", "scope.mode", "same_host")
    assert [(host["name"], host["count"]) for host in scope["hosts"]] == [("b.test", 3)]
    (example,) = scope["examples"]
    assert (example["url"], example["url_id"]) == ("http://b.test/", None)
    page = client.get(f"{V1}/crawls/{api.crawl.id}/urls/{example['found_on']}").json()
    assert page["url"] == f"{SEED}x"
    assert [(rule["name"], rule["count"]) for rule in extension["rules"]] == [(PDFS, 2)]
    assert extension["rules"][0]["examples"][0]["url"] == f"{SEED}a.pdf"
    (cut, _) = client.get(path, params={"hosts": 0}).json()["refused"]
    assert (cut["hosts"], cut["hosts_more"]) == ([], 1)


def test_of_no_crawl_nothing_was_refused(client: httpx.Client) -> None:
    assert client.get(f"{V1}/crawls/404/refused").status_code == 404
