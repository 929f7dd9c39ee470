from typing import Any

import pytest
from pydantic import ValidationError

from nephila.errors import UsageError
from nephila.profiles import PROFILES, CrawlSettings, crawl_settings, environment_settings, settings_from_json


def value(profile: str, name: str) -> Any:
    group, field = name.split(".")
    return getattr(getattr(crawl_settings(profile), group), field)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_is_valid_and_survives_storage(profile: str) -> None:
    settings = crawl_settings(profile)
    assert settings.profile == profile
    assert settings_from_json(settings.model_dump_json()) == settings


@pytest.mark.parametrize(
    ("profile", "name", "expected"),
    [
        ("default", "norm.trailing_slash", "keep"),
        ("default", "scope.max_depth", 50),
        ("default", "limits.max_urls_per_host", 1_000_000),
        ("default", "redirects.mode", "enqueue"),
        ("default", "robots.on_error", "rfc9309"),
        ("default", "host.death_errors", 10),
        ("default", "retry.max", 2),
        ("default", "dns.resolve_discovered", False),
        ("strict", "norm.query", "preserve"),
        ("strict", "scope.mode", "same_host"),
        ("strict", "scope.max_depth", 25),
        ("strict", "limits.max_urls", 5000),
        ("strict", "polite.max_inflight", 4),
        ("strict", "host.death_errors", 0),
        ("strict", "fetch.total_timeout_ms", 5000),
        ("strict", "robots.mode", "ignore"),
        ("graph", "scope.at_max_depth", "record_only"),
        ("graph", "scope.mode", "any"),
        ("graph", "dns.resolve_discovered", True),
        ("smallweb", "polite.floor_ms", 10_000),
        ("smallweb", "robots.on_error", "rfc9309"),
        ("broad", "norm.query", "sort_strip_tracking"),
        ("broad", "norm.fold_www", True),
        ("broad", "limits.max_frontier", 50_000_000),
        ("broad", "fetch.connect_timeout_ms", 2000),
        ("broad", "fetch.total_timeout_ms", 5000),
        ("jobs", "scope.mode", "same_domain"),
        ("jobs", "scope.max_depth", 3),
        ("jobs", "limits.max_pages", 10_000),
        ("jobs", "retry.base_ms", 10_000),
        ("jobs", "robots.on_error", "allow"),
        ("jobs", "redirects.max_hops", 3),
    ],
)
def test_values_that_the_requirements_fix(profile: str, name: str, expected: object) -> None:
    assert value(profile, name) == expected


def settled(line: str, name: str, **profiles: object) -> Any:
    """A setting of every profile; `others` is that of the profiles that are not named."""
    values = {profile: profiles.get(profile, profiles["others"]) for profile in PROFILES}
    return pytest.param(name, values, marks=pytest.mark.requirement(line), id=f"{line} {name}")


STRIPPED, SORTED = "strip_except_root", "sort_strip_tracking"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        settled("K01", "norm.trailing_slash", others="keep", graph=STRIPPED, broad=STRIPPED, jobs=STRIPPED),
        settled("K02", "norm.query", others="preserve", broad=SORTED, jobs="sort"),
        settled("K04", "norm.fold_scheme", others=False),
        settled("K05", "norm.fold_www", others=False, broad=True),
        settled("K06", "polite.floor_ms", others=1000, strict=40, smallweb=10_000, broad=250),
        settled("K06", "polite.jitter_ms", others=0, strict=25),
        settled("K06", "polite.adaptive_factor", others=5.0),
        settled("K06", "polite.adaptive_max_ms", others=30_000),
        settled("K09", "polite.max_inflight", others=1, strict=4),
        settled("K11", "retry.retry_after_cap_ms", others=3_600_000, strict=30_000),
        settled("K12", "retry.rate_limit_counts", others=True, broad=False),
        settled("K13", "host.death_errors", others=10, strict=0),
        settled("K13", "host.nxdomain_confirmations", others=1),
        settled("K14", "redirects.mode", others="enqueue", strict="record", jobs="follow"),
        settled("K14", "redirects.max_hops", others=5, strict=3, graph=3, jobs=3),
        settled("K15", "retry.max", others=2, broad=1),
        settled("K15", "retry.base_ms", others=1000, jobs=10_000),
        settled("K15", "retry.factor", others=2.0, jobs=1.0),
        settled("K15", "retry.cap_ms", others=30_000),
        settled("K16", "robots.mode", others="obey", strict="ignore", graph="ignore"),
        settled("K16", "robots.on_error", others="rfc9309", jobs="allow"),
        settled(
            "K17",
            "scope.mode",
            others="same_host",
            smallweb="same_domain",
            jobs="same_domain",
            graph="any",
            broad="any",
        ),
        settled("K19", "limits.max_urls", others=None, strict=5000),
        settled("K22", "limits.max_frontier", others=None, broad=50_000_000),
        settled("K19", "limits.max_pages", others=None, jobs=10_000),
        settled("K30", "dns.resolve_discovered", others=False, graph=True),
        settled("K31", "content.edges", others=True),
        settled("K33", "fetch.total_timeout_ms", others=60_000, strict=5000, broad=5000, jobs=10_000),
        settled("K33", "fetch.connect_timeout_ms", others=10_000, broad=2000),
        settled("K33", "fetch.tls_timeout_ms", others=10_000, broad=2000),
        settled("K33", "fetch.first_byte_timeout_ms", others=20_000, broad=3000),
        settled("K33", "robots.timeout_ms", others=10_000, jobs=5000),
        settled("K43", "scope.max_depth", others=50, strict=25, graph=2, jobs=3),
    ],
)
def test_values_by_which_profiles_settle_contradictions(name: str, values: dict[str, object]) -> None:
    assert {profile: value(profile, name) for profile in PROFILES} == values


