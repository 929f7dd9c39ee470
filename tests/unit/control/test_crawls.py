"""Starting, resuming and finding crawls; changed limits are in test_limits.py, steering with workers in tests/e2e."""

import pytest

from nephila.control import crawls
from nephila.errors import UsageError
from nephila.frontier.records import UrlFilter
from nephila.frontier.store import UNNAMED, Naming
from nephila.models import CrawlState
from nephila.profiles import crawl_settings
from tests.unit.control.filled import SEED, Filled

SETTINGS = crawl_settings()
OTHER = "http://b.test/"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("example.com", "https://example.com/"),
        (" http://example.com/a ", "http://example.com/a"),
        ("example.com:8080/x", "https://example.com:8080/x"),
    ],
)
def test_a_seed_is_a_url_or_a_bare_domain(text: str, url: str) -> None:
    assert crawls.seed_url(text) == url


@pytest.mark.parametrize("text", ["", "no url", "mailto:x@a.test", "ftp://a.test/", "http://"])
def test_what_is_no_web_address_is_no_seed(text: str) -> None:
    with pytest.raises(UsageError, match="no web address"):
        crawls.seed_url(text)


def test_a_file_of_seeds_may_have_comments_and_its_faults_have_a_line() -> None:
    assert crawls.read_seeds(["# mine\n", "\n", "a.test\n"], "seeds.txt") == ["https://a.test/"]
    with pytest.raises(UsageError, match=r"seeds.txt, line 2: 'x y'"):
        crawls.read_seeds(["a.test", "x y"], "seeds.txt")


def test_seeds_are_crawled_once_each() -> None:
    assert crawls.checked_seeds([OTHER, "http://b.test", OTHER]) == [OTHER]
    with pytest.raises(UsageError, match="nothing to crawl"):
        crawls.checked_seeds([])


def test_a_new_crawl_has_its_seeds_and_the_same_command_goes_on_with_it(filled: Filled) -> None:
    first, begin = crawls.start(filled.catalog, [OTHER], SETTINGS)
    assert begin is crawls.Begin.NEW and not first.seeding
    assert [row.url for row in filled.catalog.urls(first.id, 0, 10, UrlFilter())] == [OTHER]
    again, begin = crawls.start(filled.catalog, [OTHER], SETTINGS)
    assert begin is crawls.Begin.RESUMED and again.id == first.id


def test_a_name_is_no_part_of_what_makes_the_same_crawl_and_may_change_as_it_goes_on(filled: Filled) -> None:
    named = Naming("Docs", ("nightly", "team=docs"))
    first, _ = crawls.start(filled.catalog, [OTHER], SETTINGS, naming=named)
    assert first.naming == named
    for naming, kept in (
        (UNNAMED, named),
        (Naming("", ("team=web",)), Naming("Docs", ("nightly", "team=web"))),
        (Naming("Other"), Naming("Other", ("nightly", "team=web"))),
    ):
        again, begin = crawls.start(filled.catalog, [OTHER], SETTINGS, naming=naming)
        assert (begin, again.id, again.naming) == (crawls.Begin.RESUMED, first.id, kept)


def test_a_crawl_is_renamed_at_once_or_not_at_all(filled: Filled) -> None:
    renamed = crawls.rename(filled.catalog, filled.crawl, "Docs", ["nightly"])
    assert renamed.naming == filled.catalog.crawl(1).naming == Naming("Docs", ("nightly",))
    with pytest.raises(UsageError, match="is no label"):
        crawls.rename(filled.catalog, renamed, "Other", ["no label"])
    with pytest.raises(UsageError, match="to be removed"):
        crawls.rename(filled.catalog, renamed, "Other", [], ["weekly"])
    assert filled.catalog.crawl(1).naming == renamed.naming


def test_many_seeds_are_told_of_while_they_are_checked_and_stored(filled: Filled) -> None:
    told: list[tuple[str, int]] = []
    seeds = [f"http://{n}.test/" for n in range(2 * crawls.SEEDS_TOLD + 1)]
    crawls.start(filled.catalog, seeds, SETTINGS, lambda what, done: told.append((what, done)))
    assert told == [(what, n * crawls.SEEDS_TOLD) for what in ("checked", "stored") for n in (1, 2)]


def test_the_order_of_seeds_does_not_matter_but_settings_do() -> None:
    mark = crawls.fingerprint(["a", "b"], SETTINGS)
    assert mark == crawls.fingerprint(["b", "a"], SETTINGS)
    assert mark != crawls.fingerprint(["a", "b"], crawl_settings("strict"))


def test_the_same_request_makes_one_crawl(filled: Filled) -> None:
    first = crawls.create(filled.catalog, [OTHER], SETTINGS, key="k")
    assert crawls.create(filled.catalog, [OTHER], SETTINGS, key="k").id == first.id
    assert crawls.create(filled.catalog, [OTHER], SETTINGS).id != first.id


def test_a_crawl_whose_seeding_was_cut_off_gets_its_seeds_when_it_goes_on(filled: Filled) -> None:
    catalog = filled.catalog
    for go_on in (
        lambda crawl_id: crawls.go_on(catalog, crawl_id),
        lambda crawl_id: crawls.resume(catalog, crawl_id),
        lambda crawl_id: crawls.adopt_running(catalog),
    ):
        half = catalog.create_crawl([OTHER], SETTINGS, "other")
        assert half.seeding
        go_on(half.id)
        assert not catalog.crawl(half.id).seeding
        assert [row.url for row in catalog.urls(half.id, 0, 10, UrlFilter())] == [OTHER]


def test_a_seed_that_may_not_be_crawled_is_refused_before_a_crawl_is_made(filled: Filled) -> None:
    before = len(filled.catalog.crawls())
    for seed, settings, text in (
        ("http://127.0.0.1/", SETTINGS, "private address"),
        (OTHER, crawl_settings("default", {"scope.exclude": ["*b.test*"]}), "the crawl's own rules"),
    ):
        with pytest.raises(UsageError, match=text):
            crawls.start(filled.catalog, [seed], settings)
    assert len(filled.catalog.crawls()) == before


def test_a_crawl_is_found_by_number_and_uuid(filled: Filled) -> None:
    assert crawls.find(filled.catalog, "1").id == 1
    assert crawls.find(filled.catalog, filled.crawl.uuid.upper()).id == 1
    for reference in ("2", "nobody"):
        with pytest.raises(crawls.Unknown, match=f"no crawl {reference}"):
            crawls.find(filled.catalog, reference)


def test_a_crawl_whose_processes_were_killed_is_shown_paused(filled: Filled) -> None:
    killed = filled.catalog.crawl(1)
    assert killed.state is CrawlState.RUNNING and killed.seeds == (SEED,)
    shown = crawls.paused_if_interrupted(filled.catalog, killed)
    assert (shown.state, shown.reason) == (CrawlState.PAUSED, crawls.INTERRUPTED)
    crawls.resume(filled.catalog, 1)
    assert crawls.paused_if_interrupted(filled.catalog, filled.catalog.crawl(1)).state is CrawlState.RUNNING


def test_a_crawl_that_is_over_cannot_go_on(filled: Filled) -> None:
    empty = filled.catalog.create_crawl([OTHER], SETTINGS, "other")
    filled.catalog.seeded(empty.id)  # no open row is left
    filled.upkeep.run_once()
    with pytest.raises(crawls.Conflict, match=f"crawl {empty.id} is completed: there is nothing to go on with"):
        crawls.resume(filled.catalog, empty.id)
    assert crawls.latest(filled.catalog, unfinished=True).id == 1 and crawls.latest(filled.catalog).id == empty.id
