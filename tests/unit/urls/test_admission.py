"""The whole judgement over a discovered URL, and over the links of a page."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephila.models import Refusal
from nephila.profiles import crawl_settings
from nephila.urls import admission as admission_module
from nephila.urls.admission import EXAMPLE_CHARS_MAX, EXAMPLED_PAGES, REFUSED_URLS_MAX, Admission
from nephila.urls.identity import requisite_key, url_key

SEED = "https://example.com/"
BASE = "https://example.com/docs/page.html"


def admission(**scope: Any) -> Admission:
    return Admission(crawl_settings("default", {f"scope.{name}": value for name, value in scope.items()}), [SEED])


LONG = "/" + "x" * 2048
ORDER: list[tuple[str, int, Refusal | None]] = [
    ("http://", 9, Refusal.INVALID),
    ("mailto:x@example.com", 9, Refusal.SCHEME),
    ("https://other.example" + LONG, 9, Refusal.LENGTH),
    ("https://other.example/keep/x", 9, Refusal.SCOPE),
    ("/drop/x.pdf", 9, Refusal.DEPTH),
    ("/drop/x.pdf", 1, Refusal.EXCLUDE),
    ("/x.pdf", 1, Refusal.INCLUDE),
    ("/keep/x.pdf", 1, Refusal.EXTENSION),
    ("/keep/" + "a/" * 40, 1, Refusal.PATH_SEGMENTS),
    ("/keep/a/a/a/a", 1, Refusal.PATH_REPEATS),
    ("/keep/a", 1, None),
]


@pytest.mark.requirement("SC-03", "SC-04", "SC-07", "SC-09")
@pytest.mark.parametrize(("raw", "depth", "refusal"), ORDER)
def test_the_first_rule_that_strikes_is_the_reason(raw: str, depth: int, refusal: Refusal | None) -> None:
    judge = admission(include=("*/keep/*",), exclude=("*/drop/*",), max_depth=5)
    judgement = judge.judge(raw, BASE, depth)
    assert judgement.refusal == refusal
    assert (judgement.found is None) == bool(judgement.detail) == (refusal is not None)
    admitted = judge.judge_links([(raw, False)], BASE, depth)
    assert [reason for _, reason, _ in admitted.refused] == ([refusal] if refusal else [])


@pytest.mark.requirement("N-12")
def test_what_was_found() -> None:
    judgement = admission().judge("../a b?c#d", "https://www.example.com/docs/", 3)
    assert judgement.found is not None
    url = "https://www.example.com/a%20b?c"
    assert judgement.found == (url, "example.com", url_key(url), "../a b?c#d", None)
    assert judgement.url == url


@pytest.mark.requirement("T-02")
def test_links_of_a_page() -> None:
    links = [
        ("a.html", False),
        ("a.html#x", False),
        ("/docs/a.html", True),
        ("#here", False),
        ("#there", False),
        ("", False),
        ("b.html", True),
        ("b.html", True),
        ("https://cdn.example.com/x", False),
        ("https://cdn.example.com/x#y", False),
        ("https://cdn.example.com/y", False),
        ("javascript:a()", False),
        ("javascript:b()", False),
        ("/logo.png", False),
        (LONG, False),
    ]
    judge = admission()
    for _ in range(2):  # the second time from the cache
        admitted = judge.judge_links(links, BASE, 1)
        assert [found.url for found in admitted.found] == ["https://example.com/docs/a.html", BASE]
        assert admitted.refused == {
            ("cdn.example.com", Refusal.SCOPE, ""): 2,
            ("", Refusal.SCHEME, ""): 2,
            ("example.com", Refusal.EXTENSION, "paths that end in .png are skipped"): 1,
            ("example.com", Refusal.LENGTH, ""): 1,
            ("example.com", Refusal.NOFOLLOW, ""): 1,
        }
        assert admitted.refused_urls == [
            "https://cdn.example.com/x",
            "https://cdn.example.com/y",
            "https://example.com/logo.png",
            "https://example.com/docs/b.html",
        ]
        assert [(example.host, example.refusal, example.url) for example in admitted.examples] == [
            ("cdn.example.com", Refusal.SCOPE, "https://cdn.example.com/x"),
            ("cdn.example.com", Refusal.SCOPE, "https://cdn.example.com/y"),
            ("", Refusal.SCHEME, "javascript:a()"),
            ("", Refusal.SCHEME, "javascript:b()"),
            ("example.com", Refusal.EXTENSION, "https://example.com/logo.png"),
            ("example.com", Refusal.LENGTH, f"https://example.com{LONG}"[: EXAMPLE_CHARS_MAX - 1] + "…"),
            ("example.com", Refusal.NOFOLLOW, "https://example.com/docs/b.html"),
        ]


def test_refused_links_are_counted_by_the_pattern_that_refuses_them_with_an_example_of_each() -> None:
    judge = admission(exclude=("*/tag/*", "*/print"))
    for _ in range(2):  # the second time from the cache
        admitted = judge.judge_links([(href, False) for href in ("/tag/a", "/tag/b", "/x/print", "/y/print")], BASE, 1)
        patterns = ("matches */tag/*", "matches */print")
        assert admitted.refused == {("example.com", Refusal.EXCLUDE, pattern): 2 for pattern in patterns}
        assert [(example.rule, example.url) for example in admitted.examples] == [
            ("matches */tag/*", "https://example.com/tag/a"),
            ("matches */tag/*", "https://example.com/tag/b"),
            ("matches */print", "https://example.com/x/print"),
            ("matches */print", "https://example.com/y/print"),
        ]


@pytest.mark.requirement("RB-07")
def test_the_first_href_of_a_url_is_kept_and_the_spelling_it_means() -> None:
    settings = crawl_settings("broad")
    links = [("dir/?utm_source=x#top", False), ("dir", False), ("/dir/#end", False), ("plain", False)]
    for _ in range(2):  # the second time they are remembered
        found = Admission(settings, ["https://a.test/"]).judge_links(links, "http://www.a.test/", 1).found
        assert [(link.url, link.raw, link.spelling) for link in found] == [
            ("http://a.test/dir", "dir/?utm_source=x#top", "http://www.a.test/dir/?utm_source=x"),
            ("http://a.test/plain", "plain", "http://www.a.test/plain"),
        ]


def test_a_spelling_that_is_too_long_is_not_asked_for() -> None:
    admission = Admission(crawl_settings("broad"), ["https://a.test/"])
    found = admission.judge(f"https://a.test/dir/?utm_source={'x' * 3000}", None, 0).found
    assert found is not None and (found.url, found.spelling) == ("https://a.test/dir", None)


def test_nofollow_may_be_followed() -> None:
    assert [found.raw for found in admission(follow_nofollow=True).judge_links([("a", True)], BASE, 1).found] == ["a"]


@pytest.mark.requirement("SC-04")
def test_depth_is_not_part_of_what_is_remembered() -> None:
    judge = admission(max_depth=2)
    links = [("a", False), ("x.pdf", False), ("b", True), ("https://other.example/", False)]
    assert len(judge.judge_links(links, BASE, 2).found) == 1
    deep = judge.judge_links(links, BASE, 3)
    assert deep.found == []
    assert deep.refused == {("example.com", Refusal.DEPTH, ""): 3, ("other.example", Refusal.SCOPE, ""): 1}
    assert len(judge.judge_links(links, BASE, 2).found) == 1


def test_examples_of_a_kind_are_given_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nephila.urls.admission.EXAMPLED_KINDS_MAX", 1)
    judge = admission()
    links = [("https://other.example/", False), ("https://another.example/", False)]
    given = [judge.judge_links(links, BASE, 1).examples for _ in range(EXAMPLED_PAGES + 1)]
    assert [len(examples) for examples in given] == [1] * EXAMPLED_PAGES + [0]


def test_refused_urls_are_capped_but_all_are_counted() -> None:
    links = [(f"https://other.example/{n}", False) for n in range(300)]
    admitted = admission().judge_links(links, BASE, 1)
    assert len(admitted.refused_urls) == REFUSED_URLS_MAX
    assert admitted.refused == {("other.example", Refusal.SCOPE, ""): 300}


def test_a_page_with_a_useless_base_has_only_absolute_links() -> None:
    admitted = admission().judge_links([("a", False), ("https://example.com/b", False)], "about:blank", 1)
    assert [found.url for found in admitted.found] == ["https://example.com/b"]
    assert admitted.refused == {("", Refusal.INVALID, ""): 1}


def test_a_redirect_target_of_a_seed_joins() -> None:
    settings = crawl_settings()
    assert Admission(settings, [SEED]).judge("https://new.example/", None, 0).refusal is Refusal.SCOPE
    assert Admission(settings, [SEED], ["new.example"]).judge("https://www.new.example/", None, 0).found is not None
    assert Admission(settings, ["no url"]).judge(SEED, None, 0).refusal is Refusal.SCOPE


def test_it_travels_to_other_processes() -> None:
    judge = Admission(crawl_settings("broad"), [SEED], ["b.example"])
    judge.judge_links([("a", False)], BASE, 1)
    copy = pickle.loads(pickle.dumps(judge))
    raw = "http://www.b.example/x/?utm_source=1"
    assert copy.judge(raw, None, 0) == judge.judge(raw, None, 0)
    assert copy.judge(raw, None, 0).url == "http://b.example/x"


@pytest.mark.parametrize("bound", ["OUTCOMES_CACHED", "SITES_CACHED", "PARENTS_CACHED"])
def test_caches_are_bounded(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission_module, bound, 10)
    judge = admission(mode="any")
    for n in range(100):
        links = [(f"https://h{n}.example/{n}/{i}", False) for i in range(n % 15)]
        assert len(judge.judge_links(links, f"https://example.com/{n}/", 1).found) == len(links)
    sizes = {
        "OUTCOMES_CACHED": len(judge._outcomes) + sum(map(len, judge._outcomes.values())),
        "SITES_CACHED": len(judge._sites),
        "PARENTS_CACHED": len(judge._easy),
    }
    assert sizes[bound] <= 10


HREF_PIECES = [
    "/",
    "../",
    "?",
    "#",
    "..",
    "//",
    "http:",
    "https:",
    "https://example.com/",
    "h",
    "a",
    "x.pdf",
    ":",
    "\n",
]
HREFS = st.lists(
    st.sampled_from(HREF_PIECES),
    max_size=5,
).map("".join)
BASES = st.sampled_from([BASE, SEED, "https://example.com/docs/other.html?x=/y", "https://example.com/docs/a/a/a/"])


@given(pages=st.lists(st.tuples(st.lists(HREFS, max_size=8), BASES), max_size=4))
def test_what_is_remembered_never_changes_a_judgement(pages: list[tuple[list[str], str]]) -> None:
    judge = admission()
    for hrefs, base in pages:
        admitted = judge.judge_links([(href, False) for href in hrefs], base, 1)
        fresh = [admission().judge(href, base, 1) for href in hrefs]
        assert {found.url for found in admitted.found} == {one.found.url for one in fresh if one.found}
        assert set(admitted.refused_urls) == {one.url for one in fresh if one.refusal and one.url}


# --- what pages need


NEEDED: list[tuple[str, str, Refusal | None]] = [
    ("all", "http://", Refusal.INVALID),
    ("all", "mailto:x@example.com", Refusal.SCHEME),
    ("all", "/" + "x" * 3000, Refusal.LENGTH),
    ("all", "/drop/x.png", Refusal.EXCLUDE),
    ("all", "/" + "a/" * 40, Refusal.PATH_SEGMENTS),
    ("all", "/a/a/a/a", Refusal.PATH_REPEATS),
    ("all", "/x.png", None),  # neither its ending nor that no include pattern matches
    ("all", "https://cdn.example/x.png", None),
    ("same_host", "/x.png", None),
    ("same_host", "https://www.example.com/x.png", None),  # one politeness key
    ("same_host", "http://example.com:8080/x.png", None),
    ("same_host", "https://static.example.com/x.png", Refusal.REQUISITE),
    ("same_host", "https://cdn.example/x.png", Refusal.REQUISITE),
    ("same_host", "https://cdn.example/drop/x.png", Refusal.EXCLUDE),
]


@pytest.mark.parametrize(("wanted", "raw", "refusal"), NEEDED)
def test_requisites_are_judged_by_fewer_rules_and_by_the_host_of_their_page(
    wanted: str, raw: str, refusal: Refusal | None
) -> None:
    rules = admission(requisites=wanted, include=["*/keep/*"], exclude=["*/drop/*"], max_depth=0)
    judged = rules.judge_requisite(raw, BASE, "example.com")
    assert judged.refusal is refusal
    found = rules.judge_requisites([raw, raw], BASE, "example.com")
    again = rules.judge_requisites([raw], BASE, "example.com")
    assert (found.found, found.refused) == (again.found, again.refused)
    assert len(found.found) == (refusal is None)
    assert [kind[1] for kind in found.refused] == ([refusal] if refusal else [])


def test_the_host_that_needs_a_requisite_is_asked_each_time() -> None:
    """What was judged for one page is remembered without its host."""
    rules = admission(requisites="same_host")
    shared = ["https://cdn.example/x.png"]
    assert rules.judge_requisites(shared, BASE, "example.com").found == []
    assert len(rules.judge_requisites(shared, BASE, "cdn.example").found) == 1
    assert rules.judge_requisites(shared, BASE, "example.com").found == []


def test_a_requisite_is_not_the_page_with_its_url() -> None:
    rules = admission(requisites="all", include_documents=True)
    (needed,), (linked,) = (
        rules.judge_requisites(["x.png"], BASE, "example.com").found,
        rules.judge_links([("x.png", False)], BASE, 1).found,
    )
    assert (needed.url, needed.host, needed.raw) == (linked.url, linked.host, linked.raw)
    assert needed.key == requisite_key(needed.url) != linked.key
