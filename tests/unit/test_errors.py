"""Errors about settings say the same at every door, in its own words."""

import pytest

from nephila.errors import SettingRefused, UnknownSetting, UsageError


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("", "setting polite.floor_ms cannot be -1: too small"),
        ("--delay", "--delay cannot be -1: too small"),
        ("settings.polite.floor_ms", "settings.polite.floor_ms cannot be -1: too small"),
    ],
)
def test_a_setting_that_is_refused_is_named_by_its_door(place: str, text: str) -> None:
    refused = SettingRefused("polite.floor_ms", "-1", "too small")
    assert str(refused.at(place)) == text
    assert isinstance(refused.at(place), UsageError) and refused.at(place).setting == "polite.floor_ms"


def test_an_unknown_setting_says_where_all_are_listed() -> None:
    assert str(UnknownSetting("x.y")) == "unknown setting 'x.y': `nephila settings` lists them all"
    assert str(UnknownSetting("x.y", known="ask")) == "unknown setting 'x.y': ask"
    assert str(UnknownSetting("x.y", "--set names an ")).startswith("--set names an unknown setting 'x.y'")
