"""What a crawl has refused: by reason, host and rule, with examples and with what decides."""

from dataclasses import dataclass, replace

from nephila.control.operators import block
from nephila.control.refused import EXAMPLES_SHOWN, RefusedExample, RefusedGroup, refused_of
from nephila.frontier.operators import BlockKind, Rulings
from nephila.frontier.rulebook import Rulebook
from nephila.frontier.sqlite import SqliteDatabase, SqliteFrontier
from nephila.frontier.store import Frontier, RefusedLink
from nephila.models import Reason, Refusal, UrlState
from tests.contract.session import Session, ended, seeded
from tests.unit.control.filled import PDFS, SEED, Filled

AGENT = "Nephila/1"
NO_RULES = Rulings()


@dataclass
class OneStore:
    """For a `Session` on the store of a test."""

    filled: Filled

    def frontier(self) -> Frontier:
        return SqliteFrontier(SqliteDatabase(self.filled.folder))


def test_links_by_reason_host_and_rule(filled: Filled) -> None:
    scope, extension = refused_of(filled.catalog, NO_RULES, filled.crawl, AGENT)
    assert (scope.what, scope.reason, scope.count) == ("link", "scope", 3)
    assert (scope.decided_by, scope.setting, scope.value) == ("setting", "scope.mode", "same_host")
    (page,) = {example.found_on for example in scope.examples}
    away = RefusedExample("http://b.test/", "b.test", "", found_on=page)
    assert (scope.hosts, scope.hosts_more, scope.rules) == ([RefusedGroup("b.test", 3, [away])], 0, [])
    pdf = RefusedExample(f"{SEED}a.pdf", "a.test", PDFS, found_on=page)
    assert (extension.setting, extension.examples) == ("scope.skip_extensions", [pdf])
    assert extension.rules == [RefusedGroup(PDFS, 2, [pdf])]
    assert extension.hosts == [RefusedGroup("a.test", 2, [pdf])]


def test_examples_are_of_several_hosts_and_hosts_are_cut(filled: Filled) -> None:
    crawl, names = filled.crawl.id, [f"h{number}.test" for number in range(4)]
    links = [RefusedLink(crawl, "scope", "", name, f"http://{name}/{n}", None) for name in names for n in range(3)]
    counts = {(crawl, name, Refusal.SCOPE): 10 - place for place, name in enumerate(names)}
    Session(OneStore(filled)).flush(refusals=counts, refused_links=links)
    (scope, _) = refused_of(filled.catalog, NO_RULES, filled.crawl, AGENT, hosts_max=2)
    assert [(group.name, group.count) for group in scope.hosts] == [("h0.test", 10), ("h1.test", 9)]
    assert scope.hosts_more == 3
    assert [example.host for example in scope.examples] == ["b.test", *names]
    assert len(scope.examples) == EXAMPLES_SHOWN


def test_urls_that_a_worker_has_refused_by_the_rule_of_robots_txt_or_of_an_operator(filled: Filled) -> None:
    catalog, session = filled.catalog, Session(OneStore(filled))
    urls = [f"{SEED}private/1", f"{SEED}private/2", f"{SEED}blocked/1"]
    crawl = seeded(catalog, *urls, mark="excluded")
    reasons = {urls[0]: Reason.ROBOTS, urls[1]: Reason.ROBOTS, urls[2]: Reason.RULE}
    rows = [row for row in session.load() if row.url in reasons]
    outcomes = [ended(row, crawl, state=UrlState.EXCLUDED, reason=reasons[row.url]) for row in rows]
    session.flush(outcomes=[replace(outcome, page=None) for outcome in outcomes])
    rulebook = Rulebook(catalog.database)
    block(rulebook, BlockKind.PATTERN, ["*/blocked/*"], "too large", "me")
    robots, rule = refused_of(catalog, rulebook.rulings(), crawl, AGENT)
    assert (robots.what, robots.reason, robots.count, robots.sampled) == ("url", "robots", 2, False)
    assert (robots.decided_by, robots.setting, robots.value) == ("robots", "robots.mode", "obey")
    assert [(group.name, group.count) for group in robots.rules] == [("Disallow: /private (line 2)", 2)]
    assert [(group.name, group.count) for group in robots.hosts] == [("a.test", 2)]
    assert {example.url for example in robots.examples} == set(urls[:2])
    assert all(example.url_id is not None for example in robots.examples)
    assert (rule.decided_by, rule.setting, rule.count) == ("block", "", 1)
    assert [group.name for group in rule.rules] == ["pattern */blocked/* is blocked: too large"]


def test_what_is_no_url_of_the_web_is_refused_by_the_standard(filled: Filled) -> None:
    crawl = seeded(filled.catalog, SEED, mark="standard")
    Session(OneStore(filled)).flush(refusals={(crawl.id, "", Refusal.SCHEME): 1, (crawl.id, "a.test", Refusal.RULE): 2})
    rule, scheme = refused_of(filled.catalog, NO_RULES, crawl, AGENT)
    assert (rule.decided_by, scheme.decided_by, scheme.setting, scheme.value) == ("block", "standard", "", None)
    assert scheme.examples == []
