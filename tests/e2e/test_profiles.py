"""The six profiles as they are, on one web: each finds what its rules say, no more and no less.

Loopback is permitted, delays are shortened, and deadlines are longer than a busy machine takes: what makes profiles
differ in what they find is left alone.
"""

from itertools import combinations

import pytest

from nephila.control import crawls
from nephila.frontier.records import UrlFilter
from nephila.frontier.store import Crawl
from nephila.profiles import PROFILES, crawl_settings
from tests.e2e.harness import Place, Places, run_here
from tests.patience import PATIENCE_MS
from tests.site.fixtures import html
from tests.site.graphs import seeds_under_test
from tests.site.profiled import NAMES, RULES, ProfiledWeb, expected
from tests.site.server import TestWeb

TIMES = {
    "fetch.allow_private": True,
    "fetch.connect_timeout_ms": PATIENCE_MS,
    "fetch.first_byte_timeout_ms": PATIENCE_MS,
    "fetch.total_timeout_ms": PATIENCE_MS,
    "robots.timeout_ms": PATIENCE_MS,
    "polite.floor_ms": 0,
    "polite.adaptive_max_ms": 0,
    "retry.base_ms": 10,
    "robots.retry_ms": 10,
    "host.backoff_base_ms": 10,
}


def started(place: Place, seeds: list[str], profile: str) -> Crawl:
    return crawls.start(place.store().catalog, seeds, crawl_settings(profile, TIMES))[0]


def test_every_profile_has_rules_and_they_tell_profiles_apart() -> None:
    assert RULES.keys() == PROFILES.keys()
    web = ProfiledWeb(seeds_under_test()[0], 80)
    results = {profile: expected(web, rules) for profile, rules in RULES.items()}
    assert [pair for pair in combinations(results, 2) if results[pair[0]] == results[pair[1]]] == []


@pytest.mark.requirement("K01", "K02", "K05", "K14", "K15", "K16", "K17")
@pytest.mark.parametrize("profile", RULES)
def test_a_profile_finds_what_its_rules_say(profile: str, places: Places) -> None:
    rules = RULES[profile]
    with TestWeb() as web:
        model = ProfiledWeb(seeds_under_test()[0], web.port)
        web.add(model.sites())
        place = places(resolve=NAMES)
        crawl = started(place, model.seeds, profile)
        run_here(place, crawl.id)
        found = {row.url: (str(row.state), row.reason) for row in place.rows(crawl.id)}
        wanted = expected(model, rules)
        wrong = {
            url: (found.get(url), wanted.get(url)) for url in found.keys() | wanted if found.get(url) != wanted.get(url)
        }
        assert wrong == {}, model.label
        assert place.store().catalog.check() == []
        hits = web.hits()
        assert any(hit.path == "/robots.txt" for hit in hits) is rules.robots
        assert any(hit.path.startswith("/private/") for hit in hits) is not rules.robots
        assert sum(hit.path == "/flaky" for hit in hits) == rules.tries


@pytest.mark.requirement("K19")
def test_strict_takes_up_5000_urls(places: Places) -> None:
    with TestWeb() as web:
        web.add({"site.test": {"/": html(*(f"/{number}" for number in range(5100)))}})
        place = places(resolve=NAMES)
        catalog = place.store().catalog
        crawl = started(place, [web.url("/", "site.test")], "strict")
        run_here(place, crawl.id, until=lambda: catalog.tallies(crawl.id).get("urls", 0) > 1)
        assert catalog.count_urls(crawl.id, UrlFilter()) == 5000
