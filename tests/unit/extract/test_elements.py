"""Which elements are open inside drawings, formulas and templates."""

import pytest

from nephila.extract.elements import DEPTH_MAX, OpenElements, Surroundings, is_self_closing, is_shadow_root


@pytest.mark.parametrize(
    ("attributes", "closes"),
    [
        ("", False),
        ("/", True),
        (" /", True),
        ("/ ", False),
        (' a="b"/', True),
        (" a='b' /", True),
        (" a/", True),
        (" a=b/", False),
        (" a=b /", True),
        (" a=/", False),
        (" a= /", False),
        (" a=/ /", True),
        (' a=b"/', False),
    ],
)
def test_what_ends_at_once(attributes: str, closes: bool) -> None:
    assert is_self_closing(attributes) is closes


@pytest.mark.parametrize(
    ("attributes", "shown"),
    [
        ("", False),
        (" shadowrootmode", False),
        (" shadowrootmode=x", False),
        (" ShadowRootMode=OPEN", True),
        (" a='shadowrootmode=open'", False),
        (" shadowrootmode=x shadowrootmode=open", False),
        (" id=x shadowrootmode='closed' a", True),
    ],
)
def test_which_templates_are_shown(attributes: str, shown: bool) -> None:
    assert is_shadow_root(attributes) is shown


def test_what_is_opened_deeper_is_not_kept() -> None:
    elements = OpenElements(lambda tag: False)
    for _ in range(DEPTH_MAX + 5):
        elements.start("svg", "")
    for _ in range(DEPTH_MAX):
        assert elements
        elements.end("svg")
    assert not elements


def test_what_is_around_is_read_once_and_only_when_asked() -> None:
    asked: list[tuple[int, int]] = []

    def tags_between(start: int, end: int) -> list[tuple[str, str]]:
        asked.append((start, end))
        return [("", "div"), ("", "p")]

    around = Surroundings(tags_between)
    around.add(0, 10)
    assert asked == []
    assert around.ends("/div")
    assert not around.ends("/div")
    assert not around.ends("td")
    assert asked == [(0, 10)]
