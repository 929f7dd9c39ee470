"""What operators look at: errors, the floor of all delays, settings."""

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from nephila.api.access import Reader, guarded
from nephila.api.lookup import crawl_named
from nephila.api.requested_settings import ADMIN_SETTINGS
from nephila.api.routers import noun_router
from nephila.api.schemas import Body, Moment, Ms, View, view_of
from nephila.api.services import Shared
from nephila.control.access import allows
from nephila.frontier.records import ErrorRow, FailingHost
from nephila.frontier.tokens import Access
from nephila.profiles import PROFILES, CrawlSettings, SettingGroup
from nephila.settings import SettingLine

ERRORS_DEFAULT, ERRORS_MAX = 100, 1000

router = noun_router("admin")


@view_of(
    ErrorRow,
    id=Field(description="number of the error: later ones have larger numbers", examples=[311]),
    worker=Field(description="the worker that it happened to", examples=[3]),
    crawl=Field(description="number of the crawl", examples=[7]),
    url_id=Field(description="number of the URL", examples=[815]),
    url=Field(description="the URL that was asked for", examples=["https://example.com/slow"]),
    reason=Field(description="kind of error", examples=["timeout"]),
    detail=Field(description="what went wrong, in words", examples=["no answer in 20 s"]),
    tries=Field(description="tries of this URL so far", examples=[1]),
)
class ErrorView(View):
    at: Moment = Field(description="when it happened", examples=["2026-03-02T09:30:00Z"])


class ErrorList(View):
    errors: list[ErrorView] = Field(description="the latest errors, the last one first")


@view_of(
    FailingHost,
    host=Field(description="politeness key of the host: its name without a leading `www.`", examples=["example.com"]),
    errors=Field(description="its errors among the latest", examples=[14]),
    last_reason=Field(description="kind of the last one", examples=["timeout"]),
)
class FailingHostView(View):
    last_at: Moment = Field(description="when the last one happened", examples=["2026-03-02T09:30:00Z"])


class FailingHostList(View):
    hosts: list[FailingHostView] = Field(description="hosts with the most errors, the worst first")


class Floor(Body):
    floor_ms: Ms = Field(
        description="no host is asked more often than once in so many milliseconds, whatever a crawl says; 0: no floor",
        examples=[2000],
    )


@view_of(
    SettingLine,
    name=Field(description="name of the setting", examples=["port"]),
    value=Field(description="as it is set; secrets are not shown", examples=["3000"]),
    default=Field(description="as it would be", examples=["3000"]),
    source=Field(description="who set it: `default`, `option`, or the environment variable", examples=["default"]),
    help=Field(description="what it does", examples=["port that `serve` listens on; 0: any free one"]),
)
class ProcessSetting(View):
    pass


class CrawlSetting(View):
    name: str = Field(examples=["polite.floor_ms"], description="as `settings` of a new crawl takes it")
    help: str = Field(description="what it does", examples=["the shortest gap between two requests to a host"])
    default: Any = Field(description="its value where neither profile nor request set it", examples=[1000])
    type: dict[str, Any] = Field(description="JSON Schema of its value", examples=[{"type": "integer", "minimum": 0}])
    admin: bool = Field(description="only a token with access admin may set it", examples=[False])


class SettingsView(View):
    process: list[ProcessSetting] = Field(description="how this server is set; empty without access admin")
    crawl: list[CrawlSetting] = Field(description="every setting of a crawl")
    profiles: dict[str, dict[str, Any]] = Field(
        description="what each profile changes, by name", examples=[{"default": {}, "graph": {"scope.max_depth": 2}}]
    )


@router.get("/errors", **guarded(Access.READ, 404))
def list_errors(
    shared: Shared,
    limit: Annotated[int, Query(ge=1, le=ERRORS_MAX, description="the most that is answered")] = ERRORS_DEFAULT,
    crawl: Annotated[
        str | None,
        Query(pattern="^([0-9]{1,18}|[0-9a-fA-F-]{36})$", description="only errors of this crawl: its number or uuid"),
    ] = None,
) -> ErrorList:
    """List the latest errors.

    Of all crawls, or of one, the last error first. Each try that went wrong is an error, also where a later try went
    well.
    """
    with shared.pool.use() as store:
        crawl_id = crawl_named(store, crawl).id if crawl is not None else None
        return ErrorList.model_validate({"errors": store.catalog.errors(limit, crawl_id)})


@router.get("/errors/hosts", **guarded(Access.READ))
def list_failing_hosts(
    shared: Shared,
    limit: Annotated[int, Query(ge=1, le=ERRORS_MAX, description="the most that is answered")] = ERRORS_DEFAULT,
) -> FailingHostList:
    """List the hosts with the most errors.

    Among the latest errors, over all crawls: the hosts to look at, and perhaps to block.
    """
    with shared.pool.use() as store:
        return FailingHostList.model_validate({"hosts": store.catalog.hosts_by_errors(limit)})


@router.get("/floor", **guarded(Access.READ))
def get_floor(shared: Shared) -> Floor:
    """Show the shortest delay of every host.

    No host is asked more often than that, whatever a crawl says.
    """
    with shared.pool.use() as store:
        return Floor(floor_ms=store.rulebook.rulings().floor_ms)


@router.put("/floor", **guarded(Access.ADMIN))
def set_floor(shared: Shared, body: Floor) -> Floor:
    """Set the shortest delay of every host.

    It holds for all crawls at once; robots.txt, a crawl or the rule of a host may ask for more.
    """
    with shared.pool.use() as store:
        store.rulebook.set_floor(body.floor_ms)
    return body


@router.get("/settings", **guarded(Access.READ))
def get_settings(shared: Shared, caller: Reader) -> SettingsView:
    """List every setting.

    Each crawl setting with its help and type, what the profiles change, and how this server is set (for access admin).
    """
    admin = allows(caller.access, Access.ADMIN)
    process = [ProcessSetting.model_validate(line) for line in shared.settings.describe()] if admin else []
    profiles = {name: dict(_changes(changes)) for name, changes in PROFILES.items()}
    return SettingsView(process=process, crawl=list(crawl_setting_lines()), profiles=profiles)


def _changes(changes: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    for group, values in changes.items():
        yield from ((f"{group}.{name}", value) for name, value in values.items())


def crawl_setting_lines() -> Iterator[CrawlSetting]:
    default = CrawlSettings()
    for group in CrawlSettings.model_fields:
        values = getattr(default, group)
        if isinstance(values, SettingGroup):
            schema = type(values).model_json_schema()
            dumped = values.model_dump(mode="json")
            for name, field in type(values).model_fields.items():
                full = f"{group}.{name}"
                kind = _resolved(schema["properties"][name], schema.get("$defs", {}))
                yield CrawlSetting(
                    name=full,
                    help=field.description or "",
                    default=dumped[name],
                    type=kind,
                    admin=full in ADMIN_SETTINGS,
                )


def _resolved(kind: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema without references: a form reads one setting at a time."""
    reference = kind.get("$ref")
    found = definitions[reference.rpartition("/")[2]] | kind if reference else kind
    return {name: value for name, value in found.items() if name not in ("$ref", "title", "description", "default")}
