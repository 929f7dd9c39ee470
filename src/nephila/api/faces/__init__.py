"""The APIs of the documents 000 (runs) and 004 (jobs), as thin translations; here is what both need."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_camel

from nephila.api.access import Caller
from nephila.api.routes.export import attached
from nephila.api.services import Services
from nephila.control.access import allows
from nephila.control.export import Format, Record, csv_lines, iso_time, json_lines
from nephila.frontier.records import UrlRow
from nephila.frontier.store import Crawl
from nephila.frontier.tokens import Access
from nephila.models import CrawlState, Reason

FormatWord = Annotated[Literal["json", "csv"], Query(description="CSV is safe against formulas of spreadsheets")]
SERVE_PRIVATE = (
    "whoever runs this server may permit them by `nephila serve --allow-private` (NEPHILA_ALLOW_PRIVATE=true), to "
    "tokens with access admin"
)
# Milliseconds since 1970, shown as text.
Stamp = Annotated[str, BeforeValidator(lambda value: iso_time(value) if isinstance(value, int) else value)]


class Camel(BaseModel):
    """A record whose fields are in camelCase outside."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, from_attributes=True
    )


class CamelBody(Camel):
    """What comes in. Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


def may_go_private(services: Services, caller: Caller) -> bool:
    """Whether the crawls of this caller may fetch private addresses: an admin's may where the settings allow it.

    The documents have no setting for it."""
    return services.settings.allow_private and allows(caller.access, Access.ADMIN)


def shown_state(crawl: Crawl) -> CrawlState:
    """A crawl that is being cancelled is shown as cancelled: it starts no request any more."""
    cancelling = crawl.state is CrawlState.ENDING and crawl.reason == Reason.CANCELLED
    return CrawlState.CANCELLED if cancelling else crawl.state


def private_way(services: Services) -> str:
    """What the refusal of a private seed says: the documents have no setting for it."""
    return "send a token with access admin" if services.settings.allow_private else SERVE_PRIVATE


def exported(record: type[BaseModel]) -> dict[str, Any]:
    """The OpenAPI description of an export: an array of these records, or the same as CSV."""
    example: Record = {
        field.alias or name: (field.examples or [None])[0] for name, field in record.model_fields.items()
    }
    table = {"schema": {"type": "string"}, "example": "".join(csv_lines([example], example))}
    return {"model": list[record], "description": "the rows", "content": {"text/csv": table}}  # type: ignore[valid-type]


def streamed(
    rows: Iterable[UrlRow],
    to_record: Callable[[UrlRow], Record],
    columns: Iterable[str],
    word: FormatWord,
    name: str,
    accepted: str,
) -> StreamingResponse:
    records = map(to_record, rows)
    return attached(
        json_lines(records) if word == "json" else csv_lines(records, columns), Format(word), name, accepted
    )
