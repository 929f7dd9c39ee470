from typing import Any

import pytest
from pydantic import ValidationError

from nephila.errors import UsageError
from nephila.profiles import PROFILES, CrawlSettings, crawl_settings, settings_from_json


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
        ("broad", "limits.max_urls", 50_000_000),
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


@pytest.mark.requirement("A-46")
def test_overrides_win_over_the_profile() -> None:
    settings = crawl_settings("smallweb", {"polite.floor_ms": 500, "scope.max_depth": 2})
    assert (settings.polite.floor_ms, settings.scope.max_depth) == (500, 2)
    assert settings.scope.mode == "same_domain"
    assert crawl_settings("smallweb").polite.floor_ms == 10_000


@pytest.mark.parametrize(
    ("profile", "overrides", "message"),
    [
        ("nosuch", {}, "unknown profile 'nosuch'"),
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
