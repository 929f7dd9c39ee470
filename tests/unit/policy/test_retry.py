import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.models import Reason
from nephila.policy.classify import classify_error, classify_http
from nephila.policy.retry import RetryDecision, backoff_ms, next_try, parse_retry_after, retry_after_of
from nephila.profiles import RetrySettings, crawl_settings

NOW_MS = 784_111_777_000  # Sun, 06 Nov 1994 08:49:37 GMT, the example date of RFC 9110
HOUR_MS = 3_600_000


@pytest.mark.requirement("R-09")
@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("0", 0),
        ("120", 120_000),
        (" 7 ", 7000),
        ("99999999999", 99_999_999_999_000),
        ("Sun, 06 Nov 1994 09:49:37 GMT", HOUR_MS),
        ("Sunday, 06-Nov-94 09:49:37 GMT", HOUR_MS),
        ("Sun Nov  6 09:49:37 1994", HOUR_MS),
        ("Sun, 06 Nov 1994 07:49:37 GMT", 0),
        (None, None),
        ("", None),
        ("-1", None),
        ("+5", None),
        ("1.5", None),
        ("²", None),
        ("٣", None),
        ("soon", None),
        ("Sun, 31 Feb 1994 09:49:37 GMT", None),
        ("Sun, 06 Nov 1994", None),
        ("9" * 65, None),
    ],
)
def test_retry_after(value: str | None, ms: int | None) -> None:
    assert parse_retry_after(value, NOW_MS) == ms


@pytest.mark.parametrize(
    ("two_digits", "ms"),
    [("44", 50 * 365.25 * 86_400_000), ("45", 0), ("93", 0)],
)
def test_a_two_digit_year_is_at_most_fifty_years_ahead(two_digits: str, ms: float) -> None:
    parsed = parse_retry_after(f"Sunday, 06-Nov-{two_digits} 08:49:37 GMT", NOW_MS)
    assert parsed == pytest.approx(ms, abs=86_400_000)


@given(st.text(max_size=80))
def test_no_header_breaks_the_parser(value: str) -> None:
    parsed = parse_retry_after(value, NOW_MS)
    assert parsed is None or parsed >= 0


@pytest.mark.requirement("K11")
@pytest.mark.parametrize(("status", "ms"), [(429, 5000), (503, 5000), (500, None), (200, None), (301, None)])
def test_only_429_and_503_give_a_hint(status: int, ms: int | None) -> None:
    assert retry_after_of(status, "5", NOW_MS) == ms


@pytest.mark.requirement("R-21", "R-15", "K15")
@pytest.mark.parametrize(
    ("retry", "waits"),
    [
        (crawl_settings("strict").retry, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]),
        (crawl_settings("jobs").retry, [10_000, 10_000, 10_000]),
        (RetrySettings(base_ms=0), [0, 0]),
        (RetrySettings(base_ms=5000, cap_ms=100), [100]),
    ],
)
def test_backoff(retry: RetrySettings, waits: list[int]) -> None:
    assert [backoff_ms(retry, attempts) for attempts in range(1, len(waits) + 1)] == waits


def test_backoff_does_not_overflow() -> None:
    assert backoff_ms(RetrySettings(factor=10.0), attempts=10_000) == 30_000


@pytest.mark.requirement("R-07", "R-08", "R-11", "R-12", "R-13", "K15")
@pytest.mark.parametrize("verdict", [classify_http(500), classify_http(408), classify_error(Reason.TIMEOUT)])
def test_two_retries_are_three_attempts(verdict) -> None:
    retry = RetrySettings(max=2)
    assert next_try(retry, 1, verdict, None, NOW_MS) == RetryDecision(True, NOW_MS + 1000, True, "backoff")
    assert next_try(retry, 2, verdict, None, NOW_MS) == RetryDecision(True, NOW_MS + 2000, True, "backoff")
    assert next_try(retry, 3, verdict, None, NOW_MS) == RetryDecision(False, NOW_MS, True, "tried 3 times")


@pytest.mark.requirement("R-10")
@pytest.mark.parametrize("verdict", [classify_http(410), classify_http(404), classify_error(Reason.TLS)])
def test_what_is_final_is_not_tried_again(verdict) -> None:
    assert next_try(RetrySettings(), 1, verdict, None, NOW_MS).why == "final"


@pytest.mark.requirement("R-09", "K11")
@pytest.mark.parametrize(
    ("hint_ms", "wait_ms", "why"),
    [
        (None, 1000, "backoff"),
        (0, 1000, "backoff"),
        (500, 1000, "backoff"),
        (5000, 5000, "retry_after"),
        (999_000_000, HOUR_MS, "retry_after"),
    ],
)
def test_the_longer_of_backoff_and_hint_holds(hint_ms: int | None, wait_ms: int, why: str) -> None:
    decision = next_try(RetrySettings(), 1, classify_http(429), hint_ms, NOW_MS)
    assert (decision.at_ms - NOW_MS, decision.why) == (wait_ms, why)


@pytest.mark.requirement("K12")
def test_a_429_that_does_not_count_still_has_a_ceiling() -> None:
    retry = RetrySettings(max=1, rate_limit_counts=False, rate_limit_max=5)
    decisions = [next_try(retry, attempts, classify_http(429), None, NOW_MS, attempts - 1) for attempts in range(1, 6)]
    assert [decision.retry for decision in decisions] == [True, True, True, True, False]
    assert not any(decision.counts for decision in decisions)


def test_other_errors_after_free_429s_keep_their_tries() -> None:
    retry = RetrySettings(max=1, rate_limit_counts=False)
    assert next_try(retry, 5, classify_http(500), None, NOW_MS, rate_limited=4).retry
    assert not next_try(retry, 6, classify_http(500), None, NOW_MS, rate_limited=4).retry


@given(st.integers(0, 100), st.booleans(), st.integers(1, 1000), st.sampled_from([429, 500, 503, 408]))
def test_every_chain_of_tries_ends(tries: int, counts: bool, ceiling: int, status: int) -> None:
    retry = RetrySettings(max=tries, rate_limit_counts=counts, rate_limit_max=ceiling)
    assert not next_try(retry, max(tries + 1, ceiling), classify_http(status), None, NOW_MS).retry
