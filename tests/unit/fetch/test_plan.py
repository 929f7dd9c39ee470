import pytest

from nephila.fetch.plan import Target, plan_of, target_of
from nephila.profiles import FetchSettings


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://Example.COM", Target("http://example.com", False, "example.com", "example.com", "/")),
        ("https://a.b:443/x?y#z", Target("https://a.b", True, "a.b", "a.b", "/x?y")),
        ("https://a.b:8443/", Target("https://a.b:8443", True, "a.b", "a.b:8443", "/")),
        ("http://u:p@0x7f.1/", Target("http://127.0.0.1", False, "127.0.0.1", "127.0.0.1", "/")),
        ("http://[::1]:81/", Target("http://[::1]:81", False, "[::1]", "[::1]:81", "/")),
        ("http://xn--d4f.b/", Target("http://xn--d4f.b", False, "xn--d4f.b", "xn--d4f.b", "/")),  # of a new script
        ("http://ẞ.b:81/", Target("http://xn--zca.b:81", False, "xn--zca.b", "xn--zca.b:81", "/")),
        ("http://a.b\\@c.d/", Target("http://a.b", False, "a.b", "a.b", "/@c.d/")),
    ],
)
def test_targets(url: str, target: Target) -> None:
    assert target_of(url) == target


@pytest.mark.parametrize("url", ["", "x", "ftp://a/", "data:,x", "http://", "http://a b/", "http://\udfff/"])
def test_what_is_no_target(url: str) -> None:
    assert target_of(url) is None


def test_headers_stand_in_order_and_cannot_be_smuggled() -> None:
    further = (("accept", "x"), ("X-A", "1\r\nEvil: 2"), ("Host", "evil"), ("", "y"), ("B", ""), ("Expect", "100"))
    plan = plan_of(FetchSettings(headers=further), "Spider")
    assert plan.head_tail == (
        b"User-Agent: Spider\r\naccept: x\r\nAccept-Language: en,*;q=0.5\r\n"
        b"Accept-Encoding: gzip, deflate, br\r\n"
        b"X-A: (redacted)\r\nB:\r\n\r\n"
    ), "what is archived"
    assert plan.header_lines[-3:] == [b"X-A: 1Evil: 2", b"B;", b"Proxy-Connection:"], "what is sent"


@pytest.mark.parametrize(
    ("proxy", "given"),
    [(None, ""), ("http://p:1", "http://p:1"), ("socks5://p:1", "socks5h://p:1"), ("socks5h://p:1", "socks5h://p:1")],
)
def test_a_proxy_looks_names_up_itself(proxy: str | None, given: str) -> None:
    assert plan_of(FetchSettings(proxy=proxy), "").proxy == given


@pytest.mark.parametrize(
    ("proxy", "allow_private", "private_proxies", "guarded"),
    [
        (None, False, True, True),
        (None, False, False, True),
        (None, True, False, False),
        ("http://p:1", False, True, False),
        ("http://p:1", False, False, True),
        ("http://p:1", True, False, False),
    ],
)
def test_which_sockets_are_judged(proxy: str | None, allow_private: bool, private_proxies: bool, guarded: bool) -> None:
    settings = FetchSettings(proxy=proxy, allow_private=allow_private)
    assert plan_of(settings, "", private_proxies=private_proxies).guarded is guarded
