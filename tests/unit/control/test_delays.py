"""The delay that really holds, before a crawl starts."""

from nephila.control.delays import HOSTS_SHOWN, delays_of
from nephila.frontier.operators import Rulings
from nephila.frontier.rulebook import Rulebook
from nephila.profiles import crawl_settings
from tests.unit.control.filled import SEED, Filled

NEW = "https://new.test/"


def test_a_host_that_was_never_asked_has_the_floor(filled: Filled) -> None:
    settings = crawl_settings(overrides={"polite.floor_ms": 2000, "polite.adaptive": False})
    (found,) = delays_of(filled.catalog, Rulings(), settings, [NEW, f"{NEW}x"])
    assert (found.host, found.delay_ms, found.asked) == ("new.test", 2000, False)
    assert found.parts == (("floor", 2000),)


def test_the_longest_part_holds_and_each_is_named(filled: Filled) -> None:
    with filled.catalog.database.write() as db:
        db.execute("UPDATE hosts SET crawl_delay_ms = 5000")
    settings = crawl_settings(overrides={"polite.floor_ms": 500})
    (found,) = delays_of(filled.catalog, Rulings(), settings, [SEED])
    assert (found.delay_ms, found.asked) == (5000, True)
    assert found.parts == (("crawl_delay", 5000), ("adaptive", 1500), ("floor", 500))
    Rulebook(filled.catalog.database).set_host("a.test", 9000, None, "slow", "me")
    (found,) = delays_of(filled.catalog, Rulebook(filled.catalog.database).rulings(), settings, [SEED])
    assert (found.delay_ms, found.parts[0]) == (9000, ("override", 9000))


def test_the_floor_of_all_crawls_is_named_where_it_is_longer(filled: Filled) -> None:
    (found,) = delays_of(filled.catalog, Rulings(floor_ms=3000), crawl_settings(), [NEW])
    assert (found.delay_ms, found.parts[0]) == (3000, ("floor_of_all_crawls", 3000))
    (found,) = delays_of(
        filled.catalog, Rulings(floor_ms=3000), crawl_settings(overrides={"polite.floor_ms": 4000}), [NEW]
    )
    assert (found.delay_ms, found.parts[0]) == (4000, ("floor", 4000))


def test_only_so_many_hosts_are_looked_at(filled: Filled) -> None:
    seeds = [f"https://h{number}.test/" for number in range(HOSTS_SHOWN + 1)]
    assert len(delays_of(filled.catalog, Rulings(), crawl_settings(), seeds)) == HOSTS_SHOWN
