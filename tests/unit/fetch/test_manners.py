"""Which hosts are one's own, and what a crawl may do to the others."""

from collections.abc import Sequence
from typing import Any

import pytest

from nephila.errors import UsageError
from nephila.fetch.manners import ANY_HOST, ANY_NEEDED, FLOOR, ROBOTS, foreign_host, is_own, mannered
from nephila.profiles import PROFILES, crawl_settings

PUBLIC, PRIVATE = "https://example.com/", "http://127.0.0.1:8080/"


@pytest.mark.requirement("K06")
@pytest.mark.parametrize(
    ("name", "own_hosts", "own"),
    [
        ("127.0.0.1", (), True),
        ("10.1.2.3", (), True),
        ("localhost", (), True),
        ("[::1]", (), True),
        ("93.184.216.34", (), False),
        ("example.com", (), False),
        ("example.com", ("example.com",), True),
        ("www.example.com", ("example.com",), True),
        ("example.com", ("www.example.com",), True),
        ("shop.example.com", ("example.com",), False),
        ("shop.example.com", (".example.com",), True),
        ("example.com", (".example.com",), True),
        ("badexample.com", (".example.com",), False),
        (".example.com", (".example.com",), True),
        (".example.com", ("example.com",), False),
        (".shop.example.com", (".example.com",), True),
    ],
)
def test_own_hosts_are_private_or_named(name: str, own_hosts: Sequence[str], own: bool) -> None:
    assert is_own(name, own_hosts) is own


@pytest.mark.requirement("K06")
@pytest.mark.parametrize(
    ("seeds", "scope", "own_hosts", "foreign"),
    [
        ([PRIVATE], {}, (), ""),
        ([PRIVATE, PUBLIC], {}, (), "example.com"),
        ([PUBLIC], {}, ("example.com",), ""),
        ([PUBLIC], {"scope.mode": "same_domain"}, ("example.com",), ".example.com"),
        ([PUBLIC], {"scope.mode": "same_domain"}, (".example.com",), ""),
        ([PRIVATE], {"scope.mode": "same_domain"}, (), ""),
        ([PRIVATE], {"scope.mode": "any"}, (), ANY_HOST),
        ([PRIVATE], {"scope.requisites": "all"}, (), ANY_NEEDED),
        ([PRIVATE], {"scope.requisites": "same_host"}, (), ""),
        ([PRIVATE, PUBLIC], {"scope.requisites": "all"}, (), "example.com"),
        ([PRIVATE], {"scope.mode": "list", "scope.hosts": ["127.0.0.1", "Example.com"]}, (), "example.com"),
        ([PRIVATE], {"scope.mode": "list", "scope.hosts": ["127.0.0.1"]}, (), ""),
    ],
)
def test_a_crawl_is_foreign_where_its_scope_has_a_foreign_host(
    seeds: list[str], scope: dict[str, Any], own_hosts: Sequence[str], foreign: str
) -> None:
    assert foreign_host(crawl_settings(overrides=scope), seeds, own_hosts) == foreign


@pytest.mark.requirement("K06")
@pytest.mark.parametrize("profile", PROFILES)
def test_no_profile_is_rude_to_a_foreign_host(profile: str) -> None:
    kept = mannered(crawl_settings(profile), [PUBLIC], (), ()).settings
    assert kept.robots.mode == "obey"
    assert kept.polite.floor_ms >= (250 if profile == "broad" else 1000)
    assert kept.polite.floor_ms >= 1000 or kept.polite.adaptive


@pytest.mark.requirement("K06", "RB-09")
@pytest.mark.parametrize(("seed", "own_hosts"), [(PRIVATE, ()), (PUBLIC, ("example.com",))])
def test_on_ones_own_hosts_the_strict_profile_is_as_the_document_says(seed: str, own_hosts: Sequence[str]) -> None:
    settings = crawl_settings("strict")
    assert mannered(settings, [seed], own_hosts, ()).settings == settings
    assert (settings.polite.floor_ms, settings.robots.mode) == (40, "ignore")


@pytest.mark.requirement("K06", "RB-09")
def test_what_a_person_chose_for_this_crawl_stands_and_is_named() -> None:
    wanted = crawl_settings("strict", {ROBOTS: "ignore"})
    kept = mannered(wanted, [PUBLIC], (), (ROBOTS,))
    assert (kept.settings.robots.mode, kept.settings.polite.floor_ms) == ("ignore", 1000)
    assert (kept.chosen, kept.restrained, kept.foreign) == ((ROBOTS,), (FLOOR,), "example.com")


@pytest.mark.requirement("K10")
def test_robots_force_is_for_sites_of_ones_own() -> None:
    wanted = crawl_settings(overrides={"robots.force": True})
    with pytest.raises(UsageError, match=r"robots\.force .* example\.com: .* NEPHILA_OWN_HOSTS"):
        mannered(wanted, [PUBLIC], (), ("robots.force",))
    assert mannered(wanted, [PUBLIC], ("example.com",), ()).settings.robots.force
    assert mannered(wanted, [PRIVATE], (), ()).settings.robots.force
