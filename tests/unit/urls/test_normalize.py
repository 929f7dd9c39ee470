"""One spelling per URL: the standard, the policies K01 to K05, and invariant 12."""

import json
from pathlib import Path

import can_ada
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nephila.models import Refusal
from nephila.profiles import NormSettings, QueryRule, TrailingSlash, crawl_settings
from nephila.urls.normalize import Normalizer, parse

CASES = Path(__file__).parents[4] / "shared" / "conformance" / "url_whatwg.json"
PLAIN = Normalizer(NormSettings())
POLICIES = [
    NormSettings(),
    NormSettings(trailing_slash=TrailingSlash.STRIP),
    NormSettings(query=QueryRule.SORT),
    NormSettings(query=QueryRule.SORT_STRIP),
    NormSettings(fold_scheme=True),
    NormSettings(fold_www=True),
    NormSettings(trailing_slash=TrailingSlash.STRIP, query=QueryRule.SORT_STRIP, fold_scheme=True, fold_www=True),
]
BASE = "https://example.com/a/b/c.html?q=1#f"


@pytest.mark.requirement("N-01", "N-02", "N-03", "N-04", "N-05", "N-09", "R-22")
@pytest.mark.parametrize(
    ("raw", "url"),
    [
        ("d.html", "https://example.com/a/b/d.html"),
        ("../d.html", "https://example.com/a/d.html"),
        ("../../../../d", "https://example.com/d"),
        ("..//d", "https://example.com/a//d"),
        ("..", "https://example.com/a/"),
        ("./d", "https://example.com/a/b/d"),
        ("/d/../e/./f", "https://example.com/e/f"),
        ("/%2e%2E/x", "https://example.com/x"),
        ("//Other.Example/x", "https://other.example/x"),
        ("HTTP://EXAMPLE.com:80/A", "http://example.com/A"),
        ("https://example.com:443", "https://example.com/"),
        ("https://example.com/a/b/d.html", "https://example.com/a/b/d.html"),
        ("", "https://example.com/a/b/c.html?q=1"),
        ("#top", "https://example.com/a/b/c.html?q=1"),
        ("?x", "https://example.com/a/b/c.html?x"),
        ("?", "https://example.com/a/b/c.html?"),
        ("  d.html \n", "https://example.com/a/b/d.html"),
        ("d\t.ht\nml", "https://example.com/a/b/d.html"),
        ("a b?c d#e", "https://example.com/a/b/a%20b?c%20d"),
        ("\\x\\y", "https://example.com/x/y"),
        ("d.html?b=2&a=1&b=%7e+", "https://example.com/a/b/d.html?b=2&a=1&b=%7e+"),
        ("%7euser/%zz", "https://example.com/a/b/%7euser/%zz"),
        ("https://user:secret@example.com/p", "https://example.com/p"),
        ("/@user/x@y", "https://example.com/@user/x@y"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::0001]:80/", "http://[::1]/"),
        ("http://xn--a/b", "http://xn--a/b"),
        ("http://ẞ.example/ẞ", "http://xn--zca.example/%E1%BA%9E"),  # not ss.example
        ("//%E1%BA%9E.example/", "https://xn--zca.example/"),
        ("ht\ntp://ẞ.example/", "http://xn--zca.example/"),
        ("http:///ẞ.example/", "http://xn--zca.example/"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://Ӏ.example/", "http://xn--s5a.example/"),
        ("http://\U000323b0.example/", "http://xn--031o.example/"),
        ("http://\u1c89.example/", "http://xn--d4f.example/"),
        ("http://user@\ua7da.example/é", "http://xn--d88a.example/%C3%A9"),
        ("http://xn--d4f.example/x y", "http://xn--d4f.example/x%20y"),
        ("http://１２７.0.0.1/", "http://127.0.0.1/"),
        ("x\ud800", "https://example.com/a/b/x%EF%BF%BD"),
    ],
)
def test_references_resolve_as_the_standard_says(raw: str, url: str) -> None:
    assert PLAIN.resolve(raw, BASE) == (url, None)


@pytest.mark.requirement("N-02", "N-06", "SC-09")
@pytest.mark.parametrize(
    ("raw", "refusal"),
    [
        ("mailto:a@example.com", Refusal.SCHEME),
        ("tel:+123", Refusal.SCHEME),
        ("javascript:void(0)", Refusal.SCHEME),
        ("data:text/html,x", Refusal.SCHEME),
        ("ftp://example.com/", Refusal.SCHEME),
        ("http://", Refusal.INVALID),
        ("http://exa mple.com/", Refusal.INVALID),
        ("http://1.2.3.4.5/", Refusal.INVALID),
        ("http://example.com:99999/", Refusal.INVALID),
        ("http://xn--a.ß/", Refusal.INVALID),
        ("http://xn--a.ｃom/", Refusal.INVALID),
        ("http://xn--\ud800/", Refusal.INVALID),
    ],
)
def test_what_is_no_web_url_is_refused_by_name(raw: str, refusal: Refusal) -> None:
    assert PLAIN.resolve(raw, BASE) == (None, refusal)


@pytest.mark.requirement("N-01", "N-09")
@pytest.mark.skipif(not CASES.exists(), reason="needs ../shared/conformance")
def test_international_names_are_those_of_todays_unicode() -> None:
    cases = json.loads(CASES.read_text())["wpt_toascii"]
    found = {case["input"]: parse(f"http://{case['input']}/") for case in cases}
    assert found == {case["input"]: case["output"] and f"http://{case['output']}/" for case in cases}


@pytest.mark.parametrize("raw", ["/a^b?c^d", "http://example.com/a^b?c^d", "http://u%40@example.com\\a^b?c^d"])
def test_a_circumflex_is_escaped_in_paths_alone(raw: str) -> None:
    assert PLAIN.resolve(raw, "http://example.com/x") == ("http://example.com/a%5Eb?c^d", None)


@pytest.mark.parametrize("base", ["about:blank", "no url", "mailto:x@example.com", "\ud800"])
def test_with_a_useless_base_only_absolute_references_resolve(base: str) -> None:
    assert PLAIN.resolve("x", base) == (None, Refusal.INVALID)
    assert PLAIN.resolve("http://example.com", base) == ("http://example.com/", None)


def test_pages_on_hosts_with_bad_punycode_have_links_too() -> None:
    base = "http://xn--a.example/d/"
    resolved = [PLAIN.resolve(raw, base)[0] for raw in ("x", "a b", "http://ß.example/", "?q")]
    assert resolved == [
        "http://xn--a.example/d/x",
        "http://xn--a.example/d/a%20b",
        "http://xn--zca.example/",
        "http://xn--a.example/d/?q",
    ]


@pytest.mark.requirement("N-10", "N-08", "K01")
@pytest.mark.parametrize(
    ("raw", "url"),
    [
        ("http://a.example/", "http://a.example/"),
        ("http://a.example/b/", "http://a.example/b"),
        ("http://a.example/b//", "http://a.example/b"),
        ("http://a.example//", "http://a.example/"),
        ("http://a.example/b/?c/", "http://a.example/b?c/"),
        ("http://a.example/b", "http://a.example/b"),
    ],
)
def test_trailing_slashes_may_be_stripped(raw: str, url: str) -> None:
    assert Normalizer(NormSettings(trailing_slash=TrailingSlash.STRIP)).resolve(raw) == (url, None)


@pytest.mark.requirement("N-11", "N-14", "K02")
@pytest.mark.parametrize(
    ("query", "sorted_", "stripped"),
    [
        ("?b=2&a=1", "?a=1&b=2", "?a=1&b=2"),
        ("?b=2&a=%20&b=1&a=+", "?a=%20&a=+&b=2&b=1", "?a=%20&a=+&b=2&b=1"),
        ("?b&&a&", "?a&b", "?a&b"),
        ("?", "", ""),
        ("?&", "", ""),
        ("?z=1&utm_source=x&fbclid=y&UTM_Medium=z", "?UTM_Medium=z&fbclid=y&utm_source=x&z=1", "?z=1"),
        ("?gclid=1", "?gclid=1", ""),
    ],
)
def test_queries_may_be_sorted_and_stripped(query: str, sorted_: str, stripped: str) -> None:
    root = "http://a.example/"
    assert Normalizer(NormSettings(query=QueryRule.SORT)).resolve(root + query) == (root + sorted_, None)
    assert Normalizer(NormSettings(query=QueryRule.SORT_STRIP)).resolve(root + query) == (root + stripped, None)


@pytest.mark.requirement("K04")
@pytest.mark.parametrize(
    ("raw", "url"),
    [
        ("http://a.example/x", "https://a.example/x"),
        ("https://a.example/x", "https://a.example/x"),
        ("http://a.example:8080/x", "http://a.example:8080/x"),
        ("http://a.example:443/x", "http://a.example:443/x"),
        ("http://[::1]/x", "https://[::1]/x"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
    ],
)
def test_schemes_may_be_folded_where_no_port_speaks_against_it(raw: str, url: str) -> None:
    assert Normalizer(NormSettings(fold_scheme=True)).resolve(raw) == (url, None)


@pytest.mark.requirement("K05")
@pytest.mark.parametrize(
    ("raw", "url"),
    [
        ("http://www.a.example/x", "http://a.example/x"),
        ("http://www.www.a.example:81/x", "http://a.example:81/x"),
        ("http://www.example/x", "http://www.example/x"),
        ("http://www.www.example/x", "http://www.example/x"),
    ],
)
def test_www_may_be_folded(raw: str, url: str) -> None:
    assert Normalizer(NormSettings(fold_www=True)).resolve(raw) == (url, None)


@pytest.mark.requirement("N-05", "N-07", "K01", "K02", "K04", "K05")
def test_the_strict_profile_changes_nothing_but_fragment_and_spelling() -> None:
    strict = Normalizer(crawl_settings("strict").norm)
    assert strict.resolve("http://WWW.a.example/B/?z=1&utm_source=a#f") == (
        "http://www.a.example/B/?z=1&utm_source=a",
        None,
    )


def test_parse_keeps_fragment_and_credentials() -> None:
    assert parse("//u:p@b.example/#f", "http://a.example/") == "http://u:p@b.example/#f"
    assert parse("x") is None
    assert parse("data:/x", "http://xn--a/") == "data:/x"


PIECES_TEXT = r"""
    http:// https:// HTTP: // / \ . .. ../ ./ ? # & = @ : :80 :443 :8080 % %2e %2F %7E %zz xn-- xn--a www. example .com
    [::1] 127.1 ü ß a b a=1 b= utm_source=x ; + ~ ' " < > | ^ ` { }
"""
PIECES = st.sampled_from([*PIECES_TEXT.split(), " ", "\t", "\n", "\x00", "\u3000", "\ud800"])
REFERENCES = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30)
BASES = st.sampled_from(
    [BASE, "http://www.example.com/", "http://h.example/a//", "http://h.example:81/x/?y=/z/", "http://xn--a.b/c/d"]
)


@pytest.mark.parametrize("norm", POLICIES, ids=lambda norm: str(norm.model_dump(exclude_defaults=True)))
@given(raw=REFERENCES, base=BASES)
@example(raw="http://a/b #c", base=BASE)
@example(raw="http://www.www.www.a.example/", base=BASE)
@example(raw="http://a.example/?&#", base=BASE)
def test_normalising_twice_changes_nothing(norm: NormSettings, raw: str, base: str) -> None:
    normalizer = Normalizer(norm)
    once, refusal = normalizer.resolve(raw, base)
    assert (once is None) != (refusal is None)
    if once is not None:
        assert normalizer.resolve(once) == (once, None)
        assert normalizer.resolve(once, base) == (once, None)
        assert once.isascii() and "#" not in once and once.startswith(("http://", "https://"))


HARMLESS = (
    "a b index.html - _ ~ .html / ../ ? # = & , ; ! ( ) * + @ ' : % . .. // https://example.com/ https://example.com"
)
HARMLESS_REFERENCES = st.lists(st.sampled_from(HARMLESS.split()), max_size=10).map("".join)


@given(raw=HARMLESS_REFERENCES | REFERENCES, base=BASES)
def test_the_quick_join_is_the_parsers(raw: str, base: str) -> None:
    whole = parse(raw, base)
    url, refusal = PLAIN.resolve(raw, base)
    if whole is None:
        assert refusal is Refusal.INVALID
    elif whole.startswith(("http://", "https://")):
        assert url == parse(_without_credentials(whole.partition("#")[0]))
    else:
        assert refusal is Refusal.SCHEME


def _without_credentials(href: str) -> str:
    try:
        url = can_ada.parse(href)
    except ValueError:
        return href
    url.username = url.password = ""
    return str(url.href)
