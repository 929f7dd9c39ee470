"""Crawls: look, steer, end."""

from dataclasses import asdict
from typing import Annotated, Any, Self

from fastapi import Query
from pydantic import AfterValidator, ConfigDict, Field, model_validator
from starlette.concurrency import run_in_threadpool

from nephila.api.access import Caller, Reader, Writer, guarded
from nephila.api.live import overview
from nephila.api.lookup import crawl_named, find_crawl, live_crawl_named
from nephila.api.problems import Problem, blaming, said
from nephila.api.query import TEXT_CHARS_MAX, After, CrawlRef, Order, PlainText
from nephila.api.requested_settings import check_loosened
from nephila.api.routers import noun_router
from nephila.api.routes.hosts import QueueView
from nephila.api.routes.workers import WorkerView
from nephila.api.schemas import Body, Moment, Ms, View, view_of
from nephila.api.services import OpenStore, Services, Shared
from nephila.control import crawls
from nephila.control.crawl_list import CRAWLS_SORTED_MAX, HEADS_MAX, CrawlFilter, CrawlSort, crawl_page
from nephila.control.naming import (
    LABEL_CHARS_MAX,
    LABELS_MAX,
    NAME_CHARS_MAX,
    checked_label,
    checked_labels,
    checked_name,
)
from nephila.control.notices import notices_of
from nephila.control.progress import (
    SEEDS_SHOWN,
    Bound,
    KindCounts,
    Resting,
    errors_of,
    failure_cause,
    requisites_of,
    sitemaps_of,
)
from nephila.control.statistics import states_of
from nephila.fetch.manners import FLOOR, foreign_host, loosened
from nephila.frontier.catalog import Catalog
from nephila.frontier.store import Crawl, Naming
from nephila.frontier.tokens import Access
from nephila.models import CrawlState
from nephila.profiles import Limit

CRAWLS_DEFAULT, CRAWLS_MAX = 20, 100
OFFSET_MAX = 1_000_000
# The fields of a view that are the crawl's own, and those that are tallies.
OWN_FIELDS = ("id", "reason", "limited_by", "seeding", "created_at", "ended_at", "active_ms")
TALLIED_FIELDS = ("requests", "retries", "bytes")

router = noun_router("crawls")


