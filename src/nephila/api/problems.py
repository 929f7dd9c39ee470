"""The one shape of an error: a code for programs, a message and what to do for people, and the field that is wrong."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from nephila import log
from nephila.control.crawls import Conflict, LimitConflict, Unknown
from nephila.control.pages import NotArchived
from nephila.errors import ArchiveError, NephilaError, StoreDamaged, StoreUnavailable, UsageError

T = TypeVar("T")
U = TypeVar("U")

RETRY_AFTER_SECONDS = 2
MESSAGE_CHARS_MAX = 2000
BODY_SOURCES = frozenset(("body", "query", "path", "header"))

SEND_JSON = "send a JSON body and the header Content-Type: application/json"
# By status: the code for programs, and what to do where the problem itself says nothing better.
CODES_AND_HINTS = {
    400: ("bad_request", SEND_JSON),
    401: ("unauthorized", "send the header Authorization: Bearer <token>; `nephila token create NAME` makes one"),
    403: ("forbidden", "use a token with more access, or ask an administrator"),
    404: ("not_found", "look at the list of what there is; /openapi.json has every path"),
    405: ("method_not_allowed", "/openapi.json has the methods of every path"),
    408: ("timeout", "send it at once; `nephila settings` says how long it may take"),
    409: ("conflict", "ask for its present state first"),
    413: ("too_large", "send less at once"),
    415: ("unsupported_media_type", SEND_JSON),
    422: ("invalid", "correct the field that is named; /openapi.json describes every field"),
    429: ("too_many", "wait until some of your crawls are over, or cancel one"),
    500: ("internal", "this is our fault: the log of the server says more"),
    502: ("bad_gateway", "look whether the site answers, then try again"),
    503: ("unavailable", "try again in a moment; nothing is lost"),
    504: ("gateway_timeout", "try again later or with a longer `wait`"),
}
RETRIED = (429, 503)  # answered with Retry-After


class ProblemDetail(BaseModel):
    code: str = Field(description="for programs: not_found, invalid, conflict, ...", examples=["not_found"])
    message: str = Field(description="what is wrong, in one line", examples=["there is no crawl 7"])
    hint: str = Field(
        description="what to do", examples=["look at the list of what there is; /openapi.json has every path"]
    )
    field: str | None = Field(None, description="the field that is wrong, where one is", examples=[None])


class ProblemBody(BaseModel):
    error: ProblemDetail = Field(description="what is wrong, and what to do")


class Problem(NephilaError):
    """An error of the API, raised anywhere below a route."""

    def __init__(self, status: int, message: str, *, field: str | None = None, code: str = "", hint: str = "") -> None:
        super().__init__(message)
        usual_code, usual_hint = CODES_AND_HINTS.get(status, ("error", "see /openapi.json"))
        self.status = status
        self.message = message
        self.field = field
        self.code = code or usual_code
        self.hint = hint or usual_hint

    @property
    def headers(self) -> dict[str, str]:
        found = {"Retry-After": str(RETRY_AFTER_SECONDS)} if self.status in RETRIED else {}
        return found | ({"WWW-Authenticate": 'Bearer realm="nephila"'} if self.status == 401 else {})

    def body(self) -> dict[str, Any]:
        field = plain(self.field) if self.field else None
        return {"error": {"code": self.code, "message": plain(self.message), "hint": self.hint, "field": field}}


def plain(text: str) -> str:
    """One line without halves of surrogate pairs, which UTF-8 cannot carry: a message may quote what was sent."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode()[:MESSAGE_CHARS_MAX].split())


def declared(*statuses: int, model: type[BaseModel] = ProblemBody) -> dict[int | str, dict[str, Any]]:
    """The error answers of a route, for OpenAPI. Every route may lose its store."""
    found = sorted({*statuses, 503})
    return {status: {"model": model, "description": CODES_AND_HINTS[status][0]} for status in found}


@contextmanager
def blaming(field: str, *, status: int = 422) -> Iterator[None]:
    """A UsageError inside is the fault of this field; a conflict with what is there is not."""
    try:
        yield
    except Conflict:
        raise
    except UsageError as error:
        raise Problem(status, str(error), field=field) from None


def asked_for(field: str, read: Callable[[str], T], text: str) -> T:
    """What `read` makes of a field's text."""
    with blaming(field):
        return read(text)


def said(read: Callable[[T], U]) -> Callable[[T], U]:
    """`read` as a validator of a field: what it refuses is said in its own words."""

    def checked(value: T) -> U:
        try:
            return read(value)
        except UsageError as error:
            raise ValueError(str(error)) from None

    return checked


def problem_of(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case StoreDamaged():
            return Problem(503, str(error), code="damaged", hint="stop the server and put the last backup in its place")
        case StoreUnavailable():
            return Problem(503, str(error))
        case Unknown():
            return Problem(404, str(error))
        case NotArchived():
            return Problem(404, str(error), code="not_archived")
        case LimitConflict():
            return Problem(409, str(error), field=error.limit)
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
    if isinstance(error.body, bytes):  # FastAPI reads what is not marked as JSON as bytes
        return Problem(415, "the body is not marked as JSON: send Content-Type: application/json")
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Problem(400, f"the body is no JSON: {first.get('ctx', {}).get('error', first['msg'])}")
    if first["type"] == "missing" and first["loc"] == ("body",):
        return Problem(422, "the body is missing", hint=SEND_JSON)
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
