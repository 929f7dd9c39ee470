"""Names and labels of crawls in the store, and what lists of crawls are made of."""

from nephila.frontier.catalog import Catalog
from nephila.frontier.store import UNNAMED, Naming
from nephila.models import CrawlState, Tally
from nephila.profiles import crawl_settings
from tests.contract.backend import Backend
from tests.contract.session import Session, ended, seeded

A, B = "http://a.test/", "http://b.test/"
DOCS = Naming("Docs, weekly – Ünïcode 😀", ("nightly", "team=docs"))


def test_a_crawl_has_the_name_and_labels_that_it_was_given(catalog: Catalog) -> None:
    made = catalog.create_crawl([A], crawl_settings(), "mark", naming=DOCS)
    assert (made.naming, catalog.crawl(made.id).naming) == (DOCS, DOCS)
    assert [crawl.naming for crawl in catalog.open_crawls()] == [DOCS]
    catalog.set_naming(made.id, UNNAMED)
    assert catalog.crawl(made.id).naming == UNNAMED
    assert seeded(catalog, B).naming == UNNAMED


def test_naming_a_crawl_is_no_word_to_workers(catalog: Catalog, backend: Backend) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    version = session.flush().control
    catalog.set_naming(crawl.id, DOCS)
    assert session.flush().control == version


def test_heads_are_crawls_without_their_settings(catalog: Catalog) -> None:
    first, second, third = (seeded(catalog, url, mark=url) for url in (A, B, f"{A}x"))
    catalog.set_naming(second.id, DOCS)
    catalog.steer(first.id, CrawlState.PAUSED)
    heads = catalog.crawl_heads()
    assert [head.id for head in heads] == [third.id, second.id, first.id]
    assert [head.naming for head in heads] == [UNNAMED, DOCS, UNNAMED]
    assert [head.state for head in heads] == [CrawlState.RUNNING, CrawlState.RUNNING, CrawlState.PAUSED]
    assert [head.seeds for head in heads] == [f'["{A}x"]', f'["{B}"]', f'["{A}"]']
    assert [head.id for head in catalog.crawl_heads(third.id, 1)] == [second.id]
    catalog.delete(second.id)
    assert [head.id for head in catalog.crawl_heads()] == [third.id, first.id]


def test_of_millions_of_seeds_a_head_has_the_beginning(catalog: Catalog) -> None:
    made = catalog.create_crawl([f"http://a.test/{n}" for n in range(1000)], crawl_settings(), "mark")
    (head,) = catalog.crawl_heads()
    assert head.id == made.id and len(head.seeds) == 1000


def test_tallies_of_many_crawls_are_those_of_each(backend: Backend, catalog: Catalog) -> None:
    first, second = seeded(catalog, A, f"{A}x"), seeded(catalog, B)
    session = Session(backend)
    session.load()
    session.flush(outcomes=[ended(session.row(A), first)])
    names = (Tally.URLS, "visited", "no such tally")
    found = catalog.tallies_of_crawls([first.id, second.id, 99], names)
    assert found == {first.id: {"urls": 2, "visited": 1}, second.id: {"urls": 1}}
    assert catalog.tallies_of_crawls([], names) == {}
