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
        b"Accept-Encoding: gzip, deflate, br, zstd\r\n"
        b"X-A: 1Evil: 2\r\nB:\r\n\r\n"
    )
    assert plan.header_lines[-2:] == [b"B;", b"Proxy-Connection:"]


@pytest.mark.parametrize(
    ("proxy", "given"),
    [(None, ""), ("http://p:1", "http://p:1"), ("socks5://p:1", "socks5h://p:1"), ("socks5h://p:1", "socks5h://p:1")],
)
def test_a_proxy_looks_names_up_itself(proxy: str | None, given: str) -> None:
    assert plan_of(FetchSettings(proxy=proxy), "").proxy == given
