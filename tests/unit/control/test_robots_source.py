"""Where a robots.txt is had from: the store, else its server if nothing speaks against asking it."""

import pytest

from nephila.control.operators import block
from nephila.control.robots_source import asked_robots, by_origin, check_may_ask, check_public, stored_robots
from nephila.errors import NephilaError, UsageError
from nephila.fetch.robots import RobotsAnswer
from nephila.frontier.operators import BlockKind
from nephila.frontier.rulebook import Rulebook
from nephila.robots.access import RobotsAccess
from tests.unit.control.filled import FETCHED_AT, ROBOTS, SEED, Filled

ORIGIN = "http://a.test"
OTHER = "https://b.test"


def test_urls_by_origin() -> None:
    found = by_origin(["a.test/x", "http://a.test", "https://a.test:443/y"])
    assert found == {"https://a.test": ["https://a.test/x", "https://a.test/y"], "http://a.test": [SEED]}
    with pytest.raises(UsageError, match="no web address"):
        by_origin(["mailto:x@a.test"])


def test_the_store_knows_what_a_crawl_has_got(filled: Filled) -> None:
    found = stored_robots(filled.catalog, ORIGIN)
    assert found is not None
    assert (found.place, found.body, found.status, found.fetched_at) == ("store", ROBOTS, 200, FETCHED_AT)
    assert stored_robots(filled.catalog, OTHER) is None


@pytest.mark.parametrize(("access", "body"), [("allow_all", b""), ("hold", None), ("pending", None)])
def test_what_was_answered_without_a_text(filled: Filled, access: str, body: bytes | None) -> None:
    with filled.catalog.database.write() as db:
        db.execute("UPDATE robots SET access = ?", (access,))
    found = stored_robots(filled.catalog, ORIGIN)
    assert (found.body if found else None) == body


def test_a_host_that_rests_or_is_blocked_is_not_asked(filled: Filled) -> None:
    database = filled.catalog.database
    rulebook = Rulebook(database)
    check_may_ask(filled.catalog, rulebook.rulings(), OTHER)
    with database.write() as db:
        db.execute("UPDATE hosts SET next_at = next_at + 86400000")
    with pytest.raises(UsageError, match=r"a.test rests for .* s more \(backoff\): ask later"):
        check_may_ask(filled.catalog, rulebook.rulings(), "https://www.a.test")
    rulebook.set_host("b.test", None, 86_400_000, "asked us to", "me")
    with pytest.raises(UsageError, match=r"b.test is not asked: an operator has blocked it \(asked us to\)"):
        check_may_ask(filled.catalog, rulebook.rulings(), OTHER)
    block(rulebook, BlockKind.DOMAIN, ["c.test"], "spam", "me")
    with pytest.raises(UsageError, match=r"domain c\.test is blocked: spam"):
        check_may_ask(filled.catalog, rulebook.rulings(), "https://x.c.test")


def test_a_private_address_is_not_asked() -> None:
    check_public(OTHER)
    with pytest.raises(UsageError, match="say --allow-private"):
        check_public("http://127.0.0.1:8099")


def test_an_answer_that_says_nothing_is_an_error() -> None:
    known = asked_robots(OTHER, RobotsAnswer(RobotsAccess.RULES, 200, ROBOTS, FETCHED_AT, "status 200"))
    assert (known.place, known.origin, known.body) == ("web", OTHER, ROBOTS)
    with pytest.raises(NephilaError, match=r"robots.txt of https://b.test cannot be had \(status 503\)"):
        asked_robots(OTHER, RobotsAnswer(RobotsAccess.HOLD, 503, b"", FETCHED_AT, "status 503"))
