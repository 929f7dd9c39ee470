"""Who may do what: callers are known by bearer tokens; while no token exists only this machine is served."""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Query, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection

from nephila import log
from nephila.api.problems import Problem, declared
from nephila.api.query import CrawlRef, PlainText, UrlId
from nephila.api.recent import RecentAnswers
from nephila.api.services import StorePool, services_of
from nephila.api.tickets import TICKET_CHARS_MAX
from nephila.clock import Clock
from nephila.control.access import SECRET_CHARS_MAX, allows, digest_of
from nephila.frontier.tokens import Access, Token

CACHED_MS = 2000.0  # a revoked token is refused after at most this
TOKENS_CACHED_MAX = 1000
LOOPBACK_NAMES = frozenset(("localhost", "127.0.0.1", "[::1]"))
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")
SUBPROTOCOL = "bearer"  # browsers cannot set a header on a WebSocket: ["bearer", secret]
LOCAL = "local"

scheme = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A token of `nephila token create NAME`. Not needed on this machine while there is none.",
)


Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(scheme)]


@dataclass(frozen=True, slots=True)
class Caller:
    name: str
    access: Access
    token: int | None  # None: this machine, without a token

    @property
    def creator(self) -> str:
        """The owner of the crawls that this caller starts; empty for this machine."""
        return "" if self.token is None else self.name

    def log(self, event: str, **words: object) -> None:
        """One line in the log of the control plane: what this caller has changed."""
        log.component_log("control-plane").info(event, **words, by=self.name)

    def warn(self, event: str, **words: object) -> None:
        """The same, where somebody should look at it."""
        log.component_log("control-plane").warning(event, **words, by=self.name)


class Gate:
    """Looks tokens up, each at most once in CACHED_MS. Any thread may ask."""

    def __init__(self, pool: StorePool, clock: Clock) -> None:
        self._pool = pool
        self._tokens: RecentAnswers[bytes, Token | None] = RecentAnswers(clock, CACHED_MS, TOKENS_CACHED_MAX)
        self._tokenless: RecentAnswers[None, bool] = RecentAnswers(clock, CACHED_MS)

    def token(self, secret: str) -> Token | None:
        digest = digest_of(secret)

        def look() -> Token | None:
            with self._pool.use() as store:
                return store.tokens.token(digest)

        return self._tokens.get(digest, look)

    def is_open(self) -> bool:
        """No token is valid: this machine may do everything, others nothing."""

        def look() -> bool:
            with self._pool.use() as store:
                return not store.tokens.has_tokens()

        return self._tokenless.get(None, look)

    def forget(self) -> None:
        """A token was made or revoked here: the change holds at once."""
        self._tokens.clear()
        self._tokenless.clear()


def caller_of(connection: HTTPConnection, secret: str | None) -> Caller:
    """The caller with this secret, or this machine without one; Problem for others. It may read the store."""
    services = services_of(connection)
    if secret is not None:
        token = services.gate.token(secret) if len(secret) <= SECRET_CHARS_MAX else None
        if token is None:
            raise Problem(401, "this token is not known or was revoked")
        return Caller(token.name, token.access, token.id)
    if not services.gate.is_open():
        raise Problem(401, "a token is needed")
    peer = connection.client.host if connection.client else ""
    if not is_local(peer, connection.headers):
        raise Problem(401, "without a token only this machine itself is served")
    unsafe = connection.scope.get("method", "GET") not in SAFE_METHODS
    if unsafe and not own_origin(connection.headers, services.settings.cors_origins):
        raise Problem(403, "another website asks in your name", hint="use the interface of this server, or a token")
    return Caller(LOCAL, Access.ADMIN, None)


def is_local(peer: str, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from this machine, under its own name (another is DNS rebinding) and without a proxy."""
    host = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
    named_local = host in LOOPBACK_NAMES or headers.get("host", "") in LOOPBACK_NAMES
    return is_loopback(peer) and named_local and not any(name in headers for name in FORWARDED)


def is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def own_origin(headers: Mapping[str, str], allowed: Sequence[str]) -> bool:
    """Whether the site that asks, as a browser says it, is ours or one of the settings. Programs name none."""
    origin = headers.get("origin")
    if origin is None or origin in allowed:
        return True
    return urlsplit(origin).netloc == headers.get("host", "") != ""


def socket_secret(headers: Mapping[str, str], subprotocols: Sequence[str]) -> str | None:
    """The secret of a WebSocket: from the header, or the word after `bearer` in the subprotocols."""
    kind, _, secret = headers.get("authorization", "").partition(" ")
    if kind.lower() == SUBPROTOCOL and secret:
        return secret.strip()
    return subprotocols[1] if len(subprotocols) == 2 and subprotocols[0] == SUBPROTOCOL else None


def admit_socket(connection: HTTPConnection, needed: Access) -> Caller:
    """The caller of a WebSocket, before that is accepted; Problem for others. It may read the store."""
    if not own_origin(connection.headers, services_of(connection).settings.cors_origins):
        raise Problem(403, "this website may not connect", hint="add it to the setting cors_origins")
    caller = caller_of(connection, socket_secret(connection.headers, connection.scope.get("subprotocols", [])))
    return _with(caller, needed)


def _with(caller: Caller, needed: Access) -> Caller:
    if not allows(caller.access, needed):
        raise Problem(403, f"this needs a token with access {needed}; {caller.name} has {caller.access}")
    return caller


@cache
def requires(needed: Access) -> Callable[..., Caller]:
    def admitted(connection: HTTPConnection, credentials: Credentials) -> Caller:
        if credentials is None and "authorization" in connection.headers:
            raise Problem(401, "the Authorization header is no bearer token")
        return _with(caller_of(connection, credentials.credentials if credentials else None), needed)

    return admitted


def reads_or_has_ticket(
    connection: HTTPConnection,
    credentials: Credentials,
    crawl: CrawlRef,
    url_id: UrlId,
    ticket: Annotated[
        PlainText | None,
        Query(max_length=TICKET_CHARS_MAX, description="instead of a token: what /page/ticket says, for a minute"),
    ] = None,
) -> None:
    """Lets in who has a good ticket or may read. A bad ticket is refused even where no ticket is needed."""
    if ticket is None:
        requires(Access.READ)(connection, credentials)
    elif not services_of(connection).tickets.opens(ticket, crawl, url_id):
        raise Problem(401, "this ticket is not good, or not any more", hint="ask for another one: /page/ticket")


def guarded(
    needed: Access,
    *problems: int,
    answers: Mapping[int | str, dict[str, Any]] | None = None,
    by: Callable[..., Caller | None] | None = None,
) -> dict[str, Any]:
    """What every route of this access declares. `answers`: those that are no JSON; `by`: the check, if not by token."""
    return {
        "dependencies": [Depends(by or requires(needed))],
        "openapi_extra": {"x-access": needed.value},
        "responses": declared(400, 401, 403, 422, *problems) | dict(answers or {}),
    }


Reader = Annotated[Caller, Depends(requires(Access.READ))]
Writer = Annotated[Caller, Depends(requires(Access.WRITE))]
Admin = Annotated[Caller, Depends(requires(Access.ADMIN))]
