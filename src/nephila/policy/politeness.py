"""Politeness: the pace of a host, what changes it, and how long the host is left alone. Pure: times come in.

The delay of a host, in this order:
1. the largest of floor, robots crawl-delay (up to its cap), the operator's override, and the adaptive part;
2. times `slowdown`, which doubles with each 429 and decays with each success, up to SLOWED_MS_MAX;
3. the gap before the next request adds a random part of the jitter.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from nephila.models import Decision, Reason, UrlState
from nephila.policy.classify import Verdict
from nephila.profiles import HostSettings, PoliteSettings, RetrySettings

LATENCY_WEIGHT = 0.2  # of the newest sample in the moving average

SLOWDOWN_FACTOR = 2.0
SLOWDOWN_MAX = 64.0
# 34 successes undo one doubling: a host with a steady limit answers at most some 3 % of our requests with 429.
SLOWDOWN_DECAY = 0.98
# Below this much the slowdown is over; without it the decay would never reach 1.
SLOWDOWN_LEAST = 1.01
# A delay of 0 cannot be doubled: each unit of slowdown above 1 is worth at least a second. So nothing jumps at its end.
SLOWED_STEP_MS = 1000.0
SLOWED_MS_MAX = 300_000.0

RETRY_AFTER = "retry_after"  # the reason of a rest that the site itself asked for
DOUBLINGS_MAX = 32  # 2^32 ms is beyond every cap


@dataclass(slots=True)
class Pace:
    """The state of one host, kept on its row. Only the worker that owns the host writes it."""

    latency_ms: float | None = None  # moving average
    slowdown: float = 1.0
    errors: int = 0  # in a row
    strikes: int = 0  # steps of the cooldown; a success takes one back
    crawl_delay_ms: int | None = None  # from robots.txt
    override_ms: int | None = None  # from the operator
    nxdomain: int = 0  # look-ups in a row that found no such name

    def copy(self) -> "Pace":
        """Written out, because each page needs one: `dataclasses.replace` executes six times as much."""
        delays = (self.crawl_delay_ms, self.override_ms)
        return Pace(self.latency_ms, self.slowdown, self.errors, self.strikes, *delays, self.nxdomain)


@dataclass(frozen=True, slots=True)
class Rest:
    """The whole host is left alone until `until_ms`."""

    until_ms: int
    reason: str


def adaptive_ms(pace: Pace, polite: PoliteSettings) -> float:
    if not polite.adaptive:
        return 0.0
    wanted = polite.adaptive_factor * (pace.latency_ms or 0.0)
    return min(max(wanted, polite.adaptive_min_ms), polite.adaptive_max_ms)


def _unslowed_ms(pace: Pace, polite: PoliteSettings) -> float:
    crawl_delay = min(pace.crawl_delay_ms or 0, polite.crawl_delay_cap_ms)
    return float(max(polite.floor_ms, crawl_delay, pace.override_ms or 0, adaptive_ms(pace, polite)))


def _slowed_ms(unslowed: float, slowdown: float) -> float:
    slowed = max(unslowed * slowdown, (slowdown - 1.0) * SLOWED_STEP_MS)
    return max(unslowed, min(slowed, SLOWED_MS_MAX))


def delay_ms(pace: Pace, polite: PoliteSettings) -> float:
    unslowed = _unslowed_ms(pace, polite)
    return unslowed if pace.slowdown <= 1.0 else _slowed_ms(unslowed, pace.slowdown)


def delay_reasons(pace: Pace, polite: PoliteSettings) -> list[tuple[str, float]]:
    """Every part of the delay that is in force, the longest first: that one is the delay."""
    parts = [("floor", float(polite.floor_ms))]
    if pace.crawl_delay_ms is not None:
        parts.append(("crawl_delay", float(min(pace.crawl_delay_ms, polite.crawl_delay_cap_ms))))
    if pace.override_ms is not None:
        parts.append(("override", float(pace.override_ms)))
    if polite.adaptive:
        parts.append(("adaptive", adaptive_ms(pace, polite)))
    if pace.slowdown > 1.0:
        # First, so that it is named as the winner where the cap makes it equal to another part.
        parts.insert(0, ("slowdown", delay_ms(pace, polite)))
    return sorted(parts, key=lambda part: -part[1])


def gap_ms(pace: Pace, polite: PoliteSettings, random: float) -> float:
    """The delay and a random part (0 <= random < 1) of the jitter, which never exceeds the floor where there is one."""
    jitter = polite.jitter_ms
    if jitter == 0:
        return delay_ms(pace, polite)
    floor = polite.floor_ms
    return delay_ms(pace, polite) + random * (min(jitter, floor) if floor else jitter)


def crawl_delay_verdict(crawl_delay_ms: int | None, polite: PoliteSettings, *, force: bool = False) -> Decision:
    """Refuse a host whose crawl-delay is above the cap: to obey it would never end, to ignore it would be rude.

    `force`: its owner wants it crawled all the same, which is done at the cap.
    """
    cap = polite.crawl_delay_cap_ms
    if force or crawl_delay_ms is None or crawl_delay_ms <= cap:
        return Decision(True)
    detail = f"robots.txt asks for {crawl_delay_ms / 1000:g} s between requests, the most we accept is {cap / 1000:g} s"
    return Decision(False, Reason.CRAWL_DELAY, detail)


def blames_host(verdict: Verdict) -> bool:
    """True: call on_failure, else on_success. A 403 cools the host down without being an error of it."""
    return verdict.host_error or verdict.state in (UrlState.FORBIDDEN, UrlState.FAILED)


def on_success(pace: Pace, latency_ms: float) -> None:
    known = pace.latency_ms
    pace.latency_ms = latency_ms if known is None else known + LATENCY_WEIGHT * (latency_ms - known)
    pace.errors = 0
    pace.nxdomain = 0
    if pace.strikes:
        pace.strikes -= 1
    if pace.slowdown > 1.0:
        slower = pace.slowdown * SLOWDOWN_DECAY
        pace.slowdown = slower if slower >= SLOWDOWN_LEAST else 1.0


def on_failure(
    pace: Pace,
    verdict: Verdict,
    host: HostSettings,
    polite: PoliteSettings,
    retry: RetrySettings,
    retry_after_ms: int | None,
    now_ms: int,
) -> tuple[Rest | None, bool]:
    """Change the pace; answers the rest of the host, if any (the longest of several), and whether it is dead."""
    _count(pace, verdict, counts=retry.rate_limit_counts or not verdict.rate_limited)
    if _dead(pace, host):
        return None, True
    rests = (
        (RETRY_AFTER, _hinted_ms(verdict, retry, retry_after_ms)),
        ("backoff", _backoff_ms(pace, verdict, host)),
        ("cooldown", _cooldown_ms(pace, verdict, host)),
        ("nxdomain", retry.base_ms if verdict.reason is Reason.NXDOMAIN else 0),
        ("rate_limited", int(delay_ms(pace, polite)) if verdict.rate_limited else 0),
    )
    reason, rest_ms = max(rests, key=lambda rest: rest[1])
    return (Rest(now_ms + rest_ms, reason) if rest_ms else None), False


def _count(pace: Pace, verdict: Verdict, *, counts: bool) -> None:
    """`counts`: false for a 429 that uses up no try: a host that asks for patience is alive."""
    if verdict.host_error and counts:
        pace.errors += 1
    if verdict.rate_limited:
        pace.slowdown = min(pace.slowdown * SLOWDOWN_FACTOR, SLOWDOWN_MAX)
    if _strikes(verdict):
        pace.strikes = min(pace.strikes + 1, DOUBLINGS_MAX)
    if verdict.reason is Reason.NXDOMAIN:
        pace.nxdomain += 1
    elif verdict.host_error and verdict.reason is not Reason.DNS:
        pace.nxdomain = 0  # the name was found


def _strikes(verdict: Verdict) -> bool:
    return verdict.state is UrlState.FORBIDDEN or (verdict.host_error and verdict.retryable)


def _dead(pace: Pace, host: HostSettings) -> bool:
    return pace.nxdomain > host.nxdomain_confirmations or 0 < host.death_errors <= pace.errors


def _doubled_ms(base_ms: int, times: int, cap_ms: int) -> int:
    return min(base_ms << min(times, DOUBLINGS_MAX), cap_ms)


def _hinted_ms(verdict: Verdict, retry: RetrySettings, retry_after_ms: int | None) -> int:
    return min(retry_after_ms or 0, retry.retry_after_cap_ms) if verdict.host_error else 0


def _backoff_ms(pace: Pace, verdict: Verdict, host: HostSettings) -> int:
    above = pace.errors - host.backoff_errors
    return _doubled_ms(host.backoff_base_ms, above, host.backoff_cap_ms) if verdict.host_error and above >= 0 else 0


def _cooldown_ms(pace: Pace, verdict: Verdict, host: HostSettings) -> int:
    return _doubled_ms(host.cooldown_base_ms, pace.strikes - 1, host.cooldown_max_ms) if _strikes(verdict) else 0


def eta_ms(queues: Iterable[tuple[str, int, float]]) -> tuple[float, str]:
    """From (host, queued, delay): hosts are crawled side by side, so the largest queue x delay bounds the end."""
    return max(((queued * delay, host) for host, queued, delay in queues), default=(0.0, ""))
