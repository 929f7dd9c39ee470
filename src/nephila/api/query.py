"""Parameters of requests. Those that a route does not declare are refused, as unknown fields of a body are."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from fastapi import Path, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import AfterValidator

from nephila.api.problems import Problem

ID_MAX = 2**63 - 1
TEXT_CHARS_MAX = 2048

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def _plain(text: str) -> str:
    """Refuses control characters: no store keeps a NUL, and no answer carries half a surrogate pair."""
    if _CONTROL.search(text):
        raise ValueError("must have no control characters")
    return text


PlainText = Annotated[str, AfterValidator(_plain)]
CRAWL_PATTERN = r"^([0-9]{1,18}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$"
CrawlRef = Annotated[str, Path(pattern=CRAWL_PATTERN, description="number or uuid of the crawl", examples=["1"])]


class Order(StrEnum):
    ASC = "asc"
    DESC = "desc"


UrlId = Annotated[int, Path(ge=1, le=ID_MAX, description="number of the URL")]
After = Annotated[int, Query(ge=0, le=ID_MAX, description="what `next` of the page before says")]


def _names(dependant: Dependant) -> Iterator[str]:
    yield from (parameter.alias for parameter in dependant.query_params)
    for needed in dependant.dependencies:
        yield from _names(needed)


async def known_query(request: Request) -> None:
    """Refuses unknown parameters. Async, since it neither waits nor reads the store: a thread would cost 0.1 ms."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute):
        return
    known = sorted(set(_names(route.dependant)))
    for name in request.query_params:
        if name not in known:
            raise Problem(422, f"there is no parameter {name}; known here: {', '.join(known) or 'none'}", field=name)