@pytest.mark.requirement("A-46")
def test_overrides_win_over_the_profile() -> None:
    settings = crawl_settings("smallweb", {"polite.floor_ms": 500, "scope.max_depth": 2})
    assert (settings.polite.floor_ms, settings.scope.max_depth) == (500, 2)
    assert settings.scope.mode == "same_domain"
    assert crawl_settings("smallweb").polite.floor_ms == 10_000


@pytest.mark.parametrize(
    ("profile", "overrides", "message"),
    [
        ("nosuch", {}, "setting profile cannot be 'nosuch'"),
        ("default", {"nosuch.floor_ms": 1}, "unknown setting 'nosuch.floor_ms'"),
        ("default", {"polite.nosuch": 1}, "unknown setting 'polite.nosuch'"),
        ("default", {"polite": 1}, "unknown setting 'polite'"),
        ("default", {"polite.floor_ms": -1}, "setting polite.floor_ms cannot be -1"),
        ("default", {"polite.max_inflight": 0}, "setting polite.max_inflight cannot be 0"),
        ("default", {"scope.mode": "all"}, "setting scope.mode cannot be 'all'"),
        ("default", {"retry.factor": "x"}, "setting retry.factor cannot be 'x'"),
    ],
)
def test_a_mistake_is_one_clear_line(profile: str, overrides: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        crawl_settings(profile, overrides)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_settings_cannot_change() -> None:
    settings = crawl_settings()
    with pytest.raises(ValidationError):
        settings.polite.floor_ms = 0
    assert CrawlSettings.model_config["frozen"]


@pytest.mark.parametrize(
    ("proxy", "shown"),
    [
        (None, None),
        ("http://proxy.test:8080", "http://proxy.test:8080"),
        ("socks5://me:secret@proxy.test:1", "socks5://(redacted)@proxy.test:1"),
        ("http://me:se@cret@proxy.test", "http://(redacted)@proxy.test"),
    ],
)
def test_settings_are_shown_without_credentials(proxy: str | None, shown: str | None) -> None:
    headers = (("Accept-Language", "de"), ("Authorization", "Bearer secret"), ("X-Anything: ", "secret"))
    settings = crawl_settings("default", {"fetch.proxy": proxy, "fetch.headers": headers})
    redacted = settings.redacted()
    assert "secret" not in redacted.model_dump_json() and redacted.fetch.proxy == shown
    assert redacted.fetch.headers[0] == ("Accept-Language", "de")
    assert settings.fetch.headers == headers, "what is sent stays"


# --- the documents' variables


@pytest.mark.requirement("A-12", "R-12", "W-01", "P-02", "P-11", "P-12", "P-13", "P-14", "SC-04")
@pytest.mark.parametrize(
    ("env", "setting", "value"),
    [
        ({"CRAWL_MAX_PAGES": "70"}, "limits.max_urls", 70),
        ({"CRAWL_MAX_DEPTH": "0"}, "scope.max_depth", 0),
        ({"MAX_RETRIES": "7"}, "retry.max", 7),
        ({"FETCH_CONCURRENCY_PER_HOST": "3"}, "polite.max_inflight", 3),
        ({"FETCH_MIN_GAP_PER_HOST_MS": "0"}, "polite.floor_ms", 0),
        ({"FETCH_GAP_JITTER_MS": "30"}, "polite.jitter_ms", 30),
        ({"FETCH_HOST_COOLDOWN_BASE_MS": "700"}, "host.cooldown_base_ms", 700),
        ({"FETCH_HOST_COOLDOWN_MAX_MS": "9000"}, "host.cooldown_max_ms", 9000),
        ({"CRAWLER_MIN_DOMAIN_DELAY_SECONDS": "10"}, "polite.floor_ms", 10_000),
        ({"CRAWLER_MIN_DOMAIN_DELAY_SECONDS": "0.5"}, "polite.floor_ms", 500),
        (
            {"CRAWLER_MIN_DOMAIN_DELAY_SECONDS": "2", "FETCH_MIN_GAP_PER_HOST_MS": "40"},
            "polite.floor_ms",
            2000,
        ),
        ({"FETCH_MIN_GAP_PER_HOST_MS": ""}, "polite.floor_ms", None),
    ],
)
def test_the_documents_variables_set_defaults(env: dict[str, str], setting: str, value: int | None) -> None:
    found = environment_settings(env)
    assert found == ({} if value is None else {setting: value})
    if value is not None:
        assert crawl_settings("smallweb", found).value(setting) == value


@pytest.mark.requirement("A-12")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CRAWL_MAX_PAGES", "many"),
        ("CRAWL_MAX_PAGES", "0"),
        ("CRAWL_MAX_DEPTH", "-1"),
        ("FETCH_CONCURRENCY_PER_HOST", "1.5"),
        ("FETCH_GAP_JITTER_MS", "99999999999"),
        ("CRAWLER_MIN_DOMAIN_DELAY_SECONDS", "inf"),
        ("CRAWLER_MIN_DOMAIN_DELAY_SECONDS", "nan"),
        ("CRAWLER_MIN_DOMAIN_DELAY_SECONDS", "-1"),
    ],
)
def test_a_wrong_variable_is_one_line_that_names_it(name: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        environment_settings({name: text})
    message = str(caught.value)
    assert message.startswith(f"setting {name} cannot be {text!r}: ") and "\n" not in message
