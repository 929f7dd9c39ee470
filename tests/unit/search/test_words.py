"""What a word is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.search.words import WORD_CHARS_MAX, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n.,;-_!", []),
        ("The quick, brown fox", ["the", "quick", "brown", "fox"]),
        ("foo_bar don't e-mail", ["foo", "bar", "don", "t", "e", "mail"]),
        ("C3PO v2.0 3.14", ["c3po", "v2", "0", "3", "14"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("Ångström café NAÏVE", ["angstrom", "cafe", "naive"]),
        ("cafe\u0301", ["cafe"]),
        ("İstanbul", ["istanbul"]),
        ("ﬁne Ⅷ x² ½ ①", ["fine", "viii", "x2", "1", "2", "1"]),
        ("Donau\u00addampf\u200cschiff", ["donaudampfschiff"]),
        ("zero\u200bwidth", ["zero", "width"]),
        ("日本語", ["日", "本", "語"]),
        ("日本go語", ["日", "本", "go", "語"]),
        ("ガギ ｶﾞ", ["ガ", "ギ", "ガ"]),
        ("한국어 검색", ["한국어", "검색"]),
        ("สวัสดี", ["ส", "ว", "ั", "ส", "ด", "ี"]),
        ("हिन्दी भाषा", ["हिनदी", "भाषा"]),
        ("שָׁלוֹם", ["שלום"]),
        ("плетёт", ["плетет"]),
        ("«quoted» “curly” — dash", ["quoted", "curly", "dash"]),
        ("a\x00b\x1fc", ["a", "b", "c"]),
        ("😀smile😀", ["smile"]),
        ("x" * 100, ["x" * WORD_CHARS_MAX]),
    ],
)
def test_the_words_of(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_words_are_safe_and_stay_what_they_are(text: str) -> None:
    found = words(text)
    assert words(" ".join(found)) == found, "handed to an index and read again, they are the same"
    for word in found:
        assert 0 < len(word) <= WORD_CHARS_MAX
        assert not set(word) & set(" '\"\\:*&|!()<>_-\x00\n")


@given(st.text())
def test_case_does_not_matter(text: str) -> None:
    assert words(text.casefold()) == words(text)
