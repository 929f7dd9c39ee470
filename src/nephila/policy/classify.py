"""What an answer or a transport error means for the URL and for its host: pure tables over all statuses and reasons."""

from dataclasses import dataclass

from nephila.models import Reason, UrlState, media_type

REDIRECTS = frozenset((301, 302, 303, 307, 308))
RATE_LIMITED = 429
RETRYABLE_4XX = frozenset((408, 421, 425, RATE_LIMITED))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state a URL ends in if it is not tried again, and why."""

    state: UrlState
    reason: Reason = Reason.NONE
    retryable: bool = False
    host_error: bool = False  # counts against the host: 5xx, transport errors and 429 do, a 404 does not
    rate_limited: bool = False


def _http_verdict(status: int) -> Verdict:
    match status:
        case _ if 200 <= status < 300:
            return Verdict(UrlState.VISITED)
        case _ if status in REDIRECTS:
            return Verdict(UrlState.REDIRECTED)
        case 403:
            return Verdict(UrlState.FORBIDDEN)
        case 404:
            return Verdict(UrlState.NOT_FOUND)
        case 429:
            return Verdict(UrlState.HTTP_ERROR, Reason.RATE_LIMITED, retryable=True, host_error=True, rate_limited=True)
        case _ if 400 <= status < 500:
            return Verdict(UrlState.HTTP_ERROR, Reason.HTTP_4XX, retryable=status in RETRYABLE_4XX)
        case _ if 500 <= status < 600:
            return Verdict(UrlState.HTTP_ERROR, Reason.HTTP_5XX, retryable=True, host_error=True)
    return Verdict(UrlState.HTTP_ERROR)


def _failed(reason: Reason, *, retryable: bool, host_error: bool) -> Verdict:
    return Verdict(UrlState.FAILED, reason, retryable, host_error)


# Computed once: classifying a page is one index, not a chain of comparisons.
_BY_STATUS = tuple(_http_verdict(status) for status in range(600))
_OUT_OF_RANGE = Verdict(UrlState.HTTP_ERROR)

_BY_REASON: dict[Reason, Verdict] = {
    reason: _failed(reason, retryable=retryable, host_error=host_error)
    for reason, retryable, host_error in (
        (Reason.DNS, True, True),
        # Retryable, because one look-up more must confirm it; politeness.on_failure then gives the host up.
        (Reason.NXDOMAIN, True, True),
        (Reason.CONNECT, True, True),
        (Reason.TIMEOUT, True, True),
        (Reason.RESET, True, True),
        (Reason.PROTOCOL, True, True),
        # A certificate does not heal in seconds. A handshake that timed out arrives as TIMEOUT.
        (Reason.TLS, False, True),
        # The proxy is ours: the host has done nothing.
        (Reason.PROXY, True, False),
        (Reason.HEADERS_TOO_LONG, False, False),
        (Reason.PRIVATE_ADDRESS, False, False),
    )
}


def accepts(accept: tuple[str, ...], content_type: str | None) -> bool:
    """Whether content.accept names this type; `text/*` names all of a kind. Without a list or a type it is accepted."""
    named = media_type(content_type)
    if not accept or not named:
        return True
    return named in accept or f"{named.partition('/')[0]}/*" in accept or "*/*" in accept


def classify_http(status: int) -> Verdict:
    return _BY_STATUS[status] if 0 <= status < 600 else _OUT_OF_RANGE


def classify_error(reason: Reason) -> Verdict:
    """The verdict of a transport error. Reasons outside the table (poison) are faults of the page: final."""
    return _BY_REASON.get(reason) or _failed(reason, retryable=False, host_error=False)
