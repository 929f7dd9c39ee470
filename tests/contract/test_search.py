"""The contract of the search index: the same documents for the same query, whichever index answers."""

from collections.abc import Sequence

import pytest

import nephila.search.index as search_index
import nephila.search.postgres_fts as postgres_fts
import nephila.search.sqlite_fts as sqlite_fts
from nephila.errors import UsageError
from nephila.search import index as indexing
from nephila.search.index import PLACED_WORDS_MAX, Document, Matches, SearchIndex
from nephila.search.query import parse_query
from tests.contract.backend import Backend

FILE = "a.warc.gz"
UUIDS = {1: "one", 2: "two", 3: "three"}

TEXTS = {
    1: ("Spiders", "The golden silk orb-weavers are a genus of spiders. Straße, café, naïve."),
    2: ("Web crawlers", "A web crawler, sometimes called a spider, browses the World Wide Web."),
    3: ("日本語のページ", "東京都は日本の首都です。クローラーのガイド"),
    4: ("", "An empty title. Numbers: 42, 3.14, v2.0; foo_bar; snake_case_word."),
    5: ("The end of the title", "begins here: silk golden, in another order."),
    6: ("Кириллица", "Паук плетёт паутину. हिन्दी में खोज. 한국어 검색"),
    7: ("Operators", "NEAR AND OR NOT \"quoted\" (brackets) col:on * ^ -minus 'single' \\ & | ! <-> :*"),
}


def document(number: int, title: str, text: str, crawl: int = 1, host: str = "a.test") -> Document:
    return Document(number, crawl, host, f"http://{host}/{number}", title, text, 1000 + number)


DOCUMENTS = [document(number, *text) for number, text in TEXTS.items()]


def fill(index: SearchIndex, documents: Sequence[Document], start: int = 0, end: int = 100) -> None:
    with index.turn() as ours:
        assert ours
        assert index.add(FILE, start, end, documents, UUIDS)


def ask(
    index: SearchIndex, text: str, crawls: Sequence[int] | None = None, host: str | None = None, limit: int = 50
) -> Matches:
    return index.search(parse_query(text), crawls, host, limit, 0)


def ids(index: SearchIndex, text: str, crawls: Sequence[int] | None = None, host: str | None = None) -> list[int]:
    found = ask(index, text, crawls, host)
    assert found.total == len(found.hits) and found.total_exact
    return sorted(hit.document.url_id for hit in found.hits)


@pytest.mark.requirement("Q-01")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("spiders", [1]),
        ("spider", [2]),
        ("spider*", [1, 2]),
        ("SPIDERS Silk", [1]),
        ("web wide", [2]),
        ("golden silk", [1, 5]),
        ('"golden silk"', [1]),
        ('"silk golden"', [5]),
        ("golden -orb", [5]),
        ('golden -"golden silk"', [5]),
        ("golden -sil*", []),
        ("orb-weavers", [1]),
        ("weavers-orb", []),
        ('"golden silk or"*', [1]),
        ("strasse", [1]),
        ("STRASSE cafe naive", [1]),
        ("日本", [3]),
        ("本日", []),
        ("東京", [3]),
        ("東 首", [3]),
        ("ガイド", [3]),
        ("カイト", []),
        ("42", [4]),
        ("3.14", [4]),
        ("foo", [4]),
        ("foo_bar", [4]),
        ("case snake", [4]),
        ('"title begins"', []),
        ("title begins", [5]),
        ("title", [4, 5]),
        ("паук", [6]),
        ("паутин*", [6]),
        ("плетет", [6]),
        ("हिन्दी", [6]),
        ("한국어", [6]),
        ("near and or not", [7]),
        ("OR", [7]),
        ("title OR", []),
        ('"near and or not quoted brackets col on minus single"', [7]),
        ("nothing", []),
        ("the -the", []),
        ("c1", []),
    ],
)
def test_a_query_finds(index: SearchIndex, query: str, expected: list[int]) -> None:
    fill(index, DOCUMENTS)
    assert ids(index, query) == expected


