"""What operators decide: rules and tokens, their bounds, and that every worker hears of a change."""

from collections.abc import Callable

import pytest

from nephila.errors import UsageError
from nephila.frontier import rulebook as rules
from nephila.frontier.catalog import Catalog
from nephila.frontier.operators import BlockKind, HostRule, Rulings
from nephila.frontier.rulebook import Rulebook
from tests.contract.backend import Backend
from tests.contract.session import Session, seeded

A = "http://a.test/"
DOMAIN, PATTERN = BlockKind.DOMAIN, BlockKind.PATTERN


@pytest.fixture
def rulebook(backend: Backend) -> Rulebook:
    return backend.rulebook()


def bound(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    monkeypatch.setattr(rules, name, value)


def control(backend: Backend) -> int:
    """The version that a worker hears of."""
    session = Session(backend, lease=False)
    try:
        return session.flush().control
    finally:
        session.frontier.leave()


def test_without_a_word_nothing_is_ruled(backend: Backend, rulebook: Rulebook) -> None:
    assert rulebook.rulings() == Rulings()
    assert backend.frontier().rulings() == Rulings()


# --- changes are heard of

Change = Callable[[Rulebook], object]
CHANGES: dict[str, Change] = {
    "add_blocks": lambda book: book.add_blocks(DOMAIN, ["new.test"], "", "me"),
    "remove_block": lambda book: book.remove_block(1),
    "set_host": lambda book: book.set_host("a.test", 5, None, "", "me"),
    "clear_host": lambda book: book.clear_host("b.test"),
    "set_floor": lambda book: book.set_floor(100),
}
NOTHING: dict[str, Change] = {
    "known_block": lambda book: book.add_blocks(DOMAIN, ["old.test"], "again", "me"),
    "remove_unknown": lambda book: book.remove_block(99),
    "clear_unknown": lambda book: book.clear_host("z.test"),
}


@pytest.fixture
def filled(rulebook: Rulebook) -> Rulebook:
    rulebook.add_blocks(DOMAIN, ["old.test"], "", "me")
    rulebook.set_host("b.test", 5, None, "", "me")
    return rulebook


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_moves_the_control_version(backend: Backend, filled: Rulebook, change: Change) -> None:
    before = control(backend)
    change(filled)
    assert control(backend) == before + 1


@pytest.mark.parametrize("change", NOTHING.values(), ids=NOTHING)
def test_what_changes_nothing_disturbs_nobody(backend: Backend, filled: Rulebook, change: Change) -> None:
    before = control(backend)
    change(filled)
    assert control(backend) == before


def test_a_worker_reads_what_was_decided(backend: Backend, rulebook: Rulebook) -> None:
    worker = backend.frontier()
    rulebook.add_blocks(DOMAIN, ["a.test"], "asked to", "me")
    rulebook.add_blocks(PATTERN, ["http://*/login"], "", "you")
    rulebook.set_host("b.test", 2000, 60_000, "busy", "me")
    rulebook.set_floor(700)
    found = worker.rulings()
    assert found == backend.rulebook().rulings()
    assert [(block.kind, block.value, block.reason, block.created_by) for block in found.blocks] == [
        (DOMAIN, "a.test", "asked to", "me"),
        (PATTERN, "http://*/login", "", "you"),
    ]
    now = backend.clock.now_ms()
    assert found.hosts == {"b.test": HostRule("b.test", 2000, 60_000, "busy", "me", now)}
    assert found.floor_ms == 700


# --- blocks


def test_a_block_is_added_once_and_removed(rulebook: Rulebook) -> None:
    first = rulebook.add_blocks(DOMAIN, ["a.test", "b.test", "a.test"], "first", "me")
    assert [(block.value, block.reason) for block in first] == [("a.test", "first"), ("b.test", "first")]
    again = rulebook.add_blocks(DOMAIN, ["c.test", "a.test"], "second", "you")
    assert [(block.value, block.reason) for block in again] == [("c.test", "second"), ("a.test", "first")]
    (same_value,) = rulebook.add_blocks(PATTERN, ["a.test"], "", "me")
    assert same_value.id not in {block.id for block in first}, "of another kind it is another rule"
    assert rulebook.remove_block(first[0].id)
    assert not rulebook.remove_block(first[0].id)
    assert [block.value for block in rulebook.rulings().blocks] == ["b.test", "c.test", "a.test"]


def test_a_pattern_may_be_long(rulebook: Rulebook) -> None:
    (block,) = rulebook.add_blocks(PATTERN, ["http://a.test/" + "å?*" * 3000], "", "me")
    assert rulebook.rulings().blocks == (block,)


def test_blocks_have_a_bound(rulebook: Rulebook, monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, "BLOCKS_MAX", 3)
    rulebook.add_blocks(DOMAIN, ["a", "b"], "", "me")
    with pytest.raises(UsageError, match="at most 3 block rules"):
        rulebook.add_blocks(DOMAIN, ["c", "d"], "", "me")
    assert [block.value for block in rulebook.rulings().blocks] == ["a", "b"], "all of them or none"
    assert len(rulebook.add_blocks(DOMAIN, ["a", "b", "c"], "", "me")) == 3


# --- hosts


def test_a_host_rule_is_replaced_and_cleared(backend: Backend, rulebook: Rulebook) -> None:
    assert rulebook.set_host("a.test", None, 5000, "down", "me").blocked_in_ms == 5000
    backend.clock.advance(2000)
    assert rulebook.rulings().hosts["a.test"].blocked_in_ms == 3000
    backend.clock.advance(3000)
    assert rulebook.rulings().hosts["a.test"].blocked_in_ms is None, "the time is over"
    said = rulebook.set_host("a.test", 1500, None, "slow", "you")
    assert rulebook.rulings().hosts == {"a.test": said}
    assert (said.delay_ms, said.blocked_in_ms, said.reason, said.created_by) == (1500, None, "slow", "you")
    assert rulebook.clear_host("a.test")
    assert not rulebook.clear_host("a.test")
    assert rulebook.rulings().hosts == {}


def test_host_rules_have_a_bound(rulebook: Rulebook, monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, "HOST_RULES_MAX", 1)
    rulebook.set_host("a.test", 1, None, "", "me")
    with pytest.raises(UsageError, match="at most 1 host rules"):
        rulebook.set_host("b.test", 1, None, "", "me")
    assert rulebook.set_host("a.test", 2, None, "", "me").delay_ms == 2
    assert list(rulebook.rulings().hosts) == ["a.test"]


@pytest.mark.parametrize("change", ["set", "clear"])
def test_the_sleeping_queues_of_a_host_wake_when_its_rule_changes(
    backend: Backend, catalog: Catalog, rulebook: Rulebook, change: str
) -> None:
    crawls = [seeded(catalog, A, "http://b.test/", mark=mark) for mark in ("1", "2")]
    rulebook.set_host("a.test", None, 60_000, "", "me")
    session = Session(backend)
    session.load()
    session.flush(released=session.releases(60_000))
    if change == "set":
        rulebook.set_host("a.test", 10, None, "", "me")
    else:
        rulebook.clear_host("a.test")
    due = {
        (crawl.id, host): queue.due_in_ms
        for crawl in crawls
        for host in ("a.test", "b.test")
        if (queue := catalog.queue(crawl.id, host)) is not None
    }
    assert due == {(crawl.id, host): wait for crawl in crawls for host, wait in (("a.test", 0), ("b.test", 60_000))}
    assert {row.url for row in session.load()} == {A}


def test_a_queue_that_was_put_to_rest_before_the_rule_changed_is_due_at_once(
    backend: Backend, catalog: Catalog, rulebook: Rulebook
) -> None:
    """The batch says "until the block ends" and reaches the store after the block was taken back."""
    crawl = seeded(catalog, A)
    rulebook.set_host("a.test", None, 60_000, "", "me")
    session = Session(backend)
    session.load()
    resting = session.batch(released=session.releases(60_000))
    rulebook.clear_host("a.test")
    session.send(resting)
    assert catalog.queue(crawl.id, "a.test").due_in_ms == 0  # type: ignore[union-attr]
    assert {row.url for row in session.load()} == {A}


def test_a_queue_that_is_held_or_asleep_for_good_is_left_alone(
    backend: Backend, catalog: Catalog, rulebook: Rulebook
) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    session.load()
    held = catalog.queue(crawl.id, "a.test")
    rulebook.set_host("a.test", 10, None, "", "me")
    assert catalog.queue(crawl.id, "a.test") == held
    session.drain(crawl)
    rulebook.clear_host("a.test")
    asleep = catalog.queue(crawl.id, "a.test")
    assert asleep is not None
    assert asleep.due_in_ms is None
    assert catalog.check() == []
