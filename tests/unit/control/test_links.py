"""Links both ways, from the archive to who asks: the follower's derivation with what is asked of it."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from nephila import wiring
from nephila.clock import SystemClock
from nephila.control.derivers import LINKS
from nephila.control.links import InLink, broken_urls, in_links, out_links
from nephila.frontier.records import UrlRow
from nephila.frontier.store import Crawl
from tests.e2e.harness import Place, run_here
from tests.site.fixtures import moved
from tests.site.server import Page, Sites, TestWeb

ADVERT = "https://adverts.test/x?b=2&a=1"
HOME = f"""<title>Home</title><a href=/a>Page <b>A</b></a> <a href=/moved>Moved</a> <a href=/gone>Gone</a>
<a href=/old>Old</a> <a rel="nofollow sponsored" href="{ADVERT}">Buy</a> <a href=/>Home itself</a>"""


def site(port: int) -> Sites:
    return {
        "127.0.0.1": {
            "/": Page(HOME.encode()),
            "/a": Page(b"<title>A</title><a href='gone#part'><img alt='A picture'></a><a href=/>Back</a>"),
            "/moved": moved("/a"),
            "/old": moved("/older"),
            "/older": moved("/gone"),
            "/gone": Page(b"<a href=/a>from a page that is not there</a>", status=404),
        }
    }


class Linked:
    """A crawled site whose links are indexed."""

    def __init__(self, place: Place, crawl: Crawl) -> None:
        self.store, self.crawl = place.store(), crawl
        self.rows: dict[str, UrlRow] = {row.url.rpartition("/")[2]: row for row in place.rows(crawl.id)}

    def linked(self, name: str) -> list[tuple[str, str, str]]:
        found = in_links(self.store.catalog, self.store.links, self.crawl, self.rows[name].url, 50)
        assert (found.total, found.total_exact) == (len(found.links), True)
        return [(self._name(link), link.text, link.rel) for link in found.links]

    def _name(self, link: InLink) -> str:
        return link.url.rpartition("/")[2]


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    place = Place(tmp_path_factory.mktemp("linked"))
    with TestWeb() as web:
        web.add(site(web.port))
        crawl = place.start([web.url("/")])
        run_here(place, crawl.id)
    with closing(wiring.new_follower(place.store(), SystemClock(), only=LINKS)) as follower:
        while follower.step():
            pass
        (progress,) = follower.progress()
    assert (progress.name, progress.pending_bytes, progress.skipped) == (LINKS, 0, 0)
    yield Linked(place, crawl)
    place.close()


def test_who_links_to_a_page_and_with_which_words(linked: Linked) -> None:
    assert linked.linked("a") == [("", "Page A", ""), ("moved", "", "redirect")], "what is not there links to nothing"
    assert linked.linked("") == [("a", "Back", "")], "that a page links to itself says nothing"
    assert sorted(linked.linked("gone")) == [("", "Gone", ""), ("a", "A picture", ""), ("older", "", "redirect")]


def test_links_to_other_sites_are_known_too(linked: Linked) -> None:
    store = linked.store
    (link,) = in_links(store.catalog, store.links, linked.crawl, ADVERT, 10).links
    assert (link.title, link.text, link.rel) == ("Home", "Buy", "nofollow sponsored")


def test_what_a_page_links_to(linked: Linked) -> None:
    store = linked.store
    found = out_links(store.catalog, store.links, linked.crawl, linked.rows[""])
    assert [(link.text, link.state, link.id is None) for link in found] == [
        ("Page A", "visited", False),
        ("Moved", "redirected", False),
        ("Gone", "not_found", False),
        ("Old", "redirected", False),
        ("Buy", None, True),
        ("Home itself", "visited", False),
    ]


def test_broken_links_are_told_with_who_links_there_also_behind_redirects(linked: Linked) -> None:
    store = linked.store
    (broken,) = broken_urls(store.catalog, store.links, linked.crawl)
    assert (broken.row.url, broken.row.status, broken.linked.total) == (linked.rows["gone"].url, 404, 3)
    found = {(link.url.rpartition("/")[2], link.via and link.via.rpartition("/")[2]) for link in broken.linked.links}
    assert found == {("", None), ("a", None), ("older", None), ("old", "older")}
    (short,) = broken_urls(store.catalog, store.links, linked.crawl, pages_max=1)
    assert (len(short.linked.links), short.linked.total) == (1, 3)
    assert list(broken_urls(store.catalog, store.links, linked.crawl, after=broken.row.id)) == []
