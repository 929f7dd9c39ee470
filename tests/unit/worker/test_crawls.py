"""A crawl as a worker holds it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from nephila.models import CrawlState
from nephila.profiles import crawl_settings
from nephila.settings import process_settings
from nephila.worker.crawls import LiveCrawl
from tests.unit.worker.test_scheduler import live_crawl


def test_settings_that_change_while_it_runs() -> None:
    crawl = live_crawl(polite__floor_ms=1000)
    crawl.set_floor(3000)
    assert crawl.polite.floor_ms == crawl.terms.polite.floor_ms == 3000
    settings = crawl_settings("default", {"polite.floor_ms": 5000})
    crawl.update(replace(crawl.crawl, settings=settings, state=CrawlState.PAUSED, reason="asked"))
    assert (crawl.polite.floor_ms, crawl.running, crawl.terms.state) == (5000, False, CrawlState.PAUSED)


def test_a_host_that_joins_is_in_scope_for_links_and_for_helpers() -> None:
    crawl = live_crawl()
    target = "https://b.test/"
    assert crawl.admission.judge(target, None, 0).found is None
    assert crawl.admission.with_hosts(["b.test"]).judge(target, None, 0).found is not None
    assert crawl.admission.judge(target, None, 0).found is None, "only as if it had joined"
    crawl.join("b.test")
    assert crawl.admission.judge(target, None, 0).found is not None
    assert crawl.rules.joined_hosts == ("b.test",)


def test_hosts_that_joined_stay_in_the_order_in_which_the_worker_heard_of_them() -> None:
    """The store may tell of c.test before it has b.test: helpers are sent what stands behind what they have."""
    crawl = live_crawl()
    crawl.join("b.test")
    crawl.update(replace(crawl.crawl, joined_hosts=("c.test",)))
    crawl.update(replace(crawl.crawl, joined_hosts=("c.test", "b.test")))
    assert crawl.rules.joined_hosts == ("b.test", "c.test")
    assert all(crawl.admission.judge(f"https://{host}/", None, 0).found for host in ("b.test", "c.test"))


def test_seeds_are_read_once_however_many_hosts_join() -> None:
    """Reading them with every host that joins takes minutes where there are many of both."""

    class Counted(tuple[str, ...]):
        read = 0

        def __iter__(self) -> Iterator[str]:
            Counted.read += 1
            return super().__iter__()

    crawl = live_crawl()
    many = LiveCrawl(replace(crawl.crawl, seeds=Counted(("https://a.test/",))), process_settings({}))
    before = Counted.read
    for n in range(10):
        assert many.admission.with_hosts([f"{n}.test"]).judge(f"https://{n}.test/", None, 0).found
        many.join(f"{n}.test")
    assert Counted.read == before


def test_admission_is_kept_while_the_scope_is_the_same() -> None:
    crawl = live_crawl()
    before = crawl.admission
    crawl.update(replace(crawl.crawl, state=CrawlState.PAUSED))
    assert crawl.admission is before


@pytest.mark.parametrize(
    ("limited", "granted", "outstanding", "running", "may"),
    [
        (False, 0, 5, True, True),
        (True, 0, 0, True, False),
        (True, 2, 1, True, True),
        (True, 2, 2, True, False),
        (False, 0, 0, False, False),
    ],
)
def test_may_send(limited: bool, granted: int, outstanding: int, running: bool, may: bool) -> None:
    crawl = live_crawl(**{"limits__max_pages": 10} if limited else {})
    crawl.granted, crawl.outstanding, crawl.running = granted, set(range(outstanding)), running
    assert crawl.may_send() is may


@pytest.mark.parametrize("permitted", [True, False])
def test_private_addresses_need_the_permission_of_a_cluster(permitted: bool) -> None:
    asked = live_crawl(fetch__allow_private=True).crawl
    crawl = LiveCrawl(asked, process_settings({"store": "postgresql://db/x", "allow_private": permitted}))
    assert crawl.fetch.allow_private is permitted
