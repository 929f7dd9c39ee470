from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.models import Reason
from nephila.policy.classify import Verdict, classify_error, classify_http
from nephila.policy.politeness import (
    SLOWDOWN_MAX,
    SLOWED_MS_MAX,
    Pace,
    Rest,
    blames_host,
    crawl_delay_verdict,
    delay_ms,
    delay_reasons,
    eta_ms,
    gap_ms,
    on_failure,
    on_success,
)
from nephila.policy.retry import next_try
from nephila.profiles import CrawlSettings, HostSettings, PoliteSettings, RetrySettings, crawl_settings

NOW_MS = 1_700_000_000_000
MINUTE_MS = 60_000
STRICT = crawl_settings("strict")
BROAD = crawl_settings("broad")
STEADY = PoliteSettings(adaptive=False)


def fail(
    pace: Pace,
    verdict: Verdict,
    host: HostSettings | None = None,
    retry_after_ms: int | None = None,
    polite: PoliteSettings = STEADY,
) -> tuple[Rest | None, bool]:
    return on_failure(pace, verdict, host or HostSettings(), polite, RetrySettings(), retry_after_ms, NOW_MS)


def rests(verdict: Verdict, times: int, host: HostSettings) -> list[int]:
    """Milliseconds of the rest after each of `times` failures in a row."""
    pace = Pace()
    taken = [fail(pace, verdict, host)[0] for _ in range(times)]
    return [rest.until_ms - NOW_MS if rest else 0 for rest in taken]


@pytest.mark.requirement("P-01", "P-03", "T-06")
@pytest.mark.parametrize(
    ("pace", "seconds"),
    [
        (Pace(), 10),
        (Pace(override_ms=30_000), 30),
        (Pace(override_ms=3000), 10),
        (Pace(crawl_delay_ms=20_000), 20),
        (Pace(crawl_delay_ms=20_000, override_ms=30_000), 30),
    ],
)
def test_min_delay_for(pace: Pace, seconds: int) -> None:
    assert delay_ms(pace, crawl_settings("smallweb").polite) == seconds * 1000


@pytest.mark.requirement("P-02", "T-06")
def test_the_floor_can_be_set() -> None:
    assert delay_ms(Pace(), crawl_settings("smallweb", {"polite.floor_ms": 30_000}).polite) == 30_000


@pytest.mark.requirement("P-08", "P-11", "K06")
@pytest.mark.parametrize(
    ("profile", "ms"),
    [("default", 1000), ("strict", 40), ("graph", 1000), ("smallweb", 10_000), ("broad", 250), ("jobs", 1000)],
)
def test_delay_of_an_unknown_host_by_profile(profile: str, ms: int) -> None:
    assert delay_ms(Pace(), crawl_settings(profile).polite) == ms


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize(
    ("latency_ms", "ms"),
    [(None, 250), (1, 250), (50, 250), (60, 300), (200, 1000), (6000, 30_000), (60_000, 30_000)],
)
def test_adaptive_is_five_latencies_from_a_quarter_to_thirty_seconds(latency_ms: float | None, ms: int) -> None:
    assert delay_ms(Pace(latency_ms=latency_ms), BROAD.polite) == ms


@pytest.mark.requirement("P-10")
def test_a_copy_has_every_field_and_changes_alone() -> None:
    pace = Pace(*range(1, len(fields(Pace)) + 1))
    copy = pace.copy()
    assert copy == pace
    copy.errors = 99
    assert pace.errors == 3


def test_latency_is_a_moving_average() -> None:
    pace = Pace()
    on_success(pace, 100.0)
    assert pace.latency_ms == 100.0
    on_success(pace, 200.0)
    assert pace.latency_ms == pytest.approx(120.0)


@pytest.mark.requirement("P-12")
@pytest.mark.parametrize(
    ("floor", "jitter", "random", "ms"),
    [
        (40, 25, 0.0, 40),
        (40, 25, 0.5, 52.5),
        (40, 25, 1.0, 65),
        (40, 100, 1.0, 80),
        (0, 25, 1.0, 25),
        (0, 25, 0.0, 0),
        (1000, 0, 1.0, 1000),
    ],
)
def test_jitter(floor: int, jitter: int, random: float, ms: float) -> None:
    assert gap_ms(Pace(), PoliteSettings(floor_ms=floor, jitter_ms=jitter, adaptive=False), random) == ms


@pytest.mark.requirement("R-16", "K12")
@pytest.mark.parametrize(
    ("floor", "delays"),
    [
        (1000, [2000, 4000, 8000, 16_000, 32_000, 64_000, 64_000]),
        (10_000, [20_000, 40_000, 80_000, 160_000, SLOWED_MS_MAX, SLOWED_MS_MAX]),
        (0, [1000, 3000, 7000, 15_000]),
        (40, [1000, 3000, 7000]),
        (600_000, [600_000]),
    ],
)
def test_429_doubles_the_delay(floor: int, delays: list[float]) -> None:
    pace, polite = Pace(), PoliteSettings(floor_ms=floor, adaptive=False)
    seen = []
    for _ in delays:
        fail(pace, classify_http(429), HostSettings(death_errors=0), polite=polite)
        seen.append(delay_ms(pace, polite))
    assert seen == delays


