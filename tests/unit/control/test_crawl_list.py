"""Lists of crawls: filtered, sorted and counted, page by page."""

from pathlib import Path

import pytest

from nephila.control import crawl_list
from nephila.control.crawl_list import CrawlFilter, CrawlSort, crawl_page
from nephila.control.progress import errors_of
from nephila.errors import UsageError
from nephila.frontier.store import Naming
from nephila.models import CrawlState, Reason, UrlState, reason_tally
from tests.contract.session import seeded
from tests.unit.control.filled import Filled, fill

EVERYTHING = CrawlFilter()


@pytest.fixture
def several(tmp_path: Path) -> Filled:
    """1 is filled and interrupted; 2 is called Alpha and paused; 3 is cancelled, which takes time; 4 is called beta."""
    filled = fill(tmp_path)
    catalog = filled.catalog
    for number, name, labels in ((2, "Alpha", ("team=docs",)), (3, "", ("nightly", "team=web")), (4, "beta", ())):
        made = seeded(catalog, f"http://{number}.test/Path", mark=str(number))
        assert made.id == number
        catalog.set_naming(number, Naming(name, labels))
    catalog.steer(2, CrawlState.PAUSED)
    catalog.steer(3, CrawlState.ENDING, Reason.CANCELLED)
    return filled


def listed(filled: Filled, where: CrawlFilter = EVERYTHING, limit: int = 2, **order: object) -> list[int]:
    """All pages."""
    found: list[int] = []
    after: int | None = 0
    while after is not None:
        page = crawl_page(filled.catalog, where, limit, after=after, **order)  # type: ignore[arg-type]
        assert page.crawls or after == 0, "no page behind the first is empty"
        found += [crawl.id for crawl in page.crawls]
        assert page.total is None or page.total >= len(found)
        after = page.next
    return found


@pytest.mark.parametrize(
    ("sort", "ascending"),
    [
        (CrawlSort.ID, [1, 2, 3, 4]),
        (CrawlSort.NAME, [2, 4, 3, 1]),
        (CrawlSort.STATUS, [3, 1, 2, 4]),
        (CrawlSort.ENDED, [2, 3, 4, 1]),
        (CrawlSort.BYTES, [2, 3, 4, 1]),
        (CrawlSort.ERRORS, [2, 3, 4, 1]),
    ],
)
@pytest.mark.parametrize("limit", [1, 3, 4, 9])
def test_crawls_are_sorted(several: Filled, sort: CrawlSort, ascending: list[int], limit: int) -> None:
    several.catalog.look_after(4)
    assert listed(several, limit=limit, sort=sort, descending=False) == ascending
    assert listed(several, limit=limit, sort=sort, descending=True) == ascending[::-1]


@pytest.mark.parametrize("sort", CrawlSort)
def test_every_order_has_every_crawl_once(several: Filled, sort: CrawlSort) -> None:
    assert sorted(listed(several, sort=sort)) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (CrawlFilter(), [4, 3, 2, 1]),
        (CrawlFilter(labels=("team",)), [3, 2]),
        (CrawlFilter(labels=("team=docs",)), [2]),
        (CrawlFilter(labels=("team", "nightly")), [3]),
        (CrawlFilter(labels=("docs",)), []),
        (CrawlFilter(text="ALPHA"), [2]),
        (CrawlFilter(text="4.test/path"), [4]),
        (CrawlFilter(text="night"), [3]),
        (CrawlFilter(text="a.test"), [1]),
        (CrawlFilter(state=CrawlState.PAUSED), [2, 1]),
        (CrawlFilter(state=CrawlState.RUNNING), [4]),
        (CrawlFilter(state=CrawlState.COMPLETED), []),
    ],
)
def test_crawls_are_filtered_and_counted(several: Filled, where: CrawlFilter, found: list[int]) -> None:
    several.catalog.look_after(4)
    assert listed(several, where, 1) == found
    assert crawl_page(several.catalog, where, 1).total == len(found)


def test_too_many_crawls_are_listed_by_number_in_steps(several: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    assert crawl_page(several.catalog, EVERYTHING, 1).unsortable == ""
    monkeypatch.setattr(crawl_list, "CRAWLS_SORTED_MAX", 2)
    monkeypatch.setattr(crawl_list, "HEADS_MAX", 2)
    page = crawl_page(several.catalog, CrawlFilter(text="a.test"), 5)
    assert (page.crawls, page.next, page.total) == ([], 3, None), "the rest is looked at next"
    assert "by number" in page.unsortable
    assert [crawl.id for crawl in crawl_page(several.catalog, CrawlFilter(text="a.test"), 5, after=3).crawls] == [1]
    with pytest.raises(UsageError, match="list them by number"):
        crawl_page(several.catalog, EVERYTHING, 5, sort=CrawlSort.BYTES)
    with pytest.raises(UsageError, match="list them by number"):
        crawl_page(several.catalog, EVERYTHING, 5, descending=False)


def test_a_page_goes_on_behind_a_crawl_that_is_gone_by_number_only(several: Filled) -> None:
    several.catalog.delete(3)
    assert [crawl.id for crawl in crawl_page(several.catalog, EVERYTHING, 9, after=3).crawls] == [2, 1]
    with pytest.raises(UsageError, match="begin again"):
        crawl_page(several.catalog, EVERYTHING, 9, after=3, sort=CrawlSort.BYTES)


def test_the_errors_that_sort_are_those_that_are_shown() -> None:
    """Each kind of error is among the tallies that are read for it."""
    names = {*UrlState, *(reason_tally(reason) for reason in Reason if reason)}
    counts = dict.fromkeys(names, 1) | {UrlState.HTTP_ERROR: 100}
    read = {name: number for name, number in counts.items() if name in crawl_list.ERROR_TALLIES}
    assert errors_of(read) == errors_of(counts)
