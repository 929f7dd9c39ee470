"""Retries: a URL is tried again a bounded number of times, at a time that is stored on its row."""

import calendar
import time
from dataclasses import dataclass

from nephila.policy.classify import RATE_LIMITED, Verdict
from nephila.profiles import RetrySettings

HINTED = frozenset((RATE_LIMITED, 503))  # the statuses whose Retry-After is a request to wait
RETRY_AFTER_CHARS_MAX = 64
EXPONENT_MAX = 64  # 10^64 is beyond every cap and still a float
RFC850_FUTURE_YEARS = 50  # RFC 9110 5.6.7: a two-digit year further ahead is one of the past

# RFC 9110 5.6.7. A sender must use the first; a reader must accept all three.
IMF_FIXDATE = "%a, %d %b %Y %H:%M:%S GMT"
RFC850_DATE = "%A, %d-%b-%y %H:%M:%S GMT"
ASCTIME_DATE = "%a %b %d %H:%M:%S %Y"


@dataclass(frozen=True, slots=True)
class RetryDecision:
    retry: bool
    at_ms: int  # not before; without meaning where retry is False
    counts: bool  # this try uses one up
    why: str


def parse_retry_after(value: str | None, now_ms: int) -> int | None:
    """Milliseconds from now; None where the header is missing or is nonsense. A date in the past means: now."""
    text = (value or "").strip()
    if not text or len(text) > RETRY_AFTER_CHARS_MAX:
        return None
    if text.isascii() and text.isdigit():
        return int(text) * 1000
    at_ms = _http_date_ms(text, now_ms)
    return None if at_ms is None else max(0, at_ms - now_ms)


def retry_after_of(status: int, value: str | None, now_ms: int) -> int | None:
    """The hint of an answer: only 429 and 503 can give one."""
    return parse_retry_after(value, now_ms) if status in HINTED else None


def _http_date_ms(text: str, now_ms: int) -> int | None:
    for form in (IMF_FIXDATE, RFC850_DATE, ASCTIME_DATE):
        try:
            parsed = time.strptime(text, form)
        except ValueError:
            continue
        if form == RFC850_DATE:
            return _century_ms(parsed, now_ms)
        return calendar.timegm(parsed) * 1000
    return None


def _century_ms(parsed: time.struct_time, now_ms: int) -> int:
    latest = time.gmtime(now_ms / 1000).tm_year + RFC850_FUTURE_YEARS
    year = latest - (latest - parsed.tm_year) % 100
    return calendar.timegm((year, *parsed[1:6])) * 1000


def backoff_ms(retry: RetrySettings, attempts: int) -> int:
    """The wait after this many attempts: `base_ms`, times `factor` for each further one, at most `cap_ms`."""
    growth: float = retry.factor ** min(max(attempts - 1, 0), EXPONENT_MAX)
    return int(min(retry.base_ms * growth, retry.cap_ms))


def next_try(
    retry: RetrySettings,
    attempts: int,
    verdict: Verdict,
    retry_after_ms: int | None,
    now_ms: int,
    rate_limited: int = 0,
) -> RetryDecision:
    """Whether and when a URL is tried again.

    `attempts` are all tries so far, this one included; `rate_limited` are the earlier ones among them that did not
    count. Two bounds hold always: tries that count stay within max + 1, and no 429 is tried again once there were
    rate_limit_max tries of any kind.
    """
    counts = retry.rate_limit_counts or not verdict.rate_limited
    if not verdict.retryable:
        return RetryDecision(False, now_ms, counts, "final")
    tries_max = retry.max + 1
    if counts and attempts - rate_limited >= tries_max:
        return RetryDecision(False, now_ms, counts, f"tried {tries_max} times")
    if not counts and attempts >= max(retry.rate_limit_max, tries_max):
        return RetryDecision(False, now_ms, counts, f"rate limited {attempts} times")
    delay_ms, why = _wait(retry, attempts, retry_after_ms)
    return RetryDecision(True, now_ms + delay_ms, counts, why)


def _wait(retry: RetrySettings, attempts: int, retry_after_ms: int | None) -> tuple[int, str]:
    backoff = backoff_ms(retry, attempts)
    hint = min(retry_after_ms or 0, retry.retry_after_cap_ms)
    return (hint, "retry_after") if hint > backoff else (backoff, "backoff")
