"""What operators look at: errors, the floor of all delays, settings."""

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query

from nephila.api.access import Reader, guarded
from nephila.api.lookup import crawl_named
from nephila.api.schemas import CrawlSetting, ErrorList, ErrorView, Floor, ProcessSetting, SettingsView
from nephila.api.services import Shared
from nephila.api.wishes import ADMIN_SETTINGS
from nephila.control.access import allows
from nephila.frontier.operators import Access
from nephila.profiles import PROFILES, CrawlSettings, Group

ERRORS_DEFAULT, ERRORS_MAX = 100, 1000

router = APIRouter(tags=["admin"])


@router.get("/errors", **guarded(Access.READ, 404))
def list_errors(
    shared: Shared,
    limit: Annotated[int, Query(ge=1, le=ERRORS_MAX)] = ERRORS_DEFAULT,
    crawl: Annotated[
        str | None, Query(pattern="^([0-9]{1,18}|[0-9a-fA-F-]{36})$", description="number or uuid of a crawl")
    ] = None,
) -> ErrorList:
    """The latest first."""
    with shared.pool.use() as store:
        crawl_id = crawl_named(store, crawl).id if crawl is not None else None
        found = store.catalog.errors(limit, crawl_id)
    return ErrorList(errors=[ErrorView.model_validate(error) for error in found])


@router.get("/floor", **guarded(Access.READ))
def get_floor(shared: Shared) -> Floor:
    """The shortest delay of every host, whatever a crawl says."""
    with shared.pool.use() as store:
        return Floor(floor_ms=store.rulebook.rulings().floor_ms)


@router.put("/floor", **guarded(Access.ADMIN))
def set_floor(shared: Shared, body: Floor) -> Floor:
    with shared.pool.use() as store:
        store.rulebook.set_floor(body.floor_ms)
    return body


@router.get("/settings", **guarded(Access.READ))
def get_settings(shared: Shared, caller: Reader) -> SettingsView:
    """Every crawl setting with its help and type, what the profiles change, and how this server is set."""
    admin = allows(caller.access, Access.ADMIN)
    process = [ProcessSetting.model_validate(line._asdict()) for line in shared.settings.describe()] if admin else []
    profiles = {name: dict(_changes(changes)) for name, changes in PROFILES.items()}
    return SettingsView(process=process, crawl=list(crawl_setting_lines()), profiles=profiles)


def _changes(changes: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    for group, values in changes.items():
        yield from ((f"{group}.{name}", value) for name, value in values.items())


def crawl_setting_lines() -> Iterator[CrawlSetting]:
    default = CrawlSettings()
    for group in CrawlSettings.model_fields:
        values = getattr(default, group)
        if isinstance(values, Group):
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
    """Without references: a form reads one line at a time."""
    reference = kind.get("$ref")
    found = definitions[reference.rpartition("/")[2]] | kind if reference else kind
    return {name: value for name, value in found.items() if name not in ("$ref", "title", "description", "default")}
