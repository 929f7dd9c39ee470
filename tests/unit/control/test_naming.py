"""What is a name and what is a label, and how labels change."""

import pytest

from nephila.control.naming import (
    LABEL_CHARS_MAX,
    LABELS_MAX,
    NAME_CHARS_MAX,
    checked_label,
    checked_labels,
    checked_name,
    is_labelled,
    with_labels,
)
from nephila.errors import UsageError


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Docs, weekly", "Docs, weekly"),
        ("  a   b\n", "a b"),
        ("", ""),
        ("   ", ""),
        ("<b>&amp;", "<b>&amp;"),
        ("e\u0301t\u00e9", "\u00e9t\u00e9"),
        ("\U0001f577 web", "\U0001f577 web"),
        ("x" * NAME_CHARS_MAX, "x" * NAME_CHARS_MAX),
    ],
)
def test_names(text: str, name: str) -> None:
    assert checked_name(text) == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x" * (NAME_CHARS_MAX + 1), f"at most {NAME_CHARS_MAX}"),
        ("a\x00b", "U+0000"),
        ("a\x1b[31mred", "U+001B"),
        ("two\nlines", "U+000A"),
        ("a\tb", "U+0009"),
        ("abc\u202edef", "U+202E"),
        ("half \ud83d", "U+D83D"),
        ("\u200b\u2060", "can be seen"),
    ],
)
def test_what_is_no_name(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("+", r"\+")):
        checked_name(text)


@pytest.mark.parametrize(
    "label", ["nightly", "team=docs", "a/b:c@d+e-f_g.1", "équipe=ドキュメント", "x" * LABEL_CHARS_MAX]
)
def test_labels(label: str) -> None:
    assert checked_label(f" {label} ") == label


@pytest.mark.parametrize(
    "label",
    ["", " ", "two words", "a=b=c", "=b", "a=", "a,b", "<b>", "a'b", 'a"b', "a\x00b", "\u202eabc", "x" * 61, "ab"[:0]],
)
def test_what_is_no_label(label: str) -> None:
    with pytest.raises(UsageError, match="label"):
        checked_label(label)


def test_labels_are_kept_sorted_each_key_once() -> None:
    assert checked_labels(["b", "a=2", "b", "a-b"]) == ("a=2", "a-b", "b")
    for double in (["a", "a=1"], ["a=1", "a=2"], ["a", "a-b", "a=1"]):
        with pytest.raises(UsageError, match="same key"):
            checked_labels(double)
    assert len(checked_labels(str(n) for n in range(LABELS_MAX))) == LABELS_MAX
    with pytest.raises(UsageError, match=f"at most {LABELS_MAX}"):
        checked_labels(str(n) for n in range(LABELS_MAX + 1))


@pytest.mark.parametrize(
    ("added", "removed", "labels"),
    [
        ([], [], ("nightly", "team=docs")),
        (["new"], [], ("new", "nightly", "team=docs")),
        (["team=web"], [], ("nightly", "team=web")),
        (["team"], [], ("nightly", "team")),
        ([], ["team"], ("nightly",)),
        ([], ["team=docs", "nightly"], ()),
        (["nightly"], ["nightly"], ("nightly", "team=docs")),
    ],
)
def test_labels_are_added_and_removed(added: list[str], removed: list[str], labels: tuple[str, ...]) -> None:
    assert with_labels(("nightly", "team=docs"), added, removed) == labels


@pytest.mark.parametrize("label", ["team=web", "weekly", "docs"])
def test_a_label_that_is_not_there_is_not_removed(label: str) -> None:
    with pytest.raises(UsageError, match="nightly, team=docs"):
        with_labels(("nightly", "team=docs"), [], [label])


def test_a_key_stands_for_all_of_its_values() -> None:
    labels = ("nightly", "team=docs")
    assert all(is_labelled(labels, wanted) for wanted in ("nightly", "team", "team=docs"))
    assert not any(is_labelled(labels, wanted) for wanted in ("docs", "team=web", "tea", "night"))
