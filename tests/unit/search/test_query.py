"""What is typed, and what is looked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.errors import UsageError
from nephila.search.postgres_fts import tsquery
from nephila.search.query import QUERY_CHARS_MAX, Query, Term, parse_query
from nephila.search.sqlite_fts import match_expression


def term(*words: str, prefix: bool = False) -> Term:
    return Term(words, prefix)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one", Query((term("one"),))),
        ("One TWO one", Query((term("one"), term("two")))),
        ('"one two"', Query((term("one", "two"),))),
        ("well-known", Query((term("well", "known"),))),
        ("日本", Query((term("日", "本"),))),
        ("日本*", Query((term("日", "本"),))),
        ("pre*", Query((term("pre", prefix=True),))),
        ('"one tw"*', Query((term("one", "tw", prefix=True),))),
        ("one -two", Query((term("one"),), (term("two"),))),
        ('one -"two three" --four', Query((term("one"),), (term("two", "three"), term("four")))),
        ('"open to the end', Query((term("open", "to", "the", "end"),))),
        ('one"two three"four', Query((term("one"), term("two", "three"), term("four")))),
        ('one - * ! "" \'', Query((term("one"),))),
        ("foo*bar", Query((term("foo", "bar"),))),
        ("nul\x00byte half\ud800", Query((term("nul"), term("byte"), term("half")))),
        ("AND OR NOT NEAR(a b)", Query((term("and"), term("or"), term("not"), term("near", "a"), term("b")))),
    ],
)
def test_a_query_is(text: str, expected: Query) -> None:
    assert parse_query(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "nothing to search for"),
        (" .,;!?*-\"' ", "nothing to search for"),
        ("\x00\ud800", "nothing to search for"),
        ("-one", "only says what to leave out"),
        ('-one -"two three"', "only says what to leave out"),
        ("a*", "almost every word"),
        ("x" * 10_000, f"at most {QUERY_CHARS_MAX:,}"),
        ("a " * 400, None),
        (" ".join(f"w{number}" for number in range(60)), "too many words"),
    ],
)
def test_a_query_that_makes_no_sense_is_one_clear_line(text: str, said: str | None) -> None:
    if said is None:
        assert parse_query(text).words == ["a"]
        return
    with pytest.raises(UsageError, match=said) as caught:
        parse_query(text)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet=st.sampled_from("ab \"-*é日(){}:\\'\x00\ud800_^&|!"), max_size=60))
def test_nothing_that_is_typed_is_a_fault(text: str) -> None:
    try:
        query = parse_query(text)
    except UsageError:
        return
    assert query.terms and query.words
    for expression in (match_expression(query, [1, 2], "a.test"), tsquery(query, [1, 2], "a.test")):
        expression.encode()
        assert "\x00" not in expression
