"""The contract of the link index: the same pages for the same target, whichever index answers."""

from collections.abc import Sequence

import pytest

import nephila.links.index as link_index
import nephila.links.postgres_links as postgres_links
import nephila.links.sqlite_links as sqlite_links
from nephila.errors import UsageError
from nephila.links.index import Link, LinkIndex, Linking, PageLinks, packed_links, target_number
from tests.contract.backend import Backend

FILE = "a.warc.gz"
UUIDS = {1: "one", 2: "two"}
A, B, C = (f"https://a.test/{name}" for name in "abc")


def page(number: int, *links: Link | str, crawl: int = 1) -> PageLinks:
    made = [link if isinstance(link, Link) else Link(link, "", "") for link in links]
    return PageLinks(number, crawl, [target_number(crawl, link.url) for link in made], packed_links(made))


def fill(links: LinkIndex, pages: Sequence[PageLinks], start: int = 0, end: int = 100) -> None:
    with links.turn() as ours:
        assert ours
        assert links.add(FILE, start, end, pages, UUIDS)


def linking(links: LinkIndex, url: str, crawl: int = 1, limit: int = 100, offset: int = 0) -> list[int]:
    return links.linking(crawl, url, limit, offset).ids


def test_one_that_is_not_there_is_empty(links: LinkIndex) -> None:
    assert (links.marks(), links.crawls(), links.count()) == ({}, {}, 0)
    assert (links.linking(1, A, 10, 0), links.links_of([1])) == (Linking([], 0, True), {})


def test_a_url_is_linked_from(links: LinkIndex) -> None:
    fill(links, [page(1, A, B), page(2, B, C), page(3, A), page(4, A, crawl=2)])
    assert [linking(links, url) for url in (A, B, C, "https://a.test/d")] == [[1, 3], [1, 2], [2], []]
    assert linking(links, A, crawl=2) == [4], "crawls are apart"
    assert (links.count(), links.crawls(), links.marks()) == (4, UUIDS, {FILE: 100})


def test_links_are_what_was_put_in(links: LinkIndex) -> None:
    said = [Link(A, "Größe & 日本", "nofollow ugc"), Link(B, "", ""), Link(C, "x" * 200, "redirect")]
    fill(links, [page(1, *said), page(2, A)])
    assert links.links_of([1, 2, 3]) == {1: said, 2: [Link(A, "", "")]}


def test_who_links_comes_in_pages_and_is_counted(links: LinkIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(links, [page(number, A, f"https://a.test/{number}") for number in range(1, 26)])
    found = [links.linking(1, A, 10, offset) for offset in (0, 10, 20, 30)]
    assert [len(some.ids) for some in found] == [10, 10, 5, 0]
    assert sorted(number for some in found for number in some.ids) == list(range(1, 26)), "each once"
    assert {(some.total, some.total_exact) for some in found} == {(25, True)}
    for module in (link_index, sqlite_links, postgres_links):
        monkeypatch.setattr(module, "LINKING_MAX", 20)
    bounded = links.linking(1, A, 10, 0)
    assert (bounded.total, bounded.total_exact, len(bounded.ids)) == (20, False, 10)


def test_pages_and_mark_move_together(links: LinkIndex) -> None:
    fill(links, [page(1, A)], 0, 50)
    with links.turn():
        assert not links.add(FILE, 0, 60, [page(2, A)], UUIDS), "the mark is elsewhere"
        assert not links.add(FILE, 40, 60, [page(2, A)], UUIDS)
        assert not links.add("other", 40, 60, [page(2, A)], UUIDS)
    assert (links.marks(), linking(links, A)) == ({FILE: 50}, [1])
    fill(links, [], 50, 70)
    assert links.marks() == {FILE: 70}


def test_a_page_is_replaced(links: LinkIndex) -> None:
    fill(links, [page(1, A, B), page(2, A)], 0, 50)
    fill(links, [page(1, C)], 50, 60)
    assert [linking(links, url) for url in (A, B, C)] == [[2], [], [1]]
    assert (links.links_of([1]), links.count()) == ({1: [Link(C, "", "")]}, 2)


def test_a_crawl_is_forgotten_in_pieces(links: LinkIndex) -> None:
    fill(links, [*(page(number, A) for number in range(1, 6)), page(9, A, crawl=2)])
    with links.turn():
        assert [links.forget_crawl(1, 2) for _ in range(4)] == [2, 2, 1, 0]
    assert (linking(links, A), linking(links, A, crawl=2)) == ([], [9])
    assert (links.crawls(), links.count()) == ({2: "two"}, 1)
    with links.turn():
        links.forget_files([FILE, "other"])
    assert links.marks() == {}


def test_another_connection_sees_what_was_committed(backend: Backend) -> None:
    one, other = backend.links(), backend.links()
    with one.turn() as ours:
        assert ours
        with other.turn() as theirs:
            assert not theirs, "one at a time"
    fill(one, [page(1, A)])
    assert linking(other, A) == [1]
    fill(other, [page(2, A)], 100, 120)
    assert linking(one, A) == [1, 2]


def test_search_and_links_have_turns_and_marks_of_their_own(backend: Backend) -> None:
    links, index = backend.links(), backend.index()
    with links.turn() as ours, index.turn() as theirs:
        assert ours and theirs
        assert links.add(FILE, 0, 10, [page(1, A)], UUIDS)
        assert index.marks() == {}
    assert (index.count(), links.count()) == (0, 1)


@pytest.mark.parametrize("older", [True, False])
def test_an_index_of_another_version(backend: Backend, monkeypatch: pytest.MonkeyPatch, older: bool) -> None:
    fill(backend.links(), [page(1, A)])
    version = link_index.VERSION + (1 if older else -1)
    for module in (link_index, sqlite_links, postgres_links):
        monkeypatch.setattr(module, "VERSION", version)
    links = backend.links()
    assert (linking(links, A), links.links_of([1]), links.marks()) == ([], {}, {}), "nothing that we could read"
    if not older:
        with pytest.raises(UsageError, match="made by a newer Nephila"), links.turn():
            pass
        return
    fill(links, [page(2, A)])
    assert linking(links, A) == [2], "dropped, and made anew"


def test_a_page_with_very_many_links(links: LinkIndex) -> None:
    many = [f"https://a.test/{'x' * 100}/{number}" for number in range(20_000)]
    fill(links, [page(1, *many), page(2, many[-1])])
    assert linking(links, many[-1]) == [1, 2]
    assert len(links.links_of([1])[1]) == 20_000
