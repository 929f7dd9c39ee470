"""Routers of the API. The application takes their routes as they are: FastAPI, where it includes a router, makes each
of its routes a second time, and looks through one router after the other for each request.
"""

from typing import Any

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute

from nephila.api.query import known_query

PREFIX = "/api/v1"


def operation_id(route: APIRoute) -> str:
    """The name of the function: what clients that are generated call it."""
    return route.name


def plain_router(tag: str, **options: Any) -> APIRouter:
    """A router whose routes say themselves which parameters they take."""
    return APIRouter(tags=[tag], generate_unique_id_function=operation_id, **options)


def strict_router(prefix: str, tag: str, **options: Any) -> APIRouter:
    """A router whose routes refuse parameters that they do not declare."""
    return plain_router(tag, prefix=prefix, dependencies=[Depends(known_query)], **options)


def noun_router(tag: str) -> APIRouter:
    """The router of a noun of this API."""
    return strict_router(PREFIX, tag)
