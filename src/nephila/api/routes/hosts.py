"""Hosts: how they are treated, why, and what an operator says about them."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Path, Query
from pydantic import Field, model_validator

from nephila.api.access import Admin, guarded
from nephila.api.lookup import crawl_named
from nephila.api.problems import Problem, asked_for
from nephila.api.query import CrawlRef, Order, PlainText
from nephila.api.routers import noun_router
from nephila.api.schemas import Body, Ms, ReasonText, View, view_of
from nephila.api.services import Services, Shared
from nephila.control.operators import HOST_CHARS_MAX, HostFacts, host_facts, host_key, robots_text, ruled_hosts
from nephila.frontier.operators import HostRule
from nephila.frontier.records import HOSTS_SORTED_MAX, CrawlHostSort, HostSort, QueueRow
from nephila.frontier.store import HostClock, RobotsRecord
from nephila.frontier.tokens import Access
from nephila.policy.politeness import Pace

HOSTS_DEFAULT, HOSTS_MAX = 100, 500
YEAR_MS = 366 * 86_400_000

router = noun_router("hosts")

HostName = Annotated[
    PlainText,
    Path(
        min_length=1,
        max_length=HOST_CHARS_MAX,
        description="name of the host, with or without `www.`",
        examples=["example.com"],
    ),
]
After = Annotated[PlainText, Query(max_length=HOST_CHARS_MAX, description="what `next` of the page before says")]
Text = Annotated[PlainText, Query(max_length=HOST_CHARS_MAX, description="only hosts with this in their name")]
SORT_HELP = f"by what to sort; others than `host` where there are up to {HOSTS_SORTED_MAX:,} hosts"
Ordered = Annotated[Order, Query(description="`asc`, or `desc` for the last first")]
Limit = Annotated[int, Query(ge=1, le=HOSTS_MAX, description="the most that a page has")]


@view_of(
    Pace,
    latency_ms=Field(description="moving average of what a request takes; null: not known yet", examples=[184.2]),
    slowdown=Field(description="factor that a struggling host's delay is multiplied with; 1.0: none", examples=[1.0]),
    strikes=Field(description="steps of the cooldown; a success takes one back", examples=[0]),
    crawl_delay_ms=Field(description="what robots.txt asks for; null: nothing", examples=[2000]),
    override_ms=Field(description="what an operator asks for; null: nothing", examples=[None]),
    nxdomain=Field(description="look-ups in a row that found no such name", examples=[0]),
)
class PaceView(View):
    errors: int = Field(description="errors in a row", examples=[0])


@view_of(
    HostClock,
    host=Field(description="politeness key of the host: its name without a leading `www.`", examples=["example.com"]),
    delay_ms=Field(description="milliseconds between two requests to it, as things are now", examples=[2000]),
    requests=Field(description="requests to it, in all crawls", examples=[1041]),
    addresses=Field(description="IP addresses of its name, separated by spaces", examples=["192.0.2.10 2001:db8::10"]),
    cnames=Field(description="names that its name leads to, separated by spaces", examples=["edge.example.net"]),
)
class ClockView(View):
    next_in_ms: int = Field(description="its next request is allowed in so many milliseconds", examples=[840])
    pace: PaceView = Field(description="what its delay is made of")
    rest_reason: str = Field(
        description="why it rests (`retry_after`, `backoff`, ...); empty: it keeps the ordinary pace", examples=[""]
    )


@view_of(
    QueueRow,
    host=Field(description="politeness key of the host: its name without a leading `www.`", examples=["example.com"]),
    due_in_ms=Field(
        description="it is looked at again in so many milliseconds; null: it has nothing to do", examples=[840]
    ),
    held_by=Field(description="the worker that has it in memory; null: none", examples=[3]),
    delay_ms=Field(description="milliseconds between two requests to it", examples=[2000]),
)
class QueueView(View):
    open: int = Field(description="its open URLs in this crawl, as far as they were counted", examples=[203])
    open_more: bool = Field(description="counting stopped: there are more than `open`", examples=[False])
    fetched: int = Field(
        description="requests for its URLs, each try counts, as of the worker's last flush", examples=[1041]
    )
    dead: str = Field(description="why it is given up: `host_dead`, `limit_host`; empty: it is not", examples=[""])


@view_of(
    HostRule,
    host=Field(description="politeness key of the host: its name without a leading `www.`", examples=["example.com"]),
    delay_ms=Field(
        description="at least so many milliseconds between two requests; null: no rule about that", examples=[5000]
    ),
    blocked_in_ms=Field(
        description="nothing is asked of it for so many milliseconds more; null: it is not blocked", examples=[None]
    ),
    reason=Field(description="why, in the operator's words", examples=["asked for a slower pace by mail"]),
    created_by=Field(description="token that made the rule; `local`: this machine", examples=["operator"]),
    created_at=Field(description="when the rule was made", examples=["2026-03-02T09:30:00Z"]),
)
class HostRuleView(View):
    pass


@view_of(
    RobotsRecord,
    "host",
    "body",
    origin=Field(description="scheme, host and port that this robots.txt speaks for", examples=["https://example.com"]),
    access=Field(
        description="`rules`: it is obeyed; `allow_all`: there is none; `hold`: not known yet; `pending`: another host "
        "answers",
        examples=["rules"],
    ),
    status=Field(description="HTTP status of its last answer; null: none came", examples=[200]),
    expires_in_ms=Field(description="it is asked for again after so many milliseconds", examples=[81000000]),
    failures=Field(description="attempts in a row that had no answer", examples=[0]),
    detail=Field(description="what went wrong last; empty: nothing", examples=[""]),
    fetched_at=Field(description="when it was asked for last", examples=["2026-03-02T09:30:00Z"]),
)
class RobotsRecordView(View):
    pass


class HostQueueView(View):
    queue: QueueView = Field(description="its URLs in this crawl")
    clock: ClockView | None = Field(description="its pace over all crawls; null: nothing was asked of it yet")
    rule: HostRuleView | None = Field(description="an operator's rule about it; null: none")
    robots_version: int | None = Field(
        description="how often its robots.txt has changed, of the origin that was asked last; null: never had",
        examples=[1],
    )
    robots_access: str | None = Field(
        description="what its robots.txt says: `rules`, `allow_all`, `hold` or `pending`; null: never asked",
        examples=["rules"],
    )


TOTAL = Field(
    description=f"hosts that pass the filter; null: there are more than {HOSTS_SORTED_MAX:,}, which are not counted",
    examples=[57],
)
UNSORTABLE = Field(description="why they are listed by name only; empty: they can be sorted", examples=[""])


class HostList(View):
    hosts: list[HostQueueView] = Field(description="a page of hosts; it may be short before the end: only `next` tells")
    next: str | None = Field(description="give it as `after`; null: this is the last page", examples=["example.net"])
    total: int | None = TOTAL
    unsortable: str = UNSORTABLE


class HostFactsView(View):
    host: str = Field(
        description="politeness key of the host: its name without a leading `www.`", examples=["example.com"]
    )
    clock: ClockView | None = Field(description="its pace over all crawls; null: nothing was asked of it yet")
    rule: HostRuleView | None = Field(description="an operator's rule about it; null: none")
    robots: list[RobotsRecordView] = Field(description="robots.txt of each of its origins")


class RuledHostView(View):
    clock: ClockView = Field(description="its pace over all crawls")
    rule: HostRuleView | None = Field(description="an operator's rule about it; null: none")
    robots_version: int | None = Field(
        description="of the origin that was asked last; it grows when the text changes", examples=[1]
    )
    robots_access: str | None = Field(
        description="what its robots.txt says: `rules`, `allow_all`, `hold` or `pending`; null: never asked",
        examples=["rules"],
    )


class RuledHostList(View):
    hosts: list[RuledHostView] = Field(description="a page of hosts; it may be short before the end: only `next` tells")
    next: str | None = Field(
        description="give it as `after`; null: nothing more is there now", examples=["example.net"]
    )
    total: int | None = TOTAL
    unsortable: str = UNSORTABLE


class RobotsTextView(RobotsRecordView):
    text: str | None = Field(
        description="null: there is none; what cannot be read as UTF-8 is replaced",
        examples=["User-agent: *\nDisallow: /private/\nCrawl-delay: 2\n"],
    )
    truncated: bool = Field(description="the text goes on; only its beginning is kept", examples=[False])


class RobotsTextList(View):
    robots: list[RobotsTextView] = Field(description="robots.txt of each origin of the host")


class HostRuleBody(Body):
    """The rule of a host. It replaces the one before."""

    delay_ms: Ms | None = Field(
        None,
        description="at least so many milliseconds between two requests; left out: no rule about that",
        examples=[5000],
    )
    blocked_in_ms: int | None = Field(
        None,
        ge=1,
        le=YEAR_MS,
        description="nothing is asked of it for so many milliseconds from now on; left out: it is not blocked",
        examples=[3600000],
    )
    reason: ReasonText = Field(
        "", description="why: shown wherever the rule is", examples=["asked for a slower pace by mail"]
    )

    @model_validator(mode="after")
    def _something(self) -> "HostRuleBody":
        if self.delay_ms is None and self.blocked_in_ms is None:
            raise ValueError("give delay_ms, blocked_in_ms or both; DELETE removes the rule")
        return self


@router.get("/crawls/{crawl}/hosts", **guarded(Access.READ, 404))
def list_hosts(
    shared: Shared,
    crawl: CrawlRef,
    after: After = "",
    limit: Limit = HOSTS_DEFAULT,
    text: Text = "",
    sort: Annotated[CrawlHostSort, Query(description=SORT_HELP)] = CrawlHostSort.HOST,
    order: Ordered = Order.ASC,
) -> HostList:
    """List the hosts of a crawl.

    How many URLs wait, the delay, when the next request is allowed and why, robots.txt, errors. Go on with `after`,
    which is what `next` of the page before says: the page begins behind that host, wherever it is in the order by now.
    """
    descending, wanted = order is Order.DESC, text.lower()
    with shared.pool.use() as store:
        crawl_id = crawl_named(store, crawl).id
        page = store.catalog.crawl_hosts(crawl_id, after, limit, wanted, sort, descending=descending)
        total = store.catalog.count_crawl_hosts(crawl_id, wanted)
        unsortable = store.catalog.unsortable_crawl_hosts(crawl_id)
        rules = store.rulebook.rulings().hosts
    hosts = [asdict(host) | {"rule": rules.get(host.queue.host)} for host in page.hosts]
    return HostList.model_validate({"hosts": hosts, "next": page.next, "total": total, "unsortable": unsortable})


@router.get("/hosts", **guarded(Access.READ))
def list_all_hosts(
    shared: Shared,
    after: After = "",
    limit: Limit = HOSTS_DEFAULT,
    text: Text = "",
    sort: Annotated[HostSort, Query(description=SORT_HELP)] = HostSort.HOST,
    order: Ordered = Order.ASC,
) -> RuledHostList:
    """List the hosts of all crawls.

    Those that were asked for something, or whose name was looked up. Go on with `after`, which is what `next` of the
    page before says: the page begins behind that host, wherever it is in the order by now.
    """
    descending = order is Order.DESC
    with shared.pool.use() as store:
        page = ruled_hosts(store.catalog, store.rulebook, after, limit, text, sort, descending=descending)
    return RuledHostList.model_validate(page)


@router.get("/hosts/{host}", **guarded(Access.READ, 404))
def get_host(shared: Shared, host: HostName) -> HostFactsView:
    """Show a host over all crawls.

    Its clock, what its delay is made of, its robots.txt, and what an operator says about it.
    """
    return HostFactsView.model_validate(_facts(shared, host))


@router.get("/hosts/{host}/robots", **guarded(Access.READ, 404))
def get_robots(shared: Shared, host: HostName) -> RobotsTextList:
    """Show the robots.txt of a host.

    Of each of its origins, as text, with when it was fetched and when it is asked for again.
    """
    robots = [asdict(record) | robots_text(record)._asdict() for record in _facts(shared, host).robots]
    return RobotsTextList.model_validate({"robots": robots})


def _facts(shared: Services, host: str) -> HostFacts:
    key = asked_for("host", host_key, host)
    with shared.pool.use() as store:
        found = host_facts(store.catalog, store.rulebook, key)
    if found is None:
        raise Problem(404, f"nothing is known of {key}")
    return found


@router.put("/hosts/{host}", **guarded(Access.ADMIN))
def set_host(shared: Shared, host: HostName, body: HostRuleBody, caller: Admin) -> HostRuleView:
    """Give a host a delay of its own, or block it for some time.

    It replaces the rule before. Workers follow with their next flush, in all crawls.
    """
    key = asked_for("host", host_key, host)
    with shared.pool.use() as store:
        rule = store.rulebook.set_host(key, body.delay_ms, body.blocked_in_ms, body.reason, caller.name)
    return HostRuleView.model_validate(rule)


@router.delete("/hosts/{host}", status_code=204, **guarded(Access.ADMIN, 404))
def clear_host(shared: Shared, host: HostName) -> None:
    """Remove the rule of a host.

    Its clock stays: what was asked of it a moment ago is not forgotten.
    """
    key = asked_for("host", host_key, host)
    with shared.pool.use() as store:
        if not store.rulebook.clear_host(key):
            raise Problem(404, f"there is no rule for {key}")
