"""Hosts: how they are treated, why, and what an operator says about them."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query

from nephila.api.access import Admin, guarded
from nephila.api.host_schemas import (
    HostFactsView,
    HostList,
    HostQueueView,
    HostRuleBody,
    RobotsTextList,
    RobotsTextView,
    RuledHostList,
)
from nephila.api.lookup import crawl_named
from nephila.api.problems import Problem, asked_for
from nephila.api.query import CrawlRef, PlainText
from nephila.api.schemas import HostRuleView, RobotsRecordView
from nephila.api.services import Services, Shared
from nephila.control.operators import HOST_CHARS_MAX, HostFacts, host_facts, host_key, robots_text, ruled_hosts
from nephila.frontier.operators import Access

HOSTS_DEFAULT, HOSTS_MAX = 100, 500

router = APIRouter(tags=["hosts"])

HostName = Annotated[PlainText, Path(min_length=1, max_length=HOST_CHARS_MAX, examples=["example.com"])]


After = Annotated[PlainText, Query(max_length=HOST_CHARS_MAX, description="what `next` of the page before says")]
Text = Annotated[PlainText, Query(max_length=HOST_CHARS_MAX, description="part of the name")]
Limit = Annotated[int, Query(ge=1, le=HOSTS_MAX)]


@router.get("/crawls/{crawl}/hosts", **guarded(Access.READ, 404))
def list_hosts(
    shared: Shared,
    crawl: CrawlRef,
    after: After = "",
    limit: Limit = HOSTS_DEFAULT,
) -> HostList:
    """By name: queue, delay, next allowed time and why, robots.txt, errors."""
    with shared.pool.use() as store:
        found = store.catalog.hosts(crawl_named(store, crawl).id, after, limit)
        rules = store.rulebook.rulings().hosts
    hosts = [HostQueueView.model_validate(asdict(host) | {"rule": rules.get(host.queue.host)}) for host in found]
    return HostList(hosts=hosts, next=hosts[-1].queue.host if len(hosts) == limit else None)


@router.get("/hosts", **guarded(Access.READ))
def list_all_hosts(shared: Shared, after: After = "", limit: Limit = HOSTS_DEFAULT, text: Text = "") -> RuledHostList:
    """Over all crawls, by name: every host that was asked for something, or whose name was looked up."""
    with shared.pool.use() as store:
        page = ruled_hosts(store.catalog, store.rulebook, after, limit, text)
    return RuledHostList.model_validate(page)


@router.get("/hosts/{host}", **guarded(Access.READ, 404))
def get_host(shared: Shared, host: HostName) -> HostFactsView:
    """Over all crawls."""
    return HostFactsView.model_validate(_facts(shared, host))


@router.get("/hosts/{host}/robots", **guarded(Access.READ, 404))
def get_robots(shared: Shared, host: HostName) -> RobotsTextList:
    """The robots.txt of each of its origins, as data."""
    shown = [
        RobotsTextView(**RobotsRecordView.model_validate(record).model_dump(), **robots_text(record)._asdict())
        for record in _facts(shared, host).robots
    ]
    return RobotsTextList(robots=shown)


def _facts(shared: Services, host: str) -> HostFacts:
    key = asked_for("host", host_key, host)
    with shared.pool.use() as store:
        found = host_facts(store.catalog, store.rulebook, key)
    if found is None:
        raise Problem(404, f"nothing is known of {key}")
    return found


@router.put("/hosts/{host}", **guarded(Access.ADMIN))
def set_host(shared: Shared, host: HostName, body: HostRuleBody, caller: Admin) -> HostRuleView:
    """A delay of its own, a block for some time, or both. Workers follow with their next flush."""
    key = asked_for("host", host_key, host)
    with shared.pool.use() as store:
        rule = store.rulebook.set_host(key, body.delay_ms, body.blocked_in_ms, body.reason, caller.name)
    return HostRuleView.model_validate(rule)


@router.delete("/hosts/{host}", status_code=204, **guarded(Access.ADMIN, 404))
def clear_host(shared: Shared, host: HostName) -> None:
    """Remove what was said about it; its clock stays."""
    key = asked_for("host", host_key, host)
    with shared.pool.use() as store:
        if not store.rulebook.clear_host(key):
            raise Problem(404, f"there is no rule for {key}")
