"""The one shape of an error: a code for programs, a message and what to do for people, and the field that is wrong."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from nephila import log
from nephila.control.crawls import Conflict, Unknown
from nephila.errors import ArchiveError, NephilaError, StoreUnavailable, UsageError

T = TypeVar("T")

RETRY_AFTER_SECONDS = 2
MESSAGE_CHARS_MAX = 2000
BODY_SOURCES = frozenset(("body", "query", "path", "header"))

CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "too_many",
    500: "internal",
    502: "bad_gateway",
    503: "unavailable",
    504: "gateway_timeout",
}
HINTS = {
    400: "send a JSON body and the header Content-Type: application/json",
    401: "send the header Authorization: Bearer <token>; `nephila token create NAME` makes one",
    403: "use a token with more access, or ask an administrator",
    404: "look at the list of what there is; /openapi.json has every path",
    405: "/openapi.json has the methods of every path",
    409: "ask for its present state first",
    413: "send less at once",
    415: "send a JSON body and the header Content-Type: application/json",
    422: "correct the field that is named; /openapi.json describes every field",
    429: "wait until some of your crawls are over, or cancel one",
    500: "this is our fault: the log of the server says more",
    502: "look whether the site answers, then try again",
    503: "try again in a moment; nothing is lost",
    504: "try again later or with a longer `wait`",
}


class ProblemDetail(BaseModel):
    code: str = Field(description="for programs: not_found, invalid, conflict, ...", examples=["not_found"])
    message: str = Field(description="what is wrong, in one line", examples=["there is no crawl 7"])
    hint: str = Field(description="what to do", examples=["look at the list of what there is"])
    field: str | None = Field(None, description="the field that is wrong, where one is", examples=[None])


class ProblemBody(BaseModel):
    error: ProblemDetail


class Problem(NephilaError):
    """Raised anywhere below a route; answered in the one shape."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        field: str | None = None,
        code: str = "",
        hint: str = "",
        retry: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.field = field
        self.code = code or CODES.get(status, "error")
        self.hint = hint or HINTS.get(status, "see /openapi.json")
        self.retry = retry or status in (429, 503)

    @property
    def headers(self) -> dict[str, str]:
        found = {"Retry-After": str(RETRY_AFTER_SECONDS)} if self.retry else {}
        return found | ({"WWW-Authenticate": 'Bearer realm="nephila"'} if self.status == 401 else {})

    def body(self) -> dict[str, Any]:
        return {
            "error": {
                "code": self.code,
                "message": plain(self.message),
                "hint": self.hint,
                "field": plain(self.field) if self.field else None,
            }
        }


def plain(text: str) -> str:
    """What was sent may be part of a message: one line, and no half of a surrogate pair, which UTF-8 cannot carry."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode()[:MESSAGE_CHARS_MAX].split())


def declared(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route, for OpenAPI. Every route may lose its store or meet a wrong parameter."""
    return {status: {"model": ProblemBody, "description": CODES[status]} for status in sorted({*statuses, 422, 503})}


def asked_for(field: str, read: Callable[[str], T], text: str) -> T:
    """What a field says, as `read` understands it."""
    try:
        return read(text)
    except UsageError as error:
        raise Problem(422, str(error), field=field) from None


def problem_of(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case StoreUnavailable():
            return Problem(503, str(error))
        case Unknown():
            return Problem(404, str(error))
        case Conflict():
            return Problem(409, str(error))
        case ArchiveError():
            return Problem(404, str(error), code="not_archived", hint="its file may lie on another machine")
        case UsageError():
            return Problem(422, str(error))
        case RequestValidationError():
            return _invalid(error)
        case HTTPException():
            return Problem(error.status_code, str(error.detail))
    return Problem(500, "something went wrong here")


def _invalid(error: RequestValidationError) -> Problem:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Problem(400, f"the body is no JSON: {first.get('ctx', {}).get('error', first['msg'])}")
    message = str(first["msg"]).removeprefix("Value error, ")
    field = field_of(first["loc"])
    if first["type"] == "extra_forbidden":
        message = f"there is no field {field}"
    return Problem(422, f"{field}: {message}" if field else message, field=field or None)


def field_of(place: tuple[int | str, ...]) -> str:
    parts = place[1:] if place and place[0] in BODY_SOURCES else place
    return ".".join(str(part) for part in parts)


def answer(problem: Problem, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse(problem.body(), problem.status, headers=dict(headers or {}) | problem.headers)


def install(app: FastAPI) -> None:
    for kind in (NephilaError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answered)
    app.add_exception_handler(Exception, _fault)


async def _answered(_request: Request, error: Exception) -> JSONResponse:
    return answer(problem_of(error), getattr(error, "headers", None) if isinstance(error, HTTPException) else None)


async def _fault(request: Request, error: Exception) -> JSONResponse:
    log.component_log("control-plane").error("request_failed", path=request.url.path, exc_info=error)
    return answer(problem_of(error))
