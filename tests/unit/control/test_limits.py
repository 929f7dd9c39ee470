"""Limits that are changed while a real worker crawls: it follows them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from nephila import wiring
from nephila.control import crawls
from nephila.frontier.catalog import Catalog
from nephila.frontier.store import Batch, Crawl, Flushed, Frontier
from nephila.models import CrawlState
from nephila.profiles import LimitSettings
from tests.e2e.harness import Place, close, run_here
from tests.site.fixtures import html
from tests.site.server import TestWeb
from tests.unit.control.filled import Filled

PAGES = 40
ROBOTS = {"robots.mode": "ignore"}


class Changing:
    """A store whose crawl gets another limit just before the first page is committed: the worker has begun by then.

    In the flush thread, so the catalog must be of no other thread.
    """

    def __init__(self, store: Frontier, catalog: Catalog, crawl: Crawl, limits: dict[str, int | None]) -> None:
        self._store, self._catalog, self._crawl, self._limits = store, catalog, crawl, limits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def flush(self, batch: Batch) -> Flushed:
        if batch.outcomes and self._limits:
            crawls.change_limits(self._catalog, self._crawl, self._limits)
            self._limits = {}
        return self._store.flush(batch)


@pytest.fixture
def web() -> Iterator[TestWeb]:
    with TestWeb() as made:
        made.add(
            {"127.0.0.1": {"/": html(*(f"/{n}" for n in range(1, PAGES)))} | {f"/{n}": html() for n in range(PAGES)}}
        )
        yield made


@pytest.mark.requirement("F-16", "SC-04")
@pytest.mark.parametrize(
    ("before", "after", "visited", "limited_by"),
    [
        ({"max_pages": 5}, {"max_pages": 12}, 12, "max_pages"),
        ({"max_pages": 30}, {"max_pages": 7}, 7, "max_pages"),
        ({"max_pages": 30}, {"max_pages": 1}, 1, "max_pages"),
        ({}, {"max_pages": 6}, 6, "max_pages"),
        ({"max_pages": 5}, {"max_pages": None}, PAGES, ""),
        ({}, {"max_urls_per_host": 9}, 9, ""),
        ({"max_urls_per_host": 3}, {"max_urls_per_host": 8}, 8, ""),
        ({"max_urls": 3}, {"max_urls": 11}, 11, "max_urls"),
    ],
)
def test_a_running_worker_follows(
    tmp_path: Path,
    web: TestWeb,
    before: dict[str, int],
    after: dict[str, int | None],
    visited: int,
    limited_by: str,
) -> None:
    place = Place(tmp_path)
    crawl = place.start([web.url("/")], ROBOTS | {f"limits.{name}": value for name, value in before.items()})
    catalog, own = place.store().catalog, wiring.open_store(place.settings()).catalog
    over = run_here(place, crawl.id, wrap=lambda store: cast(Frontier, Changing(store, own, crawl, after)))
    close(own)
    assert (over.state, over.limited_by) == (CrawlState.COMPLETED, limited_by)
    assert catalog.tallies(crawl.id)["visited"] == visited
    assert catalog.check() == []
    place.close()


@pytest.mark.parametrize("state", [CrawlState.ENDING, CrawlState.CANCELLED])
def test_what_ends_or_is_over_keeps_its_limits(filled: Filled, state: CrawlState) -> None:
    filled.catalog.steer(filled.crawl.id, state)
    with pytest.raises(crawls.Conflict, match=state):
        crawls.change_limits(filled.catalog, filled.catalog.crawl(filled.crawl.id), {"max_pages": 5})


@pytest.mark.parametrize("limit", ["max_urls", "max_frontier"])
def test_limits_for_life_are_neither_set_nor_removed(filled: Filled, limit: str) -> None:
    with pytest.raises(crawls.Conflict, match=limit):
        crawls.change_limits(filled.catalog, filled.crawl, {limit: 5})


def test_only_what_is_given_changes(filled: Filled) -> None:
    changed = crawls.change_limits(filled.catalog, filled.crawl, {"max_pages": 5, "max_bytes": 7})
    changed = crawls.change_limits(filled.catalog, changed, {"max_pages": None})
    assert changed.settings.limits == LimitSettings(max_bytes=7)
