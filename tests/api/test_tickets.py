"""A frame shows an archived page without a header: by a ticket for this page, for a minute."""

import httpx
import pytest

from nephila.api.tickets import GOOD_MS, Tickets
from nephila.clock import VirtualClock
from nephila.frontier.tokens import Access
from tests.api.served import V1, Served
from tests.unit.control.filled import PAGE


def rendered(api: Served, name: str) -> str:
    return f"{V1}/crawls/{api.crawl.id}/urls/{api.ids()[name]}/page/rendered"


def test_a_ticket_opens_its_page_without_a_token(api: Served, client: httpx.Client) -> None:
    secret = api.token("reader", Access.READ)
    asked = f"{V1}/crawls/{api.crawl.uuid}/urls/{api.ids()['x']}/page/ticket"
    assert client.get(asked).status_code == 401, "tickets are for those who may read"
    with api.client(secret) as reader:
        answer = reader.get(asked)
        assert answer.json().keys() == {"path"}
        path = answer.json()["path"]
        assert reader.get(rendered(api, "x")).content == PAGE
    assert path.startswith(rendered(api, "x") + "?ticket=")
    shown = client.get(path)
    assert (shown.status_code, shown.content) == (200, PAGE)
    assert shown.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert shown.headers["cache-control"] == "no-store"
    assert shown.headers["referrer-policy"] == "no-referrer"


def test_a_ticket_opens_nothing_else(api: Served, client: httpx.Client) -> None:
    """On this machine, where no token is needed: a ticket that is shown is judged."""
    ticket = (
        client.get(f"{V1}/crawls/{api.crawl.id}/urls/{api.ids()['x']}/page/ticket").json()["path"].partition("=")[2]
    )
    for name, shown in (("formula", ticket), ("x", ticket[:-1]), ("x", ticket + "0"), ("x", ""), ("x", "1-é")):
        answer = client.get(rendered(api, name), params={"ticket": shown})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized"), shown
    for path in ("", "/raw"):
        answer = client.get(rendered(api, "x").replace("/rendered", path), params={"ticket": ticket})
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "ticket")


def test_a_ticket_is_good_for_a_minute(clock: VirtualClock) -> None:
    tickets = Tickets(clock)
    ticket = tickets.issue("1", 7)
    assert tickets.opens(ticket, "1", 7)
    clock.advance(GOOD_MS - 1)
    assert tickets.opens(ticket, "1", 7)
    clock.advance(1)
    assert not tickets.opens(ticket, "1", 7)


@pytest.mark.parametrize(
    "change",
    [
        lambda ticket: ticket.replace("-", ""),
        lambda ticket: "9" + ticket,
        lambda ticket: ticket.upper(),
        lambda ticket: "-" + ticket.partition("-")[2],
        lambda ticket: "\u0661" + ticket,
        lambda ticket: "1" * 5000 + ticket,
        lambda ticket: ticket + "-",
        lambda _: "",
    ],
)
def test_a_changed_ticket_is_none(clock: VirtualClock, change: object) -> None:
    tickets = Tickets(clock)
    ticket = tickets.issue("1", 7)
    assert not tickets.opens(change(ticket), "1", 7)  # type: ignore[operator]


@pytest.mark.parametrize(("crawl", "url_id"), [("2", 7), ("1", 8), ("11", 7), ("1/7", 0)])
def test_a_ticket_is_of_one_page(clock: VirtualClock, crawl: str, url_id: int) -> None:
    tickets = Tickets(clock)
    assert not tickets.opens(tickets.issue("1", 7), crawl, url_id)


def test_another_process_has_another_key(clock: VirtualClock) -> None:
    assert not Tickets(clock).opens(Tickets(clock).issue("1", 7), "1", 7)