class ChangeBody(Body):
    def changes(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.changes():
            raise ValueError(f"give at least one of {', '.join(type(self).model_fields)}")
        return self


def _checked_labels(texts: list[str]) -> list[str]:
    return list(checked_labels(texts))


NameText = Annotated[str, Field(max_length=NAME_CHARS_MAX * 4), AfterValidator(said(checked_name))]
LabelTexts = Annotated[list[str], Field(max_length=LABELS_MAX * 4), AfterValidator(said(_checked_labels))]
NAME_HELP = f"one line of text, at most {NAME_CHARS_MAX} characters; empty: none"
LABELS_HELP = (
    f"words like `nightly`, or `key=value` like `team=docs`, each key once; at most {LABELS_MAX} of "
    f"{LABEL_CHARS_MAX} characters: letters, digits and `. _ - / : @ +`"
)


class NamingChange(ChangeBody):
    """Only what is given changes; `labels` takes the place of all labels."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Docs, weekly"}, {"labels": ["team=docs"]}]})

    name: NameText = Field("", description=f"what people call it: {NAME_HELP}", examples=["Docs, weekly"])
    labels: LabelTexts = Field(
        [], description=f"what it is found by: {LABELS_HELP}", examples=[["nightly", "team=docs"]]
    )


class PaceChange(ChangeBody):
    """Only what is given changes."""

    floor_ms: Ms | None = Field(
        None, description="the shortest gap between two requests to a host, in milliseconds", examples=[2000]
    )
    jitter_ms: Ms | None = Field(
        None, description="a random addition of up to this to each gap, in milliseconds", examples=[500]
    )
    adaptive: bool | None = Field(None, description="let slow hosts rest longer", examples=[True])
    max_inflight: int | None = Field(None, ge=1, le=1000, description="requests to one host at a time", examples=[1])

    def changes(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


def _undefaulted(schema: dict[str, Any]) -> None:
    """Removes the defaults: where null says something, a field that is left out does not mean its default.

    The examples have what changes, and no more.
    """
    for field in schema["properties"].values():
        field.pop("default", None)
    schema["examples"] = [{"max_pages": 5000}, {"max_seconds": None}]


class Limits(ChangeBody):
    """Only what is given changes; null removes a limit."""

    model_config = ConfigDict(json_schema_extra=_undefaulted)

    max_pages: Limit = Field(
        None, description="pages that end `visited`; those in flight are still brought", examples=[5000]
    )
    max_urls: Limit = Field(
        None,
        description="URLs that are admitted at all: another number, in a crawl that was started with one",
        examples=[100000],
    )
    max_frontier: Limit = Field(
        None, description="open pages at a time: another number, in a crawl that was started with one", examples=[50000]
    )
    max_urls_per_host: int = Field(
        1, ge=1, le=10**12, description="URLs of one host that are fetched", examples=[10000]
    )
    max_seconds: Limit = Field(None, description="seconds since the crawl began, pauses not counted", examples=[86400])
    max_bytes: Limit = Field(None, description="bytes received in bodies", examples=[10000000000])


@view_of(
    KindCounts,
    urls=Field(description="requisites that are known", examples=[310]),
    queued=Field(description="of these, waiting for their turn", examples=[12]),
    in_progress=Field(description="asked for now", examples=[2]),
    broken=Field(description="that ended with an error: not found, forbidden, HTTP error, failed", examples=[3]),
    errors=Field(description="requisites that ended with an error, by kind", examples=[{"not_found": 2, "timeout": 1}]),
)
class RequisitesView(View):
    """What pages need (scope.requisites). All other numbers of URLs are without it."""

    states: dict[str, int] = Field(
        description="requisites that ended, by state", examples=[{"visited": 293, "not_found": 2, "failed": 1}]
    )


@view_of(
    KindCounts,
    urls=Field(description="sitemaps that are known", examples=[4]),
    queued=Field(description="of these, waiting for their turn", examples=[1]),
    in_progress=Field(description="asked for now", examples=[0]),
    broken=Field(description="that ended with an error: not found, forbidden, HTTP error, failed", examples=[1]),
    errors=Field(description="sitemaps that ended with an error, by kind", examples=[{"not_found": 1}]),
)
class SitemapCountsView(View):
    """Its sitemaps (sitemaps.mode). All other numbers of URLs are without them."""

    states: dict[str, int] = Field(
        description="sitemaps that ended, by state", examples=[{"visited": 2, "not_found": 1}]
    )


class CrawlMessage(View):
    crawl_id: str = Field(
        description="its uuid, by which every path knows it, too", examples=["6f1c2a8e-3d47-4b90-9c55-0e8b7a1d2f34"]
    )
    status: CrawlState = Field(
        description="where it is in its life; `ending`: a limit or a cancel is being carried out", examples=["running"]
    )
    root_url: str = Field(description="its first seed", examples=["https://example.com/"])
    requested_depth: int = Field(description="links away from a seed that it goes, at most", examples=[50])
    total: int = Field(description="URLs that are known", examples=[1240])
    completed: int = Field(description="URLs that ended without an error", examples=[1015])
    pending: int = Field(description="URLs that wait for their turn", examples=[203])
    in_progress: int = Field(description="URLs that are asked for now", examples=[12])
    failed: int = Field(
        description="URLs that ended with an error: not found, forbidden, HTTP error, failed", examples=[10]
    )
    requests: int = Field(description="requests that came to an end, with an answer or an error", examples=[1041])
    retries: int = Field(description="tries after the first one of a URL", examples=[6])
    bytes: int = Field(description="bytes received in bodies", examples=[48210344])
    requisites: RequisitesView = Field(description="what its pages need, counted apart")
    sitemaps: SitemapCountsView = Field(description="its sitemaps, counted apart")


class CrawlView(CrawlMessage):
    id: int = Field(description="its number, by which every path knows it", examples=[7])
    name: str = Field(description="what people call it; empty: it has no name", examples=["Docs, weekly"])
    labels: list[str] = Field(
        description="what it is found by: words, or `key=value`; sorted", examples=[["nightly", "team=docs"]]
    )
    reason: str = Field(description="why it is in this status; empty: nothing to say", examples=[""])
    limited_by: str = Field(
        description="the limit that ended it before its frontier did, or refused some of its links; empty: none",
        examples=[""],
    )
    seeding: bool = Field(
        description="its seeds, or URLs that a limit had ended, are still being added", examples=[False]
    )
    seeds: list[str] = Field(description=f"the first {SEEDS_SHOWN}", examples=[["https://example.com/"]])
    seeds_count: int = Field(description="seeds in all", examples=[1])
    profile: str = Field(description="the set of defaults that it was started with", examples=["default"])
    created_at: Moment = Field(description="when it was started", examples=["2026-03-02T09:30:00Z"])
    ended_at: Moment | None = Field(description="when it ended; null: it has not", examples=[None])
    active_ms: int = Field(description="milliseconds that it ran, pauses not counted", examples=[2561000])
    states: dict[str, int] = Field(
        description="URLs by state; docs/url-states.md says what each means",
        examples=[{"queued": 203, "in_progress": 12, "visited": 980, "redirected": 35, "not_found": 8, "failed": 2}],
    )
    errors: dict[str, int] = Field(
        description="URLs that ended with an error, by kind", examples=[{"not_found": 8, "timeout": 2}]
    )


class CrawlDetail(CrawlView):
    cause: str = Field(
        description="of a crawl that failed: what went wrong last, in words; empty: nothing", examples=[""]
    )
    settings: dict[str, Any] = Field(
        description="all its settings by group; GET /api/v1/settings says what each means",
        examples=[{"profile": "default", "polite": {"floor_ms": 1000}, "limits": {"max_pages": 5000}}],
    )
    warnings: list[str] = Field(
        description="what its operator should know: no contact, loose or restrained settings",
        examples=[["no contact: example.com may not be yours, and its owner cannot reach you"]],
    )


class CrawlList(View):
    crawls: list[CrawlView] = Field(description="a page of crawls; it may be short before the end: only `next` tells")
    next: int | None = Field(description="give it as `after` for the next page; null: this is the last", examples=[7])
    total: int | None = Field(
        description=f"crawls that pass the filters; null: there are more than {HEADS_MAX:,} crawls, which are not "
        "counted",
        examples=[12],
    )
    unsortable: str = Field(description="why they are listed by number only; empty: they can be sorted", examples=[""])


class Purged(View):
    rows: int = Field(description="rows removed from the store", examples=[1240])
    files: int = Field(description="archive files removed", examples=[2])


@view_of(
    Bound,
    host=Field(description="politeness key of the host: its name without a leading `www.`", examples=["example.com"]),
    queued=Field(description="its URLs that wait", examples=[203]),
    delay_ms=Field(description="milliseconds between two requests to it", examples=[2000.0]),
)
class BoundView(View):
    pass


@view_of(
    Resting,
    host=Field(description="politeness key of the host: its name without a leading `www.`", examples=["example.com"]),
    in_ms=Field(description="it is asked again in so many milliseconds", examples=[30000]),
    reason=Field(description="why it rests", examples=["retry_after"]),
)
class RestingView(View):
    pass


class ProgressView(CrawlMessage):
    """The same message as the WebSocket and the event stream have."""

    crawl: int = Field(description="its number", examples=[7])
    name: str = Field(description="what people call it; empty: it has no name", examples=["Docs, weekly"])
    labels: list[str] = Field(
        description="what it is found by: words, or `key=value`; sorted", examples=[["nightly", "team=docs"]]
    )
    state: CrawlState = Field(description="the same as `status`", examples=["running"])
    reason: str = Field(description="why it is in this state; empty: nothing to say", examples=[""])
    cause: str = Field(
        description="of a crawl that failed: what went wrong last, in words; empty: nothing", examples=[""]
    )
    limited_by: str = Field(
        description="the limit that ended it before its frontier did, or refused some of its links; empty: none",
        examples=[""],
    )
    seeds: list[str] = Field(description="the first of its seeds", examples=[["https://example.com/"]])
    active_ms: int = Field(description="milliseconds that it ran, pauses not counted", examples=[2561000])
    urls: int = Field(description="URLs that are known", examples=[1240])
    queued: int = Field(description="URLs that wait for their turn", examples=[203])
    pages: int = Field(
        description="URLs that were visited, and are of a type that content.accept names", examples=[980]
    )
    states: dict[str, int] = Field(
        description="URLs by state; docs/url-states.md says what each means",
        examples=[{"queued": 203, "in_progress": 12, "visited": 980, "redirected": 35, "not_found": 8, "failed": 2}],
    )
    errors: dict[str, int] = Field(
        description="URLs that ended with an error, by kind", examples=[{"not_found": 8, "timeout": 2}]
    )
    rate: float | None = Field(
        description="requests answered per second; null while it is paused or over", examples=[12.4]
    )
    eta_seconds: float | None = Field(
        description="seconds until the URLs that are known now have ended, as far as can be told; null: it cannot",
        examples=[406.0],
    )
    bounded_by: BoundView | None = Field(description="the host whose politeness decides when it ends; null: none does")
    waiting: str = Field(description="why nothing can be stored now; empty: all is well", examples=[""])
    resting: RestingView | None = Field(description="the host that everything waits for; null: none")
    hosts: list[QueueView] = Field(description="hosts with the most open URLs")
    workers: list[WorkerView] = Field(description="workers that live")
    final: bool = Field(description="it is over: nothing changes any more", examples=[False])


def crawl_fields(crawl: Crawl, counts: dict[str, int]) -> dict[str, Any]:
    fields = overview(crawl, counts) | {name: getattr(crawl, name) for name in OWN_FIELDS}
    return fields | {
        "seeds": list(crawl.seeds[:SEEDS_SHOWN]),
        "seeds_count": len(crawl.seeds),
        "name": crawl.naming.name,
        "labels": list(crawl.naming.labels),
        "profile": crawl.settings.profile,
        "states": states_of(counts),
        "errors": dict(errors_of(counts)),
        "requisites": asdict(requisites_of(counts)),
        "sitemaps": asdict(sitemaps_of(counts)),
        **{name: counts.get(name, 0) for name in TALLIED_FIELDS},
    }


def crawl_view(crawl: Crawl, counts: dict[str, int]) -> CrawlView:
    return CrawlView(**crawl_fields(crawl, counts))


def detail_of(shared: Services, store: OpenStore, crawl: Crawl, caller: Caller | None = None) -> CrawlDetail:
    """A crawl with its settings; credentials among them only for an admin who asks for the crawl itself."""
    fields = crawl_fields(crawls.paused_if_interrupted(store.catalog, crawl), store.catalog.tallies(crawl.id))
    settings = crawl.settings if caller and caller.access is Access.ADMIN else crawl.settings.redacted()
    warnings = [notice.text for notice in notices_of(crawl, shared.settings)]
    cause = failure_cause(store.catalog, crawl)
    return CrawlDetail(**fields, cause=cause, settings=settings.model_dump(mode="json"), warnings=warnings)


def check_quota(caller: Caller, catalog: Catalog, crawls_max: int) -> None:
    """Limits the crawls that a token may have under way. The store counts them: over restarts and all servers."""
    under_way = 0 if caller.token is None else catalog.unfinished_of(caller.creator)
    if under_way >= crawls_max:
        raise Problem(429, f"the token {caller.name} has {under_way} crawls under way, the most it may")


# --- looking


@router.get("/crawls", **guarded(Access.READ))
def list_crawls(
    shared: Shared,
    status: Annotated[CrawlState | None, Query(description="only crawls in this status")] = None,
    label: Annotated[
        list[PlainText] | None,
        Query(
            max_length=LABELS_MAX,
            description="only crawls with this label; a key alone stands for all of its values; repeat it for several",
        ),
    ] = None,
    text: Annotated[
        PlainText,
        Query(
            max_length=TEXT_CHARS_MAX,
            description="only crawls with this in their number, name, labels or the beginning of their seeds",
        ),
    ] = "",
    sort: Annotated[
        CrawlSort,
        Query(description=f"by what to sort; others than `id` where there are up to {CRAWLS_SORTED_MAX:,} crawls"),
    ] = CrawlSort.ID,
    order: Annotated[Order, Query(description="`desc` for the last first: by `id` the newest")] = Order.DESC,
    limit: Annotated[int, Query(ge=1, le=CRAWLS_MAX, description="the most that a page has")] = CRAWLS_DEFAULT,
    after: After = 0,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX, description="crawls to skip")] = 0,
) -> CrawlList:
    """List crawls, the newest first unless another order is asked for.

    Go on with `after`, which is what `next` of the page before says: the page begins behind that crawl, wherever it is
    in the order by now. `offset` counts crawls to skip instead. All filters given must match.
    """
    with blaming("label"):
        where = CrawlFilter(status, tuple(checked_label(each) for each in label or ()), text.strip())
    descending = order is Order.DESC
    with shared.pool.use() as store:
        found = crawl_page(store.catalog, where, limit, after=after, offset=offset, sort=sort, descending=descending)
        page = [crawl_view(crawl, store.catalog.tallies(crawl.id)) for crawl in found.crawls]
    return CrawlList(crawls=page, next=found.next, total=found.total, unsortable=found.unsortable)


@router.get("/crawls/{crawl}", **guarded(Access.READ, 404))
def get_crawl(shared: Shared, crawl: CrawlRef, caller: Reader) -> CrawlDetail:
    """Show a crawl.

    Its status, its counts, all its settings and what its operator should know. Credentials among the settings (proxy,
    headers) are shown to access admin only.
    """
    with shared.pool.use() as store:
        return detail_of(shared, store, crawl_named(store, crawl), caller)


@router.get("/crawls/{crawl}/progress", **guarded(Access.READ, 404))
async def get_progress(shared: Shared, crawl: CrawlRef, _caller: Reader) -> ProgressView:
    """Show the progress of a crawl.

    At most a second old, and the same message that the WebSocket and the event stream send. Asking often costs nothing
    and hurries nothing.
    """
    found = await run_in_threadpool(find_crawl, shared, crawl)
    return ProgressView.model_validate(await shared.hub.snapshot(found.id))


@router.patch("/crawls/{crawl}", **guarded(Access.WRITE, 404))
def change_naming(shared: Shared, crawl: CrawlRef, body: NamingChange, caller: Writer) -> CrawlDetail:
    """Give a crawl another name or other labels.

    Whether it runs or is over. They are for people: what is crawled stays as it is, and the same seeds and settings
    still make the same crawl.
    """
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        given = body.changes()
        store.catalog.set_naming(
            found.id,
            Naming(given.get("name", found.naming.name), tuple(given.get("labels", found.naming.labels))),
        )
        caller.log("crawl_named", crawl=found.id)
        return detail_of(shared, store, store.catalog.crawl(found.id))


# --- steering


@router.post("/crawls/{crawl}/pause", **guarded(Access.WRITE, 404, 409))
def pause_crawl(shared: Shared, crawl: CrawlRef, caller: Writer) -> CrawlDetail:
    """Pause a crawl.

    It answers when no worker will start another request of the crawl. What is queued stays queued; `resume` goes on
    with it.
    """
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        crawls.check_pausable(found)
        crawls.pause(store.catalog, found.id, f"by {caller.name}")
        caller.log("crawl_paused", crawl=found.id)
        return detail_of(shared, store, store.catalog.crawl(found.id))


@router.post("/crawls/{crawl}/resume", **guarded(Access.WRITE, 404, 409))
def resume_crawl(shared: Shared, crawl: CrawlRef, caller: Writer, body: Limits | None = None) -> CrawlDetail:
    """Go on with a crawl, with other limits where some are given.

    A crawl that max_pages, max_seconds or max_bytes has ended goes on with a higher one: the URLs that the limit ended
    are open again. Links that max_urls or the depth refused are not kept, and stay refused.
    """
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        if found.state.over:
            check_quota(caller, store.catalog, shared.settings.token_crawls_max)
        found = crawls.go_on(store.catalog, found.id, body.changes() if body else {})
        caller.log("crawl_resumed", crawl=found.id)
        return detail_of(shared, store, found)


@router.post("/crawls/{crawl}/cancel", **guarded(Access.WRITE, 404, 409))
def cancel_crawl(shared: Shared, crawl: CrawlRef, caller: Writer) -> CrawlDetail:
    """Cancel a crawl.

    It answers when no worker will start another request of the crawl. Its open URLs end `cancelled`; what was fetched
    stays.
    """
    with shared.pool.use() as store:
        return _cancelled(shared, store, live_crawl_named(store, crawl), caller)


def _cancelled(shared: Services, store: OpenStore, crawl: Crawl, caller: Caller) -> CrawlDetail:
    if crawl.state is not CrawlState.ENDING:
        crawls.cancel(store.catalog, crawl.id)
        caller.log("crawl_cancelled", crawl=crawl.id)
    return detail_of(shared, store, store.catalog.crawl(crawl.id))


@router.delete("/crawls/{crawl}", **guarded(Access.WRITE, 404, 409))
def delete_crawl(
    shared: Shared,
    crawl: CrawlRef,
    caller: Writer,
    purge: Annotated[bool, Query(description="remove the rows and files of a crawl that is over")] = False,
) -> CrawlDetail | Purged:
    """Cancel a crawl, or remove one that is over.

    Without `purge` it does what `cancel` does. With `purge` the rows and archive files of a crawl that is over are
    removed for good.
    """
    with shared.pool.use() as store:
        if not purge:
            return _cancelled(shared, store, live_crawl_named(store, crawl), caller)
        found = crawl_named(store, crawl)
        if not found.state.over:
            raise Problem(409, f"crawl {found.id} is {found.state}: cancel it first, then purge it")
        rows, files = crawls.delete(store.catalog, store.upkeep, store.archive, found.id)
        caller.log("crawl_purged", crawl=found.id)
        return Purged(rows=rows, files=files)


@router.patch("/crawls/{crawl}/pace", **guarded(Access.WRITE, 404, 409))
def change_pace(shared: Shared, crawl: CrawlRef, body: PaceChange, caller: Writer) -> CrawlDetail:
    """Change the pace of a crawl that is not over.

    Only what is given changes; workers follow with their next flush. To ask foreign hosts faster than usual needs
    access admin.
    """
    with shared.pool.use() as store:
        found = live_crawl_named(store, crawl)
        polite = found.settings.polite.model_copy(update=body.changes())
        changed = found.settings.model_copy(update={"polite": polite})
        foreign = foreign_host(changed, found.seeds, shared.settings.own_hosts)
        if foreign and body.floor_ms is not None and FLOOR in loosened(changed):
            check_loosened(caller, (FLOOR,), foreign, {FLOOR: "floor_ms"})
            caller.warn("loosened", crawl=found.id, floor_ms=body.floor_ms)
        store.catalog.change_settings(found.id, changed)
        caller.log("pace_changed", crawl=found.id)
        return detail_of(shared, store, store.catalog.crawl(found.id))


@router.patch("/crawls/{crawl}/limits", **guarded(Access.WRITE, 404, 409))
def change_limits(shared: Shared, crawl: CrawlRef, body: Limits, caller: Writer) -> CrawlDetail:
    """Change where a crawl ends that is not over.

    Workers follow with their next flush. What a limit has refused stays refused: a higher one lets the rest go on. To
    go on with a crawl that a limit has ended, give the higher one to `resume`.
    """
    with shared.pool.use() as store:
        found = crawls.change_limits(store.catalog, crawl_named(store, crawl), body.changes())
        caller.log("limits_changed", crawl=found.id)
        return detail_of(shared, store, found)
