"""The place of a page that is shown."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.search.query import parse_query
from nephila.search.snippet import CUT, SNIPPET_CHARS, plain, snippet
from tests.patience import PATIENCE_SECONDS

FILLER = "Lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod. " * 20


def marked(text: str, query: str) -> str:
    return "".join(f"[{part.text}]" if part.match else part.text for part in snippet(text, parse_query(query)))


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("", "word", ""),
        ("a word here", "word", "a [word] here"),
        ("a word here", "nothing", "a word here"),
        ("One\ntwo\nthree", "two", "One [two] three"),
        ("Die Straße, das Café: «naïve»", "strasse cafe naive", "Die [Straße], das [Café]: «[naïve]»"),
        ("cafe\u0301 x", "café", "[cafe\u0301] x"),
        ("word words wordy", "word", "[word] words wordy"),
        ("word words wordy", "word*", "[word] [words] [wordy]"),
        ("well-known, well knit", "well-known", "[well]-[known], well knit"),
        ("one two one three", '"one three"', "one two [one] [three]"),
        ("日本語のページです", "日本 ページ", "[日本]語の[ページ]です"),
        ("foo_bar_baz", "bar", "foo_[bar]_baz"),
        ("HTML html HtMl", "html", "[HTML] [html] [HtMl]"),
        ("the spider the", "spider -web", "the [spider] the"),
    ],
)
def test_a_snippet_shows_the_page_in_its_own_spelling(text: str, query: str, expected: str) -> None:
    assert marked(text, query) == expected


def test_it_is_the_place_with_the_most_different_words() -> None:
    text = f"{FILLER}zebra zebra zebra {FILLER}a zebra and a Lion. {FILLER}lion {FILLER}"
    found = marked(text, "zebra lion")
    assert "a [zebra] and a [Lion]." in found
    assert found.startswith(CUT) and found.endswith(CUT)
    assert "zebra zebra" not in found


def test_it_is_about_as_long_as_it_should_be() -> None:
    for text in (f"{FILLER}zebra{FILLER}", f"zebra {FILLER}", f"{FILLER} zebra", "x" * 5000, f"{'x' * 3000} zebra"):
        found = plain(snippet(text, parse_query("zebra")))
        assert SNIPPET_CHARS / 2 < len(found) <= SNIPPET_CHARS + 2 * len(CUT)


def test_words_are_not_cut_where_a_space_is_near() -> None:
    found = plain(snippet(f"{FILLER}zebra {FILLER}", parse_query("zebra"))).strip(CUT)
    assert set(found.split()) <= {*FILLER.split(), "zebra"}


@given(st.text(max_size=600), st.sampled_from(["a", "ab*", '"a b"', "é", "日本"]))
def test_a_snippet_is_a_part_of_the_page(text: str, query: str) -> None:
    parts = snippet(text, parse_query(query))
    found = plain(parts).removeprefix(CUT).removesuffix(CUT)
    assert found in text.replace("\n", " ") or CUT in text
    assert all(part.text for part in parts)
    assert all(one.match is not other.match for one, other in pairwise(parts))


@pytest.mark.timeout(PATIENCE_SECONDS)
@pytest.mark.parametrize("text", ["a " * 500_000, "a" * 1_000_000, "é " * 500_000, "字" * 1_000_000, "\n" * 1_000_000])
def test_a_huge_page_takes_no_long_time(text: str) -> None:
    for query in ("a", "é 字", '"a a a a"', "zebra"):
        assert len(plain(snippet(text, parse_query(query)))) <= SNIPPET_CHARS + 2