@pytest.mark.requirement("R-16")
def test_a_fast_answer_does_not_undo_a_slowdown() -> None:
    pace = Pace(latency_ms=10.0)
    fail(pace, classify_http(429))
    before = delay_ms(pace, BROAD.polite)
    on_success(pace, 1.0)
    assert delay_ms(pace, BROAD.polite) > 0.95 * before


@pytest.mark.requirement("K12")
def test_successes_undo_a_slowdown_at_last() -> None:
    pace = Pace(slowdown=2.0)
    taken = 0
    while pace.slowdown > 1.0:
        on_success(pace, 10.0)
        taken += 1
    assert 30 <= taken <= 40
    assert delay_ms(pace, STEADY) == 1000


@pytest.mark.requirement("R-17", "R-20")
@pytest.mark.parametrize("verdict", [classify_http(500), classify_error(Reason.CONNECT), classify_error(Reason.TLS)])
def test_backoff_from_the_fifth_error_on_doubles_up_to_an_hour(verdict: Verdict) -> None:
    minutes = [ms / MINUTE_MS for ms in rests(verdict, 13, HostSettings(death_errors=0))]
    assert minutes == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]


@pytest.mark.requirement("R-18", "K13")
@pytest.mark.parametrize(("death_errors", "dies_at"), [(10, 10), (3, 3), (1, 1), (0, None)])
def test_death(death_errors: int, dies_at: int | None) -> None:
    pace, host = Pace(), HostSettings(death_errors=death_errors)
    dead = [fail(pace, classify_http(500), host)[1] for _ in range(60)]
    assert (dead.index(True) + 1 if True in dead else None) == dies_at


@pytest.mark.requirement("R-18")
def test_one_answer_breaks_the_row_of_errors() -> None:
    pace = Pace()
    for _ in range(9):
        fail(pace, classify_http(500))
    on_success(pace, 5.0)
    assert fail(pace, classify_http(500)) == (None, False)


@pytest.mark.requirement("R-19", "K13")
@pytest.mark.parametrize("confirmations", [0, 1, 3])
def test_nxdomain_kills_when_confirmed(confirmations: int) -> None:
    pace, host = Pace(), HostSettings(nxdomain_confirmations=confirmations, death_errors=0)
    for _ in range(confirmations):
        assert fail(pace, classify_error(Reason.NXDOMAIN), host) == (Rest(NOW_MS + 1000, "nxdomain"), False)
    assert fail(pace, classify_error(Reason.NXDOMAIN), host) == (None, True)


@pytest.mark.parametrize(("between", "nxdomain"), [(Reason.DNS, 1), (Reason.PROXY, 1), (Reason.CONNECT, 0)])
def test_only_a_name_that_was_found_clears_nxdomain(between: Reason, nxdomain: int) -> None:
    pace = Pace(nxdomain=1)
    fail(pace, classify_error(between))
    assert pace.nxdomain == nxdomain


@pytest.mark.requirement("P-13")
@pytest.mark.parametrize(
    "verdict", [classify_http(403), classify_http(500), classify_error(Reason.TIMEOUT)], ids=lambda v: v.state
)
def test_cooldown_doubles_from_half_a_second_to_five(verdict: Verdict) -> None:
    """In the profile as it is: no rest of a host that fails for ever is longer, so its run ends."""
    assert rests(verdict, 12, STRICT.host) == [500, 1000, 2000, 4000, *[5000] * 8]


@pytest.mark.requirement("K12")
@pytest.mark.parametrize(("settings", "errors"), [(BROAD, 0), (STRICT, 20)])
def test_rate_limits_that_do_not_count_never_kill_a_host(settings: CrawlSettings, errors: int) -> None:
    pace = Pace()
    for _ in range(20):
        rest, dead = on_failure(pace, classify_http(429), settings.host, settings.polite, settings.retry, None, NOW_MS)
        assert rest is not None and not dead
    assert pace.errors == errors and pace.slowdown == SLOWDOWN_MAX


@pytest.mark.requirement("R-09", "K11")
def test_strict_honours_a_hint_of_thirty_seconds_at_most() -> None:
    rest, _ = on_failure(Pace(), classify_http(429), STRICT.host, STRICT.polite, STRICT.retry, 100_000, NOW_MS)
    assert rest == Rest(NOW_MS + 30_000, "retry_after")
    assert next_try(STRICT.retry, 1, classify_http(429), 100_000, NOW_MS).at_ms == NOW_MS + 30_000


@pytest.mark.requirement("P-13")
def test_a_success_lowers_strikes() -> None:
    pace = Pace(strikes=3)
    on_success(pace, 10.0)
    assert pace.strikes == 2
    assert fail(pace, classify_http(403), STRICT.host)[0] == Rest(NOW_MS + 2000, "cooldown")


