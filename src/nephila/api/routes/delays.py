"""The delay that a crawl would really have."""

from typing import Annotated, Any

from pydantic import Field

from nephila.api.access import Reader, guarded
from nephila.api.problems import blaming
from nephila.api.query import TEXT_CHARS_MAX, PlainText
from nephila.api.requested_settings import check_loosened, checked_settings
from nephila.api.routers import noun_router
from nephila.api.schemas import Body, View, view_of
from nephila.api.services import Shared
from nephila.control import crawls
from nephila.control.delays import DelayPart, HostDelay, delays_of
from nephila.fetch.manners import FLOOR, FORCE, mannered
from nephila.frontier.tokens import Access

SEEDS_MAX = 100

router = noun_router("crawls")


class PlannedCrawl(Body):
    """A crawl that is not started: what `POST /crawls` would be sent."""

    seeds: list[Annotated[PlainText, Field(min_length=1, max_length=TEXT_CHARS_MAX)]] = Field(
        min_length=1,
        max_length=SEEDS_MAX,
        description="URLs or bare domains; the delay is told of the first 10 hosts",
        examples=[["https://example.com/"]],
    )
    profile: str = Field("default", max_length=50, description="GET /api/v1/settings lists them", examples=["default"])
    settings: dict[str, Any] = Field(
        {},
        max_length=200,
        description="what differs from the profile",
        examples=[{"polite.floor_ms": 2000, "polite.adaptive": False}],
    )


@view_of(DelayPart)
class DelayPartView(View):
    name: str = Field(
        description="floor (of the crawl), floor_of_all_crawls (by an operator), crawl_delay (robots.txt), override "
        "(an operator, for this host), adaptive (by latency), slowdown (after 429)",
        examples=["crawl_delay"],
    )
    ms: float = Field(description="how long it is", examples=[5000])


@view_of(HostDelay)
class HostDelayView(View):
    host: str = Field(description="hostname without port and without a leading www.", examples=["example.com"])
    delay_ms: float = Field(description="between two requests, as far as it is known now", examples=[5000])
    parts: tuple[DelayPartView, ...] = Field(description="in force, the longest first: that one is the delay")
    asked: bool = Field(
        description="false: never yet, so neither its robots.txt nor its latency is known", examples=[True]
    )


class DelayList(View):
    hosts: list[HostDelayView] = Field(description="of the seeds, up to 10")
    restrained: bool = Field(
        description="the profile or the environment wants a shorter delay than hosts that are not your own may expect",
        examples=[False],
    )


@router.post("/delays", **guarded(Access.READ))
def plan_delays(shared: Shared, caller: Reader, body: PlannedCrawl) -> DelayList:
    """Tell the delay that a crawl with these seeds and settings would really have.

    It is the longest of the crawl's floor, the floor of all crawls, robots.txt's Crawl-delay, an operator's delay for
    the host and the adaptive part. What `POST /crawls` would refuse for its settings is refused here, too.
    """
    private = shared.settings.permits_private
    settings = checked_settings(caller, body.profile, body.settings, private_proxies=private)
    with blaming("seeds"):
        seeds = crawls.checked_seeds(body.seeds)
    chosen = {name: f"settings.{name}" for name in body.settings}
    with blaming(f"settings.{FORCE}"):
        manners = mannered(settings, seeds, shared.settings.own_hosts, chosen)
    check_loosened(caller, manners.chosen, manners.foreign, chosen)
    with shared.pool.use() as store:
        hosts = delays_of(store.catalog, store.rulebook.rulings(), manners.settings, seeds)
    return DelayList.model_validate({"hosts": hosts, "restrained": FLOOR in manners.restrained})
