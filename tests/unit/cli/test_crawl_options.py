from typing import Any

import pytest

from nephila.cli.crawl_options import (
    OPTIONS,
    RequisitesChoice,
    ScopeChoice,
    assignments_of,
    checked_proxy,
    headers_of,
    overrides_of,
)
from nephila.errors import UsageError
from nephila.profiles import SETTINGS, Requisites, ScopeMode, crawl_settings


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("polite.floor_ms=500", 500),
        ("polite.adaptive=false", False),
        ("limits.max_pages=none", None),
        ("limits.max_pages=7", 7),
        ("scope.mode=same_domain", "same_domain"),
        ("scope.include=*/a/*, */b/*", ("*/a/*", "*/b/*")),
        ('scope.include=["a,b"]', ("a,b",)),
        ("scope.skip_extensions=", ()),
        ('fetch.headers=[["A", "b"]]', (("A", "b"),)),
        ("fetch.user_agent=123", "123"),
        ("fetch.user_agent=none", "none"),
        ("fetch.proxy=none", None),
        ("retry.factor=1.5", 1.5),
    ],
)
def test_every_kind_of_setting_can_be_set(line: str, value: Any) -> None:
    settings = crawl_settings("default", assignments_of([line]))
    group, _, name = line.partition("=")[0].partition(".")
    assert getattr(getattr(settings, group), name) == value


@pytest.mark.parametrize(
    "line", ["polite.floor_ms", "floor_ms=1", "polite.=1", "polite.nope=1", "version=2", "nope.x=1", "scope.include=[x"]
)
def test_a_wrong_assignment_is_one_line(line: str) -> None:
    with pytest.raises(UsageError):
        assignments_of([line])


def test_delay_sets_the_floor_and_ends_the_adaptive_part() -> None:
    assert overrides_of(delay="1.5") == {"polite.floor_ms": 1500, "polite.adaptive": False}
    assert overrides_of(delay=None) == {}


def test_only_what_was_said_changes_anything() -> None:
    assert overrides_of(scope=None, include=[], include_documents=None, max_depth=0, user_agent="x") == {
        "scope.max_depth": 0,
        "fetch.user_agent": "x",
    }


def test_words_of_several_parts_are_written_with_dashes() -> None:
    given = {"scope": ScopeChoice.SAME_DOMAIN, "requisites": RequisitesChoice.SAME_HOST}
    assert overrides_of(**given) == {"scope.mode": "same_domain", "scope.requisites": "same_host"}
    for choice, setting in ((ScopeChoice, ScopeMode), (RequisitesChoice, Requisites)):
        assert [each.value.replace("-", "_") for each in choice] == [each.value for each in setting]


def test_every_option_names_a_setting() -> None:
    assert [each.setting for each in OPTIONS if each.setting not in SETTINGS] == []


def test_headers() -> None:
    assert headers_of(["A: b:c", "X-Y:z"]) == [("A", "b:c"), ("X-Y", "z")]


@pytest.mark.parametrize("line", ["", "no colon", ": x", "a b: c", "A: b\r\nC: d"])
def test_wrong_headers(line: str) -> None:
    with pytest.raises(UsageError, match="--header"):
        headers_of([line])


def test_proxy() -> None:
    assert checked_proxy("socks5://127.0.0.1:9050") == "socks5://127.0.0.1:9050"
    with pytest.raises(UsageError, match="--proxy"):
        checked_proxy("ftp://x")
