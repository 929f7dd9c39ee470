"""What a crawl has refused, and why."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from nephila.api.access import guarded
from nephila.api.lookup import crawl_named
from nephila.api.query import CrawlRef
from nephila.api.routers import noun_router
from nephila.api.schemas import View, view_of
from nephila.api.services import Shared
from nephila.control.refused import (
    HOSTS_SHOWN,
    DecidedBy,
    RefusedExample,
    RefusedGroup,
    RefusedReason,
    RefusedWhat,
    refused_of,
)
from nephila.frontier.tokens import Access
from nephila.settings import user_agent_of

HOSTS_MAX = 500

router = noun_router("statistics")

Hosts = Annotated[int, Query(ge=0, le=HOSTS_MAX, description="so many hosts of each reason, those with most first")]


@view_of(RefusedExample)
class RefusedExampleView(View):
    host: str = Field(description="its host; empty: no web URL has one", examples=["example.com"])
    url: str = Field(
        description="normalised; as it was written where it is no web URL; cut at 500 characters",
        examples=["https://example.com/tag/a"],
    )
    rule: str = Field(
        description="that refuses it, in words; empty: the reason says it all", examples=["matches */tag/*"]
    )
    url_id: int | None = Field(
        description="number of a URL that was taken up before; null: it never was", examples=[None]
    )
    found_on: int | None = Field(description="number of the URL of the page that links to it", examples=[17])


@view_of(RefusedGroup)
class RefusedGroupView(View):
    name: str = Field(
        description="the host (empty: no web URL has one), or the rule in words", examples=["example.com"]
    )
    count: int = Field(description="how many of them; a link counts once on each page that has it", examples=[12])
    examples: list[RefusedExampleView] = Field(description="up to 5")


@view_of(RefusedReason)
class RefusedReasonView(View):
    what: RefusedWhat = Field(
        description="`link`: not taken up, it has no row; `url`: taken up, and ended `excluded` without a request",
        examples=["link"],
    )
    reason: str = Field(
        description="why: a refusal of a link, or the reason of a URL; the glossary has all of them",
        examples=["exclude"],
    )
    count: int = Field(description="exact; a link counts once on each page that has it", examples=[12])
    decided_by: DecidedBy = Field(
        description="`standard`: it is no URL of the web; `setting`: of this crawl; `robots`: robots.txt of its host; "
        "`block`: a block rule",
        examples=["setting"],
    )
    setting: str = Field(description="name of the setting; empty: none decides", examples=["scope.exclude"])
    value: Any = Field(description="of this setting, in this crawl", examples=[["*/tag/*"]])
    examples: list[RefusedExampleView] = Field(description="up to 5, of several hosts and rules")
    hosts: list[RefusedGroupView] = Field(description="those with most first")
    hosts_more: int = Field(description="hosts that are not among these", examples=[0])
    rules: list[RefusedGroupView] = Field(description="where one of several rules decides: up to 50, most first")
    sampled: bool = Field(description="hosts and rules were counted among the first 500 URLs only", examples=[False])


class RefusedList(View):
    refused: list[RefusedReasonView] = Field(description="by reason, the most frequent first")


@router.get("/crawls/{crawl}/refused", **guarded(Access.READ, 404))
def list_refused(shared: Shared, crawl: CrawlRef, hosts: Hosts = HOSTS_SHOWN) -> RefusedList:
    """What a crawl has refused, by reason, host and rule.

    Each comes with examples and with what decides: a setting, robots.txt, a block rule. `/explain` tells all of a URL.
    """
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        agent = user_agent_of(found.settings, shared.settings)
        refused = refused_of(store.catalog, store.rulebook.rulings(), found, agent, hosts)
    return RefusedList.model_validate({"refused": refused})