@pytest.mark.requirement("Q-01")
def test_crawls_and_hosts_are_filters(index: SearchIndex) -> None:
    fill(
        index,
        [
            document(1, "", "same words", 1, "a.test"),
            document(2, "", "same words", 1, "b.test"),
            document(3, "", "same words", 2, "a.test"),
            document(11, "", "same words", 3, "c.test"),
        ],
    )
    assert ids(index, "same") == [1, 2, 3, 11]
    assert ids(index, "same", [1]) == [1, 2]
    assert ids(index, "same", [1, 2]) == [1, 2, 3]
    assert ids(index, "same", None, "a.test") == [1, 3]
    assert ids(index, "same -nothing", [2], "a.test") == [3]
    assert ids(index, "same", [2], "b.test") == []
    assert ids(index, "same", []) == []
    assert ids(index, "same", [99]) == []


@pytest.mark.requirement("Q-01")
def test_a_hit_is_what_was_put_in(index: SearchIndex) -> None:
    fill(index, DOCUMENTS)
    (hit,) = ask(index, "café").hits
    assert hit.document == DOCUMENTS[0]
    assert hit.score > 0


@pytest.mark.requirement("Q-01")
def test_a_title_weighs_more_than_a_text(index: SearchIndex) -> None:
    padding = "some other words that fill the page " * 5
    fill(index, [document(1, "zebra", padding), document(2, "other", f"{padding} zebra"), document(3, "x", padding)])
    found = ask(index, "zebra")
    assert [hit.document.url_id for hit in found.hits] == [1, 2]
    assert found.hits[0].score > found.hits[1].score


@pytest.mark.requirement("Q-01")
def test_pages_of_results(index: SearchIndex) -> None:
    fill(index, [document(number, "same", "text") for number in range(1, 26)])
    seen: list[int] = []
    for offset in range(0, 40, 10):
        found = index.search(parse_query("same"), None, None, 10, offset)
        assert (found.total, found.total_exact) == (25, True)
        seen += [hit.document.url_id for hit in found.hits]
    assert sorted(seen) == list(range(1, 26)), "each once"