@pytest.mark.requirement("P-13")
@pytest.mark.parametrize(
    ("verdict", "host"),
    [
        (classify_http(403), HostSettings()),
        (classify_error(Reason.TLS), STRICT.host),
        (classify_error(Reason.PRIVATE_ADDRESS), STRICT.host),
        (classify_error(Reason.PROXY), STRICT.host),
    ],
)
def test_no_cooldown(verdict: Verdict, host: HostSettings) -> None:
    assert fail(Pace(), verdict, host) == (None, False)


def test_strikes_are_bounded() -> None:
    pace = Pace()
    for _ in range(1000):
        fail(pace, classify_http(429), STRICT.host)
    assert (pace.strikes, pace.slowdown) == (32, SLOWDOWN_MAX)


@pytest.mark.requirement("R-09", "K11")
@pytest.mark.parametrize(
    ("status", "hint_ms", "rest"),
    [
        (429, 90_000, Rest(NOW_MS + 90_000, "retry_after")),
        (503, 90_000, Rest(NOW_MS + 90_000, "retry_after")),
        (429, 10**12, Rest(NOW_MS + 3_600_000, "retry_after")),
        (429, None, Rest(NOW_MS + 2000, "rate_limited")),
        (429, 500, Rest(NOW_MS + 2000, "rate_limited")),
        (503, None, None),
        (503, 0, None),
    ],
)
def test_retry_after_blocks_the_host(status: int, hint_ms: int | None, rest: Rest | None) -> None:
    assert fail(Pace(), classify_http(status), retry_after_ms=hint_ms) == (rest, False)


def test_of_two_rests_the_longer_holds() -> None:
    pace = Pace(errors=6)
    assert fail(pace, classify_http(503), retry_after_ms=1000)[0] == Rest(NOW_MS + 4 * MINUTE_MS, "backoff")


@pytest.mark.parametrize(
    ("verdict", "blamed"),
    [
        (classify_http(200), False),
        (classify_http(301), False),
        (classify_http(404), False),
        (classify_http(408), False),
        (classify_http(403), True),
        (classify_http(429), True),
        (classify_http(500), True),
        (classify_error(Reason.TIMEOUT), True),
        (classify_error(Reason.PRIVATE_ADDRESS), True),
    ],
)
def test_which_outcomes_are_failures(verdict: Verdict, blamed: bool) -> None:
    assert blames_host(verdict) is blamed


@pytest.mark.parametrize("reason", [Reason.PROXY, Reason.PRIVATE_ADDRESS, Reason.HEADERS_TOO_LONG])
def test_what_is_not_the_hosts_fault_leaves_its_pace_alone(reason: Reason) -> None:
    pace = Pace(errors=4, strikes=1, nxdomain=1)
    before = replace(pace)
    fail(pace, classify_error(reason), STRICT.host)
    assert pace == before


@pytest.mark.requirement("P-16")
@pytest.mark.parametrize(
    ("crawl_delay_ms", "ok"), [(None, True), (0, True), (300_000, True), (300_001, False), (10**9, False)]
)
def test_a_crawl_delay_above_the_cap_parks_the_host(crawl_delay_ms: int | None, ok: bool) -> None:
    decision = crawl_delay_verdict(crawl_delay_ms, PoliteSettings())
    assert decision.ok is ok
    assert ok or (decision.reason == Reason.CRAWL_DELAY and "300 s" in decision.detail)


def test_the_delay_names_its_winner() -> None:
    pace = Pace(latency_ms=100.0, crawl_delay_ms=2000, override_ms=5000)
    assert delay_reasons(pace, PoliteSettings()) == [
        ("override", 5000.0),
        ("crawl_delay", 2000.0),
        ("floor", 1000.0),
        ("adaptive", 500.0),
    ]
    pace.slowdown = 4.0
    assert delay_reasons(pace, PoliteSettings())[0] == ("slowdown", 20_000.0)


maybe_ms = st.none() | st.integers(0, 10**7)
paces = st.builds(
    Pace,
    latency_ms=st.none() | st.floats(0, 1e6),
    slowdown=st.floats(1, 64),
    crawl_delay_ms=maybe_ms,
    override_ms=maybe_ms,
)
politenesses = st.builds(PoliteSettings, floor_ms=st.integers(0, 10**6), adaptive=st.booleans())


@pytest.mark.requirement("P-16", "K06")
@given(paces, politenesses)
def test_the_delay_is_the_first_reason_and_never_below_any_part(pace: Pace, polite: PoliteSettings) -> None:
    reasons = delay_reasons(pace, polite)
    assert delay_ms(pace, polite) == reasons[0][1] == max(ms for _, ms in reasons)


@pytest.mark.parametrize(
    ("queues", "eta"),
    [
        ([], (0.0, "")),
        ([("a", 10, 1000.0)], (10_000.0, "a")),
        ([("many", 100, 10.0), ("slow", 3, 10_000.0), ("idle", 0, 60_000.0)], (30_000.0, "slow")),
    ],
)
def test_the_largest_queue_times_delay_bounds_the_end(
    queues: list[tuple[str, int, float]], eta: tuple[float, str]
) -> None:
    assert eta_ms(queues) == eta
