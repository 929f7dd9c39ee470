"""What is said to PostgreSQL, without one."""

from typing import Any

import pytest

from nephila.search import postgres_fts
from nephila.search.index import Document, entry_of
from nephila.search.postgres_fts import _in_portions, tsquery, tsvector
from nephila.search.query import parse_query


def test_a_tsvector_is_written_by_us() -> None:
    document = Document(1, 7, "a.test", "http://a.test/", "One two", "two, Three two", 5)
    written, place = tsvector(entry_of(document)).split(" ':")[0], entry_of(document).place
    assert written == "'one':1A 'two':2A,4,6 'three':5"
    assert tsvector(entry_of(document)).endswith(f"':{place[0]}' ':{place[1]}'")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two", "'one' & 'two'"),
        ('"one two" thr*', "('one' <-> 'two') & 'thr':*"),
        ("one -two", "'one' & !('two')"),
    ],
)
def test_a_tsquery_is_written_by_us(text: str, expected: str) -> None:
    assert tsquery(parse_query(text), None, None) == expected
    assert tsquery(parse_query(text), [1, 2], None) == f"{expected} & (':c1' | ':c2')"


def test_much_is_put_in_by_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_fts, "PORTION_CHARS", 10)
    rows: list[tuple[Any, ...]] = [(1, "x" * 4), (2, "x" * 30), (3, "x"), (4, "x" * 9), (5, "x")]
    assert [[row[0] for row in portion] for portion in _in_portions(rows)] == [[1, 2], [3, 4], [5]]
    assert list(_in_portions([])) == []