def test_the_total_is_bounded(index: SearchIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (search_index, sqlite_fts, postgres_fts):
        monkeypatch.setattr(module, "MATCHES_MAX", 20)
        monkeypatch.setattr(module, "RANKED_MAX", 10)
    fill(index, [document(number, "same", "text") for number in range(1, 26)])
    found = ask(index, "same")
    assert (found.total, found.total_exact, len(found.hits)) == (20, False, 10)
    fill(index, [document(number, "other", "text") for number in range(1, 7)], 100, 200)
    assert ask(index, "other").total_exact


def test_an_index_that_is_not_there_is_empty(index: SearchIndex) -> None:
    assert (index.marks(), index.crawls(), index.count()) == ({}, {}, 0)
    assert ask(index, "anything") == Matches([], 0, True)


def test_documents_and_mark_move_together(index: SearchIndex) -> None:
    fill(index, DOCUMENTS[:2], 0, 50)
    assert (index.marks(), index.count(), index.crawls()) == ({FILE: 50}, 2, {1: "one"})
    with index.turn():
        assert not index.add(FILE, 0, 60, DOCUMENTS, UUIDS), "the mark is elsewhere"
        assert not index.add(FILE, 40, 60, DOCUMENTS, UUIDS)
        assert not index.add("other", 40, 60, DOCUMENTS, UUIDS)
    assert (index.marks(), index.count()) == ({FILE: 50}, 2)
    fill(index, [], 50, 70)
    assert index.marks() == {FILE: 70}


def test_a_document_is_replaced(index: SearchIndex) -> None:
    fill(index, [document(1, "old", "before"), document(2, "other", "before")], 0, 50)
    fill(index, [document(1, "new", "after", crawl=2)], 50, 60)
    assert ids(index, "before") == [2]
    assert ids(index, "old") == []
    assert ids(index, "after") == [1]
    assert ids(index, "after", [1]) == []
    assert (index.count(), index.crawls()) == (2, {1: "one", 2: "two"})


def test_a_crawl_is_forgotten_in_pieces(index: SearchIndex) -> None:
    fill(index, [*(document(n, "", "word") for n in range(1, 6)), document(9, "", "word", crawl=2)])
    with index.turn():
        assert [index.forget_crawl(1, 2) for _ in range(4)] == [2, 2, 1, 0]
        assert index.forget_crawl(1, 2) == 0
    assert ids(index, "word") == [9]
    assert (index.crawls(), index.count()) == ({2: "two"}, 1)


def test_marks_of_files_that_are_gone_are_forgotten(index: SearchIndex) -> None:
    fill(index, DOCUMENTS[:1])
    with index.turn():
        index.forget_files([FILE, "other"])
    assert index.marks() == {}
    assert ids(index, "spiders") == [1]


def test_one_at_a_time_has_the_turn(backend: Backend) -> None:
    one, other = backend.index(), backend.index()
    with one.turn() as ours:
        assert ours
        with other.turn() as theirs:
            assert not theirs
        with other.turn() as theirs:
            assert not theirs
    with other.turn() as theirs:
        assert theirs
    with one.turn() as ours:
        assert ours


def test_another_connection_sees_what_was_committed(backend: Backend) -> None:
    one, other = backend.index(), backend.index()
    assert other.count() == 0
    fill(one, DOCUMENTS)
    assert (other.count(), ids(other, "spiders")) == (len(DOCUMENTS), [1])
    fill(other, [document(20, "spiders", "")], 100, 120)
    assert ids(one, "spiders") == [1, 20]


@pytest.mark.parametrize("older", [True, False])
def test_an_index_of_another_version(backend: Backend, monkeypatch: pytest.MonkeyPatch, older: bool) -> None:
    fill(backend.index(), DOCUMENTS)
    version = indexing.VERSION + (1 if older else -1)
    for module in (search_index, sqlite_fts, postgres_fts):
        monkeypatch.setattr(module, "VERSION", version)
    index = backend.index()
    assert (ids(index, "spiders"), index.count(), index.marks()) == ([], 0, {}), "nothing that we could read"
    if not older:
        with pytest.raises(UsageError, match="made by a newer Nephila"), index.turn():
            pass
        return
    fill(index, DOCUMENTS[:1])
    assert (index.count(), ids(index, "spiders")) == (1, [1]), "dropped, and made anew"


def test_long_and_strange_documents(index: SearchIndex) -> None:
    """A word behind the last place is found, though not in a phrase; nothing that a page says breaks an index."""
    many = " ".join(f"w{number}" for number in range(PLACED_WORDS_MAX + 50))
    fill(
        index,
        [
            document(1, "", f"{many} first last"),
            document(2, "long " * 5000, "x" * 100_000 + " " + "é" * 5000),
            document(3, "", "the " * 100_000),
            document(4, "", "".join(chr(code) for code in range(1, 0x3000) if not 0xD800 <= code < 0xE000)),
            document(5, "", " ".join(f"{number:064x}" for number in range(20_000))),
            document(6, "", "字" * 40_000 + "終"),
            document(7, "", "\ufdfa" * 30_000),
            document(8, "", ""),
        ],
    )
    assert ids(index, "w1") == [1]
    assert ids(index, '"w1 w2"') == [1]
    assert ids(index, "first last w5") == [1]
    assert ids(index, '"first last"') == [], "a phrase there is not found: the same in both"
    assert ids(index, "x" * 900) == [2], "only the first letters of such a word count"
    assert ids(index, "the") == [3]
    assert ids(index, "終") == [6]
    assert ids(index, "long") == [2]
    assert index.count() == 8
