import pytest

from nephila.models import Reason, UrlState
from nephila.policy.classify import Verdict, accepts, classify_error, classify_http

TRANSPORT_RETRYABLE = (
    Reason.DNS,
    Reason.NXDOMAIN,
    Reason.CONNECT,
    Reason.TIMEOUT,
    Reason.RESET,
    Reason.PROTOCOL,
    Reason.PROXY,
)


def final(state: UrlState, reason: Reason = Reason.NONE) -> Verdict:
    return Verdict(state, reason)


@pytest.mark.requirement("R-01", "R-02", "R-03", "R-04", "R-05", "R-06", "R-10")
@pytest.mark.parametrize(
    ("statuses", "verdict"),
    [
        ((200, 201, 204, 206, 299), final(UrlState.VISITED)),
        ((301, 302, 303, 307, 308), final(UrlState.REDIRECTED)),
        ((300, 304, 305, 306, 399), final(UrlState.HTTP_ERROR)),
        ((403,), final(UrlState.FORBIDDEN)),
        ((404,), final(UrlState.NOT_FOUND)),
        ((400, 401, 402, 405, 410, 418, 451, 499), final(UrlState.HTTP_ERROR, Reason.HTTP_4XX)),
        ((-1, 0, 100, 101, 199, 600, 999, 10**9), final(UrlState.HTTP_ERROR)),
    ],
)
def test_final_answers(statuses: tuple[int, ...], verdict: Verdict) -> None:
    assert [classify_http(status) for status in statuses] == [verdict] * len(statuses)


@pytest.mark.requirement("R-01", "R-07", "R-08")
@pytest.mark.parametrize(
    ("statuses", "reason", "host_error", "rate_limited"),
    [
        ((500, 501, 502, 503, 504, 520, 599), Reason.HTTP_5XX, True, False),
        ((408, 421, 425), Reason.HTTP_4XX, False, False),
        ((429,), Reason.RATE_LIMITED, True, True),
    ],
)
def test_answers_worth_another_try(
    statuses: tuple[int, ...], reason: Reason, host_error: bool, rate_limited: bool
) -> None:
    expected = Verdict(UrlState.HTTP_ERROR, reason, True, host_error, rate_limited)
    assert [classify_http(status) for status in statuses] == [expected] * len(statuses)


@pytest.mark.requirement("R-01", "R-11")
@pytest.mark.parametrize("reason", Reason)
def test_every_error_ends_as_failed(reason: Reason) -> None:
    verdict = classify_error(reason)
    assert (verdict.state, verdict.reason, verdict.rate_limited) == (UrlState.FAILED, reason, False)
    assert verdict.retryable == (reason in TRANSPORT_RETRYABLE)


@pytest.mark.parametrize(
    ("reason", "host_error"),
    [
        (Reason.CONNECT, True),
        (Reason.TLS, True),
        (Reason.NXDOMAIN, True),
        (Reason.PROXY, False),
        (Reason.HEADERS_TOO_LONG, False),
        (Reason.PRIVATE_ADDRESS, False),
        (Reason.POISON, False),
    ],
)
def test_only_what_the_host_did_counts_against_it(reason: Reason, host_error: bool) -> None:
    assert classify_error(reason).host_error is host_error


@pytest.mark.requirement("K32")
@pytest.mark.parametrize(
    ("accept", "content_type", "accepted"),
    [
        ((), "image/png", True),
        (("text/html",), None, True),
        (("text/html",), "", True),
        (("text/html",), "Text/HTML; charset=utf-8", True),
        (("text/html",), "text/plain", False),
        (("text/*",), "text/plain", True),
        (("text/*",), "image/png", False),
        (("*/*",), "image/png", True),
    ],
)
def test_accepted_content_types(accept: tuple[str, ...], content_type: str | None, accepted: bool) -> None:
    assert accepts(accept, content_type) is accepted
