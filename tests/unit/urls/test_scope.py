"""Which hosts and URLs belong to a crawl."""

import pytest
from tests.patience import PATIENCE_SECONDS

from nephila.models import Refusal
from nephila.profiles import ScopeMode, ScopeSettings
from nephila.urls import scope as scope_module
from nephila.urls.scope import Patterns, Scope, registrable_domain, www_twin


def judged(
    mode: ScopeMode, seeds: list[str], host: str, hosts: tuple[str, ...] = (), joined: tuple[str, ...] = ()
) -> bool:
    return Scope(ScopeSettings(mode=mode, hosts=hosts), seeds, joined).judge(host).ok


@pytest.mark.requirement("SC-01", "SC-02", "K17")
@pytest.mark.parametrize(
    ("seeds", "host", "ok"),
    [
        (["example.com"], "example.com", True),
        (["example.com"], "www.example.com", True),
        (["www.example.com"], "example.com", True),
        (["www.example.com"], "www.www.example.com", False),
        (["example.com"], "cdn.example.com", False),
        (["example.com"], "example.org", False),
        (["example.com"], "notexample.com", False),
        (["blog.example.com"], "www.blog.example.com", True),
        (["blog.example.com"], "example.com", False),
        (["a.example", "b.example"], "www.b.example", True),
        (["127.0.0.1"], "127.0.0.1", True),
        (["127.0.0.1"], "www.127.0.0.1", False),
        (["[::1]"], "[::1]", True),
        (["localhost"], "www.localhost", False),
        ([], "example.com", False),
    ],
)
def test_same_host_is_the_seed_and_its_www_twin(seeds: list[str], host: str, ok: bool) -> None:
    assert judged(ScopeMode.SAME_HOST, seeds, host) is ok


@pytest.mark.requirement("SC-02", "SC-06", "K17")
@pytest.mark.parametrize(
    ("seed", "host", "ok"),
    [
        ("www.example.co.uk", "shop.example.co.uk", True),
        ("www.example.co.uk", "other.co.uk", False),
        ("a.github.io", "b.github.io", False),
        ("a.github.io", "x.a.github.io", True),
        ("example.com", "deep.er.example.com", True),
        ("example.com", "example.com.evil.org", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "128.0.0.1", False),
        ("localhost", "localhost", True),
        ("localhost", "example.com", False),
        ("com", "example.com", False),
        ("xn--bcher-kva.example", "www.xn--bcher-kva.example", True),
    ],
)
def test_same_domain_goes_by_the_public_suffix_list(seed: str, host: str, ok: bool) -> None:
    assert judged(ScopeMode.SAME_DOMAIN, [seed], host) is ok


@pytest.mark.requirement("K17")
@pytest.mark.parametrize(
    ("host", "ok"),
    [
        ("a.example", True),
        ("x.a.example", False),
        ("b.example", True),
        ("x.b.example", True),
        ("xb.example", False),
        ("seed.example", False),
    ],
)
def test_list_is_exact_and_a_leading_dot_means_all_below(host: str, ok: bool) -> None:
    assert judged(ScopeMode.LIST, ["seed.example"], host, hosts=("A.example", ".b.example")) is ok


@pytest.mark.requirement("SC-05", "SC-06", "K17")
def test_any_has_no_bounds() -> None:
    assert judged(ScopeMode.ANY, [], "whatever.example")


@pytest.mark.parametrize("mode", [ScopeMode.SAME_HOST, ScopeMode.SAME_DOMAIN, ScopeMode.LIST])
def test_what_joined_later_is_in_scope(mode: ScopeMode) -> None:
    assert judged(mode, ["old.example"], "new.test", joined=("new.test",))
    assert not judged(mode, ["old.example"], "new.test")


def test_a_refusal_names_the_host_and_the_mode() -> None:
    decision = Scope(ScopeSettings(), ["a.example"]).judge("b.example")
    assert (decision.reason, decision.detail) == (Refusal.SCOPE, "host b.example is outside scope same_host")


def test_decisions_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope_module, "HOSTS_CACHED", 10)
    scope = Scope(ScopeSettings(), ["h3.example"])
    assert [n for n in range(100) if scope.judge(f"h{n}.example").ok] == [3]
    assert len(scope._decisions) <= 10


@pytest.mark.parametrize(
    ("hostname", "twin", "domain"),
    [
        ("example.com", "www.example.com", "example.com"),
        ("www.example.com", "example.com", "example.com"),
        ("1.2.3.4", None, "1.2.3.4"),
        ("[::1]", None, "[::1]"),
        ("localhost", None, "localhost"),
        ("a..example", "www.a..example", "a..example"),
    ],
)
def test_twins_and_domains(hostname: str, twin: str | None, domain: str) -> None:
    assert (www_twin(hostname), registrable_domain(hostname)) == (twin, domain)


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("https://a.example/*", "https://a.example/x", True),
        ("https://a.example/*", "https://b.example/x", False),
        ("*/blog/*", "https://a.example/blog/x", True),
        ("*/blog/*", "https://a.example/BLOG/x", False),
        ("*.php", "https://a.example/x.php", True),
        ("*.php", "https://a.example/x.php?y", False),
        ("*.php?*", "https://a.example/x.php?y", True),
        ("*/v?/*", "https://a.example/v1/x", True),
        ("*/v?/*", "https://a.example/v10/x", False),
        ("*[x]*", "https://a.example/x", False),
        ("*[x]*", "https://a.example/?a[x]=1", True),
        ("*a*ab", "aab", True),
        ("*a*a", "a", False),
        ("exact", "exact", True),
        ("exact", "exactly", False),
        ("", "x", False),
    ],
)
def test_patterns_cover_the_whole_url(pattern: str, url: str, matches: bool) -> None:
    assert (Patterns(("never", pattern)).first_match(url) == pattern) is matches


@pytest.mark.timeout(PATIENCE_SECONDS)  # milliseconds; what backtracks would take years
def test_no_pattern_can_stall_the_loop() -> None:
    assert Patterns(("*a" * 40 + "*b",)).first_match("a" * 2048) is None
